"""Saving context: whole exchanges are left out, from the oldest on. Never part of one, never inside a block.

An exchange is what a user said, and everything up to the next thing a user says that is no result of a call.
So calls keep their results, and thinking its place, in whatever is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from codemode.conversation.blocks import ToolResult
from codemode.conversation.turns import Turn, UserTurn

__all__ = ["exchanges", "prune"]


def exchanges(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Return the exchanges of a conversation; joined they are the conversation."""
    found: list[list[Turn]] = []
    for turn in turns:
        begins = isinstance(turn, UserTurn) and not any(isinstance(b, ToolResult) for b in turn.content)
        if begins or not found:
            found.append([])
        found[-1].append(turn)
    return found


def prune(turns: Sequence[Turn], keep: int) -> list[Turn]:
    """Return the last `keep` exchanges, untouched. Raises `ValueError` unless `keep` is at least 1."""
    if keep < 1:
        raise ValueError(f"keep={keep!r}: at least the exchange that goes on has to be kept")
    return [turn for exchange in exchanges(turns)[-keep:] for turn in exchange]
