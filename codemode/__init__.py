"""Code Mode: a model writes one Python program, the program calls your tools, the result comes back."""

from typing import TYPE_CHECKING

from codemode.lazy import public_names

if TYPE_CHECKING:
    from codemode.content import Image, Text, text
    from codemode.engine import CodeMode, RunFailure, RunResult, Scope
    from codemode.errors import (
        AlteredTurnError,
        CheckUnavailable,
        CodeModeError,
        ConversationError,
        IncompleteStateError,
        PairingError,
        ProviderError,
        RunError,
        SandboxUnavailable,
        SessionError,
        StreamError,
        ToolArgumentsError,
        ToolDefinitionError,
        ToolError,
        ToolOutputError,
        TruncatedTurnError,
        UnknownToolError,
    )
    from codemode.run_code.memory import FinishedCall
    from codemode.sandbox import Limits, LocalSandbox, Package, RunUsage
    from codemode.session import Event, Session
    from codemode.tools.approval import Answer, ApprovalRequest, Approver
    from codemode.tools.call import Call, Failure, FailureReason, Outcome, Success, failure
    from codemode.tools.definition import Output, Tool, as_json, as_text, tool
    from codemode.tools.hooks import Accept, Allow, Ask, Block, Deny, Hooks
    from codemode.tools.registry import Mode, Registry
    from codemode.tools.spill import Spill
    from codemode.values import InvalidValue

__all__ = [
    "Accept",
    "Allow",
    "AlteredTurnError",
    "Answer",
    "ApprovalRequest",
    "Approver",
    "Ask",
    "Block",
    "Call",
    "CheckUnavailable",
    "CodeMode",
    "CodeModeError",
    "ConversationError",
    "Deny",
    "Event",
    "Failure",
    "FailureReason",
    "FinishedCall",
    "Hooks",
    "Image",
    "IncompleteStateError",
    "InvalidValue",
    "Limits",
    "LocalSandbox",
    "Mode",
    "Outcome",
    "Output",
    "Package",
    "PairingError",
    "ProviderError",
    "Registry",
    "RunError",
    "RunFailure",
    "RunResult",
    "RunUsage",
    "SandboxUnavailable",
    "Scope",
    "Session",
    "SessionError",
    "Spill",
    "StreamError",
    "Success",
    "Text",
    "Tool",
    "ToolArgumentsError",
    "ToolDefinitionError",
    "ToolError",
    "ToolOutputError",
    "TruncatedTurnError",
    "UnknownToolError",
    "as_json",
    "as_text",
    "failure",
    "text",
    "tool",
]

__getattr__, __dir__ = public_names(
    __name__,
    {
        "content": "Image Text text",
        "engine": "CodeMode RunFailure RunResult Scope",
        "errors": (
            "AlteredTurnError CheckUnavailable CodeModeError ConversationError "
            "IncompleteStateError PairingError ProviderError RunError SandboxUnavailable "
            "SessionError StreamError ToolArgumentsError ToolDefinitionError ToolError "
            "ToolOutputError TruncatedTurnError UnknownToolError"
        ),
        "run_code.memory": "FinishedCall",
        "sandbox": "Limits LocalSandbox Package RunUsage",
        "session": "Event Session",
        "tools.approval": "Answer ApprovalRequest Approver",
        "tools.call": "Call Failure FailureReason Outcome Success failure",
        "tools.definition": "Output Tool as_json as_text tool",
        "tools.hooks": "Accept Allow Ask Block Deny Hooks",
        "tools.registry": "Mode Registry",
        "tools.spill": "Spill",
        "values": "InvalidValue",
    },
)
