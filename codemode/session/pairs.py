"""Which events begin something and which end it, and what is unfinished as events go by. Pure; no I/O.

    turn/start                 turn/end              by turn
    step/start                 step/end              by step
    tool/call, tool/start      tool/result           by callId
    run/start                  run/end               by callId
    tool/code-dispatch-start   tool/code-dispatch    by subCallId

`tool/start` ends nothing and needs no end of its own: it says how far its `tool/call` had come.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

import msgspec
from msgspec import Struct

from codemode.values import JSON

__all__ = ["KEYS", "Outline", "Unfinished", "key_in_text"]

Outline: TypeAlias = tuple[int, int, str, int, JSON]
"""Of an event: `seq, time, type, size, key`; the size of its data in bytes, and its field that `KEYS` names."""

KEYS: Mapping[str, str] = MappingProxyType(
    {
        "turn/start": "turn",
        "turn/end": "turn",
        "step/start": "step",
        "step/end": "step",
        "tool/call": "callId",
        "tool/start": "callId",
        "tool/result": "callId",
        "run/start": "callId",
        "run/end": "callId",
        "tool/code-dispatch-start": "subCallId",
        "tool/code-dispatch": "subCallId",
    }
)
"""The types of event that begin or end something, each with the field that says what."""

_BEGUN_BY = {
    "turn/end": "turn/start",
    "step/end": "step/start",
    "tool/result": "tool/call",
    "run/end": "run/start",
    "tool/code-dispatch": "tool/code-dispatch-start",
}


class Unfinished:
    """What has begun and has not ended, after the events that were shown to `see`, in order.

    Ids that are in use twice at a time are told apart by number only: the first to begin ends first.
    """

    __slots__ = ("_begun", "_bodies")

    def __init__(self) -> None:
        self._begun: dict[tuple[str, JSON], list[int]] = {}
        self._bodies: set[JSON] = set()

    def __bool__(self) -> bool:
        return bool(self._begun)

    def see(self, seq: int, kind: str, key: JSON) -> None:
        """Take note of one event; `key` is what the field `KEYS[kind]` holds, and is not looked at otherwise."""
        if kind not in KEYS:
            return
        begun_by = _BEGUN_BY.get(kind)
        if kind == "tool/start":
            if ("tool/call", key) in self._begun:
                self._bodies.add(key)
        elif begun_by is None:
            self._begun.setdefault((kind, key), []).append(seq)
        elif (begun_by, key) in self._begun:
            self._end(begun_by, key)

    def _end(self, begun_by: str, key: JSON) -> None:
        places = self._begun[begun_by, key]
        places.pop(0)
        if not places:
            del self._begun[begun_by, key]
            if begun_by == "tool/call":
                self._bodies.discard(key)

    def begun(self, kind: str) -> list[int]:
        """Return the `seq` of the unfinished starts of one type, in order."""
        return sorted(seq for (other, _), places in self._begun.items() if other == kind for seq in places)

    def body_has_started(self, call_id: str) -> bool:
        """Whether a `tool/start` of this unfinished direct call was seen."""
        return call_id in self._bodies


class _Keys(Struct, rename="camel"):
    call_id: str | None = None
    sub_call_id: str | None = None
    turn: int | None = None
    step: int | None = None


def key_in_text(kind: str, text: str) -> JSON:
    """Return the field `KEYS[kind]` of data given as JSON text, without decoding the rest.

    Raises `ValueError` for text that is no JSON object with such fields.
    """
    try:
        keys = msgspec.json.decode(text, type=_Keys)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return {"callId": keys.call_id, "subCallId": keys.sub_call_id, "turn": keys.turn, "step": keys.step}[
        KEYS[kind]
    ]
