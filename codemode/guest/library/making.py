"""Classes and objects made from data rather than by a statement: named tuples, data classes, enums, copies.

They obey the rules for classes made by a statement, and nothing evaluates text. Importing this file also
closes the same doors inside the modules themselves, where a class of theirs would open them.
"""

from __future__ import annotations

import abc
import collections
import copy
import dataclasses
import enum
import keyword
import types
import typing
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from codemode.guest.language import classes, ownership
from codemode.guest.language.classes import stand_in
from codemode.guest.language.names import DENIED, METHODS, PLAIN, attribute_kind, is_dunder
from codemode.guest.library import hints
from codemode.guest.running import report, run

__all__ = [
    "ABC",
    "COLLECTIONS",
    "DATACLASSES",
    "ENUM",
    "TYPES",
    "TYPING",
    "allow_copies",
    "guard_registration",
]

# -------------------------------------------------------------------------- collections, dataclasses


def namedtuple(
    typename: str, field_names: Any, *, rename: bool = False, defaults: Iterable[Any] | None = None
) -> Any:
    """Return a new subclass of tuple with named fields."""
    made = collections.namedtuple(typename, field_names, rename=rename, defaults=defaults)  # type: ignore[misc, arg-type]
    made.__module__ = "__main__"
    ownership.adopt_class(made)
    return made


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """Add the methods of a data class to a class of the program."""
    if cls is None:
        return lambda decorated: dataclass(decorated, **options)
    if not ownership.is_own_class(cls):
        raise TypeError("dataclass() changes a class, so it must be one that the program made")
    made: Any = dataclasses.dataclass(cls, **options)
    # A class pattern reads the attributes named here, unguarded.
    names = made.__dict__.get("__match_args__", ())
    public = tuple(
        name for name in names if type(name) is str and attribute_kind(name) == PLAIN and name[0] != "_"
    )
    if len(public) != len(names):
        type.__setattr__(made, "__match_args__", public)
    if any(attribute_kind(field) != PLAIN for field in made.__dataclass_fields__):
        _check_receivers(made)
    return made


def _check_receivers(cls: Any) -> None:
    """The methods that dataclasses writes read private attributes; taken from the class, they could be given
    any object."""
    for name in ("__repr__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"):
        method = cls.__dict__.get(name)
        if type(method) is types.FunctionType and method.__code__.co_filename != report.PROGRAM:
            type.__setattr__(cls, name, _with_own_receiver(method))


def _with_own_receiver(method: Any) -> Any:
    def checked(self: Any, *args: Any) -> Any:
        return method(ownership.own(self), *args)

    checked.__name__, checked.__qualname__ = method.__name__, method.__qualname__
    return checked


