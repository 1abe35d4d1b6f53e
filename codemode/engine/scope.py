"""`Scope`: one view of an engine, which runs programs and makes direct calls under its tools, hooks and mode."""

from __future__ import annotations

import functools
import hashlib
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import trio
from msgspec import UNSET

from codemode.direct import DirectCalls, ModelCall, OnEnd, result_data
from codemode.engine.core import Core
from codemode.engine.results import RunOptions, RunResult, run_result
from codemode.errors import RunError
from codemode.rendering import encodable
from codemode.run_code.memory import Recall
from codemode.run_code.nested import NestedCalls
from codemode.run_code.tool import MAX_SHOWN_BYTES, RunValue, run_code_tool
from codemode.sandbox import Limits, RunOutcome
from codemode.sandbox.local import LocalSandbox
from codemode.sdk.bindings import binding
from codemode.sdk.capabilities import Capabilities, capabilities
from codemode.sdk.checks import Check
from codemode.sdk.prompt import prompt
from codemode.session import Session
from codemode.tools.approval import Approvals, Approver
from codemode.tools.call import Call, Outcome, Recorder
from codemode.tools.definition import Tool
from codemode.tools.hooks import Hooks
from codemode.tools.pipeline import Pipeline
from codemode.tools.registry import RUN_CODE, Mode, Registry
from codemode.values import JSON, FrozenDict

__all__ = ["Scope"]

_COMMIT_SECONDS = 10.0  # to make the log of a cancelled call durable


