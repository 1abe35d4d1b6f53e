"""The session of an engine, for the caller's loop."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Collection
from itertools import islice

import trio

from codemode.asyncio.waiting import Engine
from codemode.faces import SessionFace
from codemode.session import Event

__all__ = ["Session"]

_PAGE = 500  # events that are read at a time


class Session(SessionFace[Engine]):
    """The log of an engine, as `codemode.Session` has it. Get one from `CodeMode.session`."""

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
