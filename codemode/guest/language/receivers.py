"""Methods of the library that were written in Python, called with what is none of their objects.

`Counter.copy(x)` returns `x.__class__(x)`, whatever `x` is: for a class that is the metaclass, which no program may
hold. A method in C refuses a receiver that is not its own; here the methods in Python that ask for the receiver's
class are made to do the same.

Only the zygote and its guests may import this file: it changes the classes of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Any

__all__ = ["check_receivers"]

_mro = type.__dict__["__mro__"].__get__
_set_attribute = type.__setattr__
_ASKS = frozenset({"__class__", "type"})


def check_receivers(classes: Iterable[type]) -> None:
    """Do that for these classes and those that they are made of. Doing it twice changes nothing."""
    seen: set[type] = set()
    for exposed in classes:
        for cls in _mro(exposed):
            if cls not in seen:
                seen.add(cls)
                for name, method in list(vars(cls).items()):
                    if type(method) is FunctionType and _asks_for_class(method.__code__):
                        _set_attribute(cls, name, _checked(cls, method))


def _asks_for_class(code: CodeType) -> bool:
    """Whether this is the code of a method, not of a `__new__` that an enumeration has put back, and asks so."""
    return code.co_varnames[:1] not in ((), ("cls",)) and not _ASKS.isdisjoint(code.co_names)


def _checked(cls: type, method: Callable[..., Any]) -> Callable[..., Any]:
    def checked(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if cls not in _mro(type(self)):
            raise TypeError(
                f"{cls.__name__}.{method.__name__}() needs an object of the class {cls.__name__}, "
                f"not {type(self).__name__}"
            )
        return method(self, *args, **kwargs)

    checked.__name__ = method.__name__
    checked.__qualname__ = method.__qualname__
    checked.__module__ = method.__module__
    checked.__doc__ = method.__doc__
    return checked
