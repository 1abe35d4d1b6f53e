"""The session of an engine, for threads that are not the loop's."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator

from codemode.faces import SessionFace
from codemode.session import Event
from codemode.sync.waiting import Engine

__all__ = ["Session"]


class Session(SessionFace[Engine]):
    """The log of an engine, as `codemode.Session` has it; every thread may use it. Get one from `CodeMode.session`."""

    def events(self, since: int = 0, types: Collection[str] | None = None) -> Iterator[Event]:
        """Iterate in order over the events there are now; see `codemode.Session.events`. Stored ones are read here."""
        return self._engine.now(functools.partial(self._inner.events, since, types))

    def commit(self) -> None:
        """Make everything appended so far durable. Raises `SessionError` as `codemode.Session.commit` does."""
        self._engine.do(self._inner.commit)

    def trim(self, *, max_age: float | None = None, max_bytes: int | None = None) -> int:
        """Drop the oldest events; see `codemode.Session.trim`."""
        return self._engine.do(functools.partial(self._inner.trim, max_age=max_age, max_bytes=max_bytes))
