"""The stream of an answer: what is a turn, when, and that nothing else ever is one."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode.conversation.anthropic_stream import AnthropicStream
from codemode.conversation.blocks import Other, RedactedThinking, Text, Thinking, ToolUse
from codemode.conversation.sse import EventLines
from codemode.conversation.streams import parse_event
from codemode.errors import IncompleteStateError, StreamError
from codemode.values import thaw
from tests.conversation.scripts import (
    Json,
    answer,
    answers,
    events,
    redacted,
    said,
    stream_bytes,
    thought,
    use,
)
from tests.conversation.support import play

MIXED = answer(
    thought(),
    redacted(),
    said("Checking."),
    use("toolu_1", item="äpfel", deep={"n": [1, 2.5, None]}),
    {"type": "a_type_of_tomorrow", "opaque": "=="},
    use("toolu_2"),
)


def wires(stream: AnthropicStream) -> list[Any]:
    return [thaw(block.wire) for block in stream.turn().content]


def same_json(one: Any, other: Any) -> bool:
    """Equal as JSON text: also the order of fields, `1` and `1.0`, `true` and `1`."""
    return json.dumps(one) == json.dumps(other)


def test_a_complete_answer_is_a_turn_with_every_block_as_it_came():
    turn = play(events(MIXED)).turn()
    assert same_json([block.wire for block in turn.content], MIXED["content"])
    assert [type(block) for block in turn.content] == [
        Thinking,
        RedactedThinking,
        Text,
        ToolUse,
        Other,
        ToolUse,
    ]
    assert turn.stop == "tool-calls"
    assert [call.id for call in turn.calls] == ["toolu_1", "toolu_2"]
    assert turn.calls[0].input == {"item": "äpfel", "deep": {"n": [1, 2.5, None]}}
    assert turn.envelope["id"] == "msg_01"
    assert turn.envelope["stop_reason"] == "tool_use"
    assert turn.envelope["usage"] == {"input_tokens": 25, "output_tokens": 40, "service_tier": "standard"}


def test_the_input_of_a_call_is_parsed_at_its_stop_and_not_before(monkeypatch: pytest.MonkeyPatch):
    parsed: list[str] = []
    loads = json.loads
    monkeypatch.setattr(json, "loads", lambda text: parsed.append(text) or loads(text))
    stream = AnthropicStream()
    for event in events(answer(use("t", "read", path="a", n=1)), 3):
        stream.feed(event)
        if event["type"] == "content_block_stop":
            break
        assert parsed == []
    assert parsed == ['{"path": "a", "n": 1}']


def test_a_call_is_shown_when_its_block_has_ended_and_is_whole():
    stream = AnthropicStream()
    shown = [(event["type"], stream.feed(event)) for event in events(answer(use("t", "read", path="a")))]
    assert [(kind, [(p.kind, p.text) for p in pieces]) for kind, pieces in shown if pieces] == [
        ("content_block_stop", [("call", "read")])
    ]


def test_valid_json_that_goes_on_is_not_taken_for_the_whole():
    """`1` parses, and so does `12`; only the end of the block says which it is."""
    whole = events(answer(use("t", n=12)))
    at = next(i for i, each in enumerate(whole) if each["type"] == "content_block_start")
    parts = ['{"n": 1', "2}"]
    deltas = [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": part},
        }
        for part in parts
    ]
    stop = next(i for i, each in enumerate(whole) if each["type"] == "content_block_stop")
    assert play([*whole[: at + 1], *deltas, *whole[stop:]]).turn().calls[0].input == {"n": 12}


def test_fields_of_the_message_that_are_unknown_here_are_kept_too():
    right = events(answer(said("x"), x_begun=[1]))
    right[-2]["x_ended"] = {"deep": None}
    right[-2]["delta"]["x_delta"] = 2
    envelope = play(right).turn().envelope
    assert (envelope["x_begun"], envelope["x_ended"], envelope["x_delta"]) == ([1], {"deep": None}, 2)


def test_display_is_a_view_of_text_and_thinking_as_they_come():
    stream = AnthropicStream()
    pieces = [
        piece for event in events(answer(thought("hm"), said("Checking it."))) for piece in stream.feed(event)
    ]
    assert "".join(piece.text for piece in pieces if piece.kind == "text") == "Checking it."
    assert "".join(piece.text for piece in pieces if piece.kind == "thinking") == "hm"


@settings(max_examples=40, deadline=None)
@given(answers(), st.integers(1, 9))
def test_whatever_comes_whole_is_kept_whole(message: Json, size: int):
    stream = play(events(message, size))
    assert same_json(wires(stream), message["content"])
    assert play(events(message, 1)).turn() == stream.turn()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(answers(), st.integers(3, 40))
def test_a_stream_cut_at_any_byte_gives_the_whole_turn_or_none(message: Json, size: int):
    data = stream_bytes(events(message, size))
    last = data.rindex(b"\n\n") + 1
    lines, stream = EventLines(), AnthropicStream()
    for at in range(len(data)):
        if at < last:
            assert not stream.is_complete
            with pytest.raises(StreamError, match="before the message was complete"):
                stream.turn()
        for text in lines.feed(data[at : at + 1]):
            stream.feed(parse_event(text))
    assert same_json(wires(stream), message["content"])


@pytest.mark.parametrize("count", range(len(events(MIXED))))
def test_a_stream_that_ends_after_any_event_but_the_last_is_no_turn(count: int):
    stream = play(events(MIXED)[:count])
    assert not stream.is_complete
    with pytest.raises(StreamError) as caught:
        stream.turn()
    assert caught.value.retryable


@settings(max_examples=100, deadline=None)
@given(answers(), st.data())
def test_lost_repeated_and_exchanged_events_give_what_was_sent_or_nothing(message: Json, data: st.DataObject):
    """But for a delta of text or thinking that comes twice or is lost: the format has no numbers to see that by."""
    right = events(message, 1000)
    numbered = list(enumerate(right))
    kind = data.draw(st.sampled_from(["lose", "repeat", "exchange"]))
    at = data.draw(st.integers(0, len(right) - 1))
    given_ = copy.copy(numbered)
    event = right[at]
    if kind == "lose":
        del given_[at]
    elif kind == "repeat":
        given_.insert(data.draw(st.integers(at, len(right))), numbered[at])
    else:
        other = data.draw(st.integers(0, len(right) - 1))
        given_[at], given_[other] = given_[other], given_[at]
    unseen = event["type"] == "content_block_delta" and kind in ("lose", "repeat")
    stream = AnthropicStream()
    try:
        for _, each in given_:
            stream.feed(each)
        turn = stream.turn()
    except (StreamError, IncompleteStateError):
        return
    if unseen and event["delta"]["type"] != "input_json_delta":
        return
    if unseen and kind == "lose":
        return  # a call whose input never came has none, as one without arguments
    if unseen or (kind == "exchange" and right[at]["type"] == "content_block_delta"):
        assert all(block.type for block in turn.content)
        return
    assert same_json([block.wire for block in turn.content], message["content"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: [e[0], e[0], *e[1:]], "a second message inside the first"),
        (lambda e: e[1:], "before the message had begun"),
        (lambda e: [*e[:3], e[2], *e[3:]], "block 0 began twice"),
        (
            lambda e: [*e[:5], {"type": "content_block_stop", "index": 0}, *e[5:]],
            "block 0, which is not open",
        ),
        (lambda e: [x for x in e if x["type"] != "content_block_stop"], "while block 0 was open"),
        (lambda e: [x for x in e if x.get("index") != 0], "one is missing"),
        (lambda e: [x for x in e if x["type"] != "message_delta"], "without a reason for stopping"),
        (lambda e: [*e[:3], {"type": "content_block_delta", "index": 7, "delta": {}}, *e[3:]], "block 7"),
        (
            lambda e: [*e[:3], {"type": "content_block_delta", "index": 0}, *e[3:]],
            "holds what its format has not",
        ),
        (lambda e: [*e[:3], {}, *e[3:]], "holds what its format has not"),
        (lambda e: [*e[:3], [], *e[3:]], "holds what its format has not"),
    ],
)
def test_events_that_do_not_belong_together_end_the_stream(change: Any, message: str):
    given_ = change(events(answer(said("Hello, you."), use("t", n=1))))
    stream = AnthropicStream()
    with pytest.raises(StreamError, match=message) as caught:
        for event in given_:
            stream.feed(event)
    assert caught.value.retryable
    for attempt in (stream.turn, lambda: stream.feed({"type": "message_stop"})):
        with pytest.raises(StreamError, match=message):  # it is of no use afterwards
            attempt()


def test_pings_and_events_of_unknown_types_change_nothing_wherever_they_come():
    right = events(MIXED)
    noise: list[Json] = [{"type": "ping"}, {"type": "an_event_of_tomorrow", "index": 0, "x": 1}]
    noisy = [each for event in right for each in (*noise, event)]
    assert play(noisy).turn() == play(right).turn()


def test_interleaved_blocks_stand_in_the_order_of_their_indices():
    right = events(answer(said("first text"), said("second text")))
    first = [each for each in right if each.get("index") == 0]
    second = [each for each in right if each.get("index") == 1]
    mixed = [x for pair in zip(second, first, strict=True) for x in pair]
    assert play([right[0], *mixed, *right[-2:]]).turn() == play(right).turn()


def test_what_comes_after_the_end_changes_nothing():
    right = events(MIXED)
    stream = play(right)
    for event in events(answer(said("again"))):
        assert stream.feed(event) == []
    assert stream.turn() == play(right).turn()


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [
        ("overloaded_error", True),
        ("api_error", True),
        ("rate_limit_error", True),
        ("invalid_request_error", False),
    ],
)
@pytest.mark.parametrize("at", [0, 3, 6])
def test_an_error_event_ends_the_stream_and_says_whether_to_try_again(kind: str, retryable: bool, at: int):
    right = events(MIXED)
    right.insert(at, {"type": "error", "error": {"type": kind, "message": "Overloaded"}})
    stream = AnthropicStream()
    with pytest.raises(StreamError, match=f"the provider reports {kind}: Overloaded") as caught:
        for event in right:
            stream.feed(event)
    assert caught.value.retryable is retryable
    assert not stream.is_complete


def test_a_character_cut_into_surrogates_is_whole_again_and_half_a_one_is_refused():
    right = events(answer(said("x")), ping=False)

    def texts(*pieces: str) -> list[Json]:
        deltas = [
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in pieces
        ]
        return [right[0], right[1], *deltas, *right[-3:]]

    turn = play(texts("a\ud83d", "\ude00b")).turn()
    assert turn.content[0].wire["text"] == "a😀b"
    with pytest.raises(StreamError, match="half a character"):
        play(texts("a\ud83d", "b"))


def test_an_event_that_is_no_json_object_is_an_error_of_the_stream():
    for data in ("{", "[1]", "null", "[" * 100_000):
        with pytest.raises(StreamError, match="no JSON"):
            parse_event(data)
