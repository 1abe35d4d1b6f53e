"""How much of a session is kept: which events at its front may go, by age and by size. Pure; no I/O.

A session is cut only where nothing is unfinished: whole calls and turns go, from the oldest on, and never one
that is open, nor anything after it. What is kept is not renumbered: `seq` goes on counting everything that the
session ever held, and the first event that is kept has the number of the dropped ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from codemode.session.pairs import Outline, Unfinished

__all__ = ["place_to_cut"]


def place_to_cut(
    outline: Iterable[Outline], *, total_bytes: int, max_bytes: int | None, oldest: float | None
) -> int:
    """Return the `seq` of the first event to keep; 0 when all are kept.

    `outline` is walked from the front, no further than needed; `total_bytes` is the sum of its sizes. A piece
    (a call, a turn, an event that belongs to none) goes when it ended before `oldest` (milliseconds since
    1970), or while more than `max_bytes` would be left; the first piece that stays ends it. Raises what walking
    over `outline` raises.
    """
    unfinished = Unfinished()
    cut = 0
    left = piece_left = total_bytes
    for seq, time, kind, size, key in outline:
        too_many = max_bytes is not None and left > max_bytes
        if not too_many and (oldest is None or time >= oldest):
            break
        unfinished.see(seq, kind, key)
        piece_left -= size
        if not unfinished:
            cut, left = seq + 1, piece_left
    return cut
