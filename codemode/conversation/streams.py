"""What all streams share: what a state machine of a provider takes and gives, and how pieces become whole.

    events in, one at a time  ->  pieces of text to display, and, once the answer is complete, a turn

A turn exists when the provider has said that the message is complete, and not before: however a stream ends
otherwise, there is nothing to take from it but the reason. Nothing here waits, reads or writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Protocol

from msgspec import Struct

from codemode.conversation.blocks import AssistantBlock
from codemode.conversation.content import is_content, to_block
from codemode.conversation.results import Result
from codemode.conversation.turns import AssistantTurn, Stop
from codemode.errors import IncompleteStateError, StreamError
from codemode.values import JSON, InvalidValue, freeze

__all__ = ["Piece", "Stream", "as_expected", "frozen_object", "joined", "parse_event", "turn_of"]


class Piece(Struct, frozen=True):
    """Something to display while an answer comes; a view, from which nothing is kept."""

    kind: Literal["text", "thinking", "call"]
    text: str
    """What was added; for a call its name, once, when the call is complete."""


class Stream(Protocol):
    """The state machine of one answer."""

    @property
    def is_complete(self) -> bool:
        """Whether the provider has said that the message is complete."""
        ...

    def feed(self, event: JSON) -> list[Piece]:
        """Take one event. Events after the complete message change nothing.

        Raises `StreamError` for an error that the provider reports, and for events that do not belong together;
        the stream is of no use afterwards.
        """
        ...

    def turn(self) -> AssistantTurn:
        """Return the complete turn.

        Raises `StreamError` if the stream has ended before it was complete, `TruncatedTurnError` if the answer
        was cut inside a call, `IncompleteStateError` if it came without something that it needs to go back.
        """
        ...


@contextmanager
def as_expected(what: object) -> Iterator[None]:
    """Anything in here that is not as the provider's format says is a `StreamError`, whatever it is."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        text = repr(what)
        shown = text if len(text) <= 200 else text[:200] + "…"
        raise StreamError(f"the stream holds what its format has not: {shown}") from None


def parse_event(data: str) -> dict[str, Any]:
    """Return the JSON object that an event holds. Raises `StreamError` for anything else."""
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        raise StreamError("an event of the stream is no JSON") from None
    if not isinstance(event, dict):
        raise StreamError("an event of the stream is no JSON object")
    return event


def joined(pieces: Iterable[str]) -> str:
    """Return text that came in pieces. A character that was cut into two surrogates is whole again.

    Raises `StreamError` for half a character.
    """
    whole = "".join(pieces)
    try:
        return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise StreamError("text of the stream holds half a character") from None


def frozen_object(value: object, where: str) -> dict[str, JSON]:
    """Return a JSON object, frozen. Raises `StreamError` for anything else."""
    try:
        frozen = freeze(value, root=where)
    except InvalidValue as error:
        raise StreamError(str(error)) from None
    if not isinstance(frozen, dict):
        raise StreamError(f"{where} is no JSON object")
    return frozen


def turn_of(provider: str, results: Sequence[Result], stop: Stop, envelope: dict[str, JSON]) -> AssistantTurn:
    """Return the turn that a complete answer is. Raises `IncompleteStateError` with the place of what is missing."""
    blocks: list[AssistantBlock] = []
    missing: list[str] = []
    for index, result in enumerate(filter(is_content, results)):
        try:
            blocks.append(to_block(result))
        except IncompleteStateError as error:
            missing += [f"content[{index}] {each}" for each in error.missing]
    if missing:
        raise IncompleteStateError(missing)
    return AssistantTurn(provider=provider, content=tuple(blocks), stop=stop, envelope=envelope)
