"""What a change to a file shows to a user interface: hunks with three lines around them. Pure.

It runs in the host's loop, so its work is bounded: beyond that, a change is one hunk, and hunks that do not
fit are left out and said to be.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

__all__ = ["diffs"]

_CONTEXT_LINES = 3
_MAX_COMPARED_LINES = 500  # comparing lines takes up to the square of their number
_MAX_BYTES = 65_536


def diffs(path: str, before: str | None, after: str) -> dict[str, Any]:
    """Return `{diffs: [{path, oldText, newText}], truncated}`; no hunk for a file that is new."""
    found: list[dict[str, str]] = []
    room = _MAX_BYTES
    truncated = False
    for old, new in _hunks(before, after) if before is not None else []:
        room -= len(old.encode()) + len(new.encode())
        if room < 0:
            truncated = True
            break
        found.append({"path": path, "oldText": old, "newText": new})
    return {"diffs": found, "truncated": truncated}


def _hunks(before: str, after: str) -> list[tuple[str, str]]:
    if before == after:
        return []
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    head = max(start - _CONTEXT_LINES, 0)
    tail = max(end - _CONTEXT_LINES, 0)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(old), len(new)) > _MAX_COMPARED_LINES:
        return [("".join(old), "".join(new))]
    groups = SequenceMatcher(None, old, new).get_grouped_opcodes(_CONTEXT_LINES)
    return [
        ("".join(old[group[0][1] : group[-1][2]]), "".join(new[group[0][3] : group[-1][4]]))
        for group in groups
    ]


def _common(one: list[str], other: list[str]) -> int:
    """How many lines two lists have in common at their beginning."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
