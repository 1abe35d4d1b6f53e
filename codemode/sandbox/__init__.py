"""The host's side of the wall."""

from codemode.sandbox.interface import CallRequest, RunHandler, Sandbox
from codemode.sandbox.limits import Limits
from codemode.sandbox.outcome import RUN_ERROR_KINDS, RunErrorKind, RunOutcome, RunUsage

__all__ = [
    "RUN_ERROR_KINDS",
    "CallRequest",
    "Limits",
    "RunErrorKind",
    "RunHandler",
    "RunOutcome",
    "RunUsage",
    "Sandbox",
]
