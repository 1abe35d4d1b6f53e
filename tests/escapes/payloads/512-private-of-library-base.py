# 512 private-of-library-base
# tries: an own class may read private names of its library bases; look for a way out there
# escaped: os, a loop, a frame or a module in a private attribute
# walls: language=must os=backstop host=-
# mode: code
import calendar, collections, contextlib, csv, decimal, enum, fractions, html.parser, io, json, logging, random, string, threading, types
class A(calendar.TextCalendar): pass
class B(html.parser.HTMLParser): pass
class C(json.JSONDecoder): pass
class D(json.JSONEncoder): pass
class E(logging.Handler): pass
class F(random.Random): pass
class G(string.Template): pass
class H(threading.Thread): pass
class I(fractions.Fraction): pass
class J(collections.UserDict): pass
class K(contextlib.ContextDecorator): pass
names = ['_os', '_sys', '_io', '_loop', '_module', '_frame', '_func', '_globals', '_imp', '_warn', '_urandom', '_channel',
         '_get_loop', '_thread', '_bootstrap', '_handlers', '_shutdown', '_recreate_cm', '_e', '_sha2', '_inst', '_code']
for make in (A, B, C, D, E, F, lambda: G('x'), H, lambda: I(1, 2), J, K):
    thing = make()
    for name in names:
        try:
            value = getattr(thing, name)
        except Exception:
            continue
        if 'module' in str(type(value)) or 'frame' in str(type(value)) or 'Loop' in str(type(value)):
            print('ESCAPED', thing, name, value)
