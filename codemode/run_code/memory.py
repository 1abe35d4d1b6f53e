"""Finished calls of a run, kept by whoever asked for it, so that a corrected program need not make them again.

A later run is answered from here as long as it makes the same calls in the same order: a tool of the same
name, the same arguments. The first difference ends that, and so does a call that had failed. Values live in
memory only; nothing here is ever stored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType

from codemode.values import JSON

__all__ = ["FinishedCall", "Recall"]


class FinishedCall(Struct, frozen=True, eq=False, kw_only=True):
    """One call of a run, in the order of making. `value` is UNSET for one that failed or had not ended."""

    id: str
    name: str
    arguments: dict[str, JSON]
    value: JSON | UnsetType = UNSET


class Recall:
    """Answers the calls of one run from those of an earlier one."""

    def __init__(self, calls: Sequence[FinishedCall]) -> None:
        self._calls = iter(calls)
        self._is_over = False

    def next(self, name: str, arguments: dict[str, JSON]) -> FinishedCall | None:
        """Return the earlier call that this one repeats, if it has a value. To be asked for every call, in order."""
        if self._is_over:
            return None
        earlier = next(self._calls, None)
        # A call that is made anew may change what later ones would give, so it ends the reuse as well.
        if (
            earlier is None
            or earlier.value is UNSET
            or (earlier.name, _text(earlier.arguments)) != (name, _text(arguments))
        ):
            self._is_over = True
            return None
        return earlier


def _text(arguments: dict[str, JSON]) -> str:
    """Arguments that are equal as JSON have the same text; `1`, `1.0` and `True` are three."""
    return json.dumps(arguments, sort_keys=True)