def make_dataclass(
    cls_name: str,
    fields: Iterable[Any],
    *,
    bases: tuple[Any, ...] = (),
    namespace: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Return a new data class."""
    members = dict(namespace or {})
    for name in members:
        if type(name) is not str or attribute_kind(name) != PLAIN or name[:1] == "_":
            raise TypeError(
                f"namespace= may not hold {str(name)[:60]!r}; write a class statement with @dataclass"
            )
    types_of: dict[str, Any] = {}
    for field in fields:
        name, annotation, *default = (field, typing.Any) if type(field) is str else tuple(field)
        if type(name) is not str or not name.isidentifier() or keyword.iskeyword(name):
            raise TypeError(f"field names must be valid identifiers: {str(name)[:60]!r}")
        if attribute_kind(name) != PLAIN or name[0] == "_":
            raise TypeError(f"field names must be public: {name!r}")
        types_of[name] = annotation
        if default:
            members[name] = default[0]
    if "module" in options:
        raise TypeError("make_dataclass() takes no module= here")
    for base in bases:
        classes.check_base(base)
    members["__annotations__"] = types_of
    made = types.new_class(cls_name, bases, {}, lambda body: body.update(members))
    made.__module__ = "__main__"
    ownership.adopt_class(made)
    return dataclass(made, **options)


def _checked_field_attribute(self: Any, attribute: str, value: Any) -> None:
    """A field's name becomes source text inside dataclasses; nothing but a name may stand there."""
    if attribute == "name" and value is not None:
        if type(value) is not str or not value.isidentifier() or keyword.iskeyword(value):
            raise TypeError("the name of a field must be a valid identifier")
        if attribute_kind(value) == DENIED or value in METHODS or is_dunder(value):
            raise TypeError(f"a field cannot be called {value!r}")
        if not value.isascii() and unicodedata.normalize("NFKC", value) != value:
            raise TypeError(f"a field cannot be called {value!r}: Python reads these letters as others")
    object.__setattr__(self, attribute, value)


dataclasses.Field.__setattr__ = _checked_field_attribute  # type: ignore[method-assign]


def replace(obj: Any, /, **changes: Any) -> Any:
    """Return a copy of a data class instance with some fields changed."""
    if ownership.is_own(obj):
        _check_own_dict(obj)
    return _replace_fields(obj, **changes)


_replace_fields = dataclasses.replace


# --------------------------------------------------------------------------------- enum, typing

_redirect_get = enum.property.__get__


def _checked_redirect(self: Any, instance: Any, ownerclass: Any = None) -> Any:
    """The descriptor that an enum puts before an inherited name reads an attribute by a name that it holds."""
    name = getattr(self, "name", None)
    if name is not None and (type(name) is not str or attribute_kind(name) != PLAIN):
        raise AttributeError(f"attribute {str(name)[:60]!r} is not available")
    return _redirect_get(self, instance, ownerclass)


enum.property.__get__ = _checked_redirect  # type: ignore[method-assign]

_alias_getattr = typing._BaseGenericAlias.__getattr__  # type: ignore[attr-defined]


def _hand_on_public(self: Any, attr: str) -> Any:
    """An alias hands on to its class what is asked of it; that the class is the program's own is not for it to say."""
    if attr[:1] == "<":
        raise AttributeError(attr)
    return _alias_getattr(self, attr)


typing._BaseGenericAlias.__getattr__ = _hand_on_public  # type: ignore[attr-defined]


_prepare_enum = enum.EnumMeta.__prepare__


def _prepare_marked(metacls: Any, /, cls: str, bases: Any, **options: Any) -> Any:
    """The namespace of an enum's body. Its members are made, and initialised, before the class is there."""
    namespace: Any = _prepare_enum(cls, bases, **options)
    ownership.mark_namespace(namespace)
    return namespace


enum.EnumMeta.__prepare__ = classmethod(_prepare_marked)  # type: ignore[assignment]

_create_enum = enum.EnumMeta._create_  # type: ignore[attr-defined]


def _create_checked(cls: Any, class_name: str, names: Any, **options: Any) -> Any:
    """`Enum('Name', ...)`: members may not be methods in disguise."""
    if isinstance(names, str):
        names = names.replace(",", " ").split()
    elif isinstance(names, Mapping):
        names = list(names.items())
    else:
        names = [item if isinstance(item, str) else tuple(item) for item in names]
    for item in names:
        name = item if isinstance(item, str) else item[0]
        if type(name) is not str or name[:1] == "_" or attribute_kind(name) != PLAIN:
            raise ValueError(f"invalid enum member name(s) {str(name)[:60]!r}")
    if options.get("type") is not None:
        classes.check_base(options["type"])
    made = _create_enum(cls, class_name, names, **{**options, "module": "__main__"})
    ownership.adopt_class(made)
    return made


enum.EnumMeta._create_ = _create_checked  # type: ignore[attr-defined]
enum.EnumMeta._convert_ = None  # type: ignore[attr-defined]  # it makes members of whole modules


def get_origin(tp: Any) -> Any:
    """Return the class that a generic alias is made from."""
    return classes.visible(typing.get_origin(tp))


# --------------------------------------------------------------------------------------------- copy

_data_modules = set(
    "array calendar collections datetime decimal enum fractions ipaddress pathlib random re types uuid zoneinfo "
    "builtins itertools functools io string statistics operator".split()
)


def allow_copies(package: str) -> None:
    """Say that objects of a package's classes may be copied as their class has it."""
    _data_modules.add(package)


def _is_data(value: Any) -> bool:
    kind = type(value)
    module = kind.__module__
    return type(module) is str and module.partition(".")[0].removeprefix("_") in _data_modules


def _check_own_dict(x: Any) -> None:
    own = getattr(x, "__dict__", None)
    if type(own) is dict and any(type(name) is not str or name[:2] == "__" for name in own):
        raise TypeError("an object with attributes of the form `__x__` in its __dict__ cannot be copied")


_reconstruct = copy._reconstruct  # type: ignore[attr-defined]


def _reconstruct_checked(x: Any, *args: Any, **options: Any) -> Any:
    """Copying asks an object how; only its class may answer, while a program runs."""
    if not run.is_under_way():
        return _reconstruct(x, *args, **options)
    if ownership.is_own(x):
        _check_own_dict(x)
    elif args and args[0] is not None and not _is_data(x):
        # deepcopy tells the caller, in memo, all that it meets.
        raise TypeError(f"cannot copy {type(x).__name__!r} object")
    return _reconstruct(x, *args, **options)


copy._reconstruct = _reconstruct_checked  # type: ignore[attr-defined]

# ---------------------------------------------------------------------------------------------- abc

_register = abc.ABCMeta.register


def _register_checked(cls: Any, subclass: Any) -> Any:
    """What the library takes for a number, or a sequence, is its own matter, but for the program's classes."""
    if run.is_under_way() and not (ownership.is_own_class(cls) or ownership.is_own_class(subclass)):
        raise TypeError(
            "register() tells an abstract class of the library what it is to take for its own; that works for classes "
            "of the program only"
        )
    return _register(cls, subclass)


_register_checked.__name__ = _register_checked.__qualname__ = "register"


def guard_registration() -> None:
    """Let abstract classes of the library take no more registrations. After all of it has been loaded."""
    abc.ABCMeta.register = _register_checked  # type: ignore[method-assign]


ABC: dict[str, Any] = {"ABCMeta": stand_in(abc.ABCMeta)}

COLLECTIONS: dict[str, Any] = {"namedtuple": namedtuple}

DATACLASSES: dict[str, Any] = {"dataclass": dataclass, "make_dataclass": make_dataclass, "replace": replace}

ENUM: dict[str, Any] = {"EnumMeta": stand_in(enum.EnumMeta), "EnumType": stand_in(enum.EnumMeta)}

TYPES: dict[str, Any] = {
    name: stand_in(getattr(types, name))
    for name in (
        "AsyncGeneratorType BuiltinFunctionType BuiltinMethodType CodeType CoroutineType EllipsisType FrameType "
        "FunctionType GeneratorType LambdaType ModuleType NotImplementedType TracebackType UnionType"
    ).split()
}

TYPING: dict[str, Any] = {"get_origin": get_origin, "get_type_hints": hints.get_type_hints}
