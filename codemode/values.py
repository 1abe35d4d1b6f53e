"""JSON values: which there are, how they are checked, how they are frozen.

Every value that crosses a boundary here (arguments of a call, what a tool returns, the result of a
program) is one of `None, bool, int, float, str, list, dict[str, ...]`, of exactly these types; a tuple
is taken as an array. `freeze` makes the detached, unchangeable copy that policies, renderers and
programs see; `check` says whether a value is JSON at all. Both name the place and the cure.

Host and guest share this file, so that both mean the same by "value". It imports the standard library
only, and it never calls a method of an object that it has not recognised by its exact type.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import re
import types
import uuid
from collections.abc import Iterator
from math import isfinite
from typing import Any, NoReturn, TypeAlias

__all__ = [
    "JSON",
    "MAX_DEPTH",
    "MAX_INTEGER_BITS",
    "FrozenDict",
    "FrozenList",
    "FrozenValueError",
    "InvalidValue",
    "adopt",
    "check",
    "freeze",
    "thaw",
]

# A recursive alias would be exact, but msgspec and older checkers do not take one.
JSON: TypeAlias = Any

MAX_DEPTH = 200
"""Containers inside containers. Below the recursion bounds of `json`, `copy` and jsonschema-rs (255), so
that whoever receives a value can also work with it."""

MAX_INTEGER_BITS = 14_284
"""Integers up to 4,300 decimal digits, the most that CPython writes as text by default
(`sys.int_info.default_max_str_digits`); a larger one could be held but never shown or stored."""

_CYCLE_WATCH = 8  # depth from which containers are remembered, so that flat data pays nothing for it


class InvalidValue(ValueError):
    """Something is not a JSON value.

    `path` says where (`$.rows[3].when`), `problem` what, `cure` what to write instead; the message
    is all three.
    """

    def __init__(
        self, problem: str, cure: str = "", path: tuple[str | int, ...] = (), root: str = "$"
    ) -> None:
        self.problem = problem
        self.cure = cure
        self.path = root + "".join(_step(part) for part in path)
        super().__init__(f"{self.path}: {problem}" + (f"; {cure}" if cure else ""))


class FrozenValueError(TypeError):
    """An attempt to change a frozen value. The message says how to get a copy that can be changed."""


def _refuse_dict(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise FrozenValueError(
        "this dict is a tool's value and cannot be changed; change a copy: "
        "new = {**value, 'key': ...}, or copy.deepcopy(value) where nested parts change too"
    )


def _refuse_list(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise FrozenValueError(
        "this list is a tool's value and cannot be changed; change a copy: "
        "new = list(value), sorted(value) for an ordered one, or copy.deepcopy(value) where nested parts change too"
    )


class FrozenDict(dict[str, JSON]):
    """A dict that reads like any other and refuses every change; its copies are ordinary dicts."""

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = __setattr__ = _refuse_dict
    clear = pop = popitem = setdefault = update = _refuse_dict

    def copy(self) -> dict[str, JSON]:
        return dict(self)

    def __copy__(self) -> dict[str, JSON]:
        return dict(self)

    def __deepcopy__(self, memo: object) -> dict[str, JSON]:
        return {key: thaw(item) for key, item in self.items()}

    def __reduce__(self) -> tuple[type, tuple[dict[str, JSON]]]:
        return dict, (dict(self),)


class FrozenList(list[JSON]):
    """A list that reads like any other and refuses every change; its copies and slices are ordinary."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = __setattr__ = _refuse_list
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse_list

    def __copy__(self) -> list[JSON]:
        return list(self)

    def __deepcopy__(self, memo: object) -> list[JSON]:
        return [thaw(item) for item in self]

    def __reduce__(self) -> tuple[type, tuple[list[JSON]]]:
        return list, (list(self),)


def freeze(value: object, *, root: str = "$") -> JSON:
    """Return a detached, deeply frozen copy of a JSON value.

    `root` is how the error calls the value itself (`$`, `result`, `arguments`). A value that was frozen
    already is returned as it is.
    Raises `InvalidValue` with the first place that is not JSON.
    """
    if type(value) is FrozenDict or type(value) is FrozenList:
        return value
    try:
        return _freeze(value, 0, [])
    except _Unfit as unfit:
        raise unfit.error(root) from None


