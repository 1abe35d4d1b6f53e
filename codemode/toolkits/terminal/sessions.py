"""The terminals of one owner: opened, found, closed. They end with the owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import trio

from codemode import ToolArgumentsError, ToolError
from codemode.toolkits.jobs import Jobs
from codemode.toolkits.processes.command import Place
from codemode.toolkits.processes.confinement import Confinement
from codemode.toolkits.terminal.session import Session

__all__ = ["MAX_OPEN", "Sessions"]

MAX_OPEN = 10
"""How many terminals of one owner may be open at a time."""
MAX_ENDED = 20
"""How many are remembered whose program has ended, until they are closed."""


class Sessions:
    """Terminals over one workspace. Their tasks and files are those of `jobs`."""

    def __init__(self, jobs: Jobs, confinement: Confinement, types: Mapping[str, Sequence[str]]) -> None:
        self.jobs = jobs
        self.confinement = confinement
        self.types = types
        self._sessions: dict[str, Session] = {}
        self._count = 0
        self._opened = 0

    def all(self) -> list[Session]:
        """Return the terminals, in the order they were opened."""
        if self._opened != self.jobs.opened:
            self._opened = self.jobs.opened
            self._sessions.clear()
            self._count = 0
        return list(self._sessions.values())

    def find(self, id: str) -> Session:
        """Return a terminal. Raises `ToolError` UNKNOWN_TERMINAL."""
        known = self.all()
        if id not in self._sessions:
            names = ", ".join(each.id for each in known) or "none"
            raise ToolError(
                f"unknown terminal session {id[:80]!r}; there are: {names}", code="UNKNOWN_TERMINAL"
            )
        return self._sessions[id]

    async def open(self, type: str, name: str | None, cwd: str | None) -> Session:
        """Open a terminal; return it when its program runs.

        Raises `ToolError`: TERMINAL_TYPE, TERMINAL_NAME, TERMINAL_LIMIT, COMMAND_FAILED, and for `cwd`. Cancellation
        closes what has been opened.
        """
        known = self.all()
        if type not in self.types:
            raise ToolError(
                f"there is no terminal of type {type[:80]!r}; there are: {', '.join(self.types)}",
                code="TERMINAL_TYPE",
            )
        if name is not None and not name.strip():
            raise ToolArgumentsError("invalid name: expected a non-empty string")
        running = [each for each in known if not each.has_exited]
        if name is not None and any(each.name == name for each in running):
            raise ToolError(f"a terminal session named {name!r} is open already", code="TERMINAL_NAME")
        if len(running) >= MAX_OPEN:
            raise ToolError(
                f"{MAX_OPEN} terminal sessions are open, the most there may be; close one with terminal_close",
                code="TERMINAL_LIMIT",
            )
        directory = await trio.to_thread.run_sync(self.confinement.directory, cwd)
        self._count += 1
        session = Session(f"pty-{self._count}", type, name)
        self._sessions[session.id] = session
        self._forget_ended()
        try:
            place = Place(self.confinement, directory, await self.jobs.scratch(), await self.jobs.outputs())
            self.jobs.background(session.run, place, list(self.types[type]))
            await session.ready.wait()
            if session.error is not None:
                raise session.error
        except BaseException:
            session.closing.set()
            self._sessions.pop(session.id, None)
            raise
        return session

    async def close(self, session: Session) -> bool:
        """End a terminal and forget it; return False if somebody does so already. It ends also when cancelled."""
        if session.closing.is_set() and not session.has_exited:
            return False
        session.closing.set()
        await session.gone.wait()
        self._sessions.pop(session.id, None)
        return True

    def _forget_ended(self) -> None:
        ended = [each.id for each in self._sessions.values() if each.has_exited]
        for id in ended[: max(len(ended) - MAX_ENDED, 0)]:
            del self._sessions[id]
