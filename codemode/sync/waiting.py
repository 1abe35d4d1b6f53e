"""How a thread waits for the engine's loop: it hands over a job, and makes the calls that are handed back meanwhile."""

from __future__ import annotations

import functools
import logging
import queue
from collections.abc import Awaitable, Callable
from typing import TypeVar

from codemode.faces import EngineThread
from codemode.loop_thread import Job, current_job

__all__ = ["Deliveries", "Engine"]

_T = TypeVar("_T")
_log = logging.getLogger("codemode.sync")


class Engine(EngineThread):
    """The loop's thread of an engine, while it is entered, and how other threads ask it for something."""

    def do(self, function: Callable[[], Awaitable[_T]], deliveries: Deliveries | None = None) -> _T:
        """Run an async function in the loop, wait, and return what it returns or raise what it raises.

        Whatever interrupts the waiting cancels it, waits until it has ended, and is passed on. `deliveries` are what
        this thread is to call meanwhile. Raises RuntimeError where waiting would never end, and when it is not open.
        """
        thread = self.thread
        if thread is None:
            raise RuntimeError("enter it first, and use it inside the block: with CodeMode(...) as cm")
        if thread.is_here or current_job(thread) is not None:
            raise RuntimeError(
                "an engine cannot be called from inside a tool, hook or approver that it runs itself: each would wait "
                "for the other; let the program make the call, or use a second engine"
            )
        job = Job(function, (lambda: None) if deliveries is None else deliveries.close)
        try:
            thread.submit(job)
            if deliveries is not None:
                deliveries.make()
            job.ended.wait()
        except BaseException:
            thread.cancel(job)
            job.ended.wait()
            raise
        return job.result()


class Deliveries:
    """What the loop hands to the waiting thread, which calls it in the order in which it came."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[Callable[[], None], str] | None] = queue.SimpleQueue()
        self._failed: set[str] = set()

    def to(self, name: str, function: Callable[..., None] | None) -> Callable[..., None] | None:
        """Return what puts a call of `function` into the queue, from the loop."""
        if function is None:
            return None
        return lambda *args: self._queue.put((functools.partial(function, *args), name))

    def close(self) -> None:
        self._queue.put(None)

    def make(self) -> None:
        """Make the calls until the job has ended. One that raises is reported, and its function not called again."""
        while (delivery := self._queue.get()) is not None:
            call, name = delivery
            if name in self._failed:
                continue
            try:
                call()
            except Exception:
                self._failed.add(name)
                _log.warning("%s failed; the run goes on without it", name, exc_info=True)
