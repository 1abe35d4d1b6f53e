"""A line on the terminal that says what a quiet run is doing. It goes away before anything else is written."""

from __future__ import annotations

import os
import sys
from typing import TextIO

import trio

from codemode.cli.approve import Terminal
from codemode.cli.terminal import first_columns, paint, printable
from codemode.tools.tally import Tally

__all__ = ["Progress", "can_show"]

_QUIET_SECONDS = 1.0
"""How long nothing has to be printed before the line is there."""
_REFRESH_SECONDS = 0.5
_ERASE = "\r\x1b[K"
_COLUMNS = 80  # of a terminal that does not say


def can_show(stream: TextIO) -> bool:
    """Whether a line on this stream can be taken back."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Progress:
    """The line, on `stream` (None: standard error as it is now); `show` shows it until cancelled.

    `tally.hooks` have to be where the calls are made.
    `erase` comes before whatever else is written. `is_hidden` keeps the line away, as after a line of output that is
    not complete.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.tally = Tally()
        self.is_hidden = False
        self._stream = sys.stderr if stream is None else stream
        self._is_shown = False
        self._began = self._quiet_since = trio.current_time()

    def erase(self) -> None:
        """Take the line away, and wait with the next one."""
        self._quiet_since = trio.current_time()
        if self._is_shown:
            self._is_shown = False
            self._write(_ERASE)

    async def show(self, terminal: Terminal | None) -> None:
        """Show the line whenever nothing was written for a while and nobody is asked something on `terminal`."""
        if terminal is not None:
            terminal.around_asking = self.erase
        try:
            while True:
                await trio.sleep(_REFRESH_SECONDS)
                is_asking = terminal is not None and terminal.is_asking
                if not (is_asking or self.is_hidden):
                    self._draw()
        finally:
            self.erase()

    def _draw(self) -> None:
        now = trio.current_time()
        if now - self._quiet_since < _QUIET_SECONDS:
            return
        line = printable(f"running for {now - self._began:.0f} s, {self.tally}")
        text = first_columns(line, self._columns() - 1)
        self._is_shown = True
        self._write(f"{_ERASE}{paint(text, 'dim', self._stream)}")

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS
        except OSError:
            return _COLUMNS

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # nobody sees it
            self.is_hidden = True
