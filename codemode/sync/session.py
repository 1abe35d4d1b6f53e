"""The session of an engine, for threads that are not the loop's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from codemode.session import Event, Observer
from codemode.session import Session as TrioSession
from codemode.values import JSON

if TYPE_CHECKING:
    from codemode.sync.engine import Engine

__all__ = ["Session"]


class Session:
    """The log of an engine, as `codemode.Session` has it; every thread may use it. Get one from `CodeMode.session`."""

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

    def events(self, since: int = 0, types: Collection[str] | None = None) -> Iterator[Event]:
        """Iterate in order over the events there are now; see `codemode.Session.events`. Stored ones are read here."""
        return self._engine.now(functools.partial(self._inner.events, since, types))

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` with every event from now on, in the loop's thread; return what ends that.

        It must return at once.
        """
        remove = self._engine.now(functools.partial(self._inner.observe, observer))
        return functools.partial(self._engine.now, remove)

    def commit(self) -> None:
        """Make everything appended so far durable. Raises `SessionError` as `codemode.Session.commit` does."""
        self._engine.do(self._inner.commit)

    def trim(self, *, max_age: float | None = None, max_bytes: int | None = None) -> int:
        """Drop the oldest events; see `codemode.Session.trim`."""
        return self._engine.do(functools.partial(self._inner.trim, max_age=max_age, max_bytes=max_bytes))
