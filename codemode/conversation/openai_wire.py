"""The wire format of the OpenAI Responses API: items of an answer as results, a request as its body. Pure.

Field names and types are those of the API's reference (Responses) and the types of its Python SDK; how an answer
streams is in `openai_stream`. Nothing is stored at the provider (`store` is false): the items that came are
sent again, with their encrypted reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from codemode.conversation import results as r
from codemode.conversation.blocks import CustomToolUse, Document, Image, Text, ToolResult, ToolUse, UserBlock
from codemode.conversation.requests import Request
from codemode.conversation.results import ContentResult
from codemode.conversation.turns import AssistantTurn, UserTurn
from codemode.errors import ConversationError
from codemode.values import JSON, thaw

__all__ = ["NAME", "convert", "request_body"]

NAME = "openai"

_RESULTS: Mapping[str, type[ContentResult]] = MappingProxyType(
    {
        "message": r.TextResult,
        "reasoning": r.ReasoningResult,
        "function_call": r.ToolCallResult,
        "custom_tool_call": r.CustomToolCallResult,
        "web_search_call": r.WebSearchResult,
        "file_search_call": r.FileSearchResult,
        "code_interpreter_call": r.CodeExecutionResult,
        "computer_call": r.ComputerCallResult,
        "local_shell_call": r.LocalShellCallResult,
        "shell_call": r.LocalShellCallResult,
        "mcp_call": r.McpCallResult,
        "mcp_list_tools": r.McpListToolsResult,
        "mcp_approval_request": r.McpApprovalRequestResult,
        "tool_search_output": r.ToolSearchResult,
    }
)


def convert(wire: dict[str, JSON]) -> ContentResult:
    """Return what an output item (frozen, complete) is; one of a type unknown here is an `OtherResult`."""
    kind = wire.get("type")
    return _RESULTS.get(kind if isinstance(kind, str) else "", r.OtherResult)(wire)


def request_body(request: Request) -> dict[str, JSON]:
    """Return a request as the API takes it; the items of the model are the very objects that it sent.

    Raises `ConversationError` for input that this API has no place for.
    """
    items: list[JSON] = []
    for index, turn in enumerate(request.turns):
        if isinstance(turn, AssistantTurn):
            items += [thaw(block.wire) for block in turn.content]
        else:
            before = request.turns[index - 1] if index else None
            calls = before.calls if isinstance(before, AssistantTurn) else ()
            items += _input(turn, {call.id: call for call in calls})
    body: dict[str, JSON] = {
        "model": request.model,
        "max_output_tokens": request.max_tokens,
        "input": items,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if request.system:
        body["instructions"] = request.system
    if request.tools:
        body["tools"] = [thaw(each) for each in request.tools]
    options = thaw(request.options)
    if "tools" in options:  # tools of the provider's own, beside ours
        options["tools"] = [*body.get("tools", []), *options["tools"]]
    body.update(options)
    return body


def _input(turn: UserTurn, calls: Mapping[str, ToolUse]) -> list[JSON]:
    results: list[JSON] = []
    parts: list[JSON] = []
    for block in turn.content:
        if isinstance(block, ToolResult):
            custom = isinstance(calls.get(block.tool_use_id), CustomToolUse)
            results.append(
                {
                    "type": "custom_tool_call_output" if custom else "function_call_output",
                    "call_id": block.tool_use_id,
                    "output": _output(block),
                }
            )
        else:
            parts.append(_part(block.wire, block))
    return [*results, {"type": "message", "role": "user", "content": parts}] if parts else results


def _output(result: ToolResult) -> JSON:
    content: Any = result.wire.get("content") or []
    if all(each["type"] == "text" for each in content):
        return "\n".join(each["text"] for each in content)
    return [_part(each, None) for each in content]


def _part(wire: dict[str, Any], block: UserBlock | None) -> JSON:
    if isinstance(block, Text) or wire["type"] == "text":
        return {"type": "input_text", "text": wire["text"]}
    source = wire.get("source")
    if isinstance(source, dict) and source.get("type") == "base64":
        url = f"data:{source.get('media_type')};base64,{source.get('data')}"
        if isinstance(block, Image) or wire["type"] == "image":
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        if isinstance(block, Document):
            return {"type": "input_file", "filename": wire.get("title") or "document", "file_data": url}
    if isinstance(source, dict) and source.get("type") == "url" and wire["type"] == "image":
        return {"type": "input_image", "image_url": source.get("url"), "detail": "auto"}
    raise ConversationError(f"a block of type {wire['type']!r} has no place in a request to {NAME}")
