"""What a terminal shows: a screen of rows and columns, and the lines that have left it at the top. No I/O.

The screen itself is pyte's. What is added: the alternate screen that editors and pagers use, a history of bounded
size, and a short way for floods of plain lines, of which only the last are ever seen.
"""

from __future__ import annotations

import codecs
import contextlib
import copy
import re
import unicodedata
from collections import deque
from itertools import islice
from typing import Any

import pyte
import pyte.modes

from codemode.toolkits.terminal.sequences import Control, Sequences

__all__ = ["COLUMNS", "HISTORY_LINES", "ROWS", "Screen"]

ROWS = 40
COLUMNS = 160
HISTORY_LINES = 10_000
HISTORY_BYTES = 4 * 1024 * 1024

_PLAIN = re.compile(r"[\t -~]*+(?:\r\n[\t -~]*+)*+")
_ALTERNATE = frozenset({47, 1047, 1049})
_COLUMN_MODE = 3  # 132 columns: the size of the terminal is ours to say
_CSI_FINALS = frozenset("@ABCDEFGHJKLMPXacdefghlmnr`'")
_ESCAPE_FINALS = frozenset("DEHMc78")
_MAX_COMBINING = 4  # marks on one character


class Screen:
    """A terminal's screen and history. `feed` it what the program writes; `replies` are what it is to be sent back.

    Lines are numbered from the first that was ever shown; those that have left the history are gone.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._sequences = Sequences()
        self._screen = _Main(COLUMNS, ROWS)
        self._stream = pyte.Stream(self._screen)
        self._last = " "

    @property
    def replies(self) -> bytes:
        """What the program has asked for since the last time."""
        replies, self._screen.replies = self._screen.replies, ""
        return replies.encode()

    @property
    def is_alternate(self) -> bool:
        """Whether a full-screen program has the screen."""
        return self._screen.main is not None

    @property
    def first(self) -> int:
        """The number of the oldest line that is kept."""
        return self._screen.scrolled - len(self._screen.history)

    @property
    def at(self) -> int:
        """The number of the line that the cursor is in; behind a full-screen program, the one that it was in."""
        cursor = self._screen.cursor if self._screen.main is None else self._screen.main[1]
        return self._screen.scrolled + int(cursor.y)

    @property
    def row_of_cursor(self) -> int:
        """The row of the screen that the cursor is in, from 0."""
        return int(self._screen.cursor.y)

    def rows(self) -> list[str]:
        """Return the lines of the screen, without the empty ones at its end."""
        return _without_empty([self._screen.row(y) for y in range(ROWS)])

    def lines(self, start: int = 0) -> list[str]:
        """Return the lines from a number on, those of the history and those of the screen."""
        history = self._screen.history
        skip = max(start - self.first, 0)
        return _without_empty(
            [*islice(history, skip, None), *self.rows()[max(start - self._screen.scrolled, 0) :]]
        )

    def feed(self, data: bytes) -> None:
        """Take what the program has written. Whatever it is, this raises nothing."""
        for part in self._sequences.split(self._decoder.decode(data)):
            # A sequence with arguments that mean nothing is one that means nothing.
            with contextlib.suppress(Exception):
                if isinstance(part, str):
                    self._text(part)
                elif part.is_csi:
                    self._control(part)
                elif part.final in _ESCAPE_FINALS:
                    self._stream.feed(part.source)

    def _text(self, text: str) -> None:
        self._last = text[-1]
        while text:
            flood = self._flood(text)
            if flood is None:
                # Up to the end of the line where something is that is not plain; after it a flood may begin.
                end = text.find("\n", _PLAIN.match(text).end()) + 1 or len(text)  # type: ignore[union-attr]
                self._stream.feed(text[:end])
            else:
                start, end = flood
                self._stream.feed(text[:start])
                if self._screen.is_empty_from_cursor():
                    self._pass_by(text[start:end])
                else:
                    self._stream.feed(text[start:end])
            text = text[end:]

    def _control(self, control: Control) -> None:
        if control.private:
            self._set_private(control)
        elif control.final == "b" and self._last.isprintable():
            self._stream.feed(self._last * min(control.numbers[0] if control.numbers else 1, COLUMNS))
        elif control.final in "ST":
            self._screen.scroll(control.final == "S", max(control.numbers[0] if control.numbers else 1, 1))
        elif control.final == "J" and control.numbers[:1] == (3,):
            self._screen.forget()
        elif control.final in _CSI_FINALS:
            self._stream.feed(control.source)

    def _set_private(self, control: Control) -> None:
        if control.final not in "hl":
            return
        for number in control.numbers:
            if number in _ALTERNATE:
                self._screen.switch(control.final == "h")
            elif number != _COLUMN_MODE:
                self._stream.feed(Control(control.final, (number,), private=True, is_csi=True).source)

    # --------------------------------------------------------------------------------- floods

    def _flood(self, text: str) -> tuple[int, int] | None:
        """Where many plain lines begin and end that will only pass by. The last ones are left to be drawn."""
        if len(text) < 6 * ROWS or not self._screen.is_plain:
            return None
        found = _PLAIN.match(text)
        if found is None or text.count("\n", 0, found.end()) < 3 * ROWS:
            return None
        start = text.index("\n") + 1  # the first one goes on where the cursor is
        end = found.end()
        for _ in range(ROWS + 1):
            end = text.rindex("\n", start, end)
        return start, end + 1

    def _pass_by(self, lines: str) -> None:
        screen = self._screen
        left = [screen.row(y) for y in range(screen.cursor.y)]
        screen.buffer.clear()
        screen.cursor.x = screen.cursor.y = 0
        for line in lines.split("\r\n")[:-1]:
            line = line.expandtabs(8)
            if len(line) <= COLUMNS:
                left.append(line.rstrip())
            else:
                left += [line[at : at + COLUMNS].rstrip() for at in range(0, len(line), COLUMNS)]
        screen.keep(left)


class _Main(pyte.Screen):
    """pyte's screen, with a history and an alternate screen. `main` is what is behind the alternate one."""

    def __init__(self, columns: int, lines: int) -> None:
        self.history: deque[str] = deque()
        self.scrolled = 0  # how many lines have ever left at the top
        self.replies = ""
        self.main: tuple[Any, ...] | None = None
        self._bytes = 0
        self._marks = 0
        super().__init__(columns, lines)

    @property
    def is_plain(self) -> bool:
        """Whether text is simply written line by line, and scrolls."""
        return (
            self.main is None
            and self.margins is None
            and pyte.modes.DECAWM in self.mode
            and pyte.modes.IRM not in self.mode
            and not self.charset
        )

    def is_empty_from_cursor(self) -> bool:
        return not any(self.row(y) for y in range(self.cursor.y, self.lines))

    def row(self, y: int) -> str:
        line = self.buffer.get(y)
        if not line:
            return ""
        return "".join(line[x].data for x in range(min(max(line) + 1, self.columns))).rstrip()

    def keep(self, lines: list[str]) -> None:
        """Some lines have left the screen at its top."""
        self.scrolled += len(lines)
        lines = lines[-HISTORY_LINES:]
        self.history += lines
        self._bytes += sum(map(len, lines)) + len(lines)
        while len(self.history) > HISTORY_LINES or self._bytes > HISTORY_BYTES:
            self._bytes -= len(self.history.popleft()) + 1

    def forget(self) -> None:
        self.history.clear()
        self._bytes = 0

    def index(self) -> None:
        top, bottom = self.margins or (0, self.lines - 1)
        if self.cursor.y == bottom and top == 0 and self.main is None:
            self.keep([self.row(0)])
        super().index()

    def scroll(self, up: bool, count: int) -> None:
        top, bottom = self.margins or (0, self.lines - 1)
        y = self.cursor.y
        self.cursor.y = bottom if up else top
        for _ in range(min(count, self.lines)):
            self.index() if up else self.reverse_index()
        self.cursor.y = y

    def switch(self, alternate: bool) -> None:
        """Put an empty screen before the main one, or take it away."""
        if alternate and self.main is None:
            self.main = (copy.copy(self.buffer), copy.copy(self.cursor), self.margins)
            self.buffer.clear()
            self.margins = None
        elif not alternate and self.main is not None:
            buffer, self.cursor, self.margins = self.main
            self.main = None
            self.buffer.clear()
            self.buffer.update(buffer)

    def reset(self) -> None:
        self.main = None
        super().reset()

    def draw(self, data: str) -> None:
        if not data.isascii():
            data = "".join(filter(self._bears, data))
        else:
            self._marks = 0
        super().draw(data)

    def _bears(self, character: str) -> bool:
        """Whether a character can be drawn; one cannot bear any number of marks."""
        self._marks = self._marks + 1 if unicodedata.combining(character) else 0
        return self._marks <= _MAX_COMBINING and (character.isprintable() or character == " ")

    def write_process_input(self, data: str) -> None:
        if len(self.replies) < 4096:
            self.replies += data


def _without_empty(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines.pop()
    return lines
