"""What agents may take: each by itself, and all of them together that one call has led to. No agent runs here."""

from __future__ import annotations

import math
from typing import Any

from msgspec import Struct

from codemode import ToolError

__all__ = ["AgentLimits", "Budget"]


class AgentLimits(Struct, frozen=True, kw_only=True):
    """The limits of agents. Times are seconds; tokens are read and written, as the provider counts them.

    What all agents take together is counted over everything that one outermost call leads to: agents of agents too.
    """

    max_depth: int = 3
    """How deep agents may be started by agents; the first has depth 1."""
    max_steps: int = 50
    """Answers of one agent."""
    max_answer_tokens: int = 8192
    """Written in one answer."""
    max_tokens: int = 2_000_000
    """Of one agent."""
    seconds: float = 1_800.0
    """Real time of one agent, waiting for approvals included."""
    max_requests: int = 10
    """Answers that are asked for at once, by all agents."""
    max_agents: int = 1_000
    """Started, all together."""
    max_total_tokens: int = 20_000_000
    """Of all agents together."""
    workflow_seconds: float = 14_400.0
    """Real time of one workflow, or of one ralph with all its rounds."""
    max_rounds: int = 256
    """Of one ralph; what a call may ask for at most."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value: Any = getattr(self, name)
            kinds = int | float if name.endswith("seconds") else int
            if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < math.inf:
                raise ValueError(f"AgentLimits({name}={value!r}): must be a positive, finite number")


class Budget:
    """What the agents of one outermost call have taken together."""

    def __init__(self, limits: AgentLimits) -> None:
        self._limits = limits
        self.agents = 0
        self.tokens = 0

    @property
    def tokens_left(self) -> int:
        return max(self._limits.max_total_tokens - self.tokens, 0)

    @property
    def agents_left(self) -> int:
        return max(self._limits.max_agents - self.agents, 0)

    def start(self) -> None:
        """Count one more agent. Raises `ToolError` AGENT_LIMIT or AGENT_BUDGET when there is no room for it."""
        if self.agents >= self._limits.max_agents:
            raise ToolError(
                f"agent limit reached: {self.agents} agents were started, the most that one call may lead to; "
                "go on with what they gave",
                code="AGENT_LIMIT",
            )
        if not self.tokens_left:
            raise ToolError(
                f"token budget used up: agents took {self.tokens:,} of the {self._limits.max_total_tokens:,} tokens "
                "that one call may lead to; go on with what they gave",
                code="AGENT_BUDGET",
            )
        self.agents += 1
