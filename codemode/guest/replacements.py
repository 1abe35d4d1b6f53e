"""Functions of the library that take names or text as instructions, made safe.

Each does what its namesake documents, except that attribute names pass the guards, nothing evaluates
text, and classes made from data obey the rules for classes made by a statement. `REPLACED` is the table.
Importing this file also closes the same doors inside the modules themselves, where a class of theirs
would open them.
"""

from __future__ import annotations

import abc
import collections
import copy
import dataclasses
import enum
import functools
import heapq
import html.entities
import keyword
import operator
import sys
import types
import typing
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from codemode.guest import classes, guards, hints, report, run, streams
from codemode.guest.classes import stand_in
from codemode.guest.frozen import refuse_frozen
from codemode.guest.names import DENIED, FORMATTERS, METHODS, PLAIN, attribute_kind, is_dunder
from codemode.values import FrozenList

__all__ = ["REPLACED"]

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
    if updated and (type(wrapped) is types.FunctionType or guards.is_own(wrapped)):
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
    if type(function) is not types.FunctionType and not guards.is_own(function):
        raise TypeError(f"a function of the program was expected, not {type(function).__name__!r}")


# --------------------------------------------------------------- collections, dataclasses, enum, typing


def namedtuple(
    typename: str, field_names: Any, *, rename: bool = False, defaults: Iterable[Any] | None = None
) -> Any:
    """Return a new subclass of tuple with named fields."""
    made = collections.namedtuple(typename, field_names, rename=rename, defaults=defaults)  # type: ignore[misc, arg-type]
    made.__module__ = "__main__"
    guards.adopt_class(made)
    return made


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """Add the methods of a data class to a class of the program."""
    if cls is None:
        return lambda decorated: dataclass(decorated, **options)
    if not guards.is_own_class(cls):
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
        return method(guards.own(self), *args)

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
    guards.adopt_class(made)
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
    if guards.is_own(obj):
        _check_own_dict(obj)
    return _replace_fields(obj, **changes)


_replace_fields = dataclasses.replace

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


def formatwarning(message: Any, category: Any, filename: Any, lineno: Any, line: Any = None) -> str:
    """Return a warning as text."""
    return f"{filename}:{lineno}: {category.__name__}: {message}\n" + (f"  {line.strip()}\n" if line else "")


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
    guards.adopt_class(made)
    return made


enum.EnumMeta._create_ = _create_checked  # type: ignore[attr-defined]
enum.EnumMeta._convert_ = None  # type: ignore[attr-defined]  # it makes members of whole modules


def get_origin(tp: Any) -> Any:
    """Return the class that a generic alias is made from."""
    return classes.visible(typing.get_origin(tp))


# --------------------------------------------------------------------------------------------- copy

_DATA_MODULES = frozenset(
    "array calendar collections datetime decimal enum fractions ipaddress pathlib random re types uuid zoneinfo "
    "builtins itertools functools _io string statistics operator".split()
)


def _is_data(value: Any) -> bool:
    kind = type(value)
    module = kind.__module__
    return type(module) is str and module.partition(".")[0].removeprefix("_") in _DATA_MODULES | {"io"}


def _check_own_dict(x: Any) -> None:
    own = getattr(x, "__dict__", None)
    if type(own) is dict and any(type(name) is not str or name[:2] == "__" for name in own):
        raise TypeError("an object with attributes of the form `__x__` in its __dict__ cannot be copied")


_reconstruct = copy._reconstruct  # type: ignore[attr-defined]


def _reconstruct_checked(x: Any, *args: Any, **options: Any) -> Any:
    """Copying asks an object how; only its class may answer."""
    if guards.is_own(x):
        _check_own_dict(x)
    elif args and args[0] is not None and not _is_data(x):
        # deepcopy tells the caller, in memo, all that it meets.
        raise TypeError(f"cannot copy {type(x).__name__!r} object")
    return _reconstruct(x, *args, **options)


copy._reconstruct = _reconstruct_checked  # type: ignore[attr-defined]

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


# ------------------------------------------------------------------------------- sys, warnings, abc


def exit_(code: object = None) -> NoReturn:
    """End the program; a run that ends so counts as failed."""
    raise SystemExit(code)


def setrecursionlimit(limit: int) -> None:
    """Set how deep calls may nest, up to 100,000."""
    sys.setrecursionlimit(min(limit, 100_000))


