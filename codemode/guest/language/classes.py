"""Classes as programs see them: what `type(x)` gives, and which bases a class statement may have.

A program gets the real class of plain data, of exceptions, of its own objects and of what the library
offers. For everything else (functions, frames, coroutines, classes of classes, the engine's own objects)
it gets a stand-in: a class that answers isinstance and prints like the real one, and makes nothing.
"""

from __future__ import annotations

import abc
import builtins
import enum
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from codemode.guest.language import guards, ownership
from codemode.guest.language.frozen import print_classes_by, protect_class
from codemode.values import FrozenDict, FrozenList

__all__ = [
    "Type",
    "allow_bases",
    "build_class",
    "check_base",
    "class_of",
    "expose_classes",
    "facade",
    "is_callable",
    "is_facade",
    "show_modules",
    "stand_in",
    "visible",
]

_name_of = type.__dict__["__name__"].__get__
_mro = type.__dict__["__mro__"].__get__

# ------------------------------------------------------------------------------------- stand-ins


class _Inert(type):
    """The class of stand-ins."""

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        raise TypeError(f"cannot create {_name_of(cls)!r} instances here")

    def __instancecheck__(cls, instance: object) -> bool:
        return _real[cls] in _mro(type(instance))

    def __subclasscheck__(cls, other: object) -> bool:
        real = _real.get(other) if type(other) is _Inert else other
        return isinstance(real, type) and _real[cls] in _mro(real)

    def __repr__(cls) -> str:
        return repr(_real[cls])


_real: dict[type, type] = {}
_stand_ins: dict[type, type] = {}


def stand_in(cls: type) -> type:
    """Return the one stand-in of a class."""
    found = _stand_ins.get(cls)
    if found is None:
        found = _Inert(_name_of(cls), (), {"__slots__": (), "__doc__": None, "__module__": "builtins"})
        _real[found] = cls
        _stand_ins[cls] = found
        protect_class(found)
    return found


class _TypeOfTypes(type):
    """Makes `Type` pass for the builtin `type`."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            return class_of(args[0])
        raise TypeError("type() takes one argument here; write a class statement to make a class")

    def __instancecheck__(cls, instance: object) -> bool:
        return type in _mro(type(instance))

    def __subclasscheck__(cls, other: object) -> bool:
        return other is cls or (isinstance(other, type) and type in _mro(other))

    def __repr__(cls) -> str:
        return "<class 'type'>"


class Type(metaclass=_TypeOfTypes):
    """The builtin `type`: type(object) -> the object's type."""

    __slots__ = ()

    def __class_getitem__(cls, item: Any) -> Any:
        return types.GenericAlias(Type, item)


Type.__name__ = Type.__qualname__ = "type"
Type.__module__ = "builtins"
for _kind in (_Inert, _TypeOfTypes):
    _kind.__name__ = _kind.__qualname__ = "type"

_facades: set[object] = set()


def facade(name: str, members: Mapping[str, Any]) -> Any:
    """Return a facade: a class that stands for a module and holds `members`.

    Its metaclass is plain `type`, for only then does CPython read its attributes as fast as a module's. It
    is still open; `frozen.protect_class` closes it.
    """

    def call(cls: object, *args: object, **kwargs: object) -> Any:
        raise TypeError("'module' object is not callable")

    made = type(
        name, (), {"__slots__": (), "__doc__": None, "__module__": "builtins", **members, "__new__": call}
    )
    _facades.add(made)
    return made


def is_facade(value: object) -> bool:
    return type(value) is type and value in _facades


_repr_of_class = type.__repr__


def _repr(cls: Any) -> str:
    return f"<module {_name_of(cls)!r}>" if is_facade(cls) else _repr_of_class(cls)


def show_modules() -> None:
    """Let facades print as modules; the way that a class prints is its metaclass's, and theirs is `type` itself."""
    print_classes_by(_repr)


def is_callable(value: object) -> bool:
    """`callable`: stand-ins and modules are classes only underneath."""
    kind: object = type(value)
    return callable(value) and kind is not _Inert and not is_facade(value)


