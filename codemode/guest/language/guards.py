"""Attribute access that is decided at run time: whose object is it, and may this name be used on it?

`ownership.own` stands before private attributes, `read` and `read_format` before the guarded names; `get`, `set_`,
`delete`, `has`, `list_names` and `namespace` are what programs call by the names of the builtins. All
of them look at exact types and identities only: no method of a program's object is asked anything.
"""

from __future__ import annotations

from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable
from types import BuiltinMethodType, FunctionType, SimpleNamespace
from typing import Any

from codemode.guest.language import names
from codemode.guest.language.frozen import is_frozen, refuse_frozen
from codemode.guest.language.names import (
    DENIED,
    GUARDED,
    OWN,
    PLAIN,
    attribute_kind,
    is_dunder,
    why_denied,
)
from codemode.guest.language.ownership import is_class, is_own, is_own_class, private_text, type_name
from codemode.guest.language.rewrites import template_is_plain

__all__ = [
    "check_name",
    "checked_super",
    "delete",
    "get",
    "has",
    "list_names",
    "namespace",
    "read",
    "read_format",
    "set_",
    "set_class_reader",
]

_mro = type.__dict__["__mro__"].__get__
_dict_of_class = type.__dict__["__dict__"].__get__
_super_self = super.__dict__["__self__"].__get__
_super_class = super.__dict__["__thisclass__"].__get__

_CHANGEABLE = frozenset({list, dict})

_PLAIN_DATA = frozenset(
    {
        *(list, dict, set, bytearray, deque, defaultdict, OrderedDict, Counter, ChainMap, UserDict, UserList),
        *(int, float, complex, str, bytes, bool, tuple, frozenset, object, SimpleNamespace),
    }
)

_class_of: Callable[[object], object] = type


def set_class_reader(reader: Callable[[object], object]) -> None:
    """Say what `x.__class__` gives."""
    global _class_of
    _class_of = reader


# ---------------------------------------------------------------------------------- guarded reads


def read(value: Any, name: str) -> Any:
    """Read a guarded attribute."""
    if name == "__class__":
        return _class_of(value)
    if name == "__dict__":
        return namespace(value)
    if name in names.FORMATTERS:
        return _formatter(value, name)
    if name == "obj":
        if is_own(value) and BaseException not in _mro(type(value)) and type(value) is not super:
            return value.obj
        if type(value) is memoryview:
            return value.obj
        raise AttributeError("'obj' of an exception is not available; keep the object in a variable")
    return _method(value, name)


def read_format(value: Any) -> Any:
    """Read `.format`."""
    if type(value) is str and "." not in value:
        return value.format
    return _formatter(value, "format")


def checked_super(*arguments: Any) -> Any:
    """`super(A, b)`, or a `super()` that was made already.

    Of a class it hands out the methods of its bases unbound, and those of list and dict would take a tool's value.
    """
    made = arguments[0] if len(arguments) == 1 and type(arguments[0]) is super else super(*arguments)
    bound = _super_self(made)
    if bound is not None and is_class(bound) and not _CHANGEABLE.isdisjoint(_mro(bound)):
        raise TypeError(
            "super() of a class that derives from list or dict works in methods of instances only"
        )
    return made


def _formatter(value: Any, name: str) -> Any:
    found = getattr(value, name)
    if type(found) is BuiltinMethodType and found.__name__ in names.FORMATTERS:
        # Whoever handed it out (an alias, a bound method), this is the text that it will fill.
        text: Any = found.__self__
        if str in _mro(type(text)):
            _check_template(text)
    kind = type(value)
    if kind is super:
        value = _super_self(value)
        kind = type(value)
    if str in _mro(kind):
        native = kind is str or getattr(kind, name, None) in (str.format, str.format_map)
        if native or type(found) is not FunctionType:
            _check_template(value)
        return found
    if is_class(value) and str in _mro(value) and found in (str.format, str.format_map):

        def fill(template: str, /, *args: Any, **kwargs: Any) -> str:
            if str not in _mro(type(template)):
                raise TypeError(f"descriptor {name!r} requires a 'str' object")
            _check_template(template)
            return found(template, *args, **kwargs)  # type: ignore[no-any-return]

        return fill
    return found


def _check_template(template: str) -> None:
    if not template_is_plain(str.__str__(template)):
        raise AttributeError(
            "this format string reads attributes that are not available; write an f-string, "
            "or pass the value itself: '{}'.format(x.name)"
        )


def namespace(value: Any) -> Any:
    """Return what `vars(value)` gives: the attributes of a program's own object, a copy for a class."""
    kind = type(value)
    if is_class(value):
        if is_own_class(value):
            return {
                name: item
                for name, item in _dict_of_class(value).items()
                if attribute_kind(name) in (PLAIN, OWN)
            }
    elif kind is SimpleNamespace or is_own(value):
        return object.__getattribute__(value, "__dict__")
    elif BaseException in _mro(kind):
        return dict(object.__getattribute__(value, "__dict__"))
    if kind is dict or is_frozen(value):
        raise AttributeError("'dict' object has no attribute '__dict__'; it is a dict already")
    raise AttributeError(
        f"{type_name(value)!r} object: `__dict__` can be read on the program's own objects only"
    )


