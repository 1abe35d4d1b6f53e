# 714 format-through-forwarders
# tries: objects that hand attribute reads on (generic aliases, bound methods of callable strings) give str.format itself
# escaped: an attribute walk by a format string, to the real builtins
# walls: language=must os=backstop host=-
# mode: code
import types
class S(str):
    def __call__(self):
        pass
def g():
    yield 1
walk = '{0.gi_frame.f_builtins}'
for holder in (types.GenericAlias(walk, ()), types.MethodType(S(walk), 1)):
    try:
        text = holder.format(g())
    except AttributeError:
        continue
    if 'open' in text:
        print('ESCAPED', text[:60])
