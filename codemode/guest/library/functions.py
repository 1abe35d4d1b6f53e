"""Functions of the library that take a function, or the name of an attribute: operator, functools, heapq.

Each does what its namesake documents, except that attribute names pass the guards and no value of a tool
is changed. What makes classes from data lives in `making`.
"""

from __future__ import annotations

import functools
import heapq
import operator
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from codemode.guest.language import guards, ownership
from codemode.guest.language.frozen import refuse_frozen
from codemode.guest.language.names import FORMATTERS, PLAIN, attribute_kind
from codemode.guest.library import hints
from codemode.values import FrozenList

__all__ = ["FUNCTOOLS", "HEAPQ", "OPERATOR"]

# ----------------------------------------------------------------------------------------- operator


def attrgetter(*names: str) -> Callable[[Any], Any]:
    """attrgetter('a.b')(x) is x.a.b."""
    if not names:
        raise TypeError("attrgetter expected at least 1 argument, got 0")
    if any(type(name) is not str for name in names):
        raise TypeError("attribute name must be a string")
    for name in names:
        for step in name.split("."):
            _require_plain(step)
    return operator.attrgetter(*names)


def _require_plain(name: str) -> None:
    if attribute_kind(name) != PLAIN:
        raise AttributeError(
            f"attribute {name[:80]!r} cannot be read this way; use a lambda: lambda x: x.{name[:80]}"
        )


def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """methodcaller('m', 1)(x) is x.m(1)."""
    if type(name) is not str:
        raise TypeError("method name must be a string")
    if name in FORMATTERS:
        return lambda value: guards.read(value, name)(*args, **kwargs)
    _require_plain(name)
    return operator.methodcaller(name, *args, **kwargs)


# ---------------------------------------------------------------------------------------- functools

_ASSIGNED = functools.WRAPPER_ASSIGNMENTS


def update_wrapper(
    wrapper: Any, wrapped: Any, assigned: Iterable[str] = _ASSIGNED, updated: Iterable[str] = ("__dict__",)
) -> Any:
    """Make a wrapper look like the function that it wraps."""
    assigned, updated = tuple(assigned), tuple(updated)
    if any(type(name) is not str or name not in _ASSIGNED for name in assigned):
        raise ValueError(f"assigned= may name only {', '.join(_ASSIGNED)}")
    if any(type(name) is not str or name != "__dict__" for name in updated):
        raise ValueError("updated= may name only __dict__")
    functools.update_wrapper(wrapper, wrapped, assigned, ())
    if updated and (type(wrapped) is types.FunctionType or ownership.is_own(wrapped)):
        for name, value in list(wrapped.__dict__.items()):
            if type(name) is str and attribute_kind(name) == PLAIN:
                guards.set_(wrapper, name, value)
    return wrapper


def wraps(
    wrapped: Any, assigned: Iterable[str] = _ASSIGNED, updated: Iterable[str] = ("__dict__",)
) -> Callable[[Any], Any]:
    """Decorator: make a wrapper look like `wrapped`."""
    return lambda wrapper: update_wrapper(wrapper, wrapped, assigned, updated)


def singledispatch(function: Callable[..., Any]) -> Any:
    """A function that chooses its implementation by the class of its first argument."""
    _require_function(function)
    dispatching: Any = functools.singledispatch(function)
    register_class = dispatching.register

    def register(cls: Any, func: Any = None) -> Any:
        if (
            func is not None
            or isinstance(cls, type)
            or type(cls) in (types.UnionType, typing.get_origin(int | str))
        ):
            return register_class(cls, func)
        if typing.get_origin(cls) is not None:
            return register_class(cls, func)
        _require_function(cls)
        given = [hint for name, hint in cls.__annotations__.items() if name != "return"]
        if not given:
            raise TypeError("register() needs a class: @f.register(int), or an annotated first parameter")
        return register_class(hints.resolve(given[0]), cls)

    dispatching.register = register
    return dispatching


class singledispatchmethod(functools.singledispatchmethod):  # type: ignore[type-arg]
    """The same for methods."""

    def __init__(self, func: Any) -> None:
        _require_function(func)
        super().__init__(func)
        self.dispatcher = singledispatch(func)

    def register(self, cls: Any, method: Any = None) -> Any:
        return self.dispatcher.register(cls, method)


def _require_function(function: object) -> None:
    if type(function) is not types.FunctionType and not ownership.is_own(function):
        raise TypeError(f"a function of the program was expected, not {type(function).__name__!r}")


# -------------------------------------------------------------------------------------------- heapq

# They change a list in C, past the methods that a frozen one overrides. Written out, for speed.
_heapify, _heappop, _heappush = heapq.heapify, heapq.heappop, heapq.heappush
_heappushpop, _heapreplace = heapq.heappushpop, heapq.heapreplace


def heapify(heap: list[Any], /) -> None:
    """Make a list a heap, in place."""
    if type(heap) is FrozenList:
        refuse_frozen(heap)
    _heapify(heap)


def heappop(heap: list[Any], /) -> Any:
    """Take the smallest item from a heap."""
    if type(heap) is FrozenList:
        refuse_frozen(heap)
    return _heappop(heap)


def heappush(heap: list[Any], item: Any, /) -> None:
    """Put an item on a heap."""
    if type(heap) is FrozenList:
        refuse_frozen(heap)
    _heappush(heap, item)


def heappushpop(heap: list[Any], item: Any, /) -> Any:
    """Put an item on a heap, then take the smallest."""
    if type(heap) is FrozenList:
        refuse_frozen(heap)
    return _heappushpop(heap, item)


def heapreplace(heap: list[Any], item: Any, /) -> Any:
    """Take the smallest item from a heap, then put one on it."""
    if type(heap) is FrozenList:
        refuse_frozen(heap)
    return _heapreplace(heap, item)


OPERATOR: dict[str, Any] = {"attrgetter": attrgetter, "methodcaller": methodcaller}

FUNCTOOLS: dict[str, Any] = {
    "singledispatch": singledispatch,
    "singledispatchmethod": singledispatchmethod,
    "update_wrapper": update_wrapper,
    "wraps": wraps,
    "WRAPPER_ASSIGNMENTS": functools.WRAPPER_ASSIGNMENTS,
    "WRAPPER_UPDATES": functools.WRAPPER_UPDATES,
}

HEAPQ: dict[str, Any] = {
    "heapify": heapify,
    "heappop": heappop,
    "heappush": heappush,
    "heappushpop": heappushpop,
    "heapreplace": heapreplace,
    "merge": heapq.merge,
    "nlargest": heapq.nlargest,
    "nsmallest": heapq.nsmallest,
}
