"""When calls of one run start: in the order they were made, parallel ones together, an exclusive one alone.

One lane takes the calls in order. What must not be done ahead (hooks, which may look at what earlier calls
did) is done when a call is due, except that calls which wait for somebody's answer are put together with
those behind them that will, so that all can be answered at once. A call that may overlap then goes on in a
task of its own, up to a cap; an exclusive one is completed in the lane itself, which is what makes it
exclusive and saves a task. The cap is of bodies: one that is over makes room for the next before its own call goes on
to its end. Nothing here knows what a call is.
"""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

import trio

__all__ = ["Job", "Scheduler"]

_GATHER_SECONDS = 0.02

_AHEAD = 2
"""How many times the cap may be under way when some of them need nothing more but their end."""


class Job(Protocol):
    """One call, as the scheduler sees it."""

    @property
    def asks(self) -> bool:
        """Whether somebody's answer is needed before it may start; known after `decide`."""
        ...

    @property
    def is_undecided(self) -> bool:
        """Whether there is anything to decide; without it `decide` is not called."""
        ...

    @property
    def starts_at_once(self) -> bool:
        """Whether there is nothing to decide and nothing to wait for in `start`, so that `start_now` does as well."""
        ...

    def may_overlap(self) -> bool:
        """Asked right before the start."""
        ...

    async def decide(self) -> None:
        """What comes before the start, in order: never while another job decides."""
        ...

    async def start(self) -> None:
        """The start itself, in order: never while another job decides or starts."""
        ...

    def start_now(self) -> None:
        """What `start` does for a job that `starts_at_once`."""
        ...

    async def complete(self, turn: trio.Lock) -> None:
        """Go on to the end. What must not overlap with other jobs' ends is done holding `turn`.

        `Scheduler.make_room` is for the moment when the body is over.
        """
        ...

    def stop(self) -> None:
        """Cancel it, at once or as soon as it starts."""
        ...


_J = TypeVar("_J", bound=Job)


