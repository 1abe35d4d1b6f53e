"""The library's face: `CodeMode` owns the tools, the sandbox and the session, and runs programs."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any

import trio
from msgspec import UNSET, Struct

from codemode.content import content_to_json, text_of
from codemode.errors import CodeModeError, RunError
from codemode.run_code.nested import NestedCalls
from codemode.run_code.tool import RunValue, run_code_tool
from codemode.sandbox import Limits, RunOutcome, RunUsage, Sandbox
from codemode.sandbox.local import LocalSandbox
from codemode.session import Session
from codemode.tools.call import Call, Outcome, Success
from codemode.tools.definition import Tool
from codemode.tools.hooks import Hooks
from codemode.tools.pipeline import Mode, Pipeline
from codemode.tools.registry import RUN_CODE, Registry
from codemode.values import JSON, FrozenDict
from codemode.wire import ToolName

__all__ = ["CodeMode", "RunFailure", "RunResult"]

_COMMIT_SECONDS = 10.0  # to make the log of a cancelled call durable


class RunFailure(Struct, frozen=True, kw_only=True):
    """Why a run did not end well.

    `kind` is one of `sandbox.RUN_ERROR_KINDS`, or `refused` when a hook or bad arguments kept the
    program from running or its result from being given.
    """

    kind: str
    message: str


class RunResult(Struct, frozen=True, kw_only=True):
    """What one run gave.

    `logs` are the printed lines. `result` is None both for no result and for `return None`;
    `has_result` tells them apart. `error` is None when the run ended well. `text` is what a model sees.
    """

    logs: list[str]
    result: JSON = None
    has_result: bool = False
    error: RunFailure | None = None
    text: str = ""
    usage: RunUsage = RunUsage()


class CodeMode:
    """Runs programs that call tools. An async context manager; use one for many runs.

    `tools` are the functions of a program. `limits` hold for each run. `session` is a path, an open
    `Session` (left open), or None for one in memory. `hooks` and `mode` are those of the pipeline.
    `max_parallel_calls` bounds how many overlapping calls of one run are under way. `sandbox` takes the
    place of this machine's.

    Entering raises `SandboxUnavailable` or `SessionError`; a wrong tool raises `ToolDefinitionError` at once.
    """

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        *,
        limits: Limits | None = None,
        session: Session | str | os.PathLike[str] | None = None,
        hooks: Hooks | None = None,
        mode: Mode = "both",
        max_parallel_calls: int = 10,
        sandbox: Sandbox | None = None,
    ) -> None:
        self.registry = tools if isinstance(tools, Registry) else Registry(tools)
        self.limits = limits or Limits()
        self._pipeline = Pipeline(self.registry, hooks, mode=mode, run_code=run_code_tool(self._run_program))
        self._max_parallel_calls = max_parallel_calls
        self._given_session = session
        self._given_sandbox = sandbox
        self._session: Session | None = None
        self._sandbox: Sandbox | None = None
        self._stack = AsyncExitStack()
        self._log_listeners: dict[str, Callable[[str], None]] = {}
        self._usage: dict[str, RunUsage] = {}

    async def __aenter__(self) -> CodeMode:
        if self._session is not None:
            raise RuntimeError("this CodeMode is entered already; make another one, or share it")
        async with AsyncExitStack() as stack:
            given = self._given_session
            if isinstance(given, Session):
                self._session = given
            else:
                self._session = await stack.enter_async_context(Session.open(given))
            if self._given_sandbox is not None:
                self._sandbox = self._given_sandbox
            else:
                self._sandbox = await stack.enter_async_context(LocalSandbox(self.limits))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session = self._sandbox = None
        await self._stack.__aexit__(kind, error, trace)

    @property
    def session(self) -> Session:
        """The session that calls are logged in."""
        if self._session is None:
            raise RuntimeError("enter it first: async with CodeMode(...) as cm")
        return self._session

    async def run(
        self, code: str, description: str = "run a program", *, on_log: Callable[[str], None] | None = None
    ) -> RunResult:
        """Run a program to its end and return what it gave; a failed program is a result with `error`.

        `on_log` receives printed text as it comes; it must return at once. When this returns, nothing of
        the run runs any more and every event of it is durable. Cancellation ends the run, waits until
        its parts have ended, and is passed on. Raises `SessionError` when the log cannot be written.
        """
        call_id = _new_id()
        if on_log is not None:
            self._log_listeners[call_id] = on_log
        try:
            outcome = await self._execute(RUN_CODE, {"code": code, "description": description}, call_id)
            return _run_result(outcome, self._usage.get(call_id, RunUsage()))
        finally:
            self._log_listeners.pop(call_id, None)
            self._usage.pop(call_id, None)

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """Make a direct call of one tool and return its outcome; a failure is an outcome too.

        Its `tool/call` and `tool/result` are durable when this returns. Cancellation is as in `run`.
        """
        return await self._execute(name, arguments, _new_id())

    async def _execute(self, name: str, arguments: dict[str, Any], call_id: str) -> Outcome:
        session = self.session
        dispatch = self._pipeline.begin(name, arguments, id=call_id)
        call = dispatch.call
        session.append("tool/call", {"callId": call_id, "name": name, "arguments": call.arguments})
        try:
            try:
                outcome = await self._pipeline.finish(dispatch)
            finally:
                self._log_result(call, dispatch.outcome)
        except BaseException:
            with trio.move_on_after(_COMMIT_SECONDS, shield=True):
                await session.commit()
            raise
        await session.commit()
        return outcome

    def _log_result(self, call: Call, outcome: Outcome | None) -> None:
        assert outcome is not None
        data: dict[str, JSON] = {
            "callId": call.id,
            "content": content_to_json(outcome.content),
            "isError": outcome.is_error,
        }
        if isinstance(outcome, Success):
            if outcome.meta is not UNSET:
                data["meta"] = outcome.meta
        elif outcome.error.code is not None:
            data["error"] = {"name": outcome.error.type or "Error", "code": outcome.error.code}
        self.session.append("tool/result", data)

    async def _run_program(self, source: str, call: Call) -> RunValue:
        """The body of run_code: one run in the sandbox, its calls in a nursery of its own."""
        if self._sandbox is None:
            raise RuntimeError("enter it first: async with CodeMode(...) as cm")
        tools = [
            ToolName(t.name, t.parameters.names, t.parameters.first_is_object, t.signature)
            for t in self.registry
        ]
        session = self.session
        program_hash = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
        session.append("run/start", {"callId": call.id, "programHash": program_hash})
        ended_as = "abort"
        try:
            outcome = await self._run_in_sandbox(source, tools, call)
            ended_as = outcome.kind or "ok"
        finally:
            session.append("run/end", {"callId": call.id, "outcome": ended_as})
        self._usage[call.id] = outcome.usage
        if outcome.kind is not None:
            raise RunError(outcome.kind, outcome.message, outcome.logs)
        value: RunValue = {"logs": list(outcome.logs)}
        if outcome.result is not UNSET:
            value["result"] = outcome.result
        return value

    async def _run_in_sandbox(self, source: str, tools: list[ToolName], call: Call) -> RunOutcome:
        assert self._sandbox is not None
        async with trio.open_nursery() as nursery:
            calls = NestedCalls(
                nursery,
                self._pipeline,
                self.session,
                call,
                max_parallel_calls=self._max_parallel_calls,
                on_log=self._log_listeners.get(call.id),
            )
            try:
                outcome = await self._sandbox.run(source, tools, calls, self.limits)
            finally:
                calls.close()
        return outcome


def _new_id() -> str:
    return f"call_{secrets.token_hex(8)}"


def _run_result(outcome: Outcome, usage: RunUsage) -> RunResult:
    shown = text_of(outcome.content)
    if isinstance(outcome, Success):
        value: FrozenDict = outcome.value
        return RunResult(
            logs=list(value["logs"]),
            result=value.get("result"),
            has_result="result" in value,
            text=shown,
            usage=usage,
        )
    error = outcome.exception
    if isinstance(error, RunError):
        failed = RunFailure(kind=error.kind, message=error.reason)
        return RunResult(logs=list(error.logs), error=failed, text=shown, usage=usage)
    if isinstance(error, CodeModeError) and outcome.error.code in ("SANDBOX_UNAVAILABLE", "SESSION_ERROR"):
        raise error
    return RunResult(logs=[], error=RunFailure(kind="refused", message=outcome.error.message), text=shown)
