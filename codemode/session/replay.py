"""A session shown again: the messages, calls and runs as they were shown, from the events alone.

No tool is needed and none is called. Contents, arguments and metadata are those of the log, equal to the last
byte. What the log does not hold by design is not made up; `NOT_REBUILT` says what that is, and what is None
because no end was logged is said to be unfinished. Pure; no I/O.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from codemode.content import Content, content_from_json
from codemode.session.events import ErrorInfo, Event
from codemode.values import JSON

__all__ = [
    "NOT_REBUILT",
    "Replayed",
    "ReplayedCall",
    "ReplayedMessage",
    "ReplayedNestedCall",
    "ReplayedRun",
    "ReplayedTurn",
    "replay",
]

NOT_REBUILT = (
    "the values that tools returned: a session holds what was shown of them, never the values themselves",
    "the result of a program as a value, and the printed lines apart from it: they are part of the content "
    "that was shown",
)
"""What cannot be rebuilt from any session."""


class _Replayed(Struct, frozen=True, rename="camel", tag_field="kind"):
    """Written as JSON it has a `kind` and its fields in camelCase."""


class ReplayedNestedCall(_Replayed, frozen=True, kw_only=True, tag="nested-call"):
    """A call that a program made. Times are in milliseconds since 1970."""

    id: str
    parent_id: str
    root_id: str
    name: str
    arguments: JSON
    started: int
    ended: int | None = None
    """None: no end was logged, nor what was shown."""
    content: Content | None = None
    is_error: bool | None = None
    reused_from: str | None = None
    """The call of an earlier run that it was answered with."""
    recovered: bool = False
    """Its end was added by recovery; nobody saw it."""


class ReplayedRun(_Replayed, frozen=True, kw_only=True, tag="run"):
    """A program that ran, with the calls it made, in the order in which they started."""

    call_id: str
    started: int
    program: str | None
    """Its text; None when the log does not hold the text that the hash in it belongs to."""
    program_hash: str
    signatures_hash: str | None = None
    calls: tuple[ReplayedNestedCall, ...] = ()
    ended: int | None = None
    outcome: str | None = None
    recovered: bool = False


class ReplayedCall(_Replayed, frozen=True, kw_only=True, tag="call"):
    """A direct call, as the model and a user interface saw it. Times are in milliseconds since 1970."""

    id: str
    name: str
    arguments: JSON
    started: int
    ended: int | None = None
    """None: no result was logged."""
    content: Content | None = None
    is_error: bool | None = None
    error: ErrorInfo | None = None
    meta: JSON | UnsetType = UNSET
    turn: int | None = None
    step: int | None = None
    run: ReplayedRun | None = None
    """The program that it ran, for a call that ran one."""
    recovered: bool = False
    """Its result was added by recovery; nobody saw the end of it."""


class ReplayedMessage(_Replayed, frozen=True, kw_only=True, tag="message"):
    """A whole message, as it was given to the session."""

    role: Literal["user", "assistant"]
    message: JSON
    time: int
    turn: int | None = None
    step: int | None = None


class ReplayedTurn(_Replayed, frozen=True, kw_only=True, tag="turn"):
    """Where a turn begins (`reason` is None) or ends."""

    turn: int
    time: int
    reason: str | None = None
    detail: JSON | UnsetType = UNSET
    recovered: bool = False


Replayed: TypeAlias = ReplayedMessage | ReplayedTurn | ReplayedCall | ReplayedRun | ReplayedNestedCall
"""What a session is made of. Runs and nested calls stand in their call, unless that is not in the log."""


def replay(events: Iterable[Event]) -> Iterator[Replayed]:
    """Yield what the events of a session (`session.events()`) show, in the order in which it began.

    Each is yielded when it has ended and so has everything before it; what has not ended comes at the end, as
    far as it is known. Holds what is unfinished in memory, and what waits behind it. Raises what iterating over
    the events raises.
    """
    waiting: deque[_Building] = deque()
    open_ = _Open()
    for event in events:
        take = _TAKERS.get(event.type)
        if take is None:
            continue
        begun = take(event, open_)
        if begun is not None:
            waiting.append(begun)
        while waiting and waiting[0].is_finished:
            yield _done(waiting.popleft(), open_)
    while waiting:
        yield _done(waiting.popleft(), open_)


class _Building:
    """One thing to be replayed, as far as its events have come."""

    __slots__ = ("fields", "inside", "is_finished", "key", "kind")

    def __init__(self, kind: type[Any], key: tuple[str, JSON] | None, **fields: Any) -> None:
        self.kind = kind
        self.key = key
        self.fields = fields
        self.inside: list[_Building] = []
        self.is_finished = key is None

    def finish(self, **fields: Any) -> None:
        self.fields.update(fields)
        self.is_finished = True

    def build(self) -> Any:
        if self.kind is ReplayedCall and self.inside:
            return self.kind(**self.fields, run=self.inside[0].build())
        if self.kind is ReplayedRun:
            return self.kind(**self.fields, calls=tuple(each.build() for each in self.inside))
        return self.kind(**self.fields)


class _Open:
    """What may get more events, by its kind and id. Of two with the same, the first to begin ends first."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[str, JSON], list[_Building]] = {}

    def add(self, building: _Building) -> None:
        assert building.key is not None
        self._by_key.setdefault(building.key, []).append(building)

    def find(self, kind: str, id: JSON) -> _Building | None:
        found = self._by_key.get((kind, id))
        return found[0] if found else None

    def end(self, building: _Building, **fields: Any) -> None:
        building.finish(**fields)
        self.forget(building)

    def forget(self, building: _Building) -> None:
        found = self._by_key.get(building.key, []) if building.key is not None else []
        if building in found:
            found.remove(building)
            if not found and building.key is not None:
                del self._by_key[building.key]


