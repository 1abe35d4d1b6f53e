"""What an event is: its envelope, the known types with their fields, and its data as JSON text.

Pure data and checks; nothing here reads or writes a file, and nothing knows of the store. A new type of
event is one more class in this file and one more line in `KNOWN`.

An event that this version does not know is refused, on append and on reading, unless it was appended as
ignorable: its writer says that a reader loses nothing that matters by skipping it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from codemode.content import Content
from codemode.errors import SessionError
from codemode.values import JSON, InvalidValue, adopt, check, freeze

__all__ = [
    "KNOWN",
    "MAX_TIME",
    "AssistantMessage",
    "CodeDispatch",
    "CodeDispatchStart",
    "ContextPruned",
    "ErrorInfo",
    "Event",
    "PlanMode",
    "RequestHeader",
    "RunEnd",
    "RunReuse",
    "RunStart",
    "SessionRecovered",
    "StepEnd",
    "StepRetry",
    "StepStart",
    "TodoItem",
    "TodoWrite",
    "ToolCall",
    "ToolResult",
    "ToolStart",
    "TurnEnd",
    "TurnStart",
    "UserMessage",
    "check_event",
    "check_type",
    "from_text",
    "to_text",
]

MAX_TIME = 2**63 - 1
"""The largest `time` and `seq`: what 64 bits hold."""


class Event(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One entry of a session.

    `seq` counts from 0 without gaps; `time` is in milliseconds since 1970 (UTC) and never goes back; `data`
    is a frozen JSON object. `ignorable`: readers that do not know the type may skip the event.
    """

    seq: Annotated[int, Meta(ge=0, le=MAX_TIME)]
    time: Annotated[int, Meta(ge=0, le=MAX_TIME)]
    type: str
    data: dict[str, JSON]
    ignorable: bool = False


# ------------------------------------------------------------------------------------ the known types


