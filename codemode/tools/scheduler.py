"""When calls of one run start: in the order they were made, parallel ones together, an exclusive one alone.

One lane prepares the calls in order. A call that may overlap then goes on in a task of its own, up to a
cap; an exclusive one is completed in the lane itself, which is what makes it exclusive and saves a task.
Nothing here knows what a call is.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

import trio

__all__ = ["Job", "Scheduler"]


class Job(Protocol):
    """One call, as the scheduler sees it. Neither coroutine may raise anything but cancellation."""

    def may_overlap(self) -> bool:
        """Asked right before the start."""
        ...

    async def prepare(self) -> None:
        """The ordered part: never while another job prepares."""
        ...

    async def complete(self, turn: trio.Lock) -> None:
        """The rest. What must not overlap with other jobs' ends happens while holding `turn`."""
        ...

    def stop(self) -> None:
        """Cancel it, at once or as soon as it starts."""
        ...


class Scheduler:
    """Runs jobs in a nursery. `cap` bounds how many overlap.

    All of its tasks live in the given nursery and end after `close`, when the jobs have ended.
    """

    def __init__(self, nursery: trio.Nursery, cap: int) -> None:
        if isinstance(cap, bool) or not isinstance(cap, int) or cap < 1:
            raise ValueError(f"max_parallel_calls={cap!r}: must be a positive integer")
        self._nursery = nursery
        self._cap = cap
        self._waiting: deque[Job] = deque()
        self._running: set[Job] = set()
        self._idle = trio.lowlevel.ParkingLot()
        self._turn = trio.Lock()
        self._lane_is_up = False
        self._closed = False

    def submit(self, job: Job) -> bool:
        """Queue a job; return False, and forget it, when the scheduler is closed. No checkpoint."""
        if self._closed:
            return False
        self._waiting.append(job)
        if self._lane_is_up:
            self._idle.unpark_all()
        else:
            self._lane_is_up = True
            self._nursery.start_soon(self._lane)
        return True

    def withdraw(self, job: Job) -> None:
        """Drop a job that waits; stop one that runs. No checkpoint."""
        if job in self._running:
            job.stop()
        elif job in self._waiting:
            self._waiting.remove(job)

    def close(self) -> None:
        """Start nothing more, forget what waits, stop what runs. No checkpoint."""
        self._closed = True
        self._waiting.clear()
        for job in list(self._running):
            job.stop()
        self._idle.unpark_all()

    async def _lane(self) -> None:
        while not self._closed:
            if not self._waiting:
                await self._idle.park()
                continue
            job = self._waiting[0]
            overlaps = job.may_overlap()
            if len(self._running) >= (self._cap if overlaps else 1):
                await self._idle.park()  # until one ends
                continue
            self._waiting.popleft()
            self._running.add(job)
            try:
                await job.prepare()
            except BaseException:
                self._running.discard(job)
                raise
            if overlaps:
                self._nursery.start_soon(self._complete, job)
            else:
                await self._complete(job)

    async def _complete(self, job: Job) -> None:
        try:
            await job.complete(self._turn)
        finally:
            self._running.discard(job)
            self._idle.unpark_all()
