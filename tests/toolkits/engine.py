"""Tools called through an engine: directly, and from programs. And eyes for what commands leave behind."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from codemode import CodeMode, Failure, Success, Tool
from codemode.content import text_of
from codemode.tools.call import FailureReason, Outcome


class Engine:
    def __init__(self, cm: CodeMode) -> None:
        self.cm = cm

    async def outcome(self, name: str, /, **arguments: Any) -> Outcome:
        return await self.cm.call(name, arguments)

    async def value(self, name: str, /, **arguments: Any) -> Any:
        outcome = await self.outcome(name, **arguments)
        assert isinstance(outcome, Success), outcome.error
        return outcome.value

    async def shown(self, name: str, /, **arguments: Any) -> str:
        return text_of((await self.outcome(name, **arguments)).content)

    async def error(self, name: str, /, **arguments: Any) -> FailureReason:
        outcome = await self.outcome(name, **arguments)
        assert isinstance(outcome, Failure), outcome.value
        return outcome.error

    async def result(self, program: str) -> Any:
        done = await self.cm.run(program)
        assert done.error is None, done.error.message
        return done.result


@asynccontextmanager
async def engine(tools: list[Tool], **options: Any) -> AsyncIterator[Engine]:
    async with CodeMode(tools, approver=lambda requests: "allow-for-run", **options) as cm:
        yield Engine(cm)


def processes(mark: str) -> set[int]:
    """The processes that have a text in their command line, but for those that are gone and not yet reaped."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" "):
                found.add(int(name))
        except OSError:
            pass
    return found - {os.getpid()}


async def eventually(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Wait for something outside of this process; return what the condition gives at last."""
    with trio.move_on_after(seconds):
        while not condition():
            await trio.sleep(0.01)
    return condition()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def threads() -> set[str]:
    """The threads but for trio's own, which are kept for the next time."""
    return {each.name for each in threading.enumerate() if "Trio" not in each.name}
