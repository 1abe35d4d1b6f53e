"""How a task of the caller's loop waits for the engine's: it hands over a job, and is told what comes meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Self, TypeVar

from codemode.asyncio.calling import resolver, through
from codemode.faces import EngineThread
from codemode.loop_thread import Job

__all__ = ["Deliveries", "Engine"]

_T = TypeVar("_T")
_log = logging.getLogger("codemode.asyncio")


class Engine(EngineThread):
    """The loop's thread of an engine, while it is entered, and how the caller's loop asks it for something."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: asyncio.AbstractEventLoop | None = None

    async def do(self, function: Callable[[], Awaitable[_T]]) -> _T:
        """Run an async function in the engine's loop; return what it returns or raise what it raises.

        Cancellation cancels it, waits until it has ended, and is passed on. Raises RuntimeError in another loop than
        the one that entered the engine, and when it is not open.
        """
        loop = self.callers_loop()
        thread = self.thread
        assert thread is not None
        future: asyncio.Future[None] = loop.create_future()
        job = Job(function, resolver(loop, future))
        thread.submit(job)
        await through(future, functools.partial(thread.cancel, job))
        return job.result()

    def callers_loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop that entered the engine. Raises RuntimeError where it is not the one that runs here."""
        if self.thread is None:
            raise RuntimeError("enter it first, and use it inside the block: async with CodeMode(...) as cm")
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "this engine is asyncio's, and no asyncio loop runs here; in a trio program use codemode.CodeMode, "
                "in a synchronous one codemode.sync.CodeMode"
            ) from None
        if running is not self.loop:
            raise RuntimeError(
                "this engine belongs to the asyncio loop that entered it, and this is another one; make an engine in "
                "each loop, or use asyncio.run_coroutine_threadsafe"
            )
        return running


class Deliveries:
    """What a run hands to the caller's loop while it goes on: each call in its turn, all of them before it returns."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = contextvars.copy_context()
        self._queue: asyncio.Queue[tuple[Callable[[], object], str] | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def to(self, name: str, function: Callable[..., object] | None) -> Callable[..., None] | None:
        """Return what puts a call of `function` into the queue, from the engine's loop."""
        if function is None:
            return None
        if self._task is None:
            self._task = self._loop.create_task(self._make(), context=self._context)

        def put(*args: object) -> None:
            delivery = functools.partial(function, *args), name
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is there to be told
                self._loop.call_soon_threadsafe(self._queue.put_nowait, delivery)

        return put

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._task is None:
            return
        ended: asyncio.Future[None] = self._loop.create_future()
        self._task.add_done_callback(lambda _: ended.set_result(None))
        if kind is None:
            self._queue.put_nowait(None)
        else:
            self._task.cancel()
        await through(ended, functools.partial(self._stop, self._task))

    @staticmethod
    def _stop(task: asyncio.Task[None]) -> None:
        task.cancel()

    async def _make(self) -> None:
        """Make the calls. One that raises is reported, and its function not called again."""
        failed: set[str] = set()
        while (delivery := await self._queue.get()) is not None:
            call, name = delivery
            if name in failed:
                continue
            try:
                said = call()
                if inspect.isawaitable(said):
                    await said
            except Exception:
                failed.add(name)
                _log.warning("%s failed; the run goes on without it", name, exc_info=True)
