"""How an agent ends: what it has taken and said by then, and what its caller is told. Nothing is started here."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from codemode import ToolError
from codemode.agent import Agent, TurnResult, Watcher, tokens_of
from codemode.toolkits import StructuredOutput
from codemode.toolkits.agents.limits import AgentLimits, Budget

__all__ = ["Meter", "Report", "cut", "failed", "report_of"]

MAX_SHOWN_CHARACTERS = 50_000
_PARTIAL_CHARACTERS = 8_000
_DIAGNOSTIC_CHARACTERS = 2_000


class Report(Struct, frozen=True, kw_only=True):
    """What an agent gave. `value` is of the schema that it was asked for, if it was."""

    run_id: str
    text: str
    value: Any = None
    steps: int
    tokens: int


class Meter(Watcher):
    """Counts what an agent takes as it takes it, and keeps the last that it wrote."""

    def __init__(self, limits: AgentLimits, budget: Budget) -> None:
        self._limits = limits
        self._budget = budget
        self._before = 0  # tokens of the agent's earlier turns
        self.agent: Agent | None = None
        self.steps = 0
        self.tokens = 0
        self.texts: list[str] = []

    @property
    def tokens_left(self) -> int:
        return min(max(self._limits.max_tokens - self.tokens, 0), self._budget.tokens_left)

    def begin_turn(self) -> None:
        self._before = self.tokens
        self._bound()

    def answered(self, turn: Any) -> None:
        self.steps += 1
        taken = tokens_of(turn)
        self.tokens += taken
        self._budget.tokens += taken
        said = "".join(block.wire["text"] for block in turn.content if block.wire.get("type") == "text")
        if said.strip():
            self.texts.append(said)
            del self.texts[:-3]
        self._bound()

    def _bound(self) -> None:
        """Others may have used up what was left for all: the agent is stopped before its next step."""
        if self.agent is not None:
            self.agent.max_total_tokens = max(self.tokens - self._before + self.tokens_left, 1)


_ENDINGS = {
    "max-tokens": ("subagent run hit its token limit before finishing", "AGENT_MAX_TOKENS"),
    "refusal": ("subagent declined the task", "AGENT_REFUSED"),
    "budget": ("subagent run reached its budget before finishing", "AGENT_BUDGET"),
    "error": ("subagent run failed", "AGENT_FAILED"),
}


def report_of(run_id: str, result: TurnResult, output: StructuredOutput | None, meter: Meter) -> Report:
    if result.reason != "completed":
        words, code = _ENDINGS.get(
            result.reason, (f"subagent run ended abnormally ({result.reason})", "AGENT_FAILED")
        )
        raise failed(words, code, meter, result.error)
    value = None
    if output is not None:
        if not output.is_recorded:
            raise failed("subagent run ended without its structured output", "AGENT_NO_OUTPUT", meter)
        value = output.value
    return Report(run_id=run_id, text=result.text, value=value, steps=meter.steps, tokens=meter.tokens)


def failed(words: str, code: str, meter: Meter, diagnostic: str = "") -> ToolError:
    if diagnostic:
        words += f"\nDiagnostic: {cut(diagnostic, _DIAGNOSTIC_CHARACTERS)}"
    partial = "\n".join(meter.texts)
    if partial:
        words += f"\nPartial output before the run ended:\n{cut(partial, _PARTIAL_CHARACTERS)}"
    return ToolError(words, code=code)


def cut(shown: str, most: int = MAX_SHOWN_CHARACTERS) -> str:
    """Return text, or its beginning and how much more there is."""
    return (
        shown if len(shown) <= most else f"{shown[:most]}\n… [truncated: {len(shown) - most} more characters]"
    )
