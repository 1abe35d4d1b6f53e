"""JSON values as text for a model: one writer for tools, results and the command line. No I/O.

Indented by two spaces down to a depth where the indentation would pass ten characters; deeper containers
are written on one line, so that the text stays linear in the size of the value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from codemode.values import JSON

__all__ = ["cut_middle", "cut_middle_of", "encodable", "json_text", "printable"]

_DEEPEST_INDENT = 5
# What a reader does not see, or sees in another place than where it stands: controls, marks of direction, characters
# without width, the plane of tags, halves of surrogate pairs.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """Return text in which no character is hidden or can steer what shows it: such ones are written as escapes."""
    return _HIDDEN.sub(lambda match: ascii(match.group())[1:-1], text)


def encodable(text: str) -> str:
    """Return text that can be stored and sent as UTF-8: halves of surrogate pairs are written as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def json_text(value: JSON) -> str:
    """Return a JSON value as indented text. Integers, `-0.0` and non-ASCII text stay as they are."""
    parts: list[str] = []
    _write(value, 0, parts)
    return "".join(parts)


def cut_middle(text: str, max_bytes: int, note: str = "") -> str:
    """Return `text`, or its head and tail around a line that says how much is missing.

    `max_bytes` bounds the UTF-8 size of what is returned; `note` (how to get the rest) joins that line.
    """
    return cut_middle_of([text], max_bytes, note)


def cut_middle_of(lines: Sequence[str], max_bytes: int, note: str = "") -> str:
    """Return what `cut_middle` returns of these texts with newlines between them, without putting them together."""
    size = sum(map(_size, lines)) + len(lines) - 1 if lines else 0
    if size <= max_bytes:
        return encodable("\n".join(lines))
    extra = f"; {note}" if note else ""
    marker = f"\n[… {size:,} bytes in all, cut here{extra} …]\n"
    room = max_bytes - len(marker.encode())
    if room <= 0:
        return _first(lines, max_bytes).decode("utf-8", "ignore")
    head = _first(lines, (room + 1) // 2).decode("utf-8", "ignore")
    tail = _last(lines, room // 2).decode("utf-8", "ignore")
    return head + marker + tail


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "backslashreplace"))


def _first(lines: Sequence[str], count: int) -> bytes:
    """Return the first bytes of the text; a character takes at least one of them."""
    data = bytearray()
    for number, line in enumerate(lines):
        data += b"\n" * (number > 0) + line[:count].encode("utf-8", "backslashreplace")
        if len(data) >= count:
            break
    return bytes(data[:count])


def _last(lines: Sequence[str], count: int) -> bytes:
    pieces: list[bytes] = []
    room = count
    for number, line in enumerate(reversed(lines)):
        piece = line[max(len(line) - count, 0) :].encode("utf-8", "backslashreplace") + b"\n" * (number > 0)
        pieces.append(piece)
        room -= len(piece)
        if room <= 0:
            break
    data = b"".join(reversed(pieces))
    return data[max(len(data) - count, 0) :]


def _write(value: JSON, depth: int, parts: list[str]) -> None:
    if not isinstance(value, dict | list) or not value or depth >= _DEEPEST_INDENT:
        separators = (",", ":") if depth >= _DEEPEST_INDENT else None
        parts.append(json.dumps(value, ensure_ascii=False, separators=separators, allow_nan=False))
        return
    outer = "  " * depth
    inner = outer + "  "
    is_object = isinstance(value, dict)
    parts.append("{\n" if is_object else "[\n")
    for index, item in enumerate(value):
        if index:
            parts.append(",\n")
        parts.append(inner)
        if is_object:
            parts.append(json.dumps(item, ensure_ascii=False) + ": ")
            item = value[item]
        _write(item, depth + 1, parts)
    parts.append(f"\n{outer}" + ("}" if is_object else "]"))
