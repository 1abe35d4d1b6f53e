"""A trio loop in a thread of its own, for callers that have none. It knows nothing of tools, and nothing of asyncio.

The thread holds one async context manager open, from `open` to `close`, and runs jobs beside it. What is started
inside (the process that guests are forked from is ended by the kernel with the thread that started it) therefore
lives as long as the owner is open. Whoever waits, waits in its own way: every `Waited` calls `notify`, in the loop's
thread, when it has ended.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

import trio

__all__ = ["Job", "JobCancelled", "LoopThread", "Waited", "current_job"]

_T = TypeVar("_T")

_current: contextvars.ContextVar[Job[Any] | None] = contextvars.ContextVar("codemode_job", default=None)


def _nobody() -> None:
    """Nobody wants to be told."""


class Waited(Generic[_T]):
    """Something that ends in the loop's thread and that another thread waits for."""

    def __init__(self, notify: Callable[[], None] = _nobody) -> None:
        self.ended = threading.Event()
        self._notify = notify
        self._value: _T | None = None
        self.error: BaseException | None = None

    def end(self, value: _T | None = None, error: BaseException | None = None) -> None:
        """Say how it ended; only the first word counts."""
        if not self.ended.is_set():
            self._value, self.error = value, error
            self.ended.set()
            self._notify()

    def result(self) -> _T:
        """Return the value, or raise what was raised. To be called once, when it has ended."""
        error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # or the error would hold this frame, and the frame the error
        return self._value  # type: ignore[return-value]  # it ended well, so there is one

    def wait(self, cancel: Callable[[], None] = _nobody) -> _T:
        """Wait in a thread for the end, and return the value or raise what was raised.

        An interrupt (KeyboardInterrupt, or what another signal handler raises) calls `cancel`, waits for the end all
        the same, and is passed on; a second one is passed on at once.
        """
        try:
            self.ended.wait()
        except BaseException:
            cancel()
            self.ended.wait()
            raise
        return self.result()


class Job(Waited[_T]):
    """One async function that runs in the loop, in the context variables of the thread that made the job."""

    def __init__(self, function: Callable[[], Awaitable[_T]], notify: Callable[[], None] = _nobody) -> None:
        super().__init__(notify)
        self.function = function
        self.context = contextvars.copy_context()
        self.scope = trio.CancelScope()
        self.thread: LoopThread | None = None
        self.has_started = False


def current_job(thread: LoopThread | None) -> Job[Any] | None:
    """Return the job of this thread's loop that the running code belongs to, if there is one and it has not ended."""
    job = _current.get()
    return job if job is not None and job.thread is thread and not job.ended.is_set() else None


class LoopThread:
    """A thread whose trio loop holds `manager` open. `prepare` runs in the loop, before the manager is entered."""

    def __init__(
        self,
        manager: AbstractAsyncContextManager[Any],
        *,
        prepare: Callable[[], None] = _nobody,
        opened: Callable[[], None] = _nobody,
        closed: Callable[[], None] = _nobody,
    ) -> None:
        self.opened: Waited[None] = Waited(opened)
        self.closed: Waited[None] = Waited(closed)
        self._manager = manager
        self._prepare = prepare
        self._lock = threading.Lock()
        self._token: trio.lowlevel.TrioToken | None = None
        self._whole = trio.CancelScope()
        self._stop = False
        self._stopped: trio.Event | None = None
        self._nursery: trio.Nursery | None = None
        self._process = os.getpid()
        # A daemon: a program that never closes its engine still ends. The guests end with it.
        self._thread = threading.Thread(target=self._run, name="codemode loop", daemon=True)

    def open(self) -> None:
        """Start the thread; `opened` ends when the manager is entered, or has raised."""
        self._thread.start()

    def close(self) -> None:
        """Begin to close, also while it opens: jobs are cancelled, the manager is left. `closed` ends then."""
        with self._lock:
            self._stop = True
            token = self._token
        if token is not None:
            with contextlib.suppress(trio.RunFinishedError):
                token.run_sync_soon(self._stop_now)

    def join(self) -> None:
        """Wait for the thread itself, when `closed` has ended: some microseconds."""
        if self._thread is not threading.current_thread():
            self._thread.join()

    @property
    def is_here(self) -> bool:
        """Whether the running code is in the loop's own thread, which must not wait for itself."""
        return threading.get_ident() == self._thread.ident

    def submit(self, job: Job[Any]) -> None:
        """Start a job. One that comes too late, or is under way when the loop closes, ends with RuntimeError."""
        job.thread = self
        self._tell(job, self._start)

    def cancel(self, job: Job[Any]) -> None:
        """Cancel a job, also one that was not submitted yet; it ends. Harmless when it has ended."""
        self._tell(job, self._cancel)

    def _tell(self, job: Job[Any], function: Callable[[Job[Any]], None]) -> None:
        if self._process != os.getpid():
            job.end(
                error=RuntimeError(
                    "this engine belongs to the process that entered it, and this one was forked from it; "
                    "make an engine in each process"
                )
            )
            return
        token = self._token
        try:
            if token is None:
                raise trio.RunFinishedError
            token.run_sync_soon(function, job)
        except trio.RunFinishedError:
            job.end(error=_closed())

    # ----------------------------------------------------------------------------- in the thread

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            trio.run(self._main)
        except BaseException as raised:  # what leaving raised, or a fault of the loop itself
            error = raised
        self.opened.end(error=error or _closed())
        self.closed.end(error=error)

    async def _main(self) -> None:
        stopped = self._stopped = trio.Event()
        with self._whole:
            with self._lock:
                self._token = trio.lowlevel.current_trio_token()
                if self._stop:
                    return
            self._prepare()
            try:
                await self._manager.__aenter__()
            except Exception as error:
                self.opened.end(error=error)
                return
            try:
                async with trio.open_nursery() as nursery:
                    self._nursery = nursery
                    self.opened.end()
                    await stopped.wait()
                    nursery.cancel_scope.cancel()
            finally:
                self._nursery = None
                await self._manager.__aexit__(None, None, None)

    def _stop_now(self) -> None:
        assert self._stopped is not None
        self._stopped.set()
        if not self.opened.ended.is_set():
            self._whole.cancel()

    def _start(self, job: Job[Any]) -> None:
        if job.ended.is_set():
            return  # cancelled before it was submitted
        if self._nursery is None or self._stop:
            job.end(error=_closed())
            return
        job.has_started = True
        job.context.run(_current.set, job)
        job.context.run(self._nursery.start_soon, self._run_job, job)

    def _cancel(self, job: Job[Any]) -> None:
        job.scope.cancel()
        if not job.has_started:
            job.end(error=JobCancelled())

    async def _run_job(self, job: Job[Any]) -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            with job.scope:
                value = await job.function()
        except trio.Cancelled:
            error = RuntimeError("the engine was closed while this call was under way")
            raise
        except BaseException as raised:  # kept for the one who waits, and raised there
            error = raised
        finally:
            if job.scope.cancelled_caught:
                error = JobCancelled()
            job.end(value, error)


class JobCancelled(BaseException):
    """A job ended because it was cancelled; whoever cancelled it knows why, and passes that on."""


def _closed() -> RuntimeError:
    return RuntimeError("this engine is not open: it was closed, or never entered")
