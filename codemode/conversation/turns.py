"""Turns: what one side said, whole. Data only.

A turn of the model has a seal, made of its blocks when it was received. Whoever changes, shortens or leaves out
a block afterwards breaks it, and `check_seal` names the turn before any provider does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from codemode.conversation.blocks import (
    AssistantBlock,
    Block,
    Reasoning,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
    UserBlock,
)
from codemode.errors import AlteredTurnError
from codemode.values import JSON

__all__ = ["AssistantTurn", "Stop", "Turn", "UserTurn", "check_seal", "is_blank", "seal_of"]

Stop: TypeAlias = Literal["end", "tool-calls", "max-tokens", "context-full", "pause", "refusal", "other"]
"""Why the model stopped, in words that all providers share; the provider's own word is in the envelope."""


class UserTurn(Struct, frozen=True):
    """What goes to the model: results of calls first, then anything else."""

    content: tuple[UserBlock, ...]
    role: Literal["user"] = "user"


class AssistantTurn(Struct, frozen=True, kw_only=True):
    """A complete answer of a model. `provider` names the wire format of its blocks.

    `envelope` is what came around the blocks (id, model, usage, the reason for stopping, …), as it came.
    """

    provider: str
    content: tuple[AssistantBlock, ...]
    stop: Stop
    envelope: dict[str, JSON]
    seal: str = ""
    role: Literal["assistant"] = "assistant"

    def __post_init__(self) -> None:
        if not self.seal:
            msgspec.structs.force_setattr(self, "seal", seal_of([block.wire for block in self.content]))

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        """The calls of our tools, in the model's order."""
        return tuple(block for block in self.content if isinstance(block, ToolUse))

    @property
    def says_nothing(self) -> bool:
        """Whether it is over and holds no more than thinking and blank text. Providers send such turns, and
        refuse a conversation in which one comes back."""
        silent = Thinking | RedactedThinking | Reasoning
        return self.stop != "pause" and all(is_blank(b) or isinstance(b, silent) for b in self.content)


def is_blank(block: Block) -> bool:
    """Whether a block is text without anything but white space."""
    return isinstance(block, Text) and not block.text.strip()


Turn: TypeAlias = UserTurn | AssistantTurn


def seal_of(wires: Sequence[dict[str, JSON]]) -> str:
    """Return the SHA-256 of blocks as compact JSON text, in their order, in hexadecimal."""
    return hashlib.sha256(msgspec.json.encode(list(wires))).hexdigest()


def check_seal(turn: AssistantTurn, name: str) -> None:
    """Raise `AlteredTurnError` if a turn, called `name` in the error, is not what was received."""
    if seal_of([block.wire for block in turn.content]) != turn.seal:
        opaque = sorted(
            {block.type for block in turn.content if block.type.endswith(("thinking", "reasoning"))}
        )
        hint = f" (it holds {', '.join(opaque)})" if opaque else ""
        raise AlteredTurnError(
            f"{name} is not what the model sent{hint}: a block was changed, moved or left out. Turns of the "
            "model go back as they came; to save context, leave out whole exchanges or begin a new conversation"
        )
