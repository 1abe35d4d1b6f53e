"""What cannot be changed: the classes of the library, and the values that tools returned.

Two things are done once, in the zygote, for the whole process.

`protect_classes` marks every class that exists as immutable, so that storing an attribute on a class of
the library fails in the interpreter itself, with no guard in the program's code.

`guard_class_methods` closes `list.append(value, 1)` and its like. A frozen value overrides the methods
that change it, but the original ones can be had from `list` and `dict`. Attributes of a class are looked
up on its metaclass first, and there, in `type`, this puts data descriptors with the names of those
methods. Reading one through an instance (`[].append`) does not pass `type` and keeps its speed.

Only the zygote and its guests may import this file.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from typing import Any

from codemode.guest.language.names import CLASS_GUARDED, INSTANCE
from codemode.values import FrozenDict, FrozenList

__all__ = [
    "guard_class_methods",
    "is_frozen",
    "print_classes_by",
    "protect_class",
    "protect_classes",
    "refuse_frozen",
    "without_frozen",
]

_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE

_FROZEN = (FrozenDict, FrozenList)
_FROZEN_SET = frozenset(_FROZEN)

_modified = ctypes.pythonapi.PyType_Modified
_modified.argtypes = [ctypes.py_object]
_modified.restype = None


def is_frozen(value: object) -> bool:
    return type(value) in _FROZEN_SET


def refuse_frozen(value: object) -> None:
    """Raise `FrozenValueError` if `value` is a tool's value."""
    if isinstance(value, _FROZEN):
        value.clear()


def without_frozen(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that changes its first argument, so that it refuses a frozen one."""

    def guarded(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) in _FROZEN_SET:
            refuse_frozen(args[0])
        return method(*args, **kwargs)

    guarded.__name__ = guarded.__qualname__ = getattr(method, "__name__", "method")
    guarded.__doc__ = getattr(method, "__doc__", None)
    return guarded


# ------------------------------------------------------------------------- classes of the library


def _flags_offset() -> int:
    """Where in a type object its flags lie, found by looking for the value that Python reports."""

    class Probe:
        pass

    word = ctypes.sizeof(ctypes.c_ulong)
    for offset in range(0, 400, word):
        if ctypes.c_ulong.from_address(id(Probe) + offset).value == Probe.__flags__:
            return offset
    raise RuntimeError("the flags of a type object were not found")


_OFFSET = _flags_offset()


def protect_class(cls: type) -> None:
    """Make attribute stores on `cls` raise a TypeError. Its subclasses made later are not affected."""
    if cls.__flags__ & _HEAP and not cls.__flags__ & _IMMUTABLE:
        flags = ctypes.c_ulong.from_address(id(cls) + _OFFSET)
        flags.value |= _IMMUTABLE
        _modified(cls)


def protect_classes() -> None:
    """Do that for every class that exists now."""
    seen: set[type] = set()
    waiting: list[type] = [object]
    while waiting:
        cls = waiting.pop()
        if cls not in seen:
            seen.add(cls)
            waiting.extend(type.__subclasses__(cls))
    for cls in seen:
        protect_class(cls)


def print_classes_by(method: Callable[[Any], str]) -> None:
    """Let every class print as `method` has it, but for those whose metaclass has a `__repr__` of its own."""
    called, offset = _calls_repr()
    gc.get_referents(type.__dict__)[0]["__repr__"] = method
    _modified(type)
    waiting: list[type] = [type]
    while waiting:
        metaclass = waiting.pop()
        if getattr(metaclass, "__repr__", None) is method:
            ctypes.c_void_p.from_address(id(metaclass) + offset).value = called
            waiting.extend(type.__subclasses__(metaclass))


def _calls_repr() -> tuple[int, int]:
    """Return the interpreter's function that looks `__repr__` up and calls it, and where in a type object it stands.

    Found by comparing classes that have such a method with some that have not.
    """

    class One:
        def __repr__(self) -> str:
            return ""

    class Other(int):
        def __repr__(self) -> str:
            return ""

    class Without:
        pass

    def word(cls: type, offset: int) -> int:
        return ctypes.c_void_p.from_address(id(cls) + offset).value or 0

    step = ctypes.sizeof(ctypes.c_void_p)
    found = [
        offset
        for offset in range(0, _OFFSET, step)
        if 0 != word(One, offset) == word(Other, offset) != word(Without, offset) == word(object, offset)
    ]
    if len(found) != 1:
        raise RuntimeError("the place of __repr__ in a type object was not found")
    return word(One, found[0]), found[0]


# ------------------------------------------------------------------------------- values of tools

_mro = type.__dict__["__mro__"].__get__
_own_dict = type.__dict__["__dict__"].__get__
_BUILTIN_METHODS = (type(list.append), type(dict.update))


class _ClassMethods:
    """A data descriptor in `type` for one method name: finds what `type` would, made safe where it must be."""

    __slots__ = ("_guarded", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._guarded = {
            method: without_frozen(method)
            for cls in (list, dict)
            if (method := cls.__dict__.get(name)) is not None
        }

    def __get__(self, cls: Any, metaclass: type | None = None) -> Any:
        if cls is None:
            return self
        name = self._name
        for base in _mro(cls):
            found = _own_dict(base).get(name, self)
            if found is not self:
                if type(found) in _BUILTIN_METHODS and found in self._guarded:
                    return self._guarded[found]
                bind = getattr(type(found), "__get__", None)
                return found if bind is None else bind(found, None, cls)
        for base in _mro(type(cls)):
            if base is not type:
                found = _own_dict(base).get(name, self)
                if found is not self:
                    bind = getattr(type(found), "__get__", None)
                    return found if bind is None else bind(found, cls, type(cls))
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name)

    def __set__(self, cls: type, value: object) -> None:
        self._refuse_immutable(cls)
        gc.get_referents(_own_dict(cls))[0][self._name] = value
        _modified(cls)

    def __delete__(self, cls: type) -> None:
        self._refuse_immutable(cls)
        if self._name not in _own_dict(cls):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {self._name!r}")
        del gc.get_referents(_own_dict(cls))[0][self._name]
        _modified(cls)

    def _refuse_immutable(self, cls: type) -> None:
        if cls.__flags__ & _IMMUTABLE or not cls.__flags__ & _HEAP:
            raise TypeError(f"cannot set {self._name!r} attribute of immutable type {cls.__name__!r}")


class _OfInstances(_ClassMethods):
    """The attribute that every instance of a program's class has: read from a class, it is not there."""

    __slots__ = ()

    def __get__(self, cls: Any, metaclass: type | None = None) -> Any:
        if cls is None:
            return self
        raise AttributeError(
            "a method that changes its object through super() was called with a class in place of an instance"
        )


def guard_class_methods() -> None:
    """Put the descriptors into `type`, and let tools' values pass for what they are. Twice changes nothing."""
    for cls, builtin in ((FrozenDict, dict), (FrozenList, list)):
        if cls.__name__ != builtin.__name__:  # in messages, and as type(x).__name__
            cls.__name__ = cls.__qualname__ = builtin.__name__
            cls.__module__ = "builtins"
    attributes = gc.get_referents(type.__dict__)[0]
    for name in CLASS_GUARDED:
        if name not in attributes:
            attributes[name] = _ClassMethods(name)
    attributes.setdefault(INSTANCE, _OfInstances(INSTANCE))
    _modified(type)