def _show_warning(message: warnings.WarningMessage) -> None:
    place = f"line {message.lineno}: " if message.filename == report.PROGRAM else ""
    streams.stderr.write(f"{place}{message.category.__name__}: {message.message}\n")


warnings._showwarnmsg_impl = _show_warning  # type: ignore[attr-defined]


def _lines() -> Any:
    return run.current().lines


def format_exc(limit: Any = None, chain: bool = True) -> str:
    """Return the traceback of the exception being handled."""
    error = sys.exception()
    return "NoneType: None\n" if error is None else report.text(error, _lines(), chain)


def print_exc(limit: Any = None, file: Any = None, chain: bool = True) -> None:
    """Print the traceback of the exception being handled."""
    streams.print_(format_exc(limit, chain), end="", file=file)


def format_exception(
    exc: Any, /, value: Any = None, tb: Any = None, limit: Any = None, chain: bool = True
) -> list[str]:
    """Return the traceback of an exception, as lines."""
    error = exc if isinstance(exc, BaseException) else value
    return report.text(error, _lines(), chain).splitlines(keepends=True)


def print_exception(
    exc: Any, /, value: Any = None, tb: Any = None, limit: Any = None, file: Any = None
) -> None:
    """Print the traceback of an exception."""
    streams.print_("".join(format_exception(exc, value)), end="", file=file)


def format_exception_only(exc: Any, /, value: Any = None) -> list[str]:
    """Return an exception's type and message, as lines."""
    error = exc if isinstance(exc, BaseException) else value
    return [report.headline(error) + "\n"]


def format_tb(tb: Any, limit: Any = None) -> list[str]:
    """Return the program's lines of a traceback."""
    return report.frames(tb, _lines())


def print_tb(tb: Any, limit: Any = None, file: Any = None) -> None:
    """Print the program's lines of a traceback."""
    streams.print_("".join(format_tb(tb)), end="", file=file)


exit_.__name__ = exit_.__qualname__ = "exit"

REPLACED: dict[str, dict[str, Any]] = {
    "abc": {"ABCMeta": stand_in(abc.ABCMeta)},
    "collections": {"namedtuple": namedtuple},
    "dataclasses": {"dataclass": dataclass, "make_dataclass": make_dataclass, "replace": replace},
    "enum": {"EnumMeta": stand_in(enum.EnumMeta), "EnumType": stand_in(enum.EnumMeta)},
    "functools": {
        "singledispatch": singledispatch,
        "singledispatchmethod": singledispatchmethod,
        "update_wrapper": update_wrapper,
        "wraps": wraps,
        "WRAPPER_ASSIGNMENTS": functools.WRAPPER_ASSIGNMENTS,
        "WRAPPER_UPDATES": functools.WRAPPER_UPDATES,
    },
    "heapq": {
        "heapify": heapify,
        "heappop": heappop,
        "heappush": heappush,
        "heappushpop": heappushpop,
        "heapreplace": heapreplace,
        "merge": heapq.merge,
        "nlargest": heapq.nlargest,
        "nsmallest": heapq.nsmallest,
    },
    "warnings": {"formatwarning": formatwarning},
    "html.entities": {
        name: types.MappingProxyType(dict(getattr(html.entities, name)))
        for name in ("codepoint2name", "entitydefs", "html5", "name2codepoint")
    },
    "operator": {"attrgetter": attrgetter, "methodcaller": methodcaller},
    "sys": {
        "argv": [""],
        "exit": exit_,
        "platform": sys.platform,
        "implementation": types.SimpleNamespace(name=sys.implementation.name, version=sys.version_info),
        "setrecursionlimit": setrecursionlimit,
        "stderr": streams.stderr,
        "stdin": streams.stdin,
        "stdout": streams.stdout,
    },
    "traceback": {
        "format_exc": format_exc,
        "format_exception": format_exception,
        "format_exception_only": format_exception_only,
        "format_tb": format_tb,
        "print_exc": print_exc,
        "print_exception": print_exception,
        "print_tb": print_tb,
    },
    "types": {
        name: stand_in(getattr(types, name))
        for name in (
            "AsyncGeneratorType BuiltinFunctionType BuiltinMethodType CodeType CoroutineType EllipsisType FrameType "
            "FunctionType GeneratorType LambdaType ModuleType NotImplementedType TracebackType UnionType"
        ).split()
    },
    "typing": {"get_origin": get_origin, "get_type_hints": hints.get_type_hints},
}
