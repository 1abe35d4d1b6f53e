"""The peers: what else runs a Python program for a model, each behind the same small interface. Opened by name.

A peer is measured as its own documentation says it is used, on the same programs, and what it gives is compared. One
that is not installed, or cannot run a program, says so; nothing is skipped in silence.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol

from benchmarks.machine import version_of
from benchmarks.sampling import Take

__all__ = [
    "ASYNC_MONTY",
    "EXEC",
    "FRESH_MONTY",
    "INTERPRETER",
    "PEERS",
    "RESTRICTED",
    "SMOLAGENTS",
    "SYNC_MONTY",
    "CannotRun",
    "Engine",
    "Function",
    "open_peers",
    "reason",
]

ASYNC_MONTY = "pydantic-monty, asyncio"
SYNC_MONTY = "pydantic-monty, synchronous"
FRESH_MONTY = "pydantic-monty, asyncio, a process per session"
SMOLAGENTS = "smolagents"
RESTRICTED = "RestrictedPython, stock"
EXEC = "exec in this process, no wall"
INTERPRETER = "python -I, a process per run, no wall"


class CannotRun(Exception):
    """A peer cannot run a program, or cannot do what is measured; the text says why."""


class Function(NamedTuple):
    """One function of a program, for engines that call it directly and for those that await it (under asyncio)."""

    plain: Callable[..., Any]
    asynchronous: Callable[..., Awaitable[Any]]


class Engine(Protocol):
    """Something that runs programs, each fresh: nothing of one run is seen by the next."""

    name: str

    def take(self, program: str, expected: object, functions: Mapping[str, Function] = {}) -> Take:
        """Return how to sample a run of `program` (in the engine's own form) that is to give `expected`.

        A program that awaits its calls gets the asynchronous functions. Sampling raises `CannotRun`.
        """
        ...


class _Kind(NamedTuple):
    module: str
    factory: str
    distribution: str | None


PEERS: Mapping[str, _Kind] = {
    ASYNC_MONTY: _Kind("benchmarks.peers.monty", "asynchronous", "pydantic-monty"),
    SYNC_MONTY: _Kind("benchmarks.peers.monty", "synchronous", "pydantic-monty"),
    FRESH_MONTY: _Kind("benchmarks.peers.monty", "fresh_process", "pydantic-monty"),
    SMOLAGENTS: _Kind("benchmarks.peers.interpreted", "smolagents", "smolagents"),
    RESTRICTED: _Kind("benchmarks.peers.interpreted", "restricted", "RestrictedPython"),
    EXEC: _Kind("benchmarks.peers.interpreted", "plain", None),
    INTERPRETER: _Kind("benchmarks.peers.interpreted", "interpreter", None),
}


def open_peers(stack: ExitStack, names: Iterable[str] = ()) -> tuple[dict[str, Engine], dict[str, str]]:
    """Open the peers of these names (of all, for none); return them, and of each that is missing why it is."""
    engines: dict[str, Engine] = {}
    absent: dict[str, str] = {}
    for name in names or PEERS:
        kind = PEERS[name]
        if kind.distribution is not None and version_of(kind.distribution) is None:
            absent[name] = f"{kind.distribution} is not installed; pip install 'codemode[bench]'"
            continue
        try:
            factory = getattr(importlib.import_module(kind.module), kind.factory)
            engines[name] = stack.enter_context(factory(name))
        except Exception as error:
            absent[name] = f"could not be started: {reason(error)}"
    return engines, absent


def reason(error: BaseException) -> str:
    """Return the first line of what an error says, short enough for a table."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[-1].strip() if lines else ''}"[:140].rstrip(": ")
