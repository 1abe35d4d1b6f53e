"""A request to a model: what it holds, and the checks without which none is built. No I/O.

Whatever state a conversation was left in, `build_request` either returns one that a provider takes, or raises
and says what is wrong and where.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from codemode.conversation.pairing import check_pairing
from codemode.conversation.turns import AssistantTurn, Turn, UserTurn, check_seal, is_blank
from codemode.errors import ConversationError, IncompleteStateError
from codemode.values import JSON, FrozenDict, freeze

__all__ = ["Request", "build_request", "check_turns"]


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
    names: Sequence[str] = (),
) -> Request:
    """Return a request over a conversation, checked.

    The conversation begins with the user and ends with the user, or with a turn that the provider paused. A turn
    of the model that says nothing (thinking alone, blank text) is passed over, whole.

    Raises as `check_turns` does, and `IncompleteStateError` if there is nothing to answer. `names` are those of the
    turns in errors, where they have others than their numbers from 0.
    """
    kept = tuple(turn for turn in turns if turn.content)
    named = [name for name, turn in zip(names, turns, strict=True) if turn.content] if names else ()
    check_turns(kept, provider, named)
    if not kept:
        raise IncompleteStateError(["a user turn to answer"])
    last = kept[-1]
    if isinstance(last, AssistantTurn) and last.stop != "pause":
        raise IncompleteStateError(
            [
                f"a user turn after {named[-1] if named else f'turn {len(kept) - 1}'}, which the model has finished"
            ]
        )
    return Request(
        provider=provider,
        model=model,
        turns=tuple(_that_say_something(kept)),
        max_tokens=max_tokens,
        system=system,
        tools=tuple(freeze(each) for each in tools),
        options=freeze(options or {}),
    )


def check_turns(turns: Sequence[Turn], provider: str, names: Sequence[str] = ()) -> None:
    """Check a conversation as far as it has come; nothing needs to be asked in it, nor to be in it at all.

    Raises `PairingError` if calls and results do not belong together; `AlteredTurnError` if a turn of the model
    is not what was received; `IncompleteStateError` if it does not begin with the user; `ConversationError` if a
    turn was received from another kind of provider, whose opaque blocks this one cannot read, or stands where
    none can. `names` as in `build_request`.
    """
    names = names or [f"turn {index}" for index in range(len(turns))]
    if turns and not isinstance(turns[0], UserTurn):
        raise IncompleteStateError(["the user turn that the first turn of the model answers"])
    for index, turn in enumerate(turns):
        if isinstance(turn, AssistantTurn):
            if turn.provider != provider:
                raise ConversationError(
                    f"{names[index]} was received from {turn.provider!r} and cannot be sent to {provider!r}; go on "
                    f"with {turn.provider!r}, or begin a new conversation"
                )
            check_seal(turn, names[index])
    check_pairing(turns, names)  # first, for it names ids
    for index in range(len(turns)):
        _check_order(turns, names, index)


def _that_say_something(turns: Sequence[Turn]) -> list[Turn]:
    """Leave out turns of the model that say nothing; what the user said before and after one is then one turn."""
    kept: list[Turn] = []
    for turn in turns:
        if isinstance(turn, AssistantTurn) and turn.says_nothing:
            continue
        if kept and isinstance(turn, UserTurn) and isinstance(kept[-1], UserTurn):
            turn = UserTurn((*kept.pop().content, *turn.content))
        kept.append(turn)
    return kept


def _check_order(turns: Sequence[Turn], names: Sequence[str], index: int) -> None:
    turn = turns[index]
    before = turns[index - 1] if index else None
    if isinstance(turn, AssistantTurn):
        if isinstance(before, AssistantTurn) and before.stop != "pause":
            raise ConversationError(
                f"{names[index - 1]} and {names[index]} are both the model's, and none was paused"
            )
        return
    if isinstance(before, UserTurn):
        raise ConversationError(
            f"{names[index - 1]} and {names[index]} are both the user's; they belong into one"
        )
    for block in turn.content:
        if is_blank(block):
            raise ConversationError(f"{names[index]} holds an empty text, which providers refuse")
