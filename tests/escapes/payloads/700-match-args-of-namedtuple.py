# 700 match-args-of-namedtuple
# tries: a named tuple's fields are its __match_args__: an abstract class with a stand-in registered reads any of them by a pattern
# escaped: frames, globals and the real builtins
# walls: language=must os=backstop host=-
# mode: code
from abc import ABCMeta
from collections import namedtuple
class X(namedtuple('Y', 'gi_frame'), metaclass=ABCMeta):
    pass
class Z(namedtuple('W', 'f_builtins'), metaclass=ABCMeta):
    pass
def g():
    yield 1
X.register(type(g()))
match g():
    case X(frame):
        Z.register(type(frame))
        match frame:
            case Z(builtins):
                print('ESCAPED', builtins['open'])
