"""What a call gave, in the words of the protocol. Data only."""

from __future__ import annotations

from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent

from codemode.content import Content, Text, text_of
from codemode.errors import RunError
from codemode.tools.call import Failure, Outcome, Success
from codemode.tools.registry import RUN_CODE
from codemode.values import JSON, thaw

__all__ = ["RUN_OUTPUT", "call_result", "refused"]

RUN_OUTPUT: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "logs": {"type": "array", "items": {"type": "string"}, "description": "The printed lines."},
        "result": {"description": "What the program returned, if it returned something."},
        "error": {
            "type": "object",
            "description": "Why the run did not end well.",
            "properties": {"kind": {"type": "string"}, "message": {"type": "string"}},
            "required": ["kind", "message"],
        },
    },
    "required": ["logs"],
}
"""The schema of the structured output of `run_code`."""


def call_result(name: str, outcome: Outcome) -> CallToolResult:
    """Return what a client gets for the outcome of a call of the tool `name`."""
    structured: JSON = None
    if isinstance(outcome, Success):
        if isinstance(outcome.value, dict):
            structured = thaw(outcome.value)
    elif name == RUN_CODE:
        structured = _run_failure(outcome)
    return CallToolResult(
        content=_blocks(outcome.content), structured_content=structured, is_error=outcome.is_error
    )


def refused(message: str) -> CallToolResult:
    """Return what a client gets for a call that was not made."""
    return CallToolResult(content=[TextContent(text=f"Error: {message}")], is_error=True)


def _run_failure(outcome: Failure) -> dict[str, JSON]:
    error = outcome.exception
    if isinstance(error, RunError):
        return {"logs": list(error.logs), "error": {"kind": error.kind, "message": error.reason}}
    return {"logs": [], "error": {"kind": "refused", "message": outcome.error.message}}


def _blocks(content: Content) -> list[ContentBlock]:
    blocks: list[ContentBlock] = []
    for each in content:
        if isinstance(each, Text):
            blocks.append(TextContent(text=each.text))
        else:
            blocks.append(ImageContent(data=each.data, mime_type=each.media_type))
    return blocks or [TextContent(text=text_of(content))]
