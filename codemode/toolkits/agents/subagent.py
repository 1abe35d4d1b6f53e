"""`subagent`: one task for one agent, waited for or left in the background."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

import trio
from msgspec import Meta, Struct

from codemode import Call, Text, Tool, ToolArgumentsError, ToolError, text, tool
from codemode.toolkits.agents.endings import cut
from codemode.toolkits.agents.running import Agents, Task, new_id
from codemode.toolkits.jobs import Job, Jobs, Settled
from codemode.toolkits.processes.output import Piece

__all__ = ["subagent_tool"]

_MARGIN_SECONDS = 30.0  # beyond an agent's own limit, to stop what it has called

Description = Annotated[str, Meta(description="the task in a few words, for the user")]
Prompt = Annotated[str, Meta(description="the whole task: the agent knows nothing of this conversation")]
InBackground = Annotated[bool, Meta(description="return a jobId at once; follow it with job_output")]
ToolNames = Annotated[
    list[str] | None, Meta(description="the only tools it gets, by name; all of yours if not given")
]
ReadOnly = Annotated[
    bool, Meta(description="it gets only tools that change nothing; such agents may overlap")
]


class Said(TypedDict):
    """A content block."""

    type: Literal["text"]
    text: str


class Foreground(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="foreground"):
    """What an agent said at the end."""

    runId: str
    output: list[Said]


class Background(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="background"):
    jobId: str


def subagent_tool(family: Agents, jobs: Jobs) -> Tool:
    @tool(
        render=_render,
        parallel=family.may_overlap,
        read_only=family.read_only,
        timeout=family.limits.seconds + _MARGIN_SECONDS,
        lifespan=jobs,
    )
    async def subagent(
        description: Description,
        prompt: Prompt,
        call: Call,
        run_in_background: InBackground = False,
        tools: ToolNames = None,
        read_only: ReadOnly = False,
    ) -> Foreground | Background:
        """Give a task to an agent of its own, which works with your tools and gives back its last message.

        For work that would fill this conversation, or that can be done beside it. It fails with what went wrong and
        what the agent had said by then.
        """
        if not description.strip():
            raise ToolArgumentsError("invalid description: expected a non-empty string")
        place = family.place(call)
        task = Task(prompt=prompt, description=description, tools=tools, read_only=read_only)
        if run_in_background:
            if not prompt.strip():
                raise ToolArgumentsError("invalid prompt: expected a non-empty string")
            output = _Final()

            async def work(job: Job) -> Settled:
                settled = Settled("failed", "cancelled")
                async with trio.open_nursery() as nursery:

                    async def run() -> None:
                        nonlocal settled
                        settled = await _run(family, call, task, place, output)
                        nursery.cancel_scope.cancel()

                    nursery.start_soon(run)
                    await job.stop.wait()
                    nursery.cancel_scope.cancel()
                return settled

            return Background(jobs.start("subagent", description, output, work).id)
        report = await family.run(call, task, place)
        return Foreground(report.run_id, [{"type": "text", "text": report.text}] if report.text else [])

    return subagent


async def _run(family: Agents, call: Call, task: Task, place: Any, output: _Final) -> Settled:
    run_id = new_id()
    try:
        report = await family.run(call, task, place, run_id=run_id)
    except ToolError as error:
        output.settle(str(error))
        return Settled("failed", f"{error.code}, run {run_id}")
    except Exception as error:
        output.settle(f"{type(error).__name__}: {error}")
        return Settled("failed", f"run {run_id}")
    output.settle(report.text)
    return Settled("completed", f"run {run_id}, {report.steps} steps, {report.tokens} tokens")


class _Final:
    """The output of a job that has none before its end, and then always the same."""

    def __init__(self) -> None:
        self._text = ""

    def settle(self, shown: str) -> None:
        self._text = shown

    def take(self) -> Piece:
        return Piece(self._text, False, None)


def _render(arguments: object, value: Any) -> list[Text]:
    if value["kind"] == "background":
        return [text(f"started background subagent job {value['jobId']}")]
    said = "".join(block["text"] for block in value["output"])
    return [text(cut(said) or "(the agent ended without a word)")]
