"""A stored message of a conversation as a person reads it: what was said, and for the rest a mark. Pure; no I/O.

A view for reading alone: the message itself is in the session, and whole in `codemode log show --json`. Blocks are
told apart by the names that they have on the wire; a message of another shape is shown as the JSON that it is.
What was said is indented by four, marks by two, so that no text can pass for a mark.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codemode.rendering import json_text
from codemode.session.shown_lines import Line, indented, one_line
from codemode.values import JSON

__all__ = ["message_lines"]

_CALLS = {"tool_use": "id", "function_call": "call_id", "custom_tool_call": "call_id"}
"""Calls of our tools, each with the field that its result refers to. Arguments stand with the call itself."""
_TEXTS = ("text", "input_text", "output_text")
_PLACES = ("id", "call_id", "tool_use_id")


def message_lines(message: JSON) -> Iterator[Line]:
    """Yield the lines of a `user/message` or an `assistant/message`, without a title."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        yield from indented(json_text(message), 2)
        return
    assert isinstance(message, dict)
    if message.get("source") == "context":
        yield _mark("context that came with", message.get("callId"))
    elif message.get("source") not in (None, "user"):
        yield _mark(message["source"])
    for block in content:
        yield from _block(block)
    if "stop" in message:
        yield _end(message)


def _block(block: dict[str, Any]) -> Iterator[Line]:
    named = block.get("type")
    kind = named if isinstance(named, str) else "a block of no type"
    if kind in _TEXTS and isinstance(block.get("text"), str):
        yield from indented(block["text"].removesuffix("\n"), 4)
    elif kind == "message" and isinstance(block.get("content"), list):
        for part in block["content"]:
            yield from _block(part if isinstance(part, dict) else {})
    elif kind == "refusal" and isinstance(block.get("refusal"), str):
        yield from indented(block["refusal"], 4)
    elif kind in _CALLS:
        yield Line(_mark("calls", block.get("name"), block.get(_CALLS[kind])).text, "label")
    elif kind == "thinking":
        yield _sized("thinking", block.get("thinking"))
    elif kind == "redacted_thinking":
        yield _sized("encrypted thinking", block.get("data"))
    elif kind == "reasoning":
        yield _sized("reasoning", block.get("encrypted_content"))
    elif kind == "server_tool_use":
        yield _mark("the provider calls", block.get("name"), block.get("id"))
    else:
        place = next((block[name] for name in _PLACES if name in block), None)
        yield _mark(kind, place)


def _end(message: dict[str, Any]) -> Line:
    envelope = message.get("envelope")
    kept: dict[str, Any] = envelope if isinstance(envelope, dict) else {}
    usage = kept.get("usage")
    tokens = (
        [usage.get(name) for name in ("input_tokens", "output_tokens")] if isinstance(usage, dict) else []
    )
    counted = f"{tokens[0]:,} tokens read, {tokens[1]:,} written" if _are_counts(tokens) else None
    return _mark(f"stopped: {message['stop']}", kept.get("model"), counted)


def _are_counts(values: list[Any]) -> bool:
    return bool(values) and all(type(value) is int for value in values)


def _sized(what: str, text: Any) -> Line:
    size = f"{len(text):,} characters" if isinstance(text, str) and text else "not shown by the provider"
    return _mark(f"{what}: {size}")


def _mark(*words: Any) -> Line:
    said = "  ".join(one_line(str(word)) for word in words if word is not None)
    return Line(f"  {said}", "note")
