"""The Responses API as a stream and as a request: the same promises over another wire format."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.conversation import (
    UserTurn,
    build_request,
    image,
    read,
    require,
    text,
    to_message,
    tool_result,
)
from codemode.conversation.blocks import Reasoning, Text, ToolUse, user_block
from codemode.conversation.openai_stream import OpenAIStream
from codemode.conversation.openai_wire import request_body
from codemode.conversation.sse import EventLines
from codemode.conversation.streams import parse_event
from codemode.errors import ConversationError, IncompleteStateError, StreamError, TruncatedTurnError
from tests.conversation.checker import is_input, response_problems
from tests.conversation.scripts import (
    FILLED,
    Json,
    item_call,
    item_reasoning,
    item_text,
    response,
    response_events,
    stream_bytes,
)
from tests.conversation.support import asked, result, results

WHOLE = response(
    item_reasoning(), item_text("Checking."), item_call("call_1", item="fig"), item_call("call_2", item="é")
)


def play(given: list[Json]) -> OpenAIStream:
    stream = OpenAIStream()
    for event in given:
        stream.feed(event)
    return stream


def body(*turns: Any) -> Any:
    return request_body(build_request(turns, provider="openai", model="m", max_tokens=99, system="Be brief."))


def test_a_complete_response_is_a_turn_with_every_item_as_it_came():
    turn = play(response_events(WHOLE)).turn()
    assert json.dumps([block.wire for block in turn.content]) == json.dumps(WHOLE["output"])
    assert [type(block) for block in turn.content] == [Reasoning, Text, ToolUse, ToolUse]
    assert [(call.id, call.input) for call in turn.calls] == [
        ("call_1", {"item": "fig"}),
        ("call_2", {"item": "é"}),
    ]
    assert turn.stop == "tool-calls"
    assert turn.envelope["usage"]["output_tokens"] == 40
    assert turn.content[1].text == "Checking."


def test_a_stream_cut_at_any_byte_gives_the_whole_turn_or_none():
    data = stream_bytes(response_events(WHOLE))
    lines, stream = EventLines(), OpenAIStream()
    for at in range(len(data)):
        if at < len(data) - 1:
            with pytest.raises(StreamError, match="before the response was complete"):
                stream.turn()
        for event in lines.feed(data[at : at + 1]):
            stream.feed(parse_event(event))
    assert stream.turn() == play(response_events(WHOLE)).turn()


def test_events_that_come_twice_or_in_another_order_change_nothing_and_lost_items_are_missed():
    right = response_events(WHOLE)
    turn = play(right).turn()
    assert play([each for event in right for each in (event, event)]).turn() == turn
    assert play([*reversed(right[:-1]), right[-1]]).turn() == turn
    for at, event in enumerate(right[:-1]):
        rest = [*right[:at], *right[at + 1 :]]
        if event["type"] != "response.output_item.done":
            assert play(rest).turn() == turn
            continue
        with pytest.raises(StreamError, match=r"one is missing|without the end of the items"):
            play(rest)
        with pytest.raises(StreamError, match=r"one is missing|other items than had come"):
            play([each for each in rest if each["type"] != "response.output_item.added"])


def test_an_item_that_began_and_never_ended_is_missed_also_where_the_response_lists_none():
    right = response_events(WHOLE)
    del right[-2]  # the end of the last call
    right[-1] = {**right[-1], "response": {**right[-1]["response"], "output": []}}
    with pytest.raises(StreamError, match=r"without the end of the items \[3\]") as caught:
        play(right)
    assert caught.value.retryable


def test_an_item_that_comes_twice_and_differs_ends_the_stream():
    right = response_events(WHOLE)
    at = next(i for i, each in enumerate(right) if each["type"] == "response.output_item.done")
    other = copy.deepcopy(right[at]) | {"sequence_number": 999}
    other["item"]["encrypted_content"] = "else"
    with pytest.raises(StreamError, match="item 0 came twice, and not the same"):
        play([*right[: at + 1], other, *right[at + 1 :]])


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Any], list[list[Json]]]:
    """A conversation of complete responses, all answered, and the items of each as they were received."""
    turns: list[Any] = [asked(draw(FILLED))]
    received: list[list[Json]] = []
    for number in range(draw(st.integers(0, 4))):
        ids = iter(f"c{number}_{n}" for n in range(9))
        kinds = st.lists(st.sampled_from(["text", "blank", "call", "custom", "thought", "other"]), max_size=4)
        items = [item for kind in draw(kinds) for item in ITEMS[kind](next(ids))]
        if draw(st.booleans()) or not items:
            items = [item_reasoning(f"rs_{number}")]  # and not a word
        received.append(items)
        turn = play(response_events(response(*items))).turn()
        turns.append(turn)
        content = [result(call.id, draw(FILLED)) for call in turn.calls]
        if not content or draw(st.booleans()):
            content.append(text(draw(FILLED)))
        turns.append(UserTurn(tuple(content)))
    return turns, received


ITEMS: dict[str, Any] = {
    "text": lambda id: [item_text("é", f"m_{id}")],
    "blank": lambda id: [item_text(" ", f"m_{id}")],
    "call": lambda id: [item_call(id, item="fig")],
    "custom": lambda id: [
        {"type": "custom_tool_call", "id": f"ct_{id}", "call_id": id, "name": "sql", "input": "select 1"}
    ],
    "thought": lambda id: [item_reasoning(f"rs_{id}"), item_text("So.", f"m_{id}")],
    "other": lambda id: [{"type": "an_item_of_tomorrow", "id": id, "opaque": "=="}],
}


@settings(max_examples=40, deadline=None)
@given(histories())
def test_a_request_over_any_history_is_valid_by_an_independent_judge(
    history: tuple[list[Any], list[list[Json]]],
):
    turns, received = history
    input_ = body(*turns)["input"]
    assert response_problems(input_) == []
    own = [item for item in input_ if not is_input(item)]
    silent = [each for each in received if all(says_nothing(item) for item in each)]
    assert json.dumps(own) == json.dumps([item for each in received if each not in silent for item in each])


def says_nothing(item: Json) -> bool:
    return item["type"] == "reasoning" or (
        item["type"] == "message" and not item["content"][0]["text"].strip()
    )


def test_a_bound_of_tokens_after_reasoning_that_nothing_follows_is_no_turn():
    cut = {"incomplete_details": {"reason": "max_output_tokens"}}
    whole = response(item_text("x"), item_reasoning(), status="incomplete", **cut)
    with pytest.raises(TruncatedTurnError, match="inside a reasoning; nothing was called or kept"):
        play(response_events(whole)).turn()


def test_errors_say_whether_to_try_again():
    failed = {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "sorry"}}}
    error = {"type": "error", "code": "invalid_prompt", "message": "no"}
    for event, words, retryable in [
        (failed, "server_error: sorry", True),
        (error, "invalid_prompt: no", False),
    ]:
        with pytest.raises(StreamError, match=words) as caught:
            play([*response_events(WHOLE)[:3], event])
        assert caught.value.retryable is retryable


def test_a_bound_of_tokens_inside_a_call_is_no_turn_and_inside_text_is_one_that_says_so():
    cut = {"incomplete_details": {"reason": "max_output_tokens"}}
    call = {**item_call("call_1", arguments='{"item": "f'), "status": "incomplete"}
    with pytest.raises(TruncatedTurnError, match="inside a function_call"):
        play(response_events(response(item_text("x"), call, status="incomplete", **cut))).turn()
    with pytest.raises(TruncatedTurnError, match="inside a reasoning"):
        play(
            response_events(
                response({**item_reasoning(), "status": "incomplete"}, status="incomplete", **cut)
            )
        ).turn()
    turn = play(response_events(response(item_text("It goes on and"), status="incomplete", **cut))).turn()
    assert turn.stop == "max-tokens"
    filtered = {"incomplete_details": {"reason": "content_filter"}}
    assert (
        play(response_events(response(item_text("x"), status="incomplete", **filtered))).turn().stop
        == "refusal"
    )


def test_an_item_without_its_end_is_incomplete():
    with pytest.raises(IncompleteStateError, match="the end of function_call fc_call_1"):
        play(response_events(response({**item_call("call_1"), "status": "in_progress"}))).turn()


def test_arguments_that_are_no_json_stay_the_text_that_was_sent():
    turn = play(response_events(response(item_call("call_1", arguments='{"item": ')))).turn()
    assert turn.calls[0].input == '{"item": '
    assert turn.content[0].wire["arguments"] == '{"item": '
    assert play(response_events(response(item_call("c", arguments="")))).turn().calls[0].input == {}


def test_a_request_holds_the_items_as_they_came_and_the_results_with_their_ids():
    turn = play(response_events(WHOLE)).turn()
    made = body(
        asked("How many?"), turn, UserTurn((result("call_1"), result("call_2", "4"), text("Quickly.")))
    )
    assert json.dumps(made["input"][1:5]) == json.dumps(WHOLE["output"])
    assert made["input"][5:] == [
        {"type": "function_call_output", "call_id": "call_1", "output": "3"},
        {"type": "function_call_output", "call_id": "call_2", "output": "4"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Quickly."}]},
    ]
    assert response_problems(made["input"]) == []
    assert response_problems(made["input"][:6]) != []
    assert made["store"] is False
    assert made["include"] == ["reasoning.encrypted_content"]
    assert made["instructions"] == "Be brief."


def test_a_custom_call_is_answered_in_its_own_kind():
    custom = {"type": "custom_tool_call", "id": "ct_1", "call_id": "c", "name": "sql", "input": "select 1"}
    turn = play(response_events(response(custom))).turn()
    assert turn.calls[0].input == "select 1"
    assert body(asked(), turn, results("c"))["input"][-1]["type"] == "custom_tool_call_output"


def test_pictures_and_documents_have_their_place_in_input_and_in_results():
    picture = image("aGk=", "image/png")
    file = {
        "type": "document",
        "title": "a.pdf",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "eA=="},
    }
    parts = body(UserTurn((text("Look."), picture, user_block(file))))["input"][0]["content"]
    assert parts == [
        {"type": "input_text", "text": "Look."},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,eA=="},
    ]
    shown = tool_result("call_1", [{"type": "text", "text": "see"}, dict(picture.wire)])
    turn = play(response_events(response(item_call("call_1")))).turn()
    output = body(asked(), turn, UserTurn((shown,)))["input"][-1]["output"]
    assert [part["type"] for part in output] == ["input_text", "input_image"]
    with pytest.raises(ConversationError, match="'hologram' has no place"):
        body(UserTurn((user_block({"type": "hologram"}),)))


def test_a_stored_turn_is_taken_up_equal_and_a_lost_item_is_named():
    turn = play(response_events(WHOLE)).turn()
    message = json.loads(json.dumps(to_message(turn)))
    assert require(message) == turn
    del message["content"][0]
    assert read(message).missing == ("content[0] (reasoning rs_01)",)
