"""The ways of running a program inside an interpreter, and a script that does one of them once and times itself.

`python -P child.py ENGINE < program` prints `[seconds of processor time, value]` as JSON, or `{"cannot": why}`. It
imports nothing of this project, so that it costs what the engine costs. Compiling counts, starting does not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from time import thread_time
from typing import Any

__all__ = [
    "interpret_plain",
    "interpret_restricted",
    "interpret_smolagents",
    "load_restricted",
    "load_smolagents",
]

IMPORTS = ("asyncio", "cmath", "json", "math", "random", "re")
"""What programs import here."""

Functions = dict[str, Callable[..., Any]]


def interpret_plain(source: str, functions: Functions) -> object:
    """Compile and run a source that defines `main`."""
    names: dict[str, Any] = dict(functions)
    exec(compile(source, "<program>", "exec"), names)
    return names["main"]()


def load_smolagents() -> Any:
    """Return its executor's class."""
    from smolagents.local_python_executor import LocalPythonExecutor

    return LocalPythonExecutor


def interpret_smolagents(source: str, functions: Functions) -> object:
    """Run a source whose last expression is the result."""
    executor = load_smolagents()(list(IMPORTS), additional_functions=functions, timeout_seconds=None)
    executor.send_tools({})
    return executor(source).output


def load_restricted() -> tuple[Any, dict[str, Any]]:
    """Return its compiler, and the names that its documentation has a program given."""
    import operator

    from RestrictedPython import compile_restricted, safe_builtins, utility_builtins
    from RestrictedPython.Eval import default_guarded_getitem, default_guarded_getiter
    from RestrictedPython.Guards import (
        full_write_guard,
        guarded_iter_unpack_sequence,
        guarded_unpack_sequence,
        safer_getattr,
    )

    in_place = {"+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv}

    def guarded_import(name: str, *rest: Any) -> Any:
        if name not in IMPORTS:
            raise ImportError(f"{name} is not for programs")
        return __import__(name, *rest)

    builtins = {
        **safe_builtins,
        **utility_builtins,
        **{
            f.__name__: f
            for f in (all, any, dict, enumerate, iter, list, map, max, min, next, range, reversed, set, sum)
        },
        "__import__": guarded_import,
        "property": property,
    }
    names = {
        "__builtins__": builtins,
        "__name__": "program",
        "__metaclass__": type,
        "_getattr_": safer_getattr,
        "_getitem_": default_guarded_getitem,
        "_getiter_": default_guarded_getiter,
        "_iter_unpack_sequence_": guarded_iter_unpack_sequence,
        "_unpack_sequence_": guarded_unpack_sequence,
        "_write_": full_write_guard,
        "_inplacevar_": lambda sign, left, right: in_place[sign](left, right),
    }
    return compile_restricted, names


_restricted: tuple[Any, dict[str, Any]] | None = None


def interpret_restricted(source: str, functions: Functions) -> object:
    """Compile and run a source that defines `main`, under the stock policy."""
    global _restricted
    if _restricted is None:
        _restricted = load_restricted()
    compile_restricted, given = _restricted
    names = {**given, **functions}
    exec(compile_restricted(source, "<program>", "exec"), names)
    return names["main"]()


def main() -> None:
    """Run the program on standard input and print what it took and gave."""
    interpret, load = {
        "plain": (interpret_plain, list),
        "smolagents": (interpret_smolagents, load_smolagents),
        "restricted": (interpret_restricted, load_restricted),
    }[sys.argv[1]]
    source = sys.stdin.read()
    load()
    start = thread_time()
    try:
        value = interpret(source, {})
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        print(json.dumps({"cannot": f"{type(error).__name__}: {lines[-1].strip()}"[:140]}))
        return
    print(json.dumps([thread_time() - start, value]))


if __name__ == "__main__":
    main()
