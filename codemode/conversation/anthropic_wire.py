"""The wire format of the Anthropic Messages API: pieces of an answer as results, a request as its body. Pure.

Field names and types are those of the API's reference (Messages) and the types of its Python SDK;
how an answer streams is in `anthropic_stream`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from codemode.conversation import results as r
from codemode.conversation.blocks import Block, ToolResult, user_block
from codemode.conversation.requests import Request
from codemode.conversation.results import ContentResult
from codemode.conversation.turns import Stop, Turn, is_blank
from codemode.values import JSON, thaw

__all__ = ["NAME", "convert", "request_body", "stop_of"]

NAME = "anthropic"

_RESULTS: Mapping[str, type[ContentResult]] = MappingProxyType(
    {
        "text": r.TextResult,
        "thinking": r.ThinkingResult,
        "redacted_thinking": r.RedactedThinkingResult,
        "tool_use": r.ToolCallResult,
        "server_tool_use": r.ServerToolCallResult,
        "web_search_tool_result": r.WebSearchResult,
        "web_fetch_tool_result": r.WebFetchResult,
        "code_execution_tool_result": r.CodeExecutionResult,
        "bash_code_execution_tool_result": r.CodeExecutionResult,
        "text_editor_code_execution_tool_result": r.CodeExecutionResult,
        "tool_search_tool_result": r.ToolSearchResult,
        "mcp_tool_use": r.McpCallResult,
        "mcp_tool_result": r.McpCallResult,
        "container_upload": r.ContainerUploadResult,
    }
)

_CODE_TOOLS = frozenset({"code_execution", "bash_code_execution", "text_editor_code_execution"})

_STOPS: Mapping[str, Stop] = MappingProxyType(
    {
        "end_turn": "end",
        "stop_sequence": "end",
        "tool_use": "tool-calls",
        "max_tokens": "max-tokens",
        "model_context_window_exceeded": "context-full",
        "pause_turn": "pause",
        "refusal": "refusal",
    }
)


def convert(wire: dict[str, JSON]) -> ContentResult:
    """Return what a content block (frozen, complete) is; one of a type unknown here is an `OtherResult`."""
    kind = wire.get("type")
    if kind == "server_tool_use" and wire.get("name") in _CODE_TOOLS:
        return r.ExecutableCodeResult(wire)
    return _RESULTS.get(kind if isinstance(kind, str) else "", r.OtherResult)(wire)


def stop_of(reason: JSON) -> Stop:
    """Return a `stop_reason` in the words that providers share; an unknown one is `other`."""
    return _STOPS.get(reason, "other") if isinstance(reason, str) else "other"


def request_body(request: Request) -> dict[str, JSON]:
    """Return a request as the API takes it; the blocks of the model's turns are the very objects that it sent.

    What the API sends and does not take back is left out of it: blank text, beside other blocks of a turn.
    """
    body: dict[str, JSON] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [
            {
                "role": turn.role,
                "content": [_sent(block) for block in turn.content if _can_be_sent(turn, block)],
            }
            for turn in request.turns
        ],
    }
    if request.system:
        body["system"] = request.system
    if request.tools:
        body["tools"] = [thaw(each) for each in request.tools]
    options = thaw(request.options)
    if "tools" in options:  # tools of the provider's own, beside ours
        options["tools"] = [*body.get("tools", []), *options["tools"]]
    body.update(options)
    return body


def _can_be_sent(turn: Turn, block: Block) -> bool:
    """Whether the API takes a block: of a text it says "must be non-empty", and "must contain non-whitespace text"."""
    return not is_blank(block) or all(map(is_blank, turn.content))


def _sent(block: Block) -> JSON:
    """Return a block as the API takes it: of a failed call "all content must be type text", and "cannot be empty"."""
    wire: Any = thaw(block.wire)
    if isinstance(block, ToolResult) and isinstance(wire.get("content"), list):
        content = [each for each in wire["content"] if not is_blank(user_block(each))]
        if block.is_error:
            texts = [each for each in content if each["type"] == "text"]
            content = texts or [
                {"type": "text", "text": "Error: the call failed, and there is no text about it"}
            ]
        wire["content"] = content
    return wire
