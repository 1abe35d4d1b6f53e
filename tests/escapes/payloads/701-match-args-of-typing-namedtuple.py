# 701 match-args-of-typing-namedtuple
# tries: the same by typing.NamedTuple, which cannot be derived from with a metaclass but by a named tuple of it
# escaped: frames
# walls: language=must os=backstop host=-
# mode: code
import typing
from abc import ABCMeta
class N(typing.NamedTuple):
    gi_frame: int
class X(N, metaclass=ABCMeta):
    pass
def g():
    yield 1
X.register(type(g()))
match g():
    case X(frame):
        print('ESCAPED', frame)
