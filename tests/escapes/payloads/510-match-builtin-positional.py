# 510 match-builtin-positional
# tries: a positional class pattern over builtin classes and own classes with inherited __match_args__
# escaped: a pattern reads a name that no program may
# walls: language=must os=backstop host=-
# mode: code
class A:
    __match_args__ = ('x',)
class B(A):
    pass
B.x = 5
def g():
    yield 1
for subject in (g(), print, tools, B(), ValueError()):
    match subject:
        case B(x):
            print('fine', x)
        case Exception(args=a):
            print('fine', a)
        case object():
            pass
try:
    setattr(B, '__match_args__', ('gi_frame',))
    print('ESCAPED')
except Exception:
    pass