def _done(building: _Building, open_: _Open) -> Replayed:
    _forget(building, open_)
    built: Replayed = building.build()
    return built


def _forget(building: _Building, open_: _Open) -> None:
    open_.forget(building)
    for each in building.inside:
        _forget(each, open_)


# ------------------------------------------------------------------------------ one taker for each type


def _message(event: Event, open_: _Open) -> _Building:
    role = event.type.partition("/")[0]
    data = event.data
    return _Building(
        ReplayedMessage, None, role=role, message=data["message"], time=event.time, **_placed(data)
    )


def _turn(event: Event, open_: _Open) -> _Building:
    return _Building(ReplayedTurn, None, time=event.time, **event.data)


def _call(event: Event, open_: _Open) -> _Building:
    data = event.data
    building = _Building(
        ReplayedCall,
        ("call", data["callId"]),
        id=data["callId"],
        name=data["name"],
        arguments=data["arguments"],
        started=event.time,
        **_placed(data),
    )
    open_.add(building)
    return building


def _result(event: Event, open_: _Open) -> None:
    data = event.data
    building = open_.find("call", data["callId"])
    if building is not None:
        error = msgspec.convert(data["error"], ErrorInfo) if "error" in data else None
        open_.end(building, **_shown(event), error=error, meta=data.get("meta", UNSET))


def _run(event: Event, open_: _Open) -> _Building | None:
    data = event.data
    call = open_.find("call", data["callId"])
    building = _Building(
        ReplayedRun,
        ("run", data["callId"]),
        call_id=data["callId"],
        started=event.time,
        program=_program(call, data["programHash"]),
        program_hash=data["programHash"],
        signatures_hash=data.get("signaturesHash"),
    )
    open_.add(building)
    return _put(building, None if call is not None and call.inside else call)


def _run_end(event: Event, open_: _Open) -> None:
    data = event.data
    building = open_.find("run", data["callId"])
    if building is not None:
        recovered = data.get("recovered", False)
        open_.end(building, ended=event.time, outcome=data["outcome"], recovered=recovered)


def _nested(event: Event, open_: _Open) -> _Building | None:
    data = event.data
    building = _Building(
        ReplayedNestedCall,
        ("nested", data["subCallId"]),
        id=data["subCallId"],
        parent_id=data["parentCallId"],
        root_id=data["rootCallId"],
        name=data["name"],
        arguments=data["arguments"],
        started=event.time,
    )
    open_.add(building)
    return _put(building, open_.find("run", data["parentCallId"]))


def _reuse(event: Event, open_: _Open) -> None:
    building = open_.find("nested", event.data["subCallId"])
    if building is not None:
        building.fields["reused_from"] = event.data["fromSubCallId"]


def _nested_end(event: Event, open_: _Open) -> None:
    building = open_.find("nested", event.data["subCallId"])
    if building is not None:
        open_.end(building, **_shown(event))


_TAKERS: dict[str, Callable[[Event, _Open], _Building | None]] = {
    "user/message": _message,
    "assistant/message": _message,
    "turn/start": _turn,
    "turn/end": _turn,
    "tool/call": _call,
    "tool/result": _result,
    "run/start": _run,
    "run/end": _run_end,
    "run/reuse": _reuse,
    "tool/code-dispatch-start": _nested,
    "tool/code-dispatch": _nested_end,
}


def _placed(data: dict[str, JSON]) -> dict[str, JSON]:
    return {field: data[field] for field in ("turn", "step") if field in data}


def _shown(event: Event) -> dict[str, Any]:
    data = event.data
    return {
        "ended": event.time,
        "content": content_from_json(data["content"]),
        "is_error": data["isError"],
        "recovered": data.get("recovered", False),
    }


def _put(building: _Building, outer: _Building | None) -> _Building | None:
    """Put something into what it belongs to; return it when that is not in the log."""
    if outer is None:
        return building
    outer.inside.append(building)
    return None


def _program(call: _Building | None, program_hash: str) -> str | None:
    arguments = call.fields["arguments"] if call is not None else None
    code = arguments.get("code") if isinstance(arguments, dict) else None
    if not isinstance(code, str):
        return None
    return code if hashlib.sha256(code.encode()).hexdigest() == program_hash else None