class Scheduler(Generic[_J]):
    """Runs jobs in a nursery that may outlive it. `cap` bounds how many bodies overlap.

    `answer` gets the jobs that wait for an answer, together; after it none of them `asks` any more. Jobs are
    not to raise; when one does, the scheduler closes, calls `failed`, and `ended` raises the error.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        cap: int,
        answer: Callable[[Sequence[_J]], Awaitable[None]],
        failed: Callable[[], None] | None = None,
    ) -> None:
        if isinstance(cap, bool) or not isinstance(cap, int) or cap < 1:
            raise ValueError(f"max_parallel_calls={cap!r}: must be a positive integer")
        self._nursery = nursery
        self._cap = cap
        self._answer = answer
        self._failed = failed
        self._waiting: deque[_J] = deque()
        self._decided: set[_J] = set()
        self._asking: set[_J] = set()
        self._running: set[_J] = set()
        self._bodies: set[_J] = set()  # those of them that count for the cap
        self._changed = trio.lowlevel.ParkingLot()
        self._ended = trio.Event()
        self._deciding = trio.CancelScope()
        self._context = contextvars.copy_context()
        self._turn = trio.Lock()
        self._lane_is_up = False
        self._lane_waits = False
        self._closed = False
        self._error: BaseException | None = None

    def submit(self, job: _J) -> bool:
        """Queue a job; return False, and forget it, when the scheduler is closed. No checkpoint."""
        if self._closed:
            return False
        self._waiting.append(job)
        if self._lane_is_up:
            self._changed.unpark_all()
        else:
            self._lane_is_up = True
            self._nursery.start_soon(self._lane)
        return True

    def withdraw(self, job: _J) -> None:
        """Drop a job that waits; stop one that runs. No checkpoint."""
        job.stop()
        if job in self._running or job not in self._waiting:
            return
        self._waiting.remove(job)
        self._decided.discard(job)
        if job in self._asking:
            self._asking.discard(job)
            if not self._asking:
                self._deciding.cancel()  # nobody waits for that answer any more
        self._changed.unpark_all()

    def close(self) -> None:
        """Start nothing more, forget what waits, stop what runs. No checkpoint."""
        self._closed = True
        self._waiting.clear()
        self._deciding.cancel()
        for job in list(self._running):
            job.stop()
        self._changed.unpark_all()
        self._note_end()

    @property
    def has_ended(self) -> bool:
        """Whether it is closed, all jobs have ended, and none of them raised."""
        return self._ended.is_set() and self._error is None

    async def ended(self, seconds: float) -> list[_J]:
        """Wait, after `close`, until all jobs have ended; return those that have not within `seconds`.

        Raises what a job raised, if one did.
        """
        with trio.move_on_after(seconds):
            await self._ended.wait()
        if self._error is not None:
            raise self._error
        return list(self._running)

    async def make_room(self, job: _J) -> None:
        """The body of a job is over: let the next ones begin, before the job goes on.

        Returns at once when none is due. A checkpoint otherwise, which cancellation does not end.
        """
        if job not in self._bodies:
            return
        self._bodies.discard(job)
        if not self._waiting or not self._lane_waits:  # a lane that does not wait is about to look by itself
            return
        started = False
        while self._waiting and self._waiting[0].starts_at_once and self._is_due(self._waiting[0]):
            due = self._take_first()
            self._bodies.add(due)
            try:
                due.start_now()
            except Exception as error:  # not the fault of the job whose body is over
                self._running.discard(due)
                self._bodies.discard(due)
                self._fail(error)
                return
            self._complete_beside(due)
            started = True
        if not started:
            self._changed.unpark_all()
        # Once for their tasks to be made, once for their bodies to begin.
        await trio.lowlevel.cancel_shielded_checkpoint()
        await trio.lowlevel.cancel_shielded_checkpoint()

    def _complete_beside(self, job: _J) -> None:
        """Complete a job in a task of its own, which sees the context variables of the run and not of another job."""
        self._context.run(self._nursery.start_soon, self._complete, job)

    def _is_due(self, job: _J) -> bool:
        """Whether a job that may overlap has its turn."""
        return job.may_overlap() and not self._is_full()

    def _is_full(self) -> bool:
        return len(self._bodies) >= self._cap or len(self._running) >= _AHEAD * self._cap

    def _take_first(self) -> _J:
        job = self._waiting.popleft()
        self._decided.discard(job)
        self._running.add(job)
        return job

    async def _lane(self) -> None:
        try:
            while not self._closed:
                due = await self._next()
                if due is None:
                    continue
                job, overlaps = due
                self._take_first()
                if overlaps:
                    self._bodies.add(job)
                try:
                    await job.start()
                except BaseException:
                    self._running.discard(job)
                    self._bodies.discard(job)
                    raise
                if overlaps:
                    self._complete_beside(job)
                else:
                    await self._complete(job)
        except Exception as error:
            self._fail(error)
        finally:
            self._lane_is_up = False
            self._note_end()

    async def _next(self) -> tuple[_J, bool] | None:
        """Return the job that is due, decided, and whether it may overlap; None when it is time to look again."""
        if not self._waiting:
            await self._park()
            return None
        job = self._waiting[0]
        overlaps = job.may_overlap()
        if self._is_full() if overlaps else self._running:
            await self._park()  # until one ends
            return None
        if not job.is_undecided:
            await trio.lowlevel.checkpoint_if_cancelled()
            return job, overlaps
        with self._deciding:
            await self._decide(job)
            if job.asks:
                # Calls that were made together arrive one after another; an answer takes a person's time anyway.
                await trio.sleep(_GATHER_SECONDS)
                for other in list(self._waiting):
                    await self._decide(other)
                self._asking = {other for other in self._waiting if other.asks}
                await self._answer([other for other in self._waiting if other in self._asking])
        self._asking = set()
        self._deciding = trio.CancelScope()
        due = bool(self._waiting) and self._waiting[0] is job and not job.asks and not self._closed
        return (job, overlaps) if due else None

    async def _park(self) -> None:
        self._lane_waits = True
        try:
            await self._changed.park()
        finally:
            self._lane_waits = False

    async def _decide(self, job: _J) -> None:
        if job.is_undecided and job not in self._decided:
            self._decided.add(job)
            await job.decide()

    async def _complete(self, job: _J) -> None:
        try:
            await job.complete(self._turn)
        except Exception as error:
            self._fail(error)
        finally:
            self._running.discard(job)
            self._bodies.discard(job)
            self._changed.unpark_all()
            self._note_end()

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self.close()
        if self._failed is not None:
            self._failed()

    def _note_end(self) -> None:
        if self._closed and not self._running and not self._lane_is_up:
            self._ended.set()
