# 509 bases-odd
# tries: bases that are no classes, generics of classes that may not be derived from, and objects that pretend
# escaped: a class derived from an engine class, a facade or an exception group
# walls: language=must os=backstop host=-
# mode: code
import asyncio
import functools
import types
import typing
class Pretender:
    def __getattr__(self, name):
        return lambda *a: (ExceptionGroup,)
def base(*bases):
    class X(*bases):
        pass
    return X
for bad in (type(tools), type(print), ExceptionGroup, BaseException, asyncio.Lock, functools.partial, types.MethodType,
            types.GenericAlias(asyncio.Lock, int), typing.Annotated[ExceptionGroup, 0], Pretender(), type, slice, bool,
            type(echo), types, typing.List, typing.Generic[typing.TypeVar('T')], range, type(iter([])), NotImplemented):
    try:
        made = base(bad)
    except TypeError:
        continue
    if bad not in (typing.List,) and 'Generic' not in repr(bad):
        print('ESCAPED', bad, made)
