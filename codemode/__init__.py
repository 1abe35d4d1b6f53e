"""Code Mode: a model writes one Python program, the program calls your tools, the result comes back."""

from codemode.content import Image, Text, text
from codemode.engine import CodeMode, RunFailure, RunResult, Scope
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
from codemode.sandbox import Limits
from codemode.session import Event, Session
from codemode.tools.approval import Answer, ApprovalRequest, Approver
from codemode.tools.call import Call, Failure, Outcome, Success
from codemode.tools.definition import Output, Tool, as_json, as_text, tool
from codemode.tools.hooks import Accept, Allow, Ask, Block, Deny, Hooks
from codemode.tools.registry import Registry
from codemode.tools.spill import Spill
from codemode.values import InvalidValue

__all__ = [
    "Accept",
    "Allow",
    "Answer",
    "ApprovalRequest",
    "Approver",
    "Ask",
    "Block",
    "Call",
    "CodeMode",
    "CodeModeError",
    "Deny",
    "Event",
    "Failure",
    "Hooks",
    "Image",
    "InvalidValue",
    "Limits",
    "Outcome",
    "Output",
    "Registry",
    "RunError",
    "RunFailure",
    "RunResult",
    "SandboxUnavailable",
    "Scope",
    "Session",
    "SessionError",
    "Spill",
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
