"""`ralph`: one objective, given to a fresh agent again and again until one reports that it is reached, or blocked.

Each round knows the objective and the report of the round before it, and else finds out for itself: what lasts from
round to round is what agents have done to the workspace.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import trio
from msgspec import Meta

from codemode import Call, Text, Tool, ToolArgumentsError, ToolError, text, tool
from codemode.toolkits.agents.running import Agents, Task, new_id, note
from codemode.toolkits.agents.workflow import RunValue

__all__ = ["ralph_tool"]

DEFAULT_ROUNDS = 10
MAX_SHOWN_CHARACTERS = 16_384
_TRUNCATED = "\n… [truncated]"
_MARGIN_SECONDS = 60.0

_REPORT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {
            "enum": ["complete", "blocked", "continue"],
            "description": "complete: the objective is reached, and you have checked it; blocked: nothing more can be "
            "done without somebody else; continue: work remains for the next agent",
        },
        "summary": {"type": "string", "description": "what you did and found out"},
        "evidence": {
            "type": "array",
            "items": {"type": "string"},
            "description": "what shows it: commands with their results, files",
        },
        "nextSteps": {
            "type": "array",
            "items": {"type": "string"},
            "description": "what the next agent should do first",
        },
        "blocker": {"type": ["string", "null"], "description": "what is in the way, when blocked; else null"},
    },
    "required": ["status", "summary", "evidence", "nextSteps", "blocker"],
    "additionalProperties": False,
}

Objective = Annotated[str, Meta(description="what is to be reached, and how one sees that it is")]
Rounds = Annotated[
    Annotated[int, Meta(ge=1)] | None,
    Meta(description="how many agents at most, one after the other; default 10"),
]


def ralph_tool(family: Agents) -> Tool:
    limits = family.limits

    @tool(
        render=_render,
        read_only=family.read_only,
        timeout=limits.workflow_seconds + _MARGIN_SECONDS,
    )
    async def ralph(objective: Objective, call: Call, maxRounds: Rounds = None) -> RunValue:
        """Work on one objective with fresh agents, one after the other, until it is reached.

        Each gets your tools, the objective, and the report of the one before. It ends when an agent reports that the
        objective is reached or blocked, or after `maxRounds`. For long work that shows in the workspace.
        """
        if not objective.strip():
            raise ToolArgumentsError("invalid objective: expected a non-empty string")
        rounds = min(DEFAULT_ROUNDS, limits.max_rounds) if maxRounds is None else maxRounds
        if rounds > limits.max_rounds:
            raise ToolArgumentsError(f"invalid maxRounds: at most {limits.max_rounds}, got {rounds}")
        run = _Ralph(family, call, objective.strip(), rounds)
        result: dict[str, Any] | None = None
        with trio.move_on_after(limits.workflow_seconds):
            result = await run.go()
        if result is None:
            raise ToolError(
                f"ralph took longer than {limits.workflow_seconds:g} s{run.so_far()}", code="AGENT_TIMEOUT"
            )
        return RunValue(run.id, run.started, result)

    return ralph


class _Ralph:
    """One run: its rounds, one after the other."""

    def __init__(self, family: Agents, call: Call, objective: str, rounds: int) -> None:
        self.id = new_id()
        self.started = 0
        self._reported = 0
        self._family = family
        self._call = call
        self._place = family.place(call)
        self._objective = objective
        self._rounds = rounds
        self._report: dict[str, Any] | None = None

    async def go(self) -> dict[str, Any]:
        """Return the result. Raises `ToolError` when a round ends without a report."""
        facts = {"runId": self.id, "callId": self._call.id}
        end: dict[str, Any] = {"outcome": "aborted"}
        note(self._call, "ralph/start", facts | {"objective": self._objective, "maxRounds": self._rounds})
        try:
            report = await self._go()
            end["outcome"] = "budget-limited" if report["status"] == "continue" else report["status"]
        except ToolError as error:
            end["outcome"] = error.code
            raise
        finally:
            note(self._call, "ralph/end", facts | end | {"agentsStarted": self.started})
        return {"status": end["outcome"], "roundsStarted": self.started, "report": report}

    async def _go(self) -> dict[str, Any]:
        while True:
            number = self._reported + 1
            task = Task(prompt=self._prompt(), description=f"round {number} of ralph", schema=_REPORT)
            try:
                report = await self._family.run(self._call, task, self._place, started=self._count)
            except ToolError as error:
                raise ToolError(
                    f"ralph round {number} failed: {error}{self.so_far()}", code=error.code
                ) from None
            self._reported = number
            self._report = report.value
            if report.value["status"] != "continue" or self.started >= self._rounds:
                return self._report

    def _count(self) -> None:
        self.started += 1

    def so_far(self) -> str:
        """What is known when it does not come to its end."""
        if self._report is None:
            return ""
        shown = json.dumps(self._report, ensure_ascii=False, indent=2)
        return _cut(f"\nReport of round {self._reported}:\n{shown}")

    def _prompt(self) -> str:
        parts = [
            f"Objective:\n{self._objective}",
            f"You are agent {self.started + 1} of at most {self._rounds} who work on it one after the other. What "
            "earlier ones did is in the workspace; look before you trust a report. Do as much as you can do well, "
            "check it, and end with structured_output: your report to the next one.",
        ]
        if self._report is not None:
            shown = json.dumps(self._report, ensure_ascii=False, indent=2)
            parts.append(f"Report of the agent before you:\n{shown}")
        return "\n\n".join(parts)


def _render(arguments: object, value: Any) -> list[Text]:
    result = value["result"]
    count = result["roundsStarted"]
    after = f"after {count} {'round' if count == 1 else 'rounds'}."
    head = {
        "complete": f"Ralph worker reported completion {after}",
        "blocked": f"Ralph worker reported a blocker {after}",
        "budget-limited": f"Ralph reached its {count} {'round' if count == 1 else 'rounds'} limit; the worker "
        "reported work remaining.",
    }[result["status"]]
    report = json.dumps(result["report"], ensure_ascii=False, indent=2)
    return [text(_cut(f"{head}\nFinal report:\n{report}"))]


def _cut(shown: str) -> str:
    if len(shown) <= MAX_SHOWN_CHARACTERS:
        return shown
    return shown[: MAX_SHOWN_CHARACTERS - len(_TRUNCATED)] + _TRUNCATED
