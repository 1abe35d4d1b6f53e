"""The run that this process is for: its channel, its output, its loop, its names.

A guest runs one program. What the facades of `print`, `time`, `asyncio` and `logging` act on is kept
here, set when the run starts and never changed; before that there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from codemode.guest.running.channel import Channel, Output
from codemode.guest.running.loop import Loop
from codemode.guest.running.tools import Calls
from codemode.wire import Program

__all__ = ["Run", "begin", "current", "end", "is_under_way"]


class Run:
    """Everything of one run that is no code."""

    def __init__(self, program: Program, channel: Channel) -> None:
        self.program = program
        self.channel = channel
        self.output = Output(channel, program.limits.log_bytes)
        self.calls = Calls(channel, program.limits.result_bytes)
        self.globals: dict[str, Any] = {}
        self._loop: Loop | None = None
        self._lines: Sequence[str] | None = None

    @property
    def loop(self) -> Loop:
        """The event loop, made when it is first needed."""
        if self._loop is None:
            self._loop = Loop(self.channel, self.calls)
        return self._loop

    @property
    def lines(self) -> Sequence[str]:
        """The program's lines, as Python counts them."""
        if self._lines is None:
            text = self.program.source.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ")
            self._lines = text.split("\n")
        return self._lines


_current: Run | None = None


def begin(run: Run) -> None:
    global _current
    _current = run


def end() -> None:
    global _current
    _current = None


def is_under_way() -> bool:
    """Whether a program runs, as opposed to a package being loaded."""
    return _current is not None


def current() -> Run:
    """Return the run that goes on."""
    if _current is None:
        raise RuntimeError("no program runs: a package cannot do this while it is loaded")
    return _current
