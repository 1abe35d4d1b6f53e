# 525 typing-eval
# tries: strings that typing or dataclasses would evaluate
# escaped: a string of ours runs as code
# walls: language=must os=backstop host=-
# mode: code
import dataclasses
import functools
import typing
evil = 'print("ESCAPED")'
@dataclasses.dataclass
class A:
    x: 'print("ESCAPED")' = 1
    y: 'typing.ClassVar[print("ESCAPED")]' = 2
def f(x: 'print("ESCAPED")') -> 'print("ESCAPED")':
    pass
for way in (lambda: typing.get_type_hints(f), lambda: typing.get_type_hints(A), lambda: functools.singledispatch(f).register(f),
            lambda: typing.NamedTuple('N', [('x', evil)])(1), lambda: typing.TypedDict('T', {'x': evil})(x=1),
            lambda: typing.NewType(evil, int)(1), lambda: typing.TypeVar('T', bound=evil), lambda: typing.get_type_hints(f, {'print': print}),
            lambda: typing.List[evil], lambda: typing.ForwardRef):
    try:
        way()
    except Exception:
        pass
