"""The control sequences in what a terminal is sent, told apart from text. Pure; keeps a bounded state between pieces.

The screen library has a parser of its own, which takes some sequences for others, draws some, and grows without
bound over others. It is only given what it understands: text, and one complete sequence at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Control", "Sequences"]

_MAX_SEQUENCE = 128
"""Characters of the longest sequence that is waited for."""

_CSI = re.compile(r"\x1b\[([<=>?]?)([0-9;:]*)([ -/]*)([@-~])")
_ESCAPE = re.compile(r"\x1b([ -/]*)([0-OQ-WYZ`-~\\])")
_STRING = re.compile(r"\x1b([\]PX^_])")
_STRING_END = re.compile(r"\x1b\\|[\x07\x18\x1a]|\x1b(?=[^\\])")
_DROPPED = re.compile("[\x00\x7f\x80-\x9f]+")


class Control(NamedTuple):
    """A sequence: `ESC final`, or `ESC [ private numbers final`."""

    final: str
    numbers: tuple[int, ...] = ()
    private: bool = False
    is_csi: bool = False

    @property
    def source(self) -> str:
        if not self.is_csi:
            return f"\x1b{self.final}"
        return f"\x1b[{'?' if self.private else ''}{';'.join(map(str, self.numbers))}{self.final}"


class Sequences:
    """Splits what comes, in pieces of any length, into text and sequences."""

    def __init__(self) -> None:
        self._rest = ""  # the beginning of a sequence
        self._in_string = False

    def split(self, piece: str) -> Iterator[str | Control]:
        """Yield the text and the sequences in a piece; what means nothing to a screen is left out."""
        data, self._rest = self._rest + piece, ""
        at = 0
        while at < len(data):
            if self._in_string:
                end = _STRING_END.search(data, at)
                if end is None:
                    self._rest = "\x1b" if data.endswith("\x1b") else ""
                    return
                self._in_string = False
                at = end.end() if data[end.start()] != "\x1b" or end.group() == "\x1b\\" else end.start()
                continue
            escape = data.find("\x1b", at)
            text = _DROPPED.sub("", data[at:] if escape < 0 else data[at:escape])
            if text:
                yield text
            if escape < 0:
                return
            if string := _STRING.match(data, escape):
                self._in_string = True
                at = string.end()
                continue
            if found := _CSI.match(data, escape) or _ESCAPE.match(data, escape):
                at = found.end()
                if control := _control(found):
                    yield control
                continue
            if len(data) - escape < _MAX_SEQUENCE and _may_go_on(data, escape):
                self._rest = data[escape:]
                return
            at = escape + 1  # it is none: what follows is text


def _may_go_on(data: str, escape: int) -> bool:
    return re.fullmatch(r"\x1b(?:[ -/]*|\[[<=>?]?[0-9;:]*[ -/]*)", data[escape:]) is not None


def _control(found: re.Match[str]) -> Control | None:
    if found.re is _ESCAPE:
        return None if found[1] else Control(found[2])
    prefix, numbers, between, final = found.groups()
    if prefix in ("<", "=", ">") or between or ":" in numbers or len(numbers) > _MAX_SEQUENCE:
        return None
    values = tuple(min(int(each or "0"), 9999) for each in numbers.split(";")) if numbers else ()
    return Control(final, values, prefix == "?", is_csi=True)
