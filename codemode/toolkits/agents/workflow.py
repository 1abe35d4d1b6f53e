"""`workflow`: a program in the same interpreter as any other, behind the same walls, that starts agents.

It runs in a scope of its own over its caller's, with `agents.run` and `tools.arguments` beside the caller's tools, more
time than other programs have, and its log in a session of its own. Nothing of its text is read here.
"""

from __future__ import annotations

import copy
import json
from typing import Annotated, Any, NotRequired, TypedDict

import trio
from msgspec import Meta, Struct, structs

from codemode import Call, Text, Tool, ToolArgumentsError, ToolDefinitionError, ToolError, as_json, text, tool
from codemode.toolkits.agents.endings import cut
from codemode.toolkits.agents.running import NAMES, Agents, Place, Task, new_id, note, scope_of

__all__ = ["RunValue", "workflow_tool"]

_MARGIN_SECONDS = 60.0  # beyond the run's own limit, to stop its agents

Script = Annotated[
    str,
    Meta(
        min_length=1,
        description="a program as run_code takes it; `agents.run(prompt)` starts an agent, "
        "`tools.arguments()` gives `args`",
    ),
]
Arguments = Annotated[dict[str, Any] | None, Meta(description="what `tools.arguments()` gives to the script")]
Prompt = Annotated[str, Meta(description="the whole task: the agent knows nothing but this")]
Description = Annotated[str, Meta(description="the task in a few words, for the log")]
Schema = Annotated[
    dict[str, Any] | None,
    Meta(description="a JSON Schema with an object at its root: the value that it has to give"),
]
ToolNames = Annotated[list[str] | None, Meta(description="the only tools it gets, by name")]
ReadOnly = Annotated[
    bool, Meta(description="it gets only tools that change nothing; such agents may overlap")
]


class Phase(TypedDict):
    title: Annotated[str, Meta(description="the phase in a few words")]
    detail: NotRequired[Annotated[str, Meta(description="what happens in it")]]


class About(TypedDict):
    """What the workflow is for. `phases` are for who reads it; further keys are not looked at."""

    name: Annotated[str, Meta(description="a short name")]
    description: Annotated[str, Meta(description="what it is for, for the user")]
    whenToUse: NotRequired[Annotated[str, Meta(description="for whom it may be of use again")]]
    phases: NotRequired[Annotated[list[Phase], Meta(description="its parts, for who reads along")]]


Meaning = Annotated[About, Meta(description="what the workflow is for")]


class RunValue(Struct, frozen=True, forbid_unknown_fields=True):
    runId: str
    agentsStarted: int
    result: Any


class Left(Struct, frozen=True, forbid_unknown_fields=True):
    """What agents may still take together: of all that the outermost call leads to, not of this workflow alone."""

    agents: int
    tokens: int


def workflow_tool(family: Agents) -> Tool:
    @tool(
        render=_render,
        read_only=family.read_only,
        timeout=family.limits.workflow_seconds + _MARGIN_SECONDS,
    )
    async def workflow(script: Script, meta: Meaning, call: Call, args: Arguments = None) -> RunValue:
        """Run a program that starts agents, and get what it returns.

        The script is written as for run_code, with your tools and `agents.run(prompt: str, description: str = '',
        tools: list[str] | None = None, read_only: bool = False, schema: dict | None = None)`, which starts an agent
        and gives its last message as text, or with `schema` (JSON Schema of an object) a value of that; a failed one
        raises ToolCallError with a `code`. With `await`, those with `read_only=True` overlap in an `asyncio.gather`.
        `agents.left()` gives what may still be taken: {"agents": int, "tokens": int}. It may take hours; its other
        limits are those of run_code.
        """
        problems = [name for name in ("name", "description") if not meta[name].strip()]
        if problems:
            raise ToolError(
                f"invalid meta: {'; '.join(f'{name} is empty' for name in problems)}", code="META_INVALID"
            )
        if not script.strip():
            raise ToolArgumentsError("invalid script: expected a program")
        run = _Workflow(family, call, family.place(call))
        return RunValue(run.id, *await run.go(script, meta, args or {}))

    return workflow


