"""Turns for tests, received through the stream as everything is."""

from __future__ import annotations

from typing import Any

from codemode.conversation import AssistantTurn, Turn, UserTurn, build_request, text, tool_result
from codemode.conversation.anthropic_stream import AnthropicStream
from codemode.conversation.anthropic_wire import request_body
from codemode.conversation.blocks import ToolUse, UserBlock
from codemode.conversation.requests import Request
from tests.conversation.scripts import Json, answer, events, said, thought, use


def received(*content: Json, stop: str | None = None) -> AssistantTurn:
    """A turn as it came over a stream."""
    return received_message(answer(*content, stop=stop))


def received_message(message: Json) -> AssistantTurn:
    stream = AnthropicStream()
    for event in events(message, 50):
        stream.feed(event)
    return stream.turn()


def asked(words: str = "How many?") -> UserTurn:
    return UserTurn((text(words),))


def results(*ids: str) -> UserTurn:
    return UserTurn(tuple(result(each) for each in ids))


def result(id: str, words: str = "3") -> UserBlock:
    return tool_result(id, [{"type": "text", "text": words}])


def unknown(call: ToolUse):
    """An honest answer to a call whose end nobody saw."""
    words = f"Error: the outcome of {call.name} is unknown"
    return tool_result(call.id, [{"type": "text", "text": words}], is_error=True)


TWO = received(thought(), said("Checking."), use("toolu_01", item="apple"), use("toolu_02", item="pear"))
"""An answer with two calls."""


def request(turns: list[Turn], **more: Any) -> Request:
    return build_request(turns, provider="anthropic", model="model-1", max_tokens=1000, **more)


def sent(turns: list[Turn]) -> list[Json]:
    body: Any = request_body(request(turns))
    return body["messages"]


def play(given: list[Json]) -> AnthropicStream:
    stream = AnthropicStream()
    for event in given:
        stream.feed(event)
    return stream
