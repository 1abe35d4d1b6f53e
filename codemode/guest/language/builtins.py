"""The builtin names of a program: Python's own where they are harmless, ours where they are not.

A table and the few functions that replace a builtin. What a class statement and `type` do lives in
`classes`, attribute access in `guards`, modules in `imports`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, NoReturn

from codemode.guest.language import guards, names, ownership
from codemode.guest.language.classes import Type, build_class, class_of, is_callable
from codemode.values import FrozenDict, FrozenList

__all__ = ["UNAVAILABLE", "guest_builtins", "module_builtins"]

_AS_THEY_ARE = """
    abs aiter all anext any ascii bin bool bytearray bytes chr classmethod complex dict divmod enumerate
    filter float format frozenset hash hex id int isinstance issubclass iter len list map max min next object oct
    ord pow property range repr reversed round set slice sorted staticmethod str sum super tuple zip
    None True False Ellipsis NotImplemented __debug__
    """.split()

UNAVAILABLE: dict[str, str] = {
    "open": "files are reached through the tools",
    "input": "nobody is there to answer; pass the data in, or call a tool",
    "exec": "write the code itself; a dict of functions chooses between pieces of it",
    "compile": "write the code itself",
    "globals": "keep such names in a dict of your own",
    "locals": "keep such names in a dict of your own",
    "breakpoint": "print what you want to see",
    "help": "print what you want to see, or use dir(x)",
    "memoryview": "slice the bytes or bytearray itself",
}
"""Builtins that a program finds but cannot use, and what to do instead."""


class _Exit:
    """`exit` and `quit`."""

    __slots__ = ()

    def __call__(self, code: object = None) -> NoReturn:
        raise SystemExit(code)


def _unavailable(name: str, advice: str) -> Callable[..., NoReturn]:
    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError(f"{name}() is not available here: {advice}")

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


def _dir(*args: Any) -> list[str]:
    if not args:
        raise TypeError("dir() needs an argument here; keep names that you look up in a dict of your own")
    return guards.list_names(*args)


def _vars(*args: Any) -> Any:
    if not args:
        raise TypeError("vars() needs an argument here; keep names that you look up in a dict of your own")
    try:
        return guards.namespace(*args)
    except AttributeError as error:
        raise TypeError(f"vars() argument must have __dict__ attribute: {error}") from None


def guest_builtins(run_names: dict[str, Any]) -> dict[str, Any]:
    """Return the builtins of a run: the fixed ones, and what others make for it (print, eval, tools, imports)."""
    return {**_make_fixed(), **run_names}


def module_builtins(module_names: dict[str, Any]) -> dict[str, Any]:
    """Return the builtins of a package's modules: those of a program, without tools, and what is made for them."""
    return {**_make_fixed(), **module_names}


def _kinds(*classes: type) -> frozenset[type]:
    return frozenset(classes)


def _make_fixed() -> dict[str, Any]:
    table = {name: getattr(builtins, name) for name in _AS_THEY_ARE}
    table |= {
        name: value
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    table |= {name: _unavailable(name, advice) for name, advice in UNAVAILABLE.items()}
    table |= {
        "type": Type,
        "callable": is_callable,
        "getattr": guards.get,
        "hasattr": guards.has,
        "setattr": guards.set_,
        "delattr": guards.delete,
        "dir": _dir,
        "vars": _vars,
        "exit": _Exit(),
        "quit": _Exit(),
        "__build_class__": build_class,
        "__name__": "__main__",
        "__doc__": None,
        names.OWN_HOOK: ownership.own,
        names.READ_HOOK: guards.read,
        names.FORMAT_HOOK: guards.read_format,
        names.TYPE_HOOK: class_of,
        names.SUPER_HOOK: guards.checked_super,
        names.REAL_TYPE_HOOK: type,
        names.FROZEN_HOOKS["dict"]: FrozenDict,
        names.FROZEN_HOOKS["list"]: FrozenList,
        names.KINDS_HOOKS["dict"]: _kinds(dict, FrozenDict),
        names.KINDS_HOOKS["list"]: _kinds(list, FrozenList),
    }
    _dir.__name__ = _dir.__qualname__ = "dir"
    _vars.__name__ = _vars.__qualname__ = "vars"
    return table
