"""What the host does for a fresh run and for a nested call: bytecodes of this package, trio's steps, system calls.

Of a fresh run it is what the task that makes it does, the most but one of many times: there are two or three ways, for
a guest that is gone early saves the host some work, and each of them is exact. Of a nested call it is what all tasks
do, from the least of several runs: what happens beside a run (a guest that is forked ahead, one that is reaped) adds
to one time and not to another. Bytecodes are counted with a log in a file; what a file's writes ask of trio and the
kernel depends on the time that passes, so the other counts are of a log in memory.
"""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, Protocol

import msgspec
import trio

import codemode
from benchmarks.processes import guests_and_zygote, is_asleep
from benchmarks.rows.nested_call import increment, program
from benchmarks.work.bytecodes import bytecodes
from codemode import CodeMode
from codemode.sandbox import LocalSandbox

__all__ = ["host_work"]

FEW, MANY = 10, 80
TIMES, TIMES_OF_ONE = 6, 24
_PACKAGE = str(Path(codemode.__file__).parent) + "/"


class _Counter(Protocol):
    number: int


def host_work() -> dict[str, float]:
    """Count, each way in a loop of its own."""
    found: dict[str, float] = {}
    for name, way in _WAYS.items():
        run, call = trio.run(_least, way)
        found[f"host: {name}, fresh run"] = run
        found[f"host: {name}, nested call"] = call
    found["host: bytes in the log, nested call"] = trio.run(_log_bytes)
    return found


async def _least(way: Any) -> tuple[float, float]:
    """Return what a fresh run does, and what one call of a run that makes many does."""
    with TemporaryDirectory() as directory:
        session = f"{directory}/session.db" if way is _bytecodes else None
        async with (
            LocalSandbox(max_spares=2) as sandbox,  # more would be forked while something is being counted
            CodeMode([increment], session=session, sandbox=sandbox) as cm,
        ):
            here = trio.lowlevel.current_task()
            empty = sorted(await _run(cm, lambda: way(here), "return 0", 0, TIMES_OF_ONE))[-2]
            few = min(await _run(cm, lambda: way(None), program(FEW), FEW))
            many = min(await _run(cm, lambda: way(None), program(MANY), MANY))
    return empty, (many - few) / (MANY - FEW)


async def _run(cm: CodeMode, way: Any, source: str, expected: int, times: int = TIMES) -> list[int]:
    counts = []
    for _ in range(times):
        await _wait_until_quiet()
        with way() as count:
            ran = await cm.run(source)
        if ran.result != expected:
            raise AssertionError(ran.text)
        counts.append(count.number)
    return counts[1:]


async def _wait_until_quiet() -> None:
    """Wait until what the run before left behind is done: the guests that are there all wait for a program."""
    before: list[int] = []
    with trio.fail_after(30):
        while True:
            guests, _ = guests_and_zygote()
            await trio.sleep(0.003)
            if guests and guests == before and all(map(is_asleep, guests)):
                return
            before = guests


@contextmanager
def _bytecodes(only: trio.lowlevel.Task | None) -> Iterator[_Counter]:
    when = (lambda: True) if only is None else (lambda: _task() is only)
    with bytecodes(_PACKAGE, when) as count:
        yield count


class _Steps(trio.abc.Instrument):
    """Steps of the task that makes the run, or of all."""

    def __init__(self, only: trio.lowlevel.Task | None) -> None:
        self.number = 0
        self._only = only

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.number += self._only is None or task is self._only


class _Tasks(trio.abc.Instrument):
    def __init__(self) -> None:
        self.number = 0

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        self.number += 1


@contextmanager
def _instrument(instrument: Any) -> Iterator[_Counter]:
    trio.lowlevel.add_instrument(instrument)
    try:
        yield instrument
    finally:
        trio.lowlevel.remove_instrument(instrument)


class _SystemCalls:
    """Counts calls of C functions that are system calls, by the task that makes the run, or by all."""

    _TYPES = (socket.socket, select.epoll)
    _FUNCTIONS = frozenset({"pidfd_send_signal", "clock_gettime", "fsync"})

    def __init__(self, only: trio.lowlevel.Task | None) -> None:
        self.number = 0
        self._only = only

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        if event != "c_call" or (self._only is not None and _task() is not self._only):
            return
        owner = called.__self__
        if isinstance(owner, self._TYPES):
            self.number += called.__name__ not in ("fileno", "setblocking", "gettimeout")
        elif getattr(owner, "__name__", "") == "posix":
            self.number += called.__name__ not in ("fspath", "getpid", "urandom", "_path_normpath")
        elif called.__name__ in self._FUNCTIONS:
            self.number += 1


def _task() -> trio.lowlevel.Task | None:
    """The task that is at work, if one is."""
    return trio.lowlevel.current_task() if trio.lowlevel.in_trio_task() else None


@contextmanager
def _system_calls(only: trio.lowlevel.Task | None) -> Iterator[_Counter]:
    count = _SystemCalls(only)
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield count
    finally:
        sys.setprofile(before)


def _steps(only: trio.lowlevel.Task | None) -> AbstractContextManager[_Counter]:
    return _instrument(_Steps(only))


def _tasks(only: trio.lowlevel.Task | None) -> AbstractContextManager[_Counter]:
    return _instrument(_Tasks())


_WAYS = {"bytecodes": _bytecodes, "task steps": _steps, "tasks": _tasks, "system calls": _system_calls}


async def _log_bytes() -> float:
    """Return what a nested call adds to the log, in bytes of its events' data as JSON."""
    async with CodeMode([increment]) as cm:
        ran = await cm.run(program(MANY))
        if ran.result != MANY:
            raise AssertionError(ran.text)
        nested = [event for event in cm.session.events() if "subCallId" in event.data]
        return sum(len(msgspec.json.encode(_plain(event.data))) for event in nested) / MANY


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
