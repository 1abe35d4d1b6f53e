"""The one way from what a converter produced to what an assistant message carries: `to_block`.

The third of three lists that stay in step. Its last arm is `assert_never`: a result without an arm does not
pass type checking. `gaps` finds what type checking cannot, for the test that stands beside this file.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import assert_never

from codemode.conversation import blocks as b
from codemode.conversation import results as r
from codemode.conversation.blocks import AssistantBlock, Block
from codemode.conversation.results import NOT_CONTENT, Received, Result
from codemode.errors import IncompleteStateError
from codemode.values import JSON, InvalidValue, freeze

__all__ = ["gaps", "is_content", "to_block"]


def is_content(result: Result) -> bool:
    """Whether an assistant message holds this result; if not, it is named in `results.NOT_CONTENT`."""
    return not isinstance(result, NOT_CONTENT)


def to_block(result: Result) -> AssistantBlock:
    """Return the block that an assistant message carries for a result; its `wire` is the same object.

    Raises `IncompleteStateError` when something is missing without which the block cannot go back, and
    `TypeError` for a result that is no content by name (see `is_content`).
    """
    wire = result.wire
    match result:
        case r.TextResult():
            return b.Text(wire)
        case r.ThinkingResult():
            _require(wire, "thinking", "signature")
            return b.Thinking(wire)
        case r.RedactedThinkingResult():
            _require(wire, "data")
            return b.RedactedThinking(wire)
        case r.ReasoningResult():
            return b.Reasoning(wire)
        case r.ToolCallResult():
            is_item = wire.get("type") in b.ITEM_CALLS
            _require(wire, "call_id" if is_item else "id", "name")
            return b.ToolUse(wire, _input(wire, "arguments" if is_item else "input"))
        case r.CustomToolCallResult():
            _require(wire, "call_id", "name", "input")
            return b.CustomToolUse(wire, wire["input"])
        case r.ServerToolCallResult():
            return b.ServerToolUse(wire)
        case r.WebSearchResult():
            return b.WebSearch(wire)
        case r.WebFetchResult():
            return b.WebFetch(wire)
        case r.FileSearchResult():
            return b.FileSearch(wire)
        case r.ExecutableCodeResult():
            return b.ExecutableCode(wire)
        case r.CodeExecutionResult():
            return b.CodeExecution(wire)
        case r.ComputerCallResult():
            return b.ComputerCall(wire)
        case r.LocalShellCallResult():
            return b.LocalShellCall(wire)
        case r.McpCallResult():
            return b.McpCall(wire)
        case r.McpListToolsResult():
            return b.McpListTools(wire)
        case r.McpApprovalRequestResult():
            return b.McpApprovalRequest(wire)
        case r.ToolSearchResult():
            return b.ToolSearch(wire)
        case r.ContainerUploadResult():
            return b.ContainerUpload(wire)
        case r.OtherResult():
            return b.Other(wire)
        case (
            r.UsageResult()
            | r.StopResult()
            | r.VectorResult()
            | r.ObjectResult()
            | r.BinaryResult()
            | r.RerankingResult()
            | r.ChoiceResult()
        ):
            raise TypeError(f"{type(result).__name__} is no content of a message, on purpose")
        case _:
            assert_never(result)


def _require(wire: dict[str, JSON], *fields: str) -> None:
    missing = [name for name in fields if not isinstance(wire.get(name), str) or not wire[name]]
    if "thinking" in missing and wire.get("thinking") == "":
        missing.remove("thinking")  # thinking that is not shown comes as a signature alone
    if "input" in missing and wire.get("input") == "":
        missing.remove("input")
    if missing:
        raise IncompleteStateError([f"{wire.get('type')}.{name}" for name in missing])


def _input(wire: dict[str, JSON], field: str) -> JSON:
    """Return the arguments of a call: an object as it is; text as the JSON in it, or itself if it holds none."""
    given = wire.get(field)
    if isinstance(given, dict):
        return given
    if not isinstance(given, str):
        raise IncompleteStateError([f"{wire.get('type')}.{field}"])
    try:
        return freeze(json.loads(given) if given.strip() else {})
    except (ValueError, InvalidValue, RecursionError):
        return given


def gaps(
    results: Collection[type[Received]],
    blocks: Collection[type[Block]],
    mapped: dict[type[Received], type[Block]],
    not_content: Collection[type[Received]],
) -> list[str]:
    """Return what is out of step between the three lists; empty when nothing is.

    `mapped` is what `to_block` was seen to make of one result of each class. Input-only blocks are not among
    `blocks`: no result needs to become one.
    """
    found = [
        f"{each.__name__} is neither mapped to a block nor named in NOT_CONTENT"
        for each in results
        if each not in mapped and each not in not_content
    ]
    found += [
        f"{each.__name__} is mapped to a block and named in NOT_CONTENT"
        for each in results
        if each in mapped and each in not_content
    ]
    found += [
        f"{each.__name__} is mapped to {mapped[each].__name__}, which no assistant message carries"
        for each in results
        if each in mapped and mapped[each] not in blocks
    ]
    made = set(mapped.values())
    found += [f"no result becomes a {each.__name__}" for each in blocks if each not in made]
    return found
