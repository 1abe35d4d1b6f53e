"""Calls and their results: each call of a turn has exactly one result, with its id, in the very next user turn.

Checked when a request is built, when history is loaded and after recovery. A prompt cannot repair this, and a
result is never dropped or made up to make it fit: a call whose end nobody saw gets an honest error instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from codemode.conversation.blocks import ToolResult, ToolUse
from codemode.conversation.turns import AssistantTurn, Turn, UserTurn
from codemode.errors import PairingError

__all__ = ["check_pairing", "close_calls", "open_calls", "pairing_violations"]


def check_pairing(turns: Sequence[Turn], names: Sequence[str] = ()) -> None:
    """Raise `PairingError`, naming every id and turn, unless all calls and results belong together.

    `names` are those of the turns, where they have others than their numbers from 0.
    """
    violations = pairing_violations(turns, names)
    if violations:
        raise PairingError(violations)


def pairing_violations(turns: Sequence[Turn], names: Sequence[str] = ()) -> list[str]:
    """Return what is wrong with the pairs of a conversation; empty when nothing is."""
    names = names or [f"turn {index}" for index in range(len(turns))]
    found: list[str] = []
    for index, turn in enumerate(turns):
        if isinstance(turn, AssistantTurn):
            found += _of_calls(turns, names, index, turn)
        else:
            found += _of_results(turns, names, index, turn)
    return found


def _of_calls(turns: Sequence[Turn], names: Sequence[str], index: int, turn: AssistantTurn) -> list[str]:
    found: list[str] = []
    after = turns[index + 1] if index + 1 < len(turns) else None
    answered = Counter(block.tool_use_id for block in _results(after))
    for call_id, times in Counter(call.id for call in turn.calls).items():
        if times > 1:
            found.append(f"{names[index]} makes {times} calls with the id {call_id!r}")
        if answered[call_id] == 1:
            continue
        if answered[call_id] > 1:
            found.append(f"{names[index + 1]} has {answered[call_id]} results for the call {call_id!r}")
            continue
        later = [
            at
            for at in range(index + 2, len(turns))
            if any(block.tool_use_id == call_id for block in _results(turns[at]))
        ]
        where = f"; its result is in {names[later[0]]}, and belongs into {names[index + 1]}" if later else ""
        found.append(f"the call {call_id!r} of {names[index]} has no result in the turn after it{where}")
    return found


def _of_results(turns: Sequence[Turn], names: Sequence[str], index: int, turn: UserTurn) -> list[str]:
    before = turns[index - 1] if index else None
    calls = {call.id for call in before.calls} if isinstance(before, AssistantTurn) else set()
    found = [
        f"{names[index]} has a result for {block.tool_use_id!r}, a call that the turn before it does not make"
        for block in _results(turn)
        if block.tool_use_id not in calls
    ]
    kinds = [isinstance(block, ToolResult) for block in turn.content]
    if kinds != sorted(kinds, reverse=True):
        found.append(f"{names[index]} has something before its results; results come first")
    return found


def _results(turn: Turn | None) -> list[ToolResult]:
    content = turn.content if isinstance(turn, UserTurn) else ()
    return [block for block in content if isinstance(block, ToolResult)]


def open_calls(turns: Sequence[Turn]) -> list[ToolUse]:
    """Return the calls of the model's last turn that have no result after it, in the model's order."""
    for index in range(len(turns) - 1, -1, -1):
        turn = turns[index]
        if isinstance(turn, AssistantTurn):
            after = turns[index + 1] if index + 1 < len(turns) else None
            answered = {block.tool_use_id for block in _results(after)}
            return [call for call in turn.calls if call.id not in answered]
    return []


def close_calls(turns: Sequence[Turn], answer: Callable[[ToolUse], ToolResult]) -> list[Turn]:
    """Return the conversation with `answer(call)` for each open call of the model's last turn.

    Results stand in the model's order before anything else that the user says. Nothing else changes.
    """
    closing = {call.id: answer(call) for call in open_calls(turns)}
    if not closing:
        return list(turns)
    index = max(at for at, turn in enumerate(turns) if isinstance(turn, AssistantTurn))
    asked = turns[index]
    assert isinstance(asked, AssistantTurn)
    after = turns[index + 1] if index + 1 < len(turns) else None
    given = {block.tool_use_id: block for block in _results(after)}
    rest = [b for b in after.content if not isinstance(b, ToolResult)] if isinstance(after, UserTurn) else []
    results = [given[call.id] if call.id in given else closing[call.id] for call in asked.calls]
    return [*turns[: index + 1], UserTurn((*results, *rest)), *turns[index + 2 :]]
