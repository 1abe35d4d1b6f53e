"""Code Mode: a model writes one Python program, the program calls your tools, the result comes back."""

from codemode.content import Image, Text, text
from codemode.errors import (
    CodeModeError,
    RunError,
    SandboxUnavailable,
    SessionError,
    ToolArgumentsError,
    ToolDefinitionError,
    ToolError,
    ToolOutputError,
    UnknownToolError,
)
from codemode.tools.call import Call, Failure, Outcome, Success
from codemode.tools.definition import Output, Tool, as_json, as_text, tool
from codemode.tools.registry import Registry
from codemode.values import InvalidValue

__all__ = [
    "Call",
    "CodeModeError",
    "Failure",
    "Image",
    "InvalidValue",
    "Outcome",
    "Output",
    "Registry",
    "RunError",
    "SandboxUnavailable",
    "SessionError",
    "Success",
    "Text",
    "Tool",
    "ToolArgumentsError",
    "ToolDefinitionError",
    "ToolError",
    "ToolOutputError",
    "UnknownToolError",
    "as_json",
    "as_text",
    "text",
    "tool",
]
