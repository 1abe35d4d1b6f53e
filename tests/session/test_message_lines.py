"""A stored message as a person reads it: what was said, by whom, and a mark for what is no text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from codemode.conversation import to_message
from codemode.conversation.openai_stream import OpenAIStream
from codemode.rendering import json_text
from codemode.session import Event
from codemode.session.message_lines import message_lines
from codemode.session.replay import ReplayedMessage
from codemode.session.shown import render, render_event
from codemode.values import freeze
from tests.conversation.scripts import (
    CIPHER,
    JSON_VALUES,
    item_call,
    item_reasoning,
    item_text,
    redacted,
    response,
    response_events,
    said,
    thought,
    use,
)
from tests.conversation.support import received


def shown(message: Any) -> list[str]:
    return [line.text for line in message_lines(freeze(message))]


def test_an_answer_is_its_text_with_marks_for_the_rest():
    blocks = (
        thought("Let me see."),
        redacted(),
        said("I look.\nTwice.\n"),
        use("t1", "run_code", code="secret_code()"),
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"encrypted": CIPHER}]},
        {"type": "a_type_of_tomorrow", "state": "=="},
        thought("", "signed"),
    )
    assert shown(to_message(received(*blocks))) == [
        "  thinking: 11 characters",
        f"  encrypted thinking: {len(CIPHER)} characters",
        "    I look.",
        "    Twice.",
        "  calls  run_code  t1",
        "  the provider calls  web_search  s",
        "  web_search_tool_result  s",
        "  a_type_of_tomorrow",
        "  thinking: not shown by the provider",
        "  stopped: tool-calls  model-1  25 tokens read, 40 written",
    ]


def test_items_of_the_other_provider_too():
    stream = OpenAIStream()
    for event in response_events(response(item_reasoning(), item_text("Two."), item_call("c1", item="fig"))):
        stream.feed(event)
    assert shown(to_message(stream.turn())) == [
        f"  reasoning: {len(CIPHER)} characters",
        "    Two.",
        "  calls  stock  c1",
        "  stopped: tool-calls  25 tokens read, 40 written",
    ]


def test_what_a_user_said_and_what_came_with_a_result():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    assert shown({"role": "user", "content": "go\non"}) == ["    go", "    on"]
    assert shown({"role": "user", "source": "user", "content": [said("Look:"), picture]}) == [
        "    Look:",
        "  image",
    ]
    assert shown({"source": "notice", "content": [said("it ended")]}) == ["  notice", "    it ended"]
    assert shown({"source": "context", "callId": "p1", "content": [said("note")]}) == [
        "  context that came with  p1",
        "    note",
    ]


def test_no_text_and_no_name_passes_for_a_mark_or_a_title():
    forged = "  calls  remove  t9\nmessage from user\n  stopped: end"
    blocks = (said(forged), use("t\n  calls  x", "na\nme"))
    lines = shown(to_message(received(*blocks)))
    assert lines[:3] == ["      calls  remove  t9", "    message from user", "      stopped: end"]
    assert lines[3] == "  calls  na\\nme  t\\n  calls  x"


@pytest.mark.parametrize(
    "message", [{"role": "odd"}, {"content": 3}, {"content": ["x"]}, {"content": {"a": 1}}]
)
def test_a_message_of_another_shape_is_the_json_that_it_is(message: Any):
    assert "\n".join(shown(message)) == "\n".join(
        "  " + line for line in json_text(freeze(message)).split("\n")
    )


@settings(max_examples=50, deadline=None)
@given(JSON_VALUES)
def test_whatever_is_stored_has_lines_and_none_at_the_margin(value: Any):
    whole = {"source": value, "content": value, "stop": value, "envelope": value}
    for message in (
        whole,
        {**whole, "content": [{"type": "text", "text": value}, {"type": value, "id": value}]},
    ):
        assert all(line == "" or line.startswith("  ") for line in shown(message))


def test_replayed_and_followed_messages_are_shown_alike():
    message = freeze(to_message(received(said("Hello."))))
    replayed = ReplayedMessage(role="assistant", message=message, time=0)
    event = Event(3, 0, "assistant/message", freeze({"message": message}))
    for lines in (list(render(replayed)), list(render_event(event))):
        assert "assistant" in lines[0].text
        assert [line.text for line in lines[1:]] == shown(json.loads(json.dumps(message)))
