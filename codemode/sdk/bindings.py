"""What a program gets of each tool when a run begins: its name, how its arguments are read, what can be found out."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from codemode.sdk.signatures import document
from codemode.tools.definition import Tool
from codemode.wire import Document, ToolName, encode_document

__all__ = ["binding"]

_made: WeakKeyDictionary[Tool, ToolName] = WeakKeyDictionary()


def binding(tool: Tool) -> ToolName:
    """Return the tool as a program knows it. Made once for each tool, since a tool does not change."""
    found = _made.get(tool)
    if found is None:
        parameters = tool.parameters
        known = encode_document(Document(*document(tool)))
        found = ToolName(
            tool.name,
            parameters.names,
            parameters.first_is_object,
            tool.signature,
            known,
            tool.method or "",
        )
        _made[tool] = found
    return found
