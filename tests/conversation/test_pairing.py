"""Each call has exactly one result, with its id, in the very next user turn; and requests that are built hold it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.conversation import (
    AssistantTurn,
    Turn,
    UserTurn,
    build_request,
    check_pairing,
    close_calls,
    exchanges,
    image,
    open_calls,
    pairing_violations,
    prune,
    text,
    tool_result,
)
from codemode.conversation.anthropic_wire import request_body
from codemode.conversation.blocks import Text, Thinking, user_block
from codemode.conversation.requests import Request
from codemode.errors import AlteredTurnError, ConversationError, IncompleteStateError, PairingError
from codemode.values import freeze
from tests.conversation.checker import coming_back, problems
from tests.conversation.scripts import FILLED, Json, answer, answers, called, redacted, said, thought, use
from tests.conversation.support import asked, received, received_message, result, results, unknown

TWO = received(thought(), said("Checking."), use("toolu_01", item="apple"), use("toolu_02", item="pear"))


def request(turns: list[Turn], **more: Any) -> Request:
    return build_request(turns, provider="anthropic", model="model-1", max_tokens=1000, **more)


def sent(turns: list[Turn]) -> list[Json]:
    body: Any = request_body(request(turns))
    return body["messages"]


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


# ---------------------------------------------------------------------------- thinking goes back as it came

THINKING = received(thought("first I look"), redacted(), said("Let me look."), use("t", item="fig"))


def test_thinking_goes_back_byte_for_byte_in_its_place_with_every_field_that_came():
    odd = thought("a — b", "sig/+==", x_new={"keep": [1, 2.0, -0.0, 10**25]})
    turn = received(said("Well."), odd, redacted(x="y"), use("t"))
    body = sent([asked(), turn, results("t"), received(said("3.")), asked("And now?")])
    assert json.dumps(body[1]["content"]) == json.dumps([said("Well."), odd, redacted(x="y"), use("t")])


@pytest.mark.parametrize(
    "touch",
    [
        lambda content: content[1:],  # dropped to save tokens
        lambda content: (content[1], content[0], *content[2:]),  # moved
        lambda content: (
            Thinking(freeze({**content[0].wire, "thinking": "I look"})),
            *content[1:],
        ),  # shortened
        lambda content: (Thinking(freeze({**content[0].wire, "signature": "new"})), *content[1:]),
        lambda content: (content[0], *content[2:]),  # redacted: nobody can read it anyway
        lambda content: (*content[:1], type(content[1])(freeze(redacted("other"))), *content[2:]),
        lambda content: (*content[:2], Text(freeze(said("Summary."))), content[3]),
    ],
)
def test_touching_a_turn_of_the_model_is_an_error_here(touch: Any):
    touched = msgspec.structs.replace(THINKING, content=tuple(touch(THINKING.content)))
    with pytest.raises(AlteredTurnError, match="turn 1 is not what the model sent"):
        request([asked(), touched, results("t")])
    assert request([asked(), THINKING, results("t")]).turns[1] is THINKING


def test_a_turn_cannot_be_changed_in_place():
    with pytest.raises(AttributeError):
        THINKING.content = ()  # type: ignore[misc]
    with pytest.raises(TypeError, match="cannot be changed"):
        THINKING.content[0].wire["thinking"] = "shorter"


def test_context_is_saved_by_leaving_out_whole_exchanges():
    turns = [
        asked("1"),
        TWO,
        results("toolu_01", "toolu_02"),
        received(said("a")),
        asked("2"),
        THINKING,
        results("t"),
    ]
    assert [len(each) for each in exchanges(turns)] == [4, 3]
    assert prune(turns, 1) == turns[4:]
    assert prune(turns, 2) == prune(turns, 99) == turns
    assert request(prune(turns, 1)).turns[1] is THINKING
    with pytest.raises(ValueError, match="at least the exchange that goes on"):
        prune(turns, 0)


# ------------------------------------------------------------------------------- what no request is built of


@pytest.mark.parametrize(
    ("turns", "error", "message"),
    [
        ([], IncompleteStateError, "missing: a user turn to answer"),
        (
            [received(said("Hi"))],
            IncompleteStateError,
            "the user turn that the first turn of the model answers",
        ),
        ([asked(), received(said("3"))], IncompleteStateError, "a user turn after turn 1"),
        ([asked(), asked()], ConversationError, "turns 0 and 1 are both the user's"),
        ([asked(), received(said("1")), received(said("2")), asked()], ConversationError, "both the model's"),
        ([UserTurn((text(""),))], ConversationError, "an empty text"),
        ([UserTurn((text(" \n"),))], ConversationError, "an empty text"),
        (
            [
                asked(),
                AssistantTurn(provider="openai", content=TWO.content[:1], stop="end", envelope={}),
                asked(),
            ],
            ConversationError,
            "turn 1 was received from 'openai' and cannot be sent to 'anthropic'",
        ),
    ],
)
def test_what_a_provider_would_refuse_is_refused_here(
    turns: list[Turn], error: type[Exception], message: str
):
    with pytest.raises(error, match=message):
        request(turns)


def test_a_paused_turn_is_sent_back_for_the_provider_to_go_on_with():
    paused = received(said("Searching…"), stop="pause_turn")
    assert [m["role"] for m in sent([asked(), paused])] == ["user", "assistant"]
    assert request([asked(), paused, received(said("done"), use("t")), results("t")])


def test_a_turn_without_content_is_passed_over():
    assert len(sent([asked(), TWO, results("toolu_01", "toolu_02"), received()])) == 3


@pytest.mark.parametrize(
    "silent", [[thought()], [redacted(), said("")], [said(" \n")], [thought(), said("\n\n")]]
)
def test_a_turn_that_says_nothing_is_kept_and_passed_over_whole(silent: list[Json]):
    """The API sends such turns, and refuses every later request in which one comes back."""
    turn = received(*silent)
    assert [dict(block.wire) for block in turn.content] == silent
    assert sent([asked("1"), turn, asked("2")]) == [{"role": "user", "content": [said("1"), said("2")]}]
    with pytest.raises(IncompleteStateError, match="which the model has finished"):
        request([asked("1"), turn])
    paused = received(*silent, stop="pause_turn")
    assert len(sent([asked("1"), paused])) == 2


def test_blank_text_is_kept_and_does_not_come_back():
    content = [thought(), said(""), said("Checking."), said("\n"), use("t")]
    turn = received(*content)
    assert [dict(block.wire) for block in turn.content] == content
    assert sent([asked(), turn, results("t")])[1]["content"] == [thought(), said("Checking."), use("t")]


def test_a_result_goes_as_the_api_takes_it():
    turn = received(use("a"), use("b"), use("c"))
    picture: Json = dict(image("aGk=", "image/png").wire)
    given = [
        tool_result("a", [said(" "), picture]),
        tool_result("b", [said("no"), picture], is_error=True),
        tool_result("c", [picture], is_error=True),
    ]
    content = [each["content"] for each in sent([asked(), turn, UserTurn(tuple(given))])[2]["content"]]
    assert content == [
        [picture],
        [said("no")],
        [said("Error: the call failed, and there is no text about it")],
    ]


def test_tools_of_the_provider_stand_beside_ours():
    ours = {"name": "stock", "description": "How many.", "input_schema": {"type": "object"}}
    theirs = {"type": "web_search_20250305", "name": "web_search"}
    body: Any = request_body(request([asked()], tools=[ours], options={"tools": [theirs], "temperature": 0}))
    assert body["tools"] == [ours, theirs]
    assert body["temperature"] == 0


def test_images_and_documents_are_input_as_they_are_given():
    document = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "x"},
        "title": "a",
    }
    tomorrow = {"type": "hologram", "source": {"type": "url", "url": "x"}}
    turn = UserTurn((user_block(document), user_block(tomorrow)))
    assert sent([turn])[0]["content"] == [document, tomorrow]
    for wrong in ("text", {"no": "type"}, [1]):
        with pytest.raises(ValueError, match="a block is a JSON object"):
            user_block(wrong)


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
