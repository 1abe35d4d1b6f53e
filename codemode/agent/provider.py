"""What a loop needs of a model: one answer to one request; and how often an answer is asked for again.

Which SDK is spoken to, and how its errors read, is in `anthropic_messages` and `openai_responses`. An answer is
whole, or it is an error: a provider never returns part of one.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol, TypeAlias

import trio
from msgspec import Struct

from codemode.conversation import AssistantTurn, Request
from codemode.conversation.sse import EventLines
from codemode.conversation.streams import Piece, Stream, parse_event
from codemode.errors import ProviderError, StreamError
from codemode.values import JSON

__all__ = ["Provider", "Retry", "Show", "missing_extra", "read_answer", "status_error"]

_DRAIN_SECONDS = 0.5
_SIGNS_OF_LIFE = 10  # times the wait for anything at all, that nothing but signs of life may come
_KEEP_ALIVE = frozenset({"ping", "keepalive"})

Show: TypeAlias = Callable[[Piece], None]
"""Receives what can be displayed while an answer comes; it must return at once. After an answer was dropped, what
it showed is shown again."""


class Provider(Protocol):
    """A model behind some API. Its `name` is that of its wire format: turns of one go to no other."""

    @property
    def name(self) -> str:
        """The wire format of its blocks: `anthropic` or `openai`. A stored conversation is read again by this name."""
        ...

    @property
    def model(self) -> str:
        """The model, by the name that its provider gives it."""
        ...

    def define(self, described: Sequence[dict[str, JSON]]) -> list[dict[str, JSON]]:
        """Return tools (`Scope.describe()`) as its API wants them defined; see `codemode.sdk.definitions`."""
        ...

    async def respond(self, request: Request, show: Show) -> AssistantTurn:
        """Ask once, and return the complete answer.

        Cancellation closes the connection and is passed on; nothing of the answer counts then. Raises
        `ProviderError` when there is no answer, `StreamError` when it broke off, `TruncatedTurnError` when it was
        cut inside a call, `IncompleteStateError` when it came without something that it needs to go back.
        """
        ...


class Retry(Struct, frozen=True, kw_only=True):
    """How often, and after which time, the same request is sent again.

    The wait doubles from `first_seconds` up to `max_seconds`, less a random part of up to half of it, so that many
    who failed together do not come back together. What the provider asks for (`retry-after`) is waited at least.
    """

    attempts: int = 5
    """In all, with the first."""
    first_seconds: float = 0.5
    max_seconds: float = 30.0
    patience_seconds: float = 600.0
    """A provider that asks for a longer wait than this is not waited for: what it refused stays refused."""

    def __post_init__(self) -> None:
        if self.attempts < 1 or not min(self.first_seconds, self.max_seconds, self.patience_seconds) >= 0:
            raise ValueError(f"{self!r}: at least one attempt, and no negative time")

    def is_over(self, failed: int, retry_after: float | None = None) -> bool:
        """Whether nothing is tried again after the `failed`-th attempt (from 1)."""
        return failed >= self.attempts or (retry_after or 0.0) > self.patience_seconds

    def wait(self, failed: int, retry_after: float | None = None) -> float:
        """Return the seconds to wait after the `failed`-th attempt (from 1)."""
        longest = min(self.first_seconds * 2.0 ** min(failed - 1, 60), self.max_seconds)
        return max(longest * random.uniform(0.5, 1.0), retry_after or 0.0)


async def read_answer(
    chunks: AsyncIterator[bytes], stream: Stream, show: Show, idle_seconds: float
) -> AssistantTurn:
    """Read the events of an answer until it is complete, and return its turn. Raises as `Provider.respond`.

    That something comes within `idle_seconds` is for `chunks` to see to. Signs of life (pings, comments) say that
    the connection stands, not that the answer goes on: nothing else for ten times as long ends the stream.
    """
    lines = EventLines()
    quiet_seconds = idle_seconds * _SIGNS_OF_LIFE
    with trio.move_on_after(quiet_seconds) as waiting:
        async for chunk in chunks:
            try:
                complete = lines.feed(chunk)
            except ValueError as error:
                raise StreamError(f"the stream cannot be read: {error}") from None
            for data in complete:
                if data == "[DONE]":
                    continue
                event = parse_event(data)
                if event.get("type") not in _KEEP_ALIVE:
                    waiting.deadline = trio.current_time() + quiet_seconds
                for piece in stream.feed(event):
                    show(piece)
            if stream.is_complete:
                await _drain(chunks)
                break
    if waiting.cancelled_caught and not stream.is_complete:
        raise StreamError(f"nothing but signs of life came for {quiet_seconds:.0f} s")
    return stream.turn()


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read to the end of the body, if it comes soon, so that the connection can be used again.

    The answer is complete: nothing that happens here matters to it.
    """
    with trio.move_on_after(_DRAIN_SECONDS), contextlib.suppress(Exception):
        async for _ in chunks:
            pass


def missing_extra(name: str) -> ProviderError:
    """Return the error that says how to install what a provider needs."""
    return ProviderError(f"the {name} SDK is not installed; install it with: pip install 'codemode[{name}]'")


_TEMPORARY = frozenset({408, 409, 429})


def status_error(
    name: str, status: int, body: object, message: str, retry_after: str | None
) -> ProviderError:
    """Return the error for an HTTP status; 408, 409, 429 and those from 500 on may be tried again.

    Its words are those in the `body`, or else `message`.
    """
    said = body.get("error", body) if isinstance(body, dict) else None
    words = said.get("message") if isinstance(said, dict) else None
    try:
        seconds = float(retry_after) if retry_after is not None else None
    except ValueError:  # a date
        seconds = None
    if seconds is not None and not 0 <= seconds < math.inf:
        seconds = None
    return ProviderError(
        f"{name} answered with status {status}: {words or message}",
        retryable=status in _TEMPORARY or status >= 500,
        retry_after=seconds,
        status=status,
    )
