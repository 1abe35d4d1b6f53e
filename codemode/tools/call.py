"""One call of a tool: what it is while it goes on, and the outcome it ends in. Data only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from codemode.content import Content, text
from codemode.errors import ToolError
from codemode.values import JSON

__all__ = [
    "ABORTED",
    "ABORTED_BEFORE_DISPATCH",
    "Call",
    "Failure",
    "FailureReason",
    "Outcome",
    "Recorder",
    "Success",
    "Token",
    "failure",
]

ABORTED = "ABORTED"
"""Code of a call that was cancelled after its body had started."""
ABORTED_BEFORE_DISPATCH = "ABORTED_BEFORE_DISPATCH"
"""Code of a call that was cancelled before its body could start."""


class Token:
    """The identity of one call: minted for it, comparable by identity only, holding nothing."""

    __slots__ = ("__weakref__",)


Recorder: TypeAlias = Callable[[str, JSON, bool], None]
"""`recorder(type, data, ignorable)` adds an event to the session of a call; from any thread of the engine's."""


class Call(Struct, frozen=True, eq=False, kw_only=True):
    """A call, as hooks, guards and bodies see it.

    `arguments` are frozen. A direct call is made by the model and has no `parent`; a nested one is made
    by a program, and its `parent` is the token of the `run_code` call around it. `root_id` is the id of
    the outermost call. `read_only` is what its tool declares. `scope` is the `codemode.Scope` that it was made in,
    whose tools and hooks hold for it: a tool that makes calls itself makes them there, or in a scope over it.
    """

    token: Token
    id: str
    root_id: str
    name: str
    arguments: dict[str, JSON]
    parent: Token | None = None
    read_only: bool = False
    recorder: Recorder | None = None
    scope: Any = None  # a scope is of a higher floor, which this one cannot name

    @property
    def is_direct(self) -> bool:
        """Whether the model made it, and no program."""
        return self.parent is None

    def record(self, type: str, data: JSON, *, ignorable: bool = False) -> None:
        """Add an event to the session that the call is logged in; it is durable when the outermost call has ended.

        For a tool's own events beside those of the call: `todo/write`, or a type of your own with
        `ignorable=True`. Raises what `Session.append` raises; `ToolError` NO_SESSION for a call without one.
        """
        if self.recorder is None:
            raise ToolError(
                f"tool {self.name!r} keeps its state in a session, and this call has none", code="NO_SESSION"
            )
        self.recorder(type, data, ignorable)


class FailureReason(Struct, frozen=True, kw_only=True):
    """Why a call failed. `code` is stable and upper-case; `type` is the name of the exception's class."""

    message: str
    code: str | None = None
    type: str | None = None


class Success(Struct, frozen=True, eq=False, kw_only=True):
    """A call that ended well: the frozen value, what it shows, and metadata for a direct call."""

    token: Token | None
    value: JSON
    content: Content = ()
    meta: JSON | UnsetType = UNSET
    contexts: tuple[str, ...] = ()
    is_error: Literal[False] = False


class Failure(Struct, frozen=True, eq=False, kw_only=True):
    """A call that failed. It has no value. `exception` is what a body raised, for the host alone."""

    token: Token | None
    error: FailureReason
    content: Content = ()
    contexts: tuple[str, ...] = ()
    exception: BaseException | None = None
    is_error: Literal[True] = True


Outcome: TypeAlias = Success | Failure


def failure(
    call_token: Token,
    message: str,
    *,
    code: str | None = None,
    type: str | None = None,
    exception: BaseException | None = None,
    contexts: tuple[str, ...] = (),
) -> Failure:
    """Return a failure that shows `Error: MESSAGE`."""
    return Failure(
        token=call_token,
        error=FailureReason(message=message, code=code, type=type),
        content=(text(f"Error: {message}"),),
        contexts=contexts,
        exception=exception,
    )