class _Data(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The data of a known type: these fields, in camelCase, and no others.

    `recovered`, on the types that end something, is true when the event was added by recovery: nobody saw the
    end, because the host had gone.
    """


class TurnStart(_Data, frozen=True):
    """`turn/start`: the model's turn number `turn` begins."""

    turn: int


class TurnEnd(_Data, frozen=True):
    """`turn/end`: the turn is over."""

    turn: int
    reason: str
    """`completed`, or why it ended otherwise (`aborted`, `error`, …; `interrupted` from recovery only)."""
    detail: JSON | UnsetType = UNSET
    """What else there is to say of the reason."""
    recovered: bool | UnsetType = UNSET


class UserMessage(_Data, frozen=True):
    """`user/message`: a whole message to the model, as a JSON object."""

    message: dict[str, JSON]
    turn: int | UnsetType = UNSET
    step: int | UnsetType = UNSET


class AssistantMessage(_Data, frozen=True):
    """`assistant/message`: a whole message of the model, as a JSON object."""

    message: dict[str, JSON]
    turn: int | UnsetType = UNSET
    step: int | UnsetType = UNSET


class StepStart(_Data, frozen=True):
    """`step/start`: within a turn, the model is about to be asked once."""

    turn: int
    step: int


class StepRetry(_Data, frozen=True):
    """`step/retry`: what had come of an answer is dropped, and the same request is sent again."""

    turn: int
    step: int
    attempt: int
    """Of those that failed so far, from 1."""
    reason: str
    wait_seconds: float


class StepEnd(_Data, frozen=True):
    """`step/end`: the answer, and what it asked for, is done with."""

    turn: int
    step: int
    recovered: bool | UnsetType = UNSET


class RequestHeader(_Data, frozen=True):
    """`request/header`: what requests hold beside the conversation, from here on (model, system, tools, …)."""

    header: dict[str, JSON]


class ContextPruned(_Data, frozen=True):
    """`context/pruned`: from here on, requests leave out what came before the turn `keptFrom`."""

    kept_from: int


class RunStart(_Data, frozen=True):
    """`run/start`: a program is about to run. The hashes are SHA-256, in hexadecimal."""

    call_id: str
    """The direct call of `run_code` that the run belongs to; the `rootCallId` of its nested calls."""
    program_hash: str
    signatures_hash: str | UnsetType = UNSET
    """Of the tool signatures that the model was shown, if it was shown any."""


class RunEnd(_Data, frozen=True):
    """`run/end`: the run is over, and nothing of it runs any more."""

    call_id: str
    outcome: str
    """`ok`, or the kind of the error that ended the run (`timeout`, …; `interrupted` from recovery only)."""
    missing_layers: list[str] | UnsetType = UNSET
    """Required layers of the process wall that the program ran without, because that was accepted by their names."""
    recovered: bool | UnsetType = UNSET


class RunReuse(_Data, frozen=True):
    """`run/reuse`: a call of this run was answered with a finished call of an earlier run, not made anew.

    It stands between the start and the end of the call `subCallId`; the earlier call may have been dropped.
    """

    call_id: str
    sub_call_id: str
    from_sub_call_id: str


class ToolCall(_Data, frozen=True):
    """`tool/call`: a direct call. `arguments` that were no JSON are the text that was received."""

    call_id: str
    name: str
    arguments: JSON
    turn: int | UnsetType = UNSET
    step: int | UnsetType = UNSET
    start_logged: bool | UnsetType = UNSET
    """True is a promise: the body runs only once a `tool/start` of this call is durable. Without it, a call
    that has neither start nor result may have run."""


class ToolStart(_Data, frozen=True):
    """`tool/start`: policy has let a direct call pass; its body runs from here on, and may have effects."""

    call_id: str


class ErrorInfo(_Data, frozen=True):
    """What programs may know of a failure; its text for people is in the content."""

    name: str | None = None
    code: str | None = None


class ToolResult(_Data, frozen=True):
    """`tool/result`: how a direct call ended, as it was shown; `meta` is its presentation metadata, if any."""

    call_id: str
    content: Content
    is_error: bool
    error: ErrorInfo | UnsetType = UNSET
    meta: JSON | UnsetType = UNSET
    turn: int | UnsetType = UNSET
    step: int | UnsetType = UNSET
    recovered: bool | UnsetType = UNSET


class CodeDispatchStart(_Data, frozen=True):
    """`tool/code-dispatch-start`: a call made by a program starts."""

    root_call_id: str
    parent_call_id: str
    sub_call_id: str
    name: str
    arguments: JSON


class CodeDispatch(_Data, frozen=True):
    """`tool/code-dispatch`: a call made by a program has ended. No value, no metadata: they are never stored."""

    root_call_id: str
    parent_call_id: str
    sub_call_id: str
    name: str
    arguments: JSON
    content: Content
    is_error: bool
    recovered: bool | UnsetType = UNSET


class TodoItem(_Data, frozen=True):
    """One entry of a list of what is to be done."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


class TodoWrite(_Data, frozen=True):
    """`todo/write`: the whole list of what is to be done, as it is from here on."""

    todos: list[TodoItem]


class PlanMode(_Data, frozen=True):
    """`plan/mode`: from here on only calls that change nothing may pass, or all of them again."""

    active: bool


class SessionRecovered(_Data, frozen=True):
    """`session/recovered`: the `closed` events right before this one were added by recovery."""

    closed: int


KNOWN: Mapping[str, type[Struct]] = MappingProxyType(
    {
        "turn/start": TurnStart,
        "turn/end": TurnEnd,
        "user/message": UserMessage,
        "assistant/message": AssistantMessage,
        "step/start": StepStart,
        "step/retry": StepRetry,
        "step/end": StepEnd,
        "request/header": RequestHeader,
        "context/pruned": ContextPruned,
        "run/start": RunStart,
        "run/end": RunEnd,
        "run/reuse": RunReuse,
        "tool/call": ToolCall,
        "tool/start": ToolStart,
        "tool/result": ToolResult,
        "tool/code-dispatch-start": CodeDispatchStart,
        "tool/code-dispatch": CodeDispatch,
        "todo/write": TodoWrite,
        "plan/mode": PlanMode,
        "session/recovered": SessionRecovered,
    }
)
"""Every type that this version understands, with what its data must be."""


# ---------------------------------------------------------------------------------------------- checks


def check_event(kind: str, data: JSON, ignorable: bool) -> None:
    """Raise `SessionError` unless an event of this type may hold this (JSON) data."""
    fields = KNOWN.get(kind)
    if fields is None:
        check_type(kind, ignorable)
        _check_name(kind)
        if not isinstance(data, dict):
            raise SessionError(f"the data of an event is a JSON object; that of {kind!r} is not")
        return
    if ignorable:
        raise SessionError(f"events of type {kind!r} cannot be ignorable: history is derived from them")
    try:
        msgspec.convert(data, fields)
    except msgspec.ValidationError as error:
        names = ", ".join(field.encode_name + "?" * (not field.required) for field in _fields(fields))
        raise SessionError(f"event {kind!r}: {error}; its fields are {names}") from None


def check_type(kind: str, ignorable: bool) -> None:
    """Raise `SessionError` for a type that this version does not know and must not skip."""
    if kind not in KNOWN and not ignorable:
        raise SessionError(
            f"unknown type of event {kind!r}. This version knows {', '.join(KNOWN)}. A newer version may know "
            "it; an event that others may skip has to be appended with ignorable=True"
        )


def _check_name(kind: str) -> None:
    try:
        check(kind, root="type")
    except InvalidValue as error:
        raise SessionError(f"the type of an event is text: {error}") from None
    if type(kind) is not str or not kind:
        raise SessionError("the type of an event is text, and not empty")


def _fields(kind: type[Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


# ------------------------------------------------------------------------------------------------ text


def to_text(value: JSON) -> bytes:
    """Return a JSON value as compact JSON text in UTF-8; every integer and `-0.0` survive."""
    return msgspec.json.encode(value)


def from_text(text: str) -> JSON:
    """Return the frozen value that a JSON text holds. Raises `ValueError` if it holds none."""
    try:
        return adopt(msgspec.json.decode(text))
    except msgspec.ValidationError:
        # msgspec takes integers of some hundred digits only; the standard library takes all that values have.
        return freeze(json.loads(text))
    except RecursionError:
        raise ValueError("nested too deeply") from None
