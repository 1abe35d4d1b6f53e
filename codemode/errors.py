"""Every public error.

    CodeModeError
    ├── ToolError              a tool failed, on purpose, with a message and perhaps a code
    ├── ToolDefinitionError    a tool cannot be registered; says what is missing
    ├── ToolArgumentsError     arguments do not fit a tool's parameters        INVALID_ARGUMENTS
    ├── ToolOutputError        a tool's value, or its rendering, is not as declared   INVALID_OUTPUT
    ├── UnknownToolError       no tool of that name                            UNKNOWN_TOOL
    ├── RunError               a program did not end well; has the kind and the logs   RUN_FAILED
    ├── SandboxUnavailable     no guest can be started on this machine
    ├── CheckUnavailable       a program cannot be checked: no checker, or it failed   CHECK_UNAVAILABLE
    ├── SessionError           a session file cannot be read or written
    └── ConversationError      a conversation cannot go on as it is
        ├── PairingError           calls and results do not belong together   UNPAIRED_CALLS
        ├── IncompleteStateError   something required is missing              INCOMPLETE_STATE
        ├── AlteredTurnError       a turn is not what was received            ALTERED_TURN
        ├── StreamError            an answer did not arrive whole             STREAM_FAILED
        ├── TruncatedTurnError     an answer was cut inside a call            TRUNCATED_TURN
        └── ProviderError          a provider refused, or cannot be reached   PROVIDER_FAILED

(`values.InvalidValue`, a ValueError, says that something is not JSON.)
"""

from __future__ import annotations

from collections.abc import Sequence

from codemode.control import Layer

__all__ = [
    "AlteredTurnError",
    "CheckUnavailable",
    "CodeModeError",
    "ConversationError",
    "IncompleteStateError",
    "PairingError",
    "ProviderError",
    "RunError",
    "SandboxUnavailable",
    "SessionError",
    "StreamError",
    "ToolArgumentsError",
    "ToolDefinitionError",
    "ToolError",
    "ToolOutputError",
    "TruncatedTurnError",
    "UnknownToolError",
]


class CodeModeError(Exception):
    """The root of this package's errors. `code` is a stable, upper-case name, or None."""

    code: str | None = None

    @property
    def message(self) -> str:
        """The text of the error: what was wrong, where, and what to do."""
        return str(self)


class ToolError(CodeModeError):
    """Raise it in a tool's body to fail with a message for the model and, perhaps, a code for programs."""

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class ToolDefinitionError(CodeModeError):
    """A tool is incomplete, or cannot be enforced, or its name is taken."""

    code = "INVALID_TOOL"


class ToolArgumentsError(CodeModeError):
    """The arguments of a call do not fit the tool's parameters. `violations` has one text per place."""

    code = "INVALID_ARGUMENTS"

    def __init__(self, message: str, violations: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.violations = tuple(violations)


class ToolOutputError(CodeModeError):
    """What a tool returned, or made of it for display, is not what it declared."""

    code = "INVALID_OUTPUT"


class UnknownToolError(CodeModeError):
    """No tool of that name can be called here."""

    code = "UNKNOWN_TOOL"


class RunError(CodeModeError):
    """A program did not end well. `kind` is one of `sandbox.RUN_ERROR_KINDS`; `logs` are its printed lines."""

    code = "RUN_FAILED"

    def __init__(self, kind: str, message: str, logs: Sequence[str] = ()) -> None:
        super().__init__(f"run failed ({kind}): {message}")
        self.kind = kind
        self.reason = message
        self.logs = tuple(logs)


class SandboxUnavailable(CodeModeError):
    """No confined guest can be started here; the message says which wall is missing and what would raise it.

    `layers` are the layers of the process wall, if it came so far that they could be looked at.
    """

    code = "SANDBOX_UNAVAILABLE"

    def __init__(self, message: str, layers: Sequence[Layer] = ()) -> None:
        super().__init__(message)
        self.layers = tuple(layers)


class CheckUnavailable(CodeModeError):
    """A program cannot be checked: the checker is not installed, failed, or took too long."""

    code = "CHECK_UNAVAILABLE"


class SessionError(CodeModeError):
    """A session cannot be opened, read or written."""

    code = "SESSION_ERROR"


class ConversationError(CodeModeError):
    """A conversation with a model cannot go on as it is; the message says where and why."""

    code = "CONVERSATION_ERROR"


class PairingError(ConversationError):
    """Calls and their results do not belong together. `violations` has one text for each, with ids and turns."""

    code = "UNPAIRED_CALLS"

    def __init__(self, violations: Sequence[str]) -> None:
        super().__init__("; ".join(violations))
        self.violations = tuple(violations)


class IncompleteStateError(ConversationError):
    """Something is missing without which a conversation cannot go on; `missing` says what, each with its place.

    It is never made up: neither from what was displayed, nor as new ids or ciphertext.
    """

    code = "INCOMPLETE_STATE"

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(f"incomplete state, missing: {', '.join(missing)}")
        self.missing = tuple(missing)


class AlteredTurnError(ConversationError):
    """A turn of the model is not what was received; it may not be edited, shortened or left out in part."""

    code = "ALTERED_TURN"


class StreamError(ConversationError):
    """An answer did not arrive whole; nothing of it counts. `retryable`: the same request may be sent again."""

    code = "STREAM_FAILED"

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message)
        self.retryable = retryable


class TruncatedTurnError(ConversationError):
    """An answer ended at its bound of tokens inside a call or thinking, so it cannot go back; nothing counts."""

    code = "TRUNCATED_TURN"


class ProviderError(ConversationError):
    """A provider refused a request or cannot be reached. `retry_after` is in seconds, if it said so."""

    code = "PROVIDER_FAILED"

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.status = status