class _Workflow:
    """One run of a workflow."""

    def __init__(self, family: Agents, call: Call, place: Place) -> None:
        self.id = new_id()
        self._family = family
        self._call = call
        self._place = place
        self._started = 0

    async def go(self, script: str, meta: About, args: dict[str, Any]) -> tuple[int, Any]:
        """Run the program; return how many agents it started, and its result. Raises `ToolError`."""
        scope = scope_of(self._call)
        seconds = self._family.limits.workflow_seconds
        limits = structs.replace(scope.limits, wall_seconds=seconds)
        denied = [name for name in NAMES if name in scope.registry]
        facts = {"runId": self.id, "callId": self._call.id}
        end: dict[str, Any] = {"outcome": "aborted"}
        async with self._family.session(self._place, self.id) as session:
            started = {"name": meta["name"], "description": meta["description"]}
            if session.path is not None:
                started["session"] = session.path
            note(self._call, "workflow/start", facts | started)
            own = scope.scope(
                [self._agent_tool(), self._left_tool(), _arguments_tool(args)],
                deny=denied,
                session=session,
                limits=limits,
            )
            try:
                result = await own.run(script, meta["name"])
                end["outcome"] = "ok" if result.error is None else result.error.kind
            finally:
                note(self._call, "workflow/end", facts | end | {"agentsStarted": self._started})
        if result.error is not None:
            if result.error.kind == "abort":
                raise ToolError(f"workflow run was cancelled ({result.error.message})", code="ABORTED")
            printed = "\n".join(result.logs)
            before = f"\nPrinted before:\n{cut(printed, 8_000)}" if printed else ""
            raise ToolError(
                f"workflow run failed: {result.error.kind}: {result.error.message}{before}",
                code="WORKFLOW_FAILED",
            )
        return self._started, result.result

    def _agent_tool(self) -> Tool:
        family = self._family

        @tool(
            render=as_json,
            parallel=family.may_overlap,
            read_only=family.read_only,
            timeout=family.limits.seconds + _MARGIN_SECONDS,
            method="agents.run",
        )
        async def agent(
            prompt: Prompt,
            call: Call,
            description: Description = "",
            tools: ToolNames = None,
            read_only: ReadOnly = False,
            schema: Schema = None,
        ) -> Any:
            """Start an agent and wait for what it gives: text, or a value of `schema`."""
            task = Task(
                prompt=prompt,
                description=description or prompt[:80],
                tools=tools,
                read_only=read_only,
                schema=schema,
            )
            try:
                report = await family.run(
                    call, task, self._place, over=scope_of(self._call), started=self._count
                )
            except ToolDefinitionError as error:
                raise ToolArgumentsError(f"invalid schema: {error}") from None
            return report.text if schema is None else report.value

        return agent

    def _left_tool(self) -> Tool:
        budget = self._place.budget

        @tool(render=as_json, parallel=True, read_only=True, method="agents.left")
        async def agents_left() -> Left:
            """Give what agents may still take: how many may be started, and their tokens together."""
            await trio.lowlevel.checkpoint()
            return Left(budget.agents_left, budget.tokens_left)

        return agents_left

    def _count(self) -> None:
        self._started += 1


def _arguments_tool(args: dict[str, Any]) -> Tool:
    @tool(render=as_json, parallel=True, read_only=True)
    async def arguments() -> dict[str, Any]:
        """Give the arguments of this workflow."""
        await trio.lowlevel.checkpoint()
        return copy.deepcopy(args)

    return arguments


def _render(arguments: Any, value: Any) -> list[Text]:
    count = value["agentsStarted"]
    name = json.dumps(arguments["meta"]["name"], ensure_ascii=False)
    agents = "agent" if count == 1 else "agents"
    shown = json.dumps(value["result"], ensure_ascii=False, indent=2)
    return [text(f"workflow {name} completed ({count} {agents}).\nReturn value:\n{cut(shown)}")]