class Scope:
    """One view of an engine: its tools, hooks and mode. Runs programs and makes direct calls under them.

    `CodeMode` is the outermost one; `scope` makes others over it, for an agent or a request.
    """

    def __init__(
        self,
        core: Core,
        registry: Registry,
        *,
        parent: Scope | None = None,
        session: Session | None = None,
        limits: Limits | None = None,
        approver: Approver | None = None,
    ) -> None:
        self._core = core
        self.registry = registry
        self.parent = parent
        """The scope that this one was made over; None for the outermost."""
        self._session = session
        self._limits = core.limits if limits is None else limits
        # What was allowed for a run is kept by the ids of calls, which are a conversation's own.
        if parent is None:
            self._approvals = Approvals(approver)
        elif approver is None and session is parent._session:
            self._approvals = parent._approvals
        else:
            self._approvals = Approvals(parent._approvals.approver if approver is None else approver)
        self._run_code = run_code_tool(self._run_program, core.spill, core.packages, core.checks.note)
        self._runs: dict[str, RunOptions] = {}
        self._prompt: tuple[tuple[int, tuple[Tool, ...]], str] | None = None

    def scope(
        self,
        tools: Iterable[Tool] = (),
        *,
        hooks: Hooks | None = None,
        mode: Mode | None = None,
        allow: Collection[str] | None = None,
        deny: Collection[str] | None = None,
        session: Session | None = None,
        limits: Limits | None = None,
        approver: Approver | None = None,
    ) -> Scope:
        """Return a new scope over this one; see `Registry.scope`. It lives as long as the engine does.

        Calls in it are logged in `session`, which is left open, its programs have `limits`, and `approver` answers
        for its calls (None: as here).
        """
        registry = self.registry.scope(tools, hooks=hooks, mode=mode, allow=allow, deny=deny)
        return Scope(
            self._core,
            registry,
            parent=self,
            session=self._session if session is None else session,
            limits=self._limits if limits is None else limits,
            approver=approver,
        )

    @property
    def session(self) -> Session:
        """The session that calls are logged in."""
        opened = self._core.entered.session
        return opened if self._session is None else self._session

    @property
    def limits(self) -> Limits:
        """The limits of each run."""
        return self._limits

    @property
    def approver(self) -> Approver | None:
        """Who answers when a call here needs approval; None where nobody does."""
        return self._approvals.approver

    def describe(self) -> list[dict[str, JSON]]:
        """Return the tools that a model may call directly here: name, description, parameters (JSON Schema)."""
        mode = self.registry.mode
        described = [] if mode == "code" else self.registry.describe()
        if mode != "native":
            described.append({**self._run_code.describe(), "description": self.prompt()})
        return described

    def prompt(self, budget: int | None = None) -> str:
        """Return what a model is told of `run_code` here: how to write a program, its limits, the tools.

        `budget` is how many tokens the list of tools may take (None: the engine's); see `codemode.sdk.prompt`.
        """
        budget = self._core.prompt_budget if budget is None else budget
        asked = (budget, tuple(self.registry))
        if self._prompt is None or self._prompt[0] != asked:
            text = prompt(
                asked[1],
                self._limits,
                budget=budget,
                shown_bytes=MAX_SHOWN_BYTES,
                packages=self._core.packages,
            )
            self._prompt = (asked, text)
        return self._prompt[1]

    def capabilities(self) -> Capabilities:
        """Return the capability card of this scope: versions, walls, limits, language, tools.

        The walls are those of this machine's sandbox, known while the engine is entered.
        """
        sandbox = None if self._core.opened is None else self._core.opened.sandbox
        walls = sandbox.layers if isinstance(sandbox, LocalSandbox) else ()
        return capabilities(self.registry, self._limits, walls, self._core.packages)

    async def run(
        self,
        code: str,
        description: str = "run a program",
        *,
        on_log: Callable[[str], None] | None = None,
        remember: bool = False,
        reuse: RunResult | None = None,
        check: Check | None = None,
    ) -> RunResult:
        """Run a program to its end and return what it gave; a failed program is a result with `error`.

        `on_log` receives printed text as it comes; it must return at once. With `remember`, the result keeps
        the calls that finished, with their values; a corrected program that gets it as `reuse` has its calls
        answered from there as long as they are the same, in the same order. `check` is as in `CodeMode` (None: as
        there); what was found stands in `warnings`, or in the error of a program that was not started.

        When this returns, nothing of the run runs any more (but for a tool that does not stop when it is
        cancelled; it is recorded so) and every event of it is durable. Cancellation ends the run, waits until
        its parts have ended, and is passed on. Raises `SessionError` when the log cannot be written, and
        `CheckUnavailable` when there is no checker.
        """
        self._core.checks.require(check)
        options = RunOptions(on_log=on_log, remember=remember, reuse=() if reuse is None else reuse.calls)
        options.check = check
        call_id = _new_id()
        self._runs[call_id] = options
        try:
            outcome = await self._execute(RUN_CODE, {"code": code, "description": description}, call_id)
            return run_result(outcome, options)
        finally:
            del self._runs[call_id]

    async def call(
        self, name: str, arguments: dict[str, Any], *, on_log: Callable[[str], None] | None = None
    ) -> Outcome:
        """Make a direct call of one tool and return its outcome; a failure is an outcome too.

        `on_log` receives what a program prints as it comes, when the tool is `run_code`; it must return at once.
        That it was made is durable before its body runs; `tool/result` is when this returns. Cancellation
        reaches the body and is passed on; a body that does not stop holds nobody for long.
        """
        call_id = _new_id()
        if on_log is not None:
            self._runs[call_id] = RunOptions(on_log=on_log)
        try:
            return await self._execute(name, arguments, call_id)
        finally:
            self._runs.pop(call_id, None)

    async def call_all(
        self,
        calls: Sequence[ModelCall],
        *,
        on_log: Callable[[str, str], None] | None = None,
        on_end: OnEnd | None = None,
    ) -> list[Outcome]:
        """Make the calls of one answer of a model and return their outcomes, in that order.

        Parallel ones overlap, an exclusive one runs alone, and what waits for approval is asked together; see
        `direct`. `on_log(call id, text)` receives what programs print, as it comes; `on_end(call, outcome)` is
        called as each call ends, with its result in the log. When this returns, every event of it is durable.
        Cancellation reaches all bodies and is passed on; each call has its result in the log all the same. Raises
        `SessionError` when the log cannot be written, `ValueError` for an id that comes twice.
        """
        ids = [call.id for call in calls]
        if len(set(ids)) < len(ids):
            raise ValueError(f"the ids of calls that are made together differ: {', '.join(ids)}")
        opened = self._core.entered
        cap = self._core.max_parallel_calls
        batch = DirectCalls(opened.nursery, self._pipeline(), self.session, cap, on_end)
        if on_log is not None:
            self._runs.update((id, RunOptions(on_log=functools.partial(on_log, id))) for id in ids)
        try:
            return await batch.run(calls)
        finally:
            for id in ids:
                self._runs.pop(id, None)

    def _pipeline(self) -> Pipeline:
        opened = self._core.entered
        return Pipeline(
            self.registry,
            run_code=self._run_code,
            approvals=self._approvals,
            bodies=opened.bodies,
            recorder=_recorder(self.session),
            scope=self,
        )

    async def _execute(self, name: str, arguments: dict[str, Any], call_id: str) -> Outcome:
        session = self.session
        # A name that is no text names no tool; it is logged as it can be.
        name = encodable(str(name))
        pipeline = self._pipeline()
        dispatch = pipeline.begin(name, arguments, id=call_id)
        call = dispatch.call
        session.append(
            "tool/call",
            FrozenDict(callId=call_id, name=name, arguments=call.arguments, startLogged=True),
        )

        async def log_start() -> None:
            session.append("tool/start", FrozenDict(callId=call_id))
            await _make_durable(session)

        try:
            try:
                outcome = await pipeline.finish(dispatch, log_start)
            finally:
                if dispatch.outcome is None:
                    dispatch.abort()
                self._log_result(session, call, dispatch.outcome)
                self._approvals.forget(call_id)
        except BaseException:
            with trio.move_on_after(_COMMIT_SECONDS, shield=True):
                await _make_durable(session)
            raise
        await _make_durable(session)
        return outcome

    @staticmethod
    def _log_result(session: Session, call: Call, outcome: Outcome | None) -> None:
        assert outcome is not None
        session.append("tool/result", result_data(call.id, outcome))

    async def _run_program(self, source: str, call: Call) -> RunValue:
        """The body of run_code: one run in the sandbox."""
        options = self._runs.get(call.id) or RunOptions()
        options.warnings = await self._core.checks.before(source, call.id, self.registry, options.check)
        session = self.session
        program_hash = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
        session.append(
            "run/start",
            FrozenDict(
                callId=call.id, programHash=program_hash, signaturesHash=self.registry.signatures_hash
            ),
        )
        end: dict[str, JSON] = {"callId": call.id, "outcome": "abort"}
        try:
            outcome = await self._run_in_sandbox(source, call)
            end["outcome"] = outcome.kind or "ok"
            if outcome.missing_layers:
                end["missingLayers"] = list(outcome.missing_layers)
        finally:
            session.append("run/end", end)
        if outcome.kind is not None:
            raise RunError(outcome.kind, outcome.message, outcome.logs)
        value: RunValue = {"logs": list(outcome.logs)}
        if outcome.result is not UNSET:
            value["result"] = outcome.result
        return value

    async def _run_in_sandbox(self, source: str, call: Call) -> RunOutcome:
        opened = self._core.entered
        options = self._runs.get(call.id) or RunOptions()
        tools = [binding(each) for each in self.registry]
        stop = trio.CancelScope()
        calls = NestedCalls(
            opened.nursery,
            self._pipeline(),
            self.session,
            call,
            max_parallel_calls=self._core.max_parallel_calls,
            on_log=options.on_log,
            recall=Recall(options.reuse) if options.reuse else None,
            remember=options.remember,
            failed=stop.cancel,
        )
        outcome: RunOutcome | None = None
        try:
            with stop:
                outcome = await opened.sandbox.run(source, tools, calls, self._limits)
        finally:
            await calls.close()
            options.calls = calls.finished()
        assert outcome is not None  # what stopped the run was raised by `close`
        options.usage = outcome.usage
        options.logs = outcome.logs
        options.missing_layers = outcome.missing_layers
        return outcome


def _recorder(session: Session) -> Recorder:
    """Return what appends events to a session, from the engine's thread or one of its worker threads."""

    def record(type: str, data: JSON, ignorable: bool) -> None:
        if trio.lowlevel.in_trio_run():
            session.append(type, data, ignorable=ignorable)
        else:
            trio.from_thread.run_sync(functools.partial(session.append, type, data, ignorable=ignorable))

    return record


async def _make_durable(session: Session) -> None:
    """Commit, where there is a file; a session in memory has nothing to do, and a step of the loop to lose."""
    if session.path is not None:
        await session.commit()


def _new_id() -> str:
    return f"call_{secrets.token_hex(8)}"
