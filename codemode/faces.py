"""What the faces for synchronous and for asyncio programs share: all that an engine answers at once, in its thread.

How a caller waits for what takes time is each face's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Generic, TypeVar

from codemode.engine import Scope
from codemode.loop_thread import Job, LoopThread
from codemode.sandbox import Limits
from codemode.sdk.capabilities import Capabilities
from codemode.session import Event, Observer, Session
from codemode.tools.approval import Approver
from codemode.values import JSON

__all__ = ["EngineThread", "ScopeFace", "SessionFace"]

_T = TypeVar("_T")


class EngineThread:
    """The thread of an engine's loop, while it is entered, and what can be asked of it without waiting for long."""

    def __init__(self) -> None:
        self.thread: LoopThread | None = None

    def now(self, function: Callable[[], _T]) -> _T:
        """Call something quick in the engine's thread, and return what it returns; before entering, here."""
        thread = self.thread
        if thread is None or thread.is_here:
            return function()

        async def call() -> _T:
            return function()

        job = Job(call)
        thread.submit(job)
        return job.wait(functools.partial(thread.cancel, job))


_E = TypeVar("_E", bound=EngineThread)


class ScopeFace(Generic[_E]):
    """One view of an engine: its tools, hooks and mode. Runs programs and makes direct calls under them."""

    def __init__(self, engine: _E, inner: Scope) -> None:
        self._engine = engine
        self._inner = inner

    @property
    def limits(self) -> Limits:
        """The limits of each run."""
        return self._inner.limits

    @property
    def approver(self) -> Approver | None:
        """What answers when a call in this scope asks, as the engine's loop calls it; None when nobody does."""
        return self._inner.approver

    def describe(self) -> list[dict[str, JSON]]:
        """Return the tools that a model may call directly here: name, description, parameters (JSON Schema)."""
        return self._engine.now(self._inner.describe)

    def prompt(self, budget: int | None = None) -> str:
        """Return what a model is told of `run_code` here; see `codemode.Scope.prompt`."""
        return self._engine.now(functools.partial(self._inner.prompt, budget))

    def capabilities(self) -> Capabilities:
        """Return the capability card of this scope: versions, walls, limits, language, tools."""
        return self._engine.now(self._inner.capabilities)


class SessionFace(Generic[_E]):
    """The log of an engine, as `codemode.Session` has it. Get one from `CodeMode.session`."""

    def __init__(self, engine: _E, inner: Session) -> None:
        self._engine = engine
        self._inner = inner

    def of(self, engine: _E) -> Session:
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

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` with every event from now on, in the engine's thread; return what ends that.

        It must return at once. In asyncio, `loop.call_soon_threadsafe` leads back to the caller's loop.
        """
        remove = self._engine.now(functools.partial(self._inner.observe, observer))
        return functools.partial(self._engine.now, remove)
