"""The session of an engine, for the caller's loop."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Collection
from itertools import islice
from typing import TYPE_CHECKING

import trio

from codemode.session import Event, Observer
from codemode.session import Session as TrioSession
from codemode.values import JSON

if TYPE_CHECKING:
    from codemode.asyncio.engine import Engine

__all__ = ["Session"]

_PAGE = 500  # events that are read at a time


class Session:
    """The log of an engine, as `codemode.Session` has it. Get one from `CodeMode.session`."""

    def __init__(self, engine: Engine, inner: TrioSession) -> None:
        self._engine = engine
        self._inner = inner

    def of(self, engine: Engine) -> TrioSession:
        """Return the session itself, for this engine. Raises ValueError for one of another engine."""
        if engine is not self._engine:
            raise ValueError("this session belongs to another engine, and only that one can write it")
        return self._inner

    @property
    def path(self) -> str | None:
        """The file, or None for a session in memory."""
        return self._inner.path

    @property
    def recovered(self) -> tuple[Event, ...]:
        """What opening the session added to close what a crash had left unfinished."""
        return self._inner.recovered

    @property
    def first_seq(self) -> int:
        """The place of the first event that is kept."""
        return self._inner.first_seq

    @property
    def next_seq(self) -> int:
        """The place that the next event will have."""
        return self._inner.next_seq

    def append(self, type: str, data: JSON, *, ignorable: bool = False) -> Event:
        """Add an event and return it; see `codemode.Session.append`. It becomes durable with the next `commit`."""
        return self._engine.now(functools.partial(self._inner.append, type, data, ignorable=ignorable))

    async def events(self, since: int = 0, types: Collection[str] | None = None) -> AsyncIterator[Event]:
        """Iterate (`async for`) in order over the events there are at the first step; see `codemode.Session.events`.

        Stored ones are read in a worker thread, in pages; one that is being read is waited for when cancelled.
        """
        there = self._engine.now(functools.partial(self._inner.events, since, types))

        async def page() -> list[Event]:
            return await trio.to_thread.run_sync(lambda: list(islice(there, _PAGE)))

        while events := await self._engine.do(page):
            for event in events:
                yield event

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` with every event from now on, in the engine's thread; return what ends that.

        It must return at once; `loop.call_soon_threadsafe` leads back to the caller's loop.
        """
        remove = self._engine.now(functools.partial(self._inner.observe, observer))
        return functools.partial(self._engine.now, remove)

    async def commit(self) -> None:
        """Make everything appended so far durable.

        Raises `SessionError`, and is cancelled, as `codemode.Session.commit`.
        """
        await self._engine.do(self._inner.commit)

    async def trim(self, *, max_age: float | None = None, max_bytes: int | None = None) -> int:
        """Drop the oldest events, return how many they were; see `codemode.Session.trim`, also for cancellation."""
        return await self._engine.do(
            functools.partial(self._inner.trim, max_age=max_age, max_bytes=max_bytes)
        )
