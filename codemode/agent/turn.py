"""One turn of the loop: how far it has come while it goes on, and what it ended as. Data only."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from codemode.conversation import AssistantTurn, text_of
from codemode.errors import ConversationError
from codemode.values import JSON

__all__ = ["Reason", "Turn", "TurnResult", "tokens_of"]

Reason: TypeAlias = Literal[
    "completed", "max-tokens", "context-full", "refusal", "budget", "error", "aborted"
]
"""Why a turn ended. `aborted` is seen in the log only: whoever cancelled a turn gets no result of it."""


class TurnResult(Struct, frozen=True, kw_only=True):
    """How a turn ended. `text` is what the model wrote last; `error` says why, when it did not complete."""

    turn: int
    reason: Reason
    text: str = ""
    error: str = ""
    error_code: str | None = None
    steps: int = 0
    tokens: int = 0
    """Read and written, as the provider counted them."""


class Turn:
    """One turn while it goes on."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.step: int | None = None
        self.steps = 0
        self.tokens = 0
        self.text = ""
        self.reason: Reason | None = None
        self.error = ""
        self.error_code: str | None = None

    @property
    def step_or_unset(self) -> int | UnsetType:
        return UNSET if self.step is None else self.step

    def placed(self) -> dict[str, JSON]:
        return {"turn": self.number} if self.step is None else {"turn": self.number, "step": self.step}

    def took(self, answer: AssistantTurn) -> None:
        self.steps += 1
        self.tokens += tokens_of(answer)
        self.text = text_of(answer)

    def end(self, reason: Reason, error: ConversationError | None = None) -> None:
        self.reason = reason
        if error is not None:
            self.error, self.error_code = str(error), error.code

    def fail(self, error: Exception) -> None:
        """Something ended the turn that is nobody's answer; it is passed on as well."""
        self.reason, self.error = "error", f"{type(error).__name__}: {error}"

    def end_at_budget(self, words: str) -> None:
        self.reason, self.error, self.error_code = "budget", f"the turn took {words}", "BUDGET"

    def result(self) -> TurnResult:
        assert self.reason is not None
        return TurnResult(
            turn=self.number,
            reason=self.reason,
            text=self.text,
            error=self.error,
            error_code=self.error_code,
            steps=self.steps,
            tokens=self.tokens,
        )


def tokens_of(answer: AssistantTurn) -> int:
    """Return how many tokens an answer took: read (also from a cache) and written, as the provider counted."""
    usage: Any = answer.envelope.get("usage")
    if not isinstance(usage, dict):
        return 0
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return sum(usage[name] for name in names if isinstance(usage.get(name), int))
