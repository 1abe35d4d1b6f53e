"""Whose is it? Which classes a program made, and which objects are instances of them.

A class that a program made carries a mark, under a name that no source can spell, with a value that no
program can hold. Exact types and identities decide: no method of a program's object is asked anything.
"""

from __future__ import annotations

import sys
from types import MemberDescriptorType
from typing import Any

from codemode.guest.language.names import INSTANCE, MARK, OWN, PLAIN, attribute_kind

__all__ = [
    "adopt_class",
    "is_class",
    "is_own",
    "is_own_class",
    "mark_namespace",
    "own",
    "private_text",
    "type_name",
]

# The value of the mark. On Python 3.11 reading a data descriptor is what an instance does fastest.
_TOKEN: object = object.__dict__["__class__"] if sys.version_info < (3, 12) else object()
_own_classes: set[type] = set()
_mro = type.__dict__["__mro__"].__get__
_dict_of_class = type.__dict__["__dict__"].__get__
_super_self = super.__dict__["__self__"].__get__
_super_class = super.__dict__["__thisclass__"].__get__


def adopt_class(cls: type) -> None:
    """Note that a program made this class. Raises TypeError for one with names that no source may bind."""
    for name, item in _dict_of_class(cls).items():
        # A slot's name may have been put together at run time.
        if type(item) is MemberDescriptorType and attribute_kind(name) not in (PLAIN, OWN):
            raise TypeError(f"`__slots__` may not name {name[:60]!r}")
    # A class pattern reads the attributes that are named here, unguarded. A named tuple names its fields.
    found = getattr(cls, "__match_args__", ())
    if type(found) is not tuple or not all(map(_is_pattern_name, found)):
        kept = tuple(filter(_is_pattern_name, found)) if type(found) is tuple else ()
        type.__setattr__(cls, "__match_args__", kept)
    type.__setattr__(cls, MARK, _TOKEN)
    type.__setattr__(cls, INSTANCE, _TOKEN)
    _own_classes.add(cls)


def _is_pattern_name(name: object) -> bool:
    return type(name) is str and attribute_kind(name) == PLAIN and name[:1] != "_"


def mark_namespace(namespace: dict[str, Any]) -> None:
    """Mark a class that is still being made, whose body or metaclass makes instances of it."""
    dict.__setitem__(namespace, MARK, _TOKEN)
    dict.__setitem__(namespace, INSTANCE, _TOKEN)


def is_own_class(cls: object) -> bool:
    if not is_class(cls):
        return False
    if cls in _own_classes:
        return True
    # A decorator such as dataclass(slots=True) makes the class anew, from its namespace.
    if any(_dict_of_class(base).get(MARK) is _TOKEN for base in _mro(cls)):
        _own_classes.add(cls)  # type: ignore[arg-type]
        return True
    return False


def is_own(value: object) -> bool:
    """Whether `value` is a class that the program made, an instance of one, or `super()` of either."""
    kind = type(value)
    if kind in _own_classes or is_own_class(kind):
        return True
    if kind is super:
        return is_own_class(_super_class(value)) and is_own(_super_self(value))
    return is_own_class(value)


def own(value: Any) -> Any:
    """Return `value` if its private attributes are the program's own."""
    if type(value) in _own_classes or is_own(value):
        return value
    raise AttributeError(private_text(value))


def private_text(value: object) -> str:
    name = type_name(value)
    return f"{name!r} object: attributes that begin with an underscore can be used on the program's own classes only"


def is_class(value: object) -> bool:
    return type in _mro(type(value))


def type_name(value: object) -> str:
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name[:60]
