"""Each call has exactly one result, with its id, in the very next user turn; and requests that are built hold it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.conversation import (
    Turn,
    UserTurn,
    check_pairing,
    close_calls,
    exchanges,
    open_calls,
    pairing_violations,
    prune,
    text,
)
from codemode.errors import ConversationError, PairingError
from tests.conversation.checker import coming_back, problems
from tests.conversation.scripts import FILLED, Json, answer, answers, called, redacted, said, thought, use
from tests.conversation.support import (
    TWO,
    asked,
    received,
    received_message,
    request,
    result,
    results,
    sent,
    unknown,
)


def test_two_calls_are_answered_together_in_the_next_user_turn():
    turns = [asked(), TWO, results("toolu_01", "toolu_02")]
    check_pairing(turns)
    assert sent(turns)[2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_01", "content": [{"type": "text", "text": "3"}]},
            {"type": "tool_result", "tool_use_id": "toolu_02", "content": [{"type": "text", "text": "3"}]},
        ],
    }


@pytest.mark.parametrize(
    ("turns", "violations"),
    [
        (
            [asked(), TWO, results("toolu_01")],
            ["the call 'toolu_02' of turn 1 has no result in the turn after it"],
        ),
        (
            [asked(), TWO, results("toolu_01"), results("toolu_02")],
            [
                "the call 'toolu_02' of turn 1 has no result in the turn after it; its result is in turn 3, and "
                "belongs into turn 2",
                "turn 3 has a result for 'toolu_02', a call that the turn before it does not make",
            ],
        ),
        (
            [asked(), TWO, results("toolu_01", "toolu_99")],
            [
                "the call 'toolu_02' of turn 1 has no result in the turn after it",
                "turn 2 has a result for 'toolu_99', a call that the turn before it does not make",
            ],
        ),
        (
            [asked(), TWO, results("toolu_01", "toolu_02", "toolu_02")],
            ["turn 2 has 2 results for the call 'toolu_02'"],
        ),
        (
            [asked(), TWO],
            [
                "the call 'toolu_01' of turn 1 has no result in the turn after it",
                "the call 'toolu_02' of turn 1 has no result in the turn after it",
            ],
        ),
        (
            [asked(), TWO, asked("never mind"), results("toolu_01", "toolu_02")],
            [
                "the call 'toolu_01' of turn 1 has no result in the turn after it; its result is in turn 3, and "
                "belongs into turn 2",
                "the call 'toolu_02' of turn 1 has no result in the turn after it; its result is in turn 3, and "
                "belongs into turn 2",
                "turn 3 has a result for 'toolu_01', a call that the turn before it does not make",
                "turn 3 has a result for 'toolu_02', a call that the turn before it does not make",
            ],
        ),
        (
            [results("toolu_01")],
            ["turn 0 has a result for 'toolu_01', a call that the turn before it does not make"],
        ),
        (
            [asked(), received(use("same"), use("same")), results("same")],
            ["turn 1 makes 2 calls with the id 'same'"],
        ),
        (
            [asked(), received(use("a")), UserTurn((text("Here:"), result("a")))],
            ["turn 2 has something before its results; results come first"],
        ),
    ],
)
def test_a_violation_names_the_ids_and_the_turns_and_no_request_is_built(
    turns: list[Turn], violations: list[str]
):
    assert pairing_violations(turns) == violations
    with pytest.raises(PairingError) as caught:
        check_pairing(turns)
    assert caught.value.violations == tuple(violations)
    assert problems(msgspec.to_builtins([bare(turn) for turn in turns]))  # an independent judge says the same
    with pytest.raises(ConversationError):
        request(turns)


def bare(turn: Turn) -> Json:
    return {"role": turn.role, "content": [block.wire for block in turn.content]}


def test_an_interrupted_batch_is_closed_with_honest_errors_in_the_order_of_the_calls():
    turns = [asked(), TWO, UserTurn((result("toolu_02", "12"), text("and quickly")))]
    assert [call.id for call in open_calls(turns)] == ["toolu_01"]
    closed = close_calls(turns, unknown)
    check_pairing(closed)
    assert [block.wire for block in closed[2].content] == [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_01",
            "content": [{"type": "text", "text": "Error: the outcome of stock is unknown"}],
            "is_error": True,
        },
        {"type": "tool_result", "tool_use_id": "toolu_02", "content": [{"type": "text", "text": "12"}]},
        {"type": "text", "text": "and quickly"},
    ]
    assert closed[:2] == turns[:2]
    assert close_calls(closed, unknown) == closed


def test_a_call_that_nobody_answered_at_all_is_closed_in_a_turn_of_its_own():
    closed = close_calls([asked(), TWO], unknown)
    assert len(closed) == 3
    assert problems(sent(closed), [[dict(block.wire) for block in TWO.content]]) == []


# ------------------------------------------------------------------------------------------ random histories


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Turn], list[Json]]:
    """A conversation of complete answers, all answered, and the answers as they were received."""
    turns: list[Turn] = [asked(draw(FILLED))]
    answers_: list[Json] = []
    for number in range(draw(st.integers(0, 4))):
        message = draw(answers(f"t{number}"))
        answers_.append(message)
        turns.append(received_message(message))
        content = [result(each, draw(FILLED)) for each in called(message)]
        if not content or draw(st.booleans()):
            content.append(text(draw(FILLED)))
        turns.append(UserTurn(tuple(content)))
    return turns, answers_


@settings(max_examples=30, deadline=None)
@given(histories())
def test_a_request_over_any_history_is_valid_by_an_independent_judge(history: tuple[list[Turn], list[Json]]):
    turns, answers_ = history
    contents = coming_back([message["content"] for message in answers_])
    assert problems(sent(turns), contents) == []
    for keep in range(1, len(exchanges(turns)) + 1):
        pruned = sent(prune(turns, keep))
        kept = sum(message["role"] == "assistant" for message in pruned)
        assert problems(pruned, contents[len(contents) - kept :]) == []


@settings(max_examples=40, deadline=None)
@given(histories(), st.data())
def test_a_history_that_was_damaged_is_refused_whenever_the_judge_refuses_it(
    history: tuple[list[Turn], list[Json]], data: st.DataObject
):
    turns, answers_ = history
    at = data.draw(st.integers(0, len(turns) - 1))
    content = turns[at].content
    block = data.draw(st.integers(0, len(content) - 1))
    kind = data.draw(st.sampled_from(["drop block", "double block", "drop turn", "split turn", "swap turns"]))
    damaged = list(turns)
    if kind == "drop turn":
        del damaged[at]
    elif kind == "split turn":
        halves = [
            msgspec.structs.replace(turns[at], content=part) for part in (content[:block], content[block:])
        ]
        damaged[at : at + 1] = [half for half in halves if half.content]
    elif kind == "swap turns":
        other = data.draw(st.integers(0, len(turns) - 1))
        damaged[at], damaged[other] = damaged[other], damaged[at]
    else:
        part = content[block : block + 1] * (2 if kind == "double block" else 0)
        damaged[at] = msgspec.structs.replace(
            turns[at], content=(*content[:block], *part, *content[block + 1 :])
        )
    contents = coming_back([message["content"] for message in answers_])
    try:
        messages = sent(damaged)
    except ConversationError:
        return
    kept = [m["content"] for m in messages if m["role"] == "assistant"]
    expected = contents if kind != "drop turn" else [each for each in contents if each in kept]
    if kind == "swap turns":
        expected = kept  # whole exchanges that changed places are a conversation too
    assert problems(messages, expected) == []


def test_the_judge_finds_what_it_is_for():
    """The checker itself can fail, for each of its rules."""
    user = {"role": "user", "content": [said("x")]}
    calls = {"role": "assistant", "content": [use("a"), use("b")]}

    def ok(*ids: str) -> Json:
        return {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": id, "content": []} for id in ids],
        }

    assert problems([user, calls, ok("a", "b")], [calls["content"]]) == []
    wrong = [
        [],
        [calls, ok("a", "b")],
        [user, calls],
        [user, calls, ok("a")],
        [user, calls, ok("a"), ok("b")],
        [user, calls, ok("b", "a")],
        [user, calls, ok("a", "b", "b")],
        [user, calls, user, ok("a", "b")],
        [user, {"role": "assistant", "content": []}, user],
        [user, {"role": "assistant", "content": [use("a"), use("a")]}, ok("a", "a")],
        [user, ok("a")],
    ]
    for messages in wrong:
        assert problems(messages), messages
    failed = {"type": "tool_result", "tool_use_id": "a", "is_error": True}
    one = [user, {"role": "assistant", "content": [use("a")]}]
    picture = {"type": "image", "source": {}}
    wrong = [
        [user, {"role": "assistant", "content": [said("x"), said(" ")]}, user],
        [user, {"role": "assistant", "content": [thought(), redacted()]}, user],
        [{"role": "user", "content": [said("\n")]}],
        [*one, {"role": "user", "content": [{**failed, "content": []}]}],
        [*one, {"role": "user", "content": [{**failed, "content": [said("x"), picture]}]}],
        [*one, {"role": "user", "content": [{**failed, "is_error": False, "content": [said("")]}]}],
    ]
    for messages in wrong:
        assert len(problems(messages)) == 1, messages
    assert problems([user, calls, ok("a", "b")], [[use("a")]]) == [
        "what goes back of the model's turns is not what was received"
    ]
    assert answer(use("a"))["stop_reason"] == "tool_use"
