"""What a run gives, and what was asked of it: `RunResult`, and how it is made of an outcome."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from codemode.content import text_of
from codemode.errors import RunError, SandboxUnavailable, SessionError
from codemode.run_code.memory import FinishedCall
from codemode.sandbox import RunUsage
from codemode.sdk.checks import Check
from codemode.tools.call import ABORTED, ABORTED_BEFORE_DISPATCH, Outcome, Success
from codemode.values import JSON, FrozenDict, thaw

__all__ = ["RunFailure", "RunOptions", "RunResult", "run_result"]


class RunFailure(Struct, frozen=True, kw_only=True):
    """Why a run did not end well.

    `kind` is one of `sandbox.RUN_ERROR_KINDS`, or `refused` when a hook or bad arguments kept the
    program from running or its result from being given; what was printed is kept all the same.
    """

    kind: str
    message: str


class RunResult(Struct, frozen=True, kw_only=True):
    """What one run gave.

    `logs` are the printed lines. `result` is None both for no result and for `return None`;
    `has_result` tells them apart. `error` is None when the run ended well. `text` is what a model sees.
    `calls` are the run's calls with their values, if the run was asked to remember them. `warnings` are what a
    check found before the run, a line each. `missing_layers` are required layers of the process wall that the program
    ran without, as `accept_missing` allows.
    """

    logs: list[str]
    result: JSON = None
    has_result: bool = False
    error: RunFailure | None = None
    text: str = ""
    usage: RunUsage = RunUsage()
    calls: tuple[FinishedCall, ...] = ()
    warnings: tuple[str, ...] = ()
    missing_layers: tuple[str, ...] = ()


class RunOptions:
    """What `run` was asked for beside the program, and what it found out beside the outcome."""

    def __init__(
        self,
        on_log: Callable[[str], None] | None = None,
        remember: bool = False,
        reuse: tuple[FinishedCall, ...] = (),
    ) -> None:
        self.on_log = on_log
        self.remember = remember
        self.reuse = reuse
        self.usage = RunUsage()
        self.logs: tuple[str, ...] = ()
        self.calls: tuple[FinishedCall, ...] = ()
        self.check: Check | None = None
        self.warnings: tuple[str, ...] = ()
        self.missing_layers: tuple[str, ...] = ()


def run_result(outcome: Outcome, options: RunOptions) -> RunResult:
    shown = text_of(outcome.content)
    usage, calls, missing = options.usage, options.calls, options.missing_layers
    if isinstance(outcome, Success):
        value: FrozenDict = outcome.value
        return RunResult(
            logs=list(value["logs"]),
            result=thaw(value.get("result")),
            has_result="result" in value,
            text=shown,
            usage=usage,
            calls=calls,
            warnings=options.warnings,
            missing_layers=missing,
        )
    error = outcome.exception
    if isinstance(error, RunError):
        failed = RunFailure(kind=error.kind, message=error.reason)
        logs = error.logs
    else:
        if isinstance(error, SandboxUnavailable | SessionError):
            raise error
        aborted = outcome.error.code in (ABORTED, ABORTED_BEFORE_DISPATCH)
        failed = RunFailure(kind="abort" if aborted else "refused", message=outcome.error.message)
        logs = options.logs
    return RunResult(
        logs=list(logs),
        error=failed,
        text=shown,
        usage=usage,
        calls=calls,
        warnings=options.warnings,
        missing_layers=missing,
    )