def check(value: object, *, root: str = "$") -> None:
    """Raise `InvalidValue` unless `value` is a JSON value; copies nothing. A frozen one is, and is not walked."""
    if type(value) is FrozenDict or type(value) is FrozenList:
        return
    try:
        _check(value, 0, [])
    except _Unfit as unfit:
        raise unfit.error(root) from None


def adopt(value: JSON) -> JSON:
    """Freeze a value that is known to be JSON and referenced nowhere else, such as one just decoded."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(item) is dict or type(item) is list:
                value[key] = adopt(item)
        return FrozenDict(value)
    if kind is list:
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                value[index] = adopt(item)
        return FrozenList(value)
    return value


def thaw(value: JSON) -> JSON:
    """Return an ordinary, changeable deep copy of a JSON value."""
    kind = type(value)
    if kind is FrozenDict or kind is dict:
        return {key: thaw(item) for key, item in value.items()}
    if kind is FrozenList or kind is list:
        return [thaw(item) for item in value]
    return value


# ---------------------------------------------------------------------------------------- the walk


class _Unfit(Exception):
    """Raised at the bad place; each container on the way up adds its step of the path."""

    def __init__(self, problem: str, cure: str = "") -> None:
        self.problem = problem
        self.cure = cure
        self.steps: list[str | int] = []

    def error(self, root: str) -> InvalidValue:
        return InvalidValue(self.problem, self.cure, tuple(reversed(self.steps)), root)


def _step(part: str | int) -> str:
    if type(part) is int:
        return f"[{part}]"
    if part.isidentifier():  # type: ignore[union-attr]
        return f".{part}"
    shown = part if len(part) <= 40 else part[:40] + "…"  # type: ignore[arg-type, index]
    return f"[{shown!r}]"


def _freeze(value: Any, depth: int, active: list[int]) -> JSON:
    kind = type(value)
    if kind is str:
        if not value.isascii():
            _check_text(value)
        return value
    if kind is int:
        if value.bit_length() > MAX_INTEGER_BITS:
            raise _unfit_integer()
        return value
    if value is None or kind is bool:
        return value
    if kind is float:
        if not isfinite(value):
            raise _unfit_float(value)
        return value
    if kind is dict or kind is FrozenDict:
        watched = _enter(value, depth, active)
        copy: dict[str, JSON] = {}
        key = None
        try:
            for key, item in value.items():
                if type(key) is not str:
                    raise _unfit_key(key)
                if not key.isascii():
                    _check_text(key)
                copy[key] = _freeze(item, depth + 1, active)
        except _Unfit as unfit:
            if type(key) is str:
                unfit.steps.append(key)
            raise
        if watched:
            active.pop()
        return FrozenDict(copy)
    if kind is list or kind is tuple or kind is FrozenList:
        watched = _enter(value, depth, active)
        items: list[JSON] = []
        try:
            for item in value:  # a loop, so that its length tells the index of a bad item
                items.append(_freeze(item, depth + 1, active))  # noqa: PERF401
        except _Unfit as unfit:
            unfit.steps.append(len(items))
            raise
        if watched:
            active.pop()
        return FrozenList(items)
    raise _unfit_type(value)


def _check(value: Any, depth: int, active: list[int]) -> None:
    kind = type(value)
    if kind is str:
        if not value.isascii():
            _check_text(value)
    elif kind is int:
        if value.bit_length() > MAX_INTEGER_BITS:
            raise _unfit_integer()
    elif value is None or kind is bool:
        pass
    elif kind is float:
        if not isfinite(value):
            raise _unfit_float(value)
    elif kind is dict or kind is FrozenDict:
        watched = _enter(value, depth, active)
        key = None
        try:
            for key, item in value.items():
                if type(key) is not str:
                    raise _unfit_key(key)
                if not key.isascii():
                    _check_text(key)
                _check(item, depth + 1, active)
        except _Unfit as unfit:
            if type(key) is str:
                unfit.steps.append(key)
            raise
        if watched:
            active.pop()
    elif kind is list or kind is tuple or kind is FrozenList:
        watched = _enter(value, depth, active)
        index = 0
        try:
            for index, item in enumerate(value):  # noqa: B007
                _check(item, depth + 1, active)
        except _Unfit as unfit:
            unfit.steps.append(index)
            raise
        if watched:
            active.pop()
    else:
        raise _unfit_type(value)


def _enter(container: object, depth: int, active: list[int]) -> bool:
    if depth >= MAX_DEPTH:
        raise _Unfit(f"nested more than {MAX_DEPTH} levels deep", "flatten it, or pass the parts one by one")
    if depth < _CYCLE_WATCH:
        return False
    if id(container) in active:
        raise _Unfit("contains itself", "a JSON value is a tree; break the cycle, for example with an id")
    active.append(id(container))
    return True


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _Unfit(
            f"text with a lone surrogate at index {error.start}",
            "decode the bytes with errors='replace', or use .encode('utf-8', 'replace').decode()",
        ) from None


def _unfit_integer() -> _Unfit:
    return _Unfit("integer of more than 4,300 digits", "use hex(x) or a rounded number")


def _unfit_float(value: float) -> _Unfit:
    return _Unfit(f"{value!r} is not a JSON number", "use None or a string for it")


def _unfit_key(key: object) -> _Unfit:
    cure = "use str(key), or a list of pairs"
    return _Unfit(f"dict key of type {_name(type(key))}; JSON keys are strings", cure)


# What to write instead, by the type that was met; the first match counts.
_CURES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((set, frozenset), "use sorted(x) or list(x)"),
    ((bytes, bytearray, memoryview), "use x.decode() for text, base64.b64encode(x).decode() for data"),
    ((enum.Enum,), "use x.value or x.name"),
    ((datetime.timedelta,), "use x.total_seconds()"),
    ((datetime.datetime, datetime.date, datetime.time), "use x.isoformat()"),
    ((decimal.Decimal, fractions.Fraction), "use str(x) to keep every digit, or float(x)"),
    ((complex,), "use [x.real, x.imag]"),
    ((uuid.UUID, pathlib.PurePath), "use str(x)"),
    ((dict, collections.UserDict), "use dict(x)"),
    ((list, collections.deque, collections.UserList, range, array.array), "use list(x)"),
    ((str,), "use str(x)"),
    ((int,), "use int(x)"),
    ((float,), "use float(x)"),
    ((re.Match,), "use x.group() or x.groups()"),
    ((BaseException,), "use str(x)"),
    ((types.CoroutineType,), "it was never awaited; use await x"),
    ((types.AsyncGeneratorType,), "use [item async for item in x]"),
    ((Iterator, type({}.keys()), type({}.values()), type({}.items())), "use list(x)"),
    ((types.FunctionType, types.BuiltinFunctionType, types.MethodType), "call it, and use what it returns"),
    ((type,), "use x.__name__, or an instance's data"),
)


def _unfit_type(value: object) -> _Unfit:
    kind = type(value)
    name = _name(kind)
    cure = "use its data as dicts, lists, strings and numbers"
    if issubclass(kind, tuple):
        cure = "use x._asdict() or list(x)" if "_asdict" in dir(kind) else "use list(x)"
    else:
        for kinds, advice in _CURES:
            if issubclass(kind, kinds):
                cure = advice
                break
        else:
            if dataclasses.is_dataclass(kind):
                cure = "use dataclasses.asdict(x)"
            elif any("tolist" in vars(base) for base in kind.__mro__):  # arrays and scalars of numpy
                cure = "use x.tolist()"
    if issubclass(kind, type):
        name = "class"
    elif kind is types.FunctionType:
        name = "function"
    return _Unfit(f"{name} is not a JSON value", cure)


def _name(kind: type) -> str:
    name: str = type.__dict__["__name__"].__get__(kind)  # not through a metaclass that may lie
    return name if len(name) <= 60 else name[:60] + "…"
