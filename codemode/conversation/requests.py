"""A request to a model: what it holds, and the checks without which none is built. No I/O.

Whatever state a conversation was left in, `build_request` either returns one that a provider takes, or raises
and says what is wrong and where.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from codemode.conversation.blocks import Text
from codemode.conversation.pairing import check_pairing
from codemode.conversation.turns import AssistantTurn, Turn, UserTurn, check_seal
from codemode.errors import ConversationError, IncompleteStateError
from codemode.values import JSON, FrozenDict, freeze

__all__ = ["Request", "build_request"]


class Request(Struct, frozen=True, kw_only=True):
    """What a provider is asked: build it with `build_request`."""

    provider: str
    model: str
    turns: tuple[Turn, ...]
    max_tokens: int
    system: str = ""
    tools: tuple[dict[str, JSON], ...] = ()
    """As the provider's API wants them defined."""
    options: dict[str, JSON] = FrozenDict()
    """Further fields of the provider's own (thinking, temperature, …), sent as they are; its `tools` beside ours."""


def build_request(
    turns: Sequence[Turn],
    *,
    provider: str,
    model: str,
    max_tokens: int,
    system: str = "",
    tools: Sequence[dict[str, JSON]] = (),
    options: dict[str, JSON] | None = None,
) -> Request:
    """Return a request over a conversation, checked.

    The conversation begins with the user and ends with the user, or with a turn that the provider paused.

    Raises `PairingError` if calls and results do not belong together; `AlteredTurnError` if a turn of the model
    is not what was received; `IncompleteStateError` if there is nothing to answer; `ConversationError` if a turn
    was received from another kind of provider, whose opaque blocks this one cannot read.
    """
    kept = tuple(turn for turn in turns if turn.content)
    if not kept:
        raise IncompleteStateError(["a user turn to answer"])
    if not isinstance(kept[0], UserTurn):
        raise IncompleteStateError(["the user turn that the first turn of the model answers"])
    for index, turn in enumerate(kept):
        if isinstance(turn, AssistantTurn):
            if turn.provider != provider:
                raise ConversationError(
                    f"turn {index} was received from {turn.provider!r} and cannot be sent to {provider!r}; go on with "
                    f"{turn.provider!r}, or begin a new conversation"
                )
            check_seal(turn, index)
        _check_order(kept, index)
    check_pairing(kept)
    last = kept[-1]
    if isinstance(last, AssistantTurn) and last.stop != "pause":
        raise IncompleteStateError([f"a user turn after turn {len(kept) - 1}, which the model has finished"])
    return Request(
        provider=provider,
        model=model,
        turns=kept,
        max_tokens=max_tokens,
        system=system,
        tools=tuple(freeze(each) for each in tools),
        options=freeze(options or {}),
    )


def _check_order(turns: Sequence[Turn], index: int) -> None:
    turn = turns[index]
    before = turns[index - 1] if index else None
    if isinstance(turn, AssistantTurn):
        if isinstance(before, AssistantTurn) and before.stop != "pause":
            raise ConversationError(
                f"turns {index - 1} and {index} are both the model's, and none was paused"
            )
        return
    if isinstance(before, UserTurn):
        raise ConversationError(f"turns {index - 1} and {index} are both the user's; they belong into one")
    for block in turn.content:
        if isinstance(block, Text) and not block.text:
            raise ConversationError(f"turn {index} holds an empty text, which providers refuse")
