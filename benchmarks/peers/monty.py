"""pydantic-monty: an interpreter of its own in worker processes, in each of the three ways that it can be used.

A session is checked out for every run. The worker behind it is used again for the next session, unless it is told to
serve one alone, which is what compares with a process per run. Its limit of suspensions (1,000 by default) is lifted,
so that a program may make as many calls as it does elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from pydantic_monty import AsyncMonty, Monty, MontyError

from benchmarks.peers import CannotRun, Function, reason
from benchmarks.programs import as_expression
from benchmarks.sampling import Take, sync_take

__all__ = ["Asynchronous", "Synchronous", "asynchronous", "fresh_process", "synchronous"]

LIMITS: Any = {"max_suspensions": 1 << 40}


@contextmanager
def synchronous(name: str) -> Iterator[Synchronous]:
    """Open the synchronous interface: a call blocks the calling thread while the worker computes."""
    with Monty() as pool:
        yield Synchronous(name, pool)


@contextmanager
def asynchronous(name: str) -> Iterator[Asynchronous]:
    """Open the asynchronous interface, on an event loop of its own that runs while it is sampled."""
    with _asynchronous(name, AsyncMonty()) as engine:
        yield engine


@contextmanager
def fresh_process(name: str) -> Iterator[Asynchronous]:
    """The same with workers that serve one session and are replaced, some of them ahead."""
    with _asynchronous(name, AsyncMonty(min_processes=2, max_checkouts_per_worker=1)) as engine:
        yield engine


@contextmanager
def _asynchronous(name: str, pool: AsyncMonty) -> Iterator[Asynchronous]:
    with asyncio.Runner() as runner:
        runner.run(_enter(pool))
        try:
            yield Asynchronous(name, pool, runner)
        finally:
            runner.run(_leave(pool))


async def _enter(pool: AsyncMonty) -> None:
    await pool.__aenter__()


async def _leave(pool: AsyncMonty) -> None:
    await pool.__aexit__(None, None, None)


class Synchronous:
    """An `Engine` over `Monty`."""

    def __init__(self, name: str, pool: Monty) -> None:
        self.name = name
        self.pool = pool

    def take(self, program: str, expected: object, functions: Mapping[str, Function] = {}) -> Take:
        source = as_expression(program)
        lookup = {name: function.plain for name, function in functions.items()}

        def run() -> object:
            try:
                with self.pool.checkout(limits=LIMITS) as session:
                    return session.feed_run(source, external_lookup=lookup)
            except MontyError as error:
                raise CannotRun(reason(error)) from None

        return sync_take(run, expected)

    def measure(self, program: str, clock: Callable[[int], float]) -> tuple[float, object]:
        """Run a program; return by how much `clock` of its worker's process number went on, and what it gave."""
        with self.pool.checkout(limits=LIMITS) as session:
            pid = session.worker_pid
            if pid is None:
                raise CannotRun("its worker's process number is not known")
            start = clock(pid)
            try:
                value = session.feed_run(as_expression(program))
            except MontyError as error:
                raise CannotRun(reason(error)) from None
            return clock(pid) - start, value


class Asynchronous:
    """An `Engine` over `AsyncMonty`. While it is sampled, its loop runs in the calling thread and holds trio's up."""

    def __init__(self, name: str, pool: AsyncMonty, runner: asyncio.Runner) -> None:
        self.name = name
        self.pool = pool
        self.runner = runner

    def take(self, program: str, expected: object, functions: Mapping[str, Function] = {}) -> Take:
        source = as_expression(program)
        awaits = "await " in source
        lookup = {name: each.asynchronous if awaits else each.plain for name, each in functions.items()}

        async def samples(times: int) -> list[float]:
            return self.runner.run(self._samples(times, source, lookup, expected))

        return samples

    async def _samples(
        self, times: int, source: str, lookup: dict[str, Any], expected: object
    ) -> list[float]:
        seconds = []
        for _ in range(times):
            start = perf_counter()
            got = await self.run(source, lookup)
            seconds.append(perf_counter() - start)
            if got != expected:
                raise AssertionError(f"{self.name} gave {got!r} where {expected!r} was due")
        return seconds

    async def run(self, source: str, lookup: dict[str, Any]) -> object:
        """Run a source, in the form that it takes, in a session of its own. Under asyncio."""
        try:
            async with self.pool.checkout(limits=LIMITS) as session:
                return await session.feed_run(source, external_lookup=lookup)
        except MontyError as error:
            raise CannotRun(reason(error)) from None
