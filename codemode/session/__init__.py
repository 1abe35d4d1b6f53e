"""The session: an append-only log of events, in a file or in memory, from which history is derived."""

from codemode.session.events import (
    KNOWN,
    CodeDispatch,
    CodeDispatchStart,
    ErrorInfo,
    Event,
    RunEnd,
    RunStart,
    ToolCall,
    ToolResult,
)
from codemode.session.lines import export_lines, import_lines
from codemode.session.store import Observer, Session, SessionReader

__all__ = [
    "KNOWN",
    "CodeDispatch",
    "CodeDispatchStart",
    "ErrorInfo",
    "Event",
    "Observer",
    "RunEnd",
    "RunStart",
    "Session",
    "SessionReader",
    "ToolCall",
    "ToolResult",
    "export_lines",
    "import_lines",
]
