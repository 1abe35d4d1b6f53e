"""The host's side of the wall."""

from codemode.control import REQUIRED_LAYERS, Layer
from codemode.sandbox.interface import CallRequest, RunHandler, Sandbox
from codemode.sandbox.limits import Limits
from codemode.sandbox.local import LocalSandbox
from codemode.sandbox.outcome import RUN_ERROR_KINDS, RunErrorKind, RunOutcome, RunUsage
from codemode.sandbox.packages import Package

__all__ = [
    "REQUIRED_LAYERS",
    "RUN_ERROR_KINDS",
    "CallRequest",
    "Layer",
    "Limits",
    "LocalSandbox",
    "Package",
    "RunErrorKind",
    "RunHandler",
    "RunOutcome",
    "RunUsage",
    "Sandbox",
]
