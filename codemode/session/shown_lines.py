"""Lines of text for a person: what each is, and how text and JSON become lines. Pure; no I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from codemode.rendering import json_text
from codemode.values import JSON

__all__ = ["Line", "indented", "labelled", "one_line", "section"]

_SHORT = 90  # characters of a value that still stands on the line of its label


class Line(Struct, frozen=True):
    """One line of text, without its newline, and what it is: a title at the margin, or something under one.

    Lines that hold what tools or models wrote are always indented, so that none can pass for a title.
    """

    text: str
    style: Literal["title", "label", "text", "note"] = "text"


def labelled(label: str, value: JSON, indent: int) -> Iterator[Line]:
    """Yield a JSON value with its label: on one line if it is short."""
    short = json.dumps(value, ensure_ascii=False)
    if len(short) <= _SHORT:
        yield Line(f"{' ' * indent}{label} {short}", "label")
    else:
        yield from section(label, json_text(value), indent)


def section(label: str, text: str, indent: int) -> Iterator[Line]:
    """Yield text under a label."""
    yield Line(f"{' ' * indent}{label}", "label")
    yield from indented(text, indent + 2)


def indented(text: str, indent: int) -> Iterator[Line]:
    """Yield the lines of a text; nothing in it is left at the margin."""
    for line in text.split("\n"):
        yield Line(" " * indent + line if line else "")


def one_line(text: str) -> str:
    """Return text in which nothing ends a line, so that it can stand in a title."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