is_callable.__name__ = is_callable.__qualname__ = "callable"

# ------------------------------------------------------------------------------------ type(x)

_exposed: set[type] = set()


def expose_classes(classes: Iterable[type]) -> None:
    """Say that programs may hold these classes."""
    _exposed.update(classes)


def class_of(value: object) -> Any:
    """Return `type(value)`, or what stands for it."""
    kind = type(value)
    if kind in _exposed:
        return kind
    if kind is FrozenDict:
        return dict
    if kind is FrozenList:
        return list
    if ownership.is_own_class(kind):
        return kind
    if type in _mro(kind):
        if is_facade(value):
            return stand_in(types.ModuleType)
        return Type if kind is type or kind is _Inert or kind is _TypeOfTypes else stand_in(kind)
    if Exception in _mro(kind):
        return kind
    return stand_in(kind)


def visible(cls: Any) -> Any:
    """Return a class that was found somewhere, or what stands for it."""
    if cls is type:
        return Type
    if not isinstance(cls, type) or cls in _exposed or ownership.is_own_class(cls) or Exception in _mro(cls):
        return cls
    if cls is FrozenDict:
        return dict
    if cls is FrozenList:
        return list
    return cls if type(cls) in (_Inert, _TypeOfTypes) else stand_in(cls)


expose_classes(
    {
        *(
            object,
            int,
            float,
            complex,
            bool,
            str,
            bytes,
            bytearray,
            list,
            tuple,
            dict,
            set,
            frozenset,
            range,
            slice,
        ),
        *(property, staticmethod, classmethod, enumerate, filter, map, zip, reversed),
        *(type(None), type(NotImplemented), type(...)),
        *(type({}.keys()), type({}.values()), type({}.items())),
        *(type(iter(each)) for each in ((), [], {}, set(), "", b"", range(0), {}.values(), {}.items())),  # type: ignore[var-annotated]
    }
)

# ------------------------------------------------------------------------------- class statements

_METACLASSES: dict[object, type] = {
    Type: type,
    stand_in(abc.ABCMeta): abc.ABCMeta,
    stand_in(enum.EnumMeta): enum.EnumMeta,
}
_bases: dict[int, object] = {}  # by identity, for a base need not be hashable
_make_class: Callable[..., Any] = builtins.__build_class__


def allow_bases(bases: Iterable[object]) -> None:
    """Say that programs may derive from these."""
    for base in bases:
        _bases[id(base)] = base


def build_class(body: Callable[..., Any], name: str, *bases: Any, **keywords: Any) -> Any:
    """What a class statement calls."""
    for base in bases:
        check_base(base)
    metaclass = keywords.get("metaclass")
    if metaclass is not None:
        real = _METACLASSES.get(metaclass) if isinstance(metaclass, type) else None
        if real is None:
            raise TypeError(
                "metaclass= may be ABCMeta or EnumMeta here; use __init_subclass__ or a class decorator"
            )
        keywords["metaclass"] = real
    cls = _make_class(body, name, *bases, **keywords)
    if isinstance(cls, type):
        ownership.adopt_class(cls)
    return cls


def check_base(base: Any) -> None:
    """Raise TypeError unless a program may derive from `base`."""
    if ownership.is_own_class(base) or id(base) in _bases:
        return
    origin = typing.get_origin(base)
    if origin is not None and (ownership.is_own_class(origin) or id(origin) in _bases):
        return
    name = _name_of(base) if isinstance(base, type) else repr(type(base).__name__)
    if isinstance(base, type) and BaseException in _mro(base):
        if BaseExceptionGroup in _mro(base):
            raise TypeError(f"cannot derive from {name}; derive from Exception and keep the errors in a list")
        raise TypeError(f"cannot derive from {name}; derive from Exception")
    raise TypeError(f"cannot derive from {name} here; keep an instance in an attribute instead")


allow_bases(
    {
        *(object, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, property),
        *(
            error
            for error in vars(builtins).values()
            if isinstance(error, type)
            and issubclass(error, Exception)
            and not issubclass(error, BaseExceptionGroup)
        ),
    }
)
guards.set_class_reader(class_of)
