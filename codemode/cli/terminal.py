"""What goes to a terminal or a pipe: printed text made safe, colours where somebody sees them."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from typing import Any, TextIO

from codemode.rendering import printable

__all__ = [
    "UsageError",
    "first_columns",
    "is_terminal",
    "paint",
    "printable",
    "say_error",
    "write",
    "write_json",
]


class UsageError(Exception):
    """The command was given something it cannot use; the message says what and what to write instead."""


_COLOURS = {"dim": "2", "bold": "1", "red": "31", "green": "32", "cyan": "36"}


def is_terminal(stream: TextIO) -> bool:
    """Whether a person sees this stream, in colour. `NO_COLOR` and `TERM=dumb` say no."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, stream: TextIO) -> str:
    """Return text in a colour where a person sees the stream, else as it is."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if is_terminal(stream) else text


def first_columns(text: str, most: int) -> str:
    """Return the beginning of a line that takes up at most `most` columns of a terminal.

    Wide characters take two, marks on another character none (Unicode Standard Annex 11, and what terminals do).
    """
    columns = 0
    for index, char in enumerate(text):
        if unicodedata.category(char) not in ("Mn", "Me"):
            columns += 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if columns > most:
            return text[:index]
    return text


def write(text: str, stream: TextIO | None = None) -> None:
    """Write what a program made: safe for a terminal, byte for byte (UTF-8) into a pipe or file."""
    stream = stream or sys.stdout
    if stream.isatty():
        stream.write(printable(text))
        stream.flush()
        return
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "backslashreplace"))
    stream.buffer.flush()


def write_json(value: Any) -> None:
    """Write one JSON document to standard output, on a line. `Any`: what `json` takes."""
    write(json.dumps(value, ensure_ascii=False) + "\n")


def say_error(kind: str, message: str, *, as_json: bool) -> None:
    """Say why a command did not do its work: to a person on standard error, or to a program on standard output."""
    if as_json:
        write_json({"error": {"kind": kind, "message": message}})
    else:
        print(f"codemode: {printable(message)}", file=sys.stderr)