_NAMED_ACCESS = frozenset({"__setattr__", "__delattr__", "__getattribute__"})
_READS = frozenset({"__copy__", "__deepcopy__", "__sizeof__", "__dir__"})


def _method(value: Any, name: str) -> Any:
    """Read a method that changes its object or hands it on."""
    if name in _NAMED_ACCESS:
        return _named_access(value, name)
    kind = type(value)
    if is_own(value) and not is_class(value):
        return getattr(value, name)
    if is_class(value):
        found = getattr(value, name)
        if name in ("__init_subclass__", "__class_getitem__") and is_own_class(value):
            return found
        return _unbound(found, name)
    if is_frozen(value):
        if name not in _READS:
            refuse_frozen(value)
        return getattr(value, name)
    if (kind in _PLAIN_DATA and name != "__new__") or (kind is FunctionType and name == "__get__"):
        return getattr(value, name)
    raise AttributeError(
        f"{type_name(value)!r} object: `{name}` can be called on the program's own objects only"
    )


def _unbound(method: Any, name: str) -> Any:
    """A method read from a class: whether it may be called is decided by its first argument."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if args:
            first = args[0]
            refuse_frozen(first)
            if is_own(first) or type(first) in _PLAIN_DATA or (is_class(first) and first in _PLAIN_DATA):
                return method(*args, **kwargs)
        raise TypeError(f"`{name}` can be called on the program's own objects only")

    call.__name__ = call.__qualname__ = name
    return call


def _named_access(value: Any, name: str) -> Any:
    """`__setattr__`, `__delattr__` and `__getattribute__`, whose first argument is an attribute's name."""
    unbound = is_class(value)
    if not unbound and not is_own(value):
        raise AttributeError(
            f"{type_name(value)!r} object: `{name}` can be called on the program's own objects only"
        )
    method = getattr(value, name)

    def call(*args: Any) -> Any:
        target, rest = (args[0], args[1:]) if unbound and args else (value, args)
        if not is_own(target) or is_class(target):
            raise TypeError(f"`{name}` can be called on the program's own objects only")
        if not rest:
            raise TypeError(f"`{name}` needs the name of an attribute")
        if name == "__getattribute__":
            if check_name(target, rest[0]) == GUARDED:
                return get(target, rest[0])
        else:
            _check_store(target, rest[0])
        return method(*args)

    call.__name__ = call.__qualname__ = name
    return call


# ------------------------------------------------------------------------ names given as strings


def check_name(value: object, name: object) -> int:
    """Return the kind of an attribute name that a program gave as a string; refuse it if it may not be used."""
    if type(name) is not str:
        raise TypeError(f"attribute name must be string, not {type_name(name)!r}")
    kind = attribute_kind(name)
    if kind == DENIED:
        raise AttributeError(f"attribute {name!r} is not available: {why_denied(name)}")
    if kind == OWN and not is_own(value):
        raise AttributeError(private_text(value))
    return kind


def _check_store(value: object, name: object) -> None:
    kind = check_name(value, name)
    assert type(name) is str
    refused = kind == GUARDED and name not in names.FORMATTERS and name != "obj"
    if refused or (kind == PLAIN and is_dunder(name) and name not in names.STORABLE):
        raise AttributeError(f"attribute {name!r} cannot be set on an object; define it in the class body")
    if name in ("split", "derive", "subgroup") and (not is_own(value) or BaseException in _mro(type(value))):
        raise AttributeError(f"{name!r} of an exception group cannot be replaced")


def get(value: Any, name: str, *default: Any) -> Any:
    """`getattr`."""
    if type(name) is str and attribute_kind(name) == PLAIN:
        return getattr(value, name, *default)
    if len(default) > 1:
        raise TypeError(f"getattr expected at most 3 arguments, got {2 + len(default)}")
    try:
        if check_name(value, name) == GUARDED:
            if name == "__class__":
                raise AttributeError("attribute '__class__' is not available by its name; use type(x)")
            return read(value, name)
        return getattr(value, name)
    except AttributeError:
        if default:
            return default[0]
        raise


def has(value: Any, name: str) -> bool:
    """`hasattr`."""
    try:
        get(value, name)
    except AttributeError:
        return False
    return True


def set_(value: Any, name: str, item: Any) -> None:
    """`setattr`."""
    _check_store(value, name)
    setattr(value, name, item)


def delete(value: Any, name: str) -> None:
    """`delattr`."""
    _check_store(value, name)
    delattr(value, name)


def list_names(value: Any) -> list[str]:
    """`dir` with an argument: the names that a program can use."""
    return [
        name
        for name in dir(value)
        if type(name) is str and attribute_kind(name) == PLAIN and not is_dunder(name)
    ]


set_.__name__ = set_.__qualname__ = "setattr"
get.__name__ = get.__qualname__ = "getattr"
has.__name__ = has.__qualname__ = "hasattr"
delete.__name__ = delete.__qualname__ = "delattr"
list_names.__name__ = list_names.__qualname__ = "dir"
