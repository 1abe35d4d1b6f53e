"""A turn of the model as it is stored and as it is taken up again: whole, or not at all.

What is stored is the answer as it came (blocks and all that was around them), with an outline of its blocks and
a seal. What is displayed is no part of it and never a source for it. A turn of which something is missing is an
`Incomplete` that says what; it is never completed from text, with new ids or with made-up ciphertext.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from msgspec import Struct

from codemode.conversation import anthropic_wire, openai_wire
from codemode.conversation.results import ContentResult
from codemode.conversation.streams import turn_of
from codemode.conversation.turns import AssistantTurn, seal_of
from codemode.errors import IncompleteStateError
from codemode.values import JSON, freeze

__all__ = ["CONVERTERS", "Incomplete", "read", "require", "to_message"]

CONVERTERS: Mapping[str, Callable[[dict[str, JSON]], ContentResult]] = MappingProxyType(
    {anthropic_wire.NAME: anthropic_wire.convert, openai_wire.NAME: openai_wire.convert}
)
"""By provider: what a block of its wire format is."""

_STOPS = ("end", "tool-calls", "max-tokens", "context-full", "pause", "refusal", "other")
_REQUIRED = ("provider", "content", "stop", "envelope", "outline", "seal")


class Incomplete(Struct, frozen=True):
    """A stored turn that cannot be taken up. `missing` names each thing that is missing, with its place."""

    missing: tuple[str, ...]


Read: TypeAlias = AssistantTurn | Incomplete


def to_message(turn: AssistantTurn) -> dict[str, JSON]:
    """Return a turn as the JSON object that is stored."""
    return {
        "role": "assistant",
        "provider": turn.provider,
        "content": [block.wire for block in turn.content],
        "stop": turn.stop,
        "envelope": turn.envelope,
        "outline": [_outline(block.wire) for block in turn.content],
        "seal": turn.seal,
    }


def read(message: JSON) -> Read:
    """Return the turn that a stored message holds, equal to the one stored, or what is missing of it."""
    if not isinstance(message, dict):
        return Incomplete(("the message: it is no JSON object",))
    missing = [name for name in _REQUIRED if name not in message]
    if missing:
        return Incomplete(tuple(missing))
    convert = CONVERTERS.get(message["provider"]) if isinstance(message["provider"], str) else None
    if convert is None:
        return Incomplete((f"a reader for the provider {message['provider']!r}",))
    if message["stop"] not in _STOPS or not isinstance(message["envelope"], dict):
        return Incomplete(("the reason for stopping, or the envelope",))
    content: Any = freeze(message["content"])
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        return Incomplete(("content: a list of blocks",))
    lost = _lost(content, message["outline"])
    if lost:
        return Incomplete(tuple(lost))
    if seal_of(content) != message["seal"]:
        return Incomplete(
            ("the blocks as they were received: what is stored was changed (the seal is broken)",)
        )
    try:
        turn = turn_of(
            message["provider"],
            [convert(wire) for wire in content],
            message["stop"],
            freeze(message["envelope"]),
        )
    except IncompleteStateError as error:
        return Incomplete(error.missing)
    return turn


def require(message: JSON, where: str = "message") -> AssistantTurn:
    """Return the turn that a stored message holds. Raises `IncompleteStateError`, each thing with `where`."""
    found = read(message)
    if isinstance(found, Incomplete):
        raise IncompleteStateError([f"{where}: {each}" for each in found.missing])
    return found


def _outline(wire: dict[str, JSON]) -> dict[str, JSON]:
    return {name: wire[name] for name in ("type", "id", "call_id") if name in wire}


def _lost(content: list[dict[str, JSON]], outline: JSON) -> list[str]:
    """Name the blocks of the outline that are not in the content, each with its place."""
    if not isinstance(outline, list):
        return ["outline: a list"]
    rest = [_outline(wire) for wire in content]
    lost: list[str] = []
    for index, expected in enumerate(outline):
        if rest and rest[0] == expected:
            rest.pop(0)
        else:
            words = " ".join(str(value) for value in expected.values()) if isinstance(expected, dict) else "?"
            lost.append(f"content[{index}] ({words})")
    if rest and not lost:
        lost.append(f"an outline of {len(rest)} more blocks than it has")
    return lost
