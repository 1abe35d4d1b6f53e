"""Bodies that may not stop: each runs in a task of its own, so that nobody is held by it.

A body that is cancelled, or has used up its time, gets a few seconds to clean up. One that goes on all the
same is reported and left to itself; its task stays in the nursery that owns all bodies, and what it
returns or raises is dropped.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable

import trio

from codemode.errors import CodeModeError
from codemode.tools.lifespans import Lifespans

__all__ = ["GRACE_SECONDS", "TIMEOUT", "Bodies", "BodyAborted", "BodyTimeout"]

GRACE_SECONDS = 5.0
"""How long a cancelled body may take to clean up before its caller goes on without it."""
TIMEOUT = "TOOL_TIMEOUT"

_log = logging.getLogger("codemode.tools")


class BodyTimeout(CodeModeError):
    """A tool took longer than its own timeout."""

    code = TIMEOUT


class BodyAborted(CodeModeError):
    """A tool was stopped because everything ends."""

    code = "ABORTED"


class Bodies:
    """Runs bodies in a nursery that outlives their callers, and holds the lifespans of their tools."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self.lifespans = Lifespans(nursery)

    async def run(self, name: str, body: Callable[[], Awaitable[object]], seconds: float | None) -> object:
        """Run a body and return what it returns; raise what it raises.

        Raises `BodyTimeout` after `seconds` (None for none), whether or not the body stops then.
        Cancellation cancels the body, waits for it up to `GRACE_SECONDS`, and is passed on.
        """
        task = _BodyTask(body)
        self._nursery.start_soon(task.run, name=f"tool {name}")
        try:
            with trio.move_on_after(math.inf if seconds is None else seconds) as limit:
                await task.done.wait()
            if limit.cancelled_caught:
                await self._stop(name, task)
                if not task.done.is_set() or task.was_cancelled:
                    raise BodyTimeout(f"tool call timed out after {seconds:g} s")
        except trio.Cancelled:
            with trio.CancelScope(shield=True):
                await self._stop(name, task)
            raise
        if task.was_cancelled:  # by the end of the nursery that owns all bodies
            raise BodyAborted("tool call aborted: the engine was closed")
        if task.error is not None:
            raise task.error
        return task.value

    async def _stop(self, name: str, task: _BodyTask) -> None:
        task.scope.cancel()
        with trio.move_on_after(GRACE_SECONDS):
            await task.done.wait()
        if not task.done.is_set():
            _log.warning("tool %r goes on although it was cancelled; nobody waits for it any more", name)


class _BodyTask:
    """One body. Nothing that it raises leaves the task: it is kept for the one who waits."""

    def __init__(self, body: Callable[[], Awaitable[object]]) -> None:
        self._body = body
        self.scope = trio.CancelScope()
        self.done = trio.Event()
        self.value: object = None
        self.error: BaseException | None = None
        self.was_cancelled = False

    async def run(self) -> None:
        with self.scope:
            try:
                self.value = await self._body()
            except BaseException as error:
                self.error = error
                self.was_cancelled = _is_cancellation(error)
        self.done.set()


def _is_cancellation(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_cancellation, error.exceptions))
    return isinstance(error, trio.Cancelled)
