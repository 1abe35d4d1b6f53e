"""What the adapters share: the part of an engine that they need, and the calls of one answer of a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import UNSET, Struct, UnsetType

from codemode.tools.call import Outcome
from codemode.values import JSON

__all__ = ["AskedCall", "Engine", "arguments_of"]


class AskedCall(Struct, frozen=True):
    """A call that a model asks for; `arguments` that were no JSON are the text that came."""

    id: str
    name: str
    arguments: JSON
    turn: int | UnsetType = UNSET
    step: int | UnsetType = UNSET


class Engine(Protocol):
    """An entered `CodeMode`, or a scope of it."""

    def describe(self) -> list[dict[str, JSON]]: ...

    # `Any`: the engine's own class for a call is above this floor, and has the same fields as `AskedCall`.
    async def call_all(self, calls: Sequence[Any]) -> list[Outcome]: ...


def arguments_of(text: str) -> JSON:
    """Return the arguments that a provider sent as JSON text, or the text itself where it is none."""
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text
