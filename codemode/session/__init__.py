"""The session: an append-only log of events, in a file or in memory, from which history is derived."""

from codemode.session.events import (
    KNOWN,
    AssistantMessage,
    CodeDispatch,
    CodeDispatchStart,
    ErrorInfo,
    Event,
    RunEnd,
    RunReuse,
    RunStart,
    SessionRecovered,
    ToolCall,
    ToolResult,
    ToolStart,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from codemode.session.lines import export_lines, import_lines
from codemode.session.recovery import TOOL_NOT_STARTED, TOOL_OUTCOME_UNKNOWN
from codemode.session.store import Observer, Session, SessionReader

__all__ = [
    "KNOWN",
    "TOOL_NOT_STARTED",
    "TOOL_OUTCOME_UNKNOWN",
    "AssistantMessage",
    "CodeDispatch",
    "CodeDispatchStart",
    "ErrorInfo",
    "Event",
    "Observer",
    "RunEnd",
    "RunReuse",
    "RunStart",
    "Session",
    "SessionReader",
    "SessionRecovered",
    "ToolCall",
    "ToolResult",
    "ToolStart",
    "TurnEnd",
    "TurnStart",
    "UserMessage",
    "export_lines",
    "import_lines",
]
