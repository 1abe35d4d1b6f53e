"""Peers that run a program in this process or in a plain interpreter: smolagents, RestrictedPython, exec, python."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from benchmarks.peers import CannotRun, Function, reason
from benchmarks.peers.child import interpret_plain, interpret_restricted, interpret_smolagents
from benchmarks.programs import as_expression, as_function
from benchmarks.sampling import Take, sync_take

__all__ = ["interpreter", "plain", "restricted", "smolagents"]


class _InProcess:
    """An `Engine` that is a function from source and functions to a value."""

    def __init__(
        self,
        name: str,
        form: Callable[[str], str],
        interpret: Callable[[str, dict[str, Callable[..., Any]]], object],
    ) -> None:
        self.name = name
        self._form = form
        self._interpret = interpret

    def take(self, program: str, expected: object, functions: Mapping[str, Function] = {}) -> Take:
        source = self._form(program)
        plain = {name: function.plain for name, function in functions.items()}

        def run() -> object:
            if "await " in source:
                raise CannotRun("it runs no program that awaits")
            try:
                return self._interpret(source, plain)
            except Exception as error:
                raise CannotRun(reason(error)) from error

        return sync_take(run, expected)


@contextmanager
def smolagents(name: str) -> Iterator[_InProcess]:
    """`LocalPythonExecutor`, a new one for each run, without its time limit (which would cost a thread)."""
    yield _InProcess(name, as_expression, interpret_smolagents)


@contextmanager
def restricted(name: str) -> Iterator[_InProcess]:
    """`compile_restricted` with the policy and the guards that the package brings."""
    yield _InProcess(name, as_function, interpret_restricted)


@contextmanager
def plain(name: str) -> Iterator[_InProcess]:
    """`compile` and `exec`: the least that running a program can cost, and no protection at all."""
    yield _InProcess(name, as_function, interpret_plain)


@contextmanager
def interpreter(name: str) -> Iterator[_Interpreter]:
    """An interpreter started for each run; its result comes back as JSON on standard output."""
    yield _Interpreter(name)


class _Interpreter:
    """An `Engine` that starts `python -I`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def take(self, program: str, expected: object, functions: Mapping[str, Function] = {}) -> Take:
        source = f"import json\n{as_function(program)}print(json.dumps(main()))\n"

        def run() -> object:
            if functions:
                raise CannotRun("a program has no way to call a function of the host")
            ended = subprocess.run([sys.executable, "-I", "-c", source], check=False, capture_output=True)
            if ended.returncode != 0:
                raise CannotRun(ended.stderr.decode(errors="replace").strip().splitlines()[-1][:120])
            return json.loads(ended.stdout)

        return sync_take(run, expected)
