"""How one agent is started and how it ends: its place below its caller, its tools, its session, its budget.

An agent's scope is made over the scope of the call that starts it, never over the engine's: what the caller cannot
call, and what hooks deny it, is so for the agent too. The caller's log says that an agent began and ended
(`agent/start`, `agent/end`); all that it did is in a session of its own.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import weakref
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio
from msgspec import Struct, structs

from codemode import Call, Hooks, Mode, Scope, Session, SessionError, Tool, ToolArgumentsError, ToolError
from codemode.agent import Agent, Provider, TurnResult
from codemode.toolkits import StructuredOutput
from codemode.toolkits.agents.endings import Meter, Report, failed, report_of
from codemode.toolkits.agents.limits import AgentLimits, Budget
from codemode.toolkits.structured import NAME as STRUCTURED_OUTPUT

__all__ = ["NAMES", "SYSTEM", "Agents", "Place", "Task", "new_id", "note", "scope_of"]

NAMES = ("subagent", "workflow", "ralph")
"""The tools that start agents."""

SYSTEM = (
    "You are an agent that was started for one task. Nobody answers questions: decide, and go on. Your last message "
    "is all that whoever started you gets; let it have the result, what you could not do, and where things are."
)

_REMIND = "You have ended without structured_output. Call it now, with the result of the task."


class Task(Struct, frozen=True, kw_only=True):
    """What an agent is to do. `tools` narrows the tools it gets; `schema` is that of the value it has to give."""

    prompt: str
    description: str
    tools: Sequence[str] | None = None
    read_only: bool = False
    schema: dict[str, Any] | None = None


class Place(Struct, frozen=True, kw_only=True):
    """Where in the tree of agents a scope is, and what it shares with the others of one outermost call."""

    depth: int
    budget: Budget
    directory: str | None
    """Of session files; None for sessions in memory."""


class Agents:
    """Starts agents, all with one provider and the same limits."""

    def __init__(
        self,
        provider: Provider,
        limits: AgentLimits,
        *,
        system: str,
        mode: Mode | None,
        allow: Collection[str] | None,
        deny: Collection[str],
        read_only: bool,
        sessions: str | None,
    ) -> None:
        if mode not in ("native", "code", "both", None):
            raise ValueError(f"mode={mode!r}: choose 'native', 'code' or 'both'")
        if isinstance(allow, str) or isinstance(deny, str):
            raise TypeError("allow and deny are lists of names, not one text")
        self.provider = _Shared(provider, limits.max_requests)
        self.limits = limits
        self.read_only = read_only
        self._system = system
        self._mode = mode
        self._allow = None if allow is None else frozenset(allow)
        self._deny = frozenset(deny)
        self._sessions = sessions
        self._places: weakref.WeakKeyDictionary[Scope, Place] = weakref.WeakKeyDictionary()
        self._budgets: weakref.WeakKeyDictionary[object, Budget] = weakref.WeakKeyDictionary()

    def may_overlap(self, arguments: dict[str, Any]) -> bool:
        """Whether an agent changes nothing, so that it may work beside others."""
        return self.read_only or arguments.get("read_only") is True

    def place(self, call: Call) -> Place:
        """Return the place of whoever makes a call: of the nearest scope that was made here, or a new tree's root.

        Raises `ToolError` NO_SCOPE for a call outside of an engine, SUBAGENT_DEPTH where no agent may start another.
        """
        caller = scope_of(call)
        scope: Scope | None = caller
        while scope is not None and scope not in self._places:
            scope = scope.parent
        if scope is not None:
            place = self._places[scope]
        else:
            beside = caller.session.path
            directory = self._sessions or (None if beside is None else f"{beside}.agents")
            outermost = call.token if call.parent is None else call.parent
            budget = self._budgets.setdefault(outermost, Budget(self.limits))
            place = Place(depth=0, budget=budget, directory=directory)
        if place.depth >= self.limits.max_depth:
            raise ToolError(
                f"subagent depth {place.depth + 1} exceeds maxDepth {self.limits.max_depth}; do the task yourself",
                code="SUBAGENT_DEPTH",
            )
        return place

    @asynccontextmanager
    async def session(self, place: Place, run_id: str) -> AsyncIterator[Session]:
        """Open the session of a run; see `agents`. Raises `SessionError`."""
        path = None
        if place.directory is not None:
            try:
                await trio.to_thread.run_sync(_make_directory, place.directory)
            except OSError as error:
                raise SessionError(
                    f"the directory of sessions of agents cannot be made: {place.directory}: {error.strerror}"
                ) from None
            path = os.path.join(place.directory, f"{run_id}.sqlite")
        async with Session.open(path) as session:
            yield session

    async def run(
        self,
        call: Call,
        task: Task,
        place: Place,
        *,
        run_id: str | None = None,
        over: Scope | None = None,
        started: Callable[[], None] = lambda: None,
    ) -> Report:
        """Start an agent for a task and return what it gave.

        Its scope is made over that of the call, or `over` another. `started` is told when it counts as started.
        Raises `ToolError` when it gave nothing: its code says why, its message what there was by then. Cancellation
        stops the agent and what it has called, closes its session, and is passed on.
        """
        if not task.prompt.strip():
            raise ToolArgumentsError("invalid prompt: expected a non-empty string")
        output = None if task.schema is None else StructuredOutput(task.schema)
        over = over or scope_of(call)
        names = self._names(over, task)
        place.budget.start()
        started()
        run_id = run_id or new_id()
        begin = {
            "runId": run_id,
            "callId": call.id,
            "description": task.description,
            "depth": place.depth + 1,
        }
        end: dict[str, Any] = {"runId": run_id, "callId": call.id, "outcome": "aborted"}
        async with self.session(place, run_id) as session:
            if session.path is not None:
                begin["session"] = session.path
            note(call, "agent/start", begin)
            meter = Meter(self.limits, place.budget)
            try:
                scope = over.scope(
                    () if output is None else output.tools,
                    hooks=Hooks() if output is None else output.hooks,
                    mode=self._mode,
                    allow=names,
                    session=session,
                )
                self._places[scope] = structs.replace(place, depth=place.depth + 1)
                result = await self._turn(scope, task, output, meter)
                end["outcome"] = result.reason
                return report_of(run_id, result, output, meter)
            except ToolError as error:
                end["outcome"] = error.code
                raise
            except Exception as error:
                end["outcome"] = type(error).__name__
                raise
            finally:
                end |= {"steps": meter.steps, "tokens": meter.tokens}
                note(call, "agent/end", end)

    async def _turn(
        self, scope: Scope, task: Task, output: StructuredOutput | None, meter: Meter
    ) -> TurnResult:
        agent = Agent(
            scope,
            self.provider,
            system=self._system,
            max_tokens=self.limits.max_answer_tokens,
            max_steps=self.limits.max_steps,
            max_total_tokens=max(meter.tokens_left, 1),
            watcher=meter,
            is_done=None if output is None else lambda: output.is_recorded,
        )
        meter.agent = agent
        result: TurnResult | None = None
        with trio.move_on_after(self.limits.seconds) as limit:
            result = await agent.run(task.prompt)
            if output is not None and not output.is_recorded and result.reason == "completed":
                agent.max_steps = max(self.limits.max_steps - meter.steps, 1)
                meter.begin_turn()
                result = await agent.run(_REMIND)
        if result is None or limit.cancelled_caught:
            raise failed(f"subagent run took longer than {self.limits.seconds:g} s", "AGENT_TIMEOUT", meter)
        return result

    def _names(self, scope: Scope, task: Task) -> list[str]:
        """The tools that an agent gets of its caller's."""
        # How a task above this one is ended is not for this one to do.
        visible = {each.name: each for each in scope.registry if each.name != STRUCTURED_OUTPUT}
        unknown = sorted(set(task.tools or ()) - visible.keys())
        if unknown:
            known = ", ".join(sorted(visible)) or "none"
            raise ToolArgumentsError(
                f"invalid tools: there is no {', '.join(map(repr, unknown))}; there are: {known}"
            )

        def passes(tool: Tool) -> bool:
            return (
                (self._allow is None or tool.name in self._allow)
                and tool.name not in self._deny
                and (task.tools is None or tool.name in task.tools)
                and (tool.read_only or not (self.read_only or task.read_only))
            )

        return [name for name, tool in visible.items() if passes(tool)]


class _Shared:
    """A provider that is asked for so many answers at once, however many agents there are."""

    def __init__(self, provider: Provider, most: int) -> None:
        self._provider = provider
        self._limiter = trio.CapacityLimiter(most)

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def model(self) -> str:
        return self._provider.model

    def define(self, described: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return self._provider.define(described)

    async def respond(self, request: Any, show: Any) -> Any:  # as `Provider` declares them
        async with self._limiter:
            return await self._provider.respond(request, show)


def scope_of(call: Call) -> Scope:
    """Return the scope of a call. Raises `ToolError` NO_SCOPE for one that was made outside of an engine."""
    if not isinstance(call.scope, Scope):
        raise ToolError(
            f"tool {call.name!r} starts agents, which need an engine: call it through a CodeMode",
            code="NO_SCOPE",
        )
    return call.scope


def note(call: Call, type: str, data: dict[str, Any]) -> None:
    """Add an event to the caller's session. A background agent may end after it: what it did is in its own."""
    with contextlib.suppress(SessionError):
        call.record(type, data, ignorable=True)


def new_id() -> str:
    return f"run_{secrets.token_hex(8)}"


def _make_directory(path: str) -> None:
    os.makedirs(path, mode=0o700, exist_ok=True)
