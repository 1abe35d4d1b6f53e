"""The hook points of a call: what each may see, what it may say, and in which order they come.

    pre_execute       in order; deny beats ask beats allow
    guards            in order, only when still allowed; the first reason denies
    around            the first is outermost, the innermost is the body
    post_execute      in order; each sees what the one before it left
    finalize_content  the tool's own first, then these, once, for every outcome
    observers         in order; can change nothing, and what they raise is only logged
    stored_content    for the stored copy of a nested call's content, after the program has its value;
                      what they raise is only logged, and the content is stored as it is

Hooks of an outer scope come before those of an inner one. Every hook may be a plain or an async function.
A hook that raises before `observers` fails the call, never the host.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from codemode.content import Image, Text
from codemode.tools.call import Call, Outcome
from codemode.values import JSON

__all__ = [
    "Accept",
    "Allow",
    "Around",
    "Ask",
    "Block",
    "Decision",
    "Deny",
    "FinalizeContent",
    "Guard",
    "Hooks",
    "Observer",
    "PostDecision",
    "PostExecute",
    "PreExecute",
    "StoredContent",
]

_T = TypeVar("_T")
_Maybe: TypeAlias = _T | Awaitable[_T]


class Allow(Struct, frozen=True):
    """The call may go on."""


class Deny(Struct, frozen=True):
    """The call fails with `reason`; the body does not run."""

    reason: str


class Ask(Struct, frozen=True):
    """Somebody has to say whether the call may go on (see `approval`). Without an approver it is denied."""

    reason: str


Decision: TypeAlias = Allow | Deny | Ask


class Accept(Struct, frozen=True, kw_only=True):
    """The outcome stands, perhaps changed; `content` and `value` never both.

    Other `content` changes what is shown and stored and is no secrecy: a program still gets the value.
    Another `value` is checked, frozen and rendered again under the tool's own declaration.
    """

    content: Sequence[Text | Image] | UnsetType = UNSET
    value: JSON | UnsetType = UNSET
    contexts: tuple[str, ...] = ()


class Block(Struct, frozen=True, kw_only=True):
    """The outcome becomes a failure that shows `feedback`; there is no value any more."""

    feedback: str
    contexts: tuple[str, ...] = ()


PostDecision: TypeAlias = Accept | Block

PreExecute: TypeAlias = Callable[[Call], _Maybe[Decision | None]]
"""`pre_execute(call)` returns `Allow()`, `Deny(reason)`, `Ask(reason)`, or None for no opinion."""
Guard: TypeAlias = Callable[[Call], _Maybe[str | None]]
"""`guard(call)` returns the reason for a denial, or None."""
Around: TypeAlias = Callable[[Call, Callable[[], Awaitable[Outcome]]], Awaitable[Outcome]]
"""`await around(call, proceed)`: call `proceed` any number of times, or return an outcome of its own."""
PostExecute: TypeAlias = Callable[[Call, Outcome], _Maybe[PostDecision | None]]
"""`post_execute(call, outcome)` returns `Accept(…)`, `Block(…)`, or None to leave it as it is."""
FinalizeContent: TypeAlias = Callable[[Call, Outcome], _Maybe[Sequence[Text | Image] | None]]
"""`finalize_content(call, outcome)` returns the blocks to be shown and stored, or None for no change."""
Observer: TypeAlias = Callable[[Call, Outcome], _Maybe[None]]
"""`observer(call, outcome)` sees how a call has ended; what it returns is not looked at."""
StoredContent: TypeAlias = Callable[[Call, Outcome], _Maybe[Sequence[Text | Image] | None]]
"""`stored_content(call, outcome)` returns the blocks to be stored of a nested call, or None for no change."""


class Hooks(Struct, frozen=True, kw_only=True):
    """The hooks that hold for all calls of one scope; `a | b` is those of `a`, then those of `b`."""

    pre_execute: tuple[PreExecute, ...] = ()
    guards: tuple[Guard, ...] = ()
    around: tuple[Around, ...] = ()
    post_execute: tuple[PostExecute, ...] = ()
    finalize_content: tuple[FinalizeContent, ...] = ()
    observers: tuple[Observer, ...] = ()
    stored_content: tuple[StoredContent, ...] = ()

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Sequence):
                raise TypeError(f"Hooks({name}=…) takes a tuple of functions, not {type(given).__name__}")
            for hook in given:
                if not callable(hook):
                    raise TypeError(f"Hooks({name}=…): {hook!r} is no function")
            msgspec.structs.force_setattr(self, name, tuple(given))

    def __or__(self, later: Hooks) -> Hooks:
        return Hooks(
            pre_execute=self.pre_execute + later.pre_execute,
            guards=self.guards + later.guards,
            around=self.around + later.around,
            post_execute=self.post_execute + later.post_execute,
            finalize_content=self.finalize_content + later.finalize_content,
            observers=self.observers + later.observers,
            stored_content=self.stored_content + later.stored_content,
        )
