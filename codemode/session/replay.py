"""A session shown again: the messages, calls and runs as they were shown, from the events alone.

No tool is needed and none is called. Contents, arguments and metadata are those of the log, equal to the last
byte. What the log does not hold by design is not made up; `NOT_REBUILT` says what that is, and what is None
because no end was logged is said to be unfinished. Pure; no I/O.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from codemode.content import Content, Text, content_from_json
from codemode.rendering import json_text
from codemode.session.events import ErrorInfo, Event
from codemode.values import JSON

__all__ = [
    "NOT_REBUILT",
    "Line",
    "Replayed",
    "ReplayedCall",
    "ReplayedMessage",
    "ReplayedNestedCall",
    "ReplayedRun",
    "ReplayedTurn",
    "one_line",
    "render",
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


# -------------------------------------------------------------------------------------- for a person


_SHORT = 90  # characters of arguments that still stand on the line of their label


class Line(Struct, frozen=True):
    """One line of text, without its newline, and what it is: a title at the margin, or something under one.

    Lines that hold what tools or models wrote are always indented, so that none can pass for a title.
    """

    text: str
    style: Literal["title", "label", "text", "note"] = "text"


def render(replayed: Replayed) -> Iterator[Line]:
    """Yield what was shown as lines for a person to read; text may hold control characters, as it did."""
    if isinstance(replayed, ReplayedMessage):
        yield Line(f"message from {replayed.role}  {_time(replayed.time)}", "title")
        yield from _indented(json_text(replayed.message), 2)
    elif isinstance(replayed, ReplayedTurn):
        said = "begins" if replayed.reason is None else f"ends: {replayed.reason}"
        yield Line(f"turn {replayed.turn} {one_line(said)}  {_time(replayed.time)}", "title")
        if replayed.detail is not UNSET:
            yield from _indented(json_text(replayed.detail), 2)
        yield from _recovered(replayed.recovered, 2)
    elif isinstance(replayed, ReplayedCall):
        yield from _render_call(replayed)
    elif isinstance(replayed, ReplayedRun):
        yield Line(f"run of {one_line(replayed.call_id)}  {_time(replayed.started)}", "title")
        yield from _render_run(replayed)
    else:
        yield from _render_nested(replayed, 0)


def _render_call(call: ReplayedCall) -> Iterator[Line]:
    yield Line(f"{one_line(call.id)}  {one_line(call.name)}  {_how_it_went(call)}", "title")
    arguments = call.arguments
    if call.run is not None and call.run.program is not None:
        arguments = {name: value for name, value in arguments.items() if name != "code"}
    yield from _arguments(arguments, 2)
    if call.run is not None:
        yield from _render_run(call.run)
    yield from _content(call.content, 2)
    if call.error is not None:
        yield Line(one_line(f"  error {call.error.code or ''} {call.error.name or ''}").rstrip(), "label")
    if call.meta is not UNSET:
        yield from _section("metadata", json_text(call.meta), 2)
    yield from _recovered(call.recovered, 2)


def _render_run(run: ReplayedRun) -> Iterator[Line]:
    if run.program is None:
        yield Line(f"  program: its text is not in the log (SHA-256 {one_line(run.program_hash)})", "note")
    else:
        yield Line("  program", "label")
        for number, line in enumerate(run.program.removesuffix("\n").split("\n"), 1):
            yield Line(f"    {number:3} | {line}".rstrip(" "))
    if run.calls:
        yield Line(f"  its calls ({len(run.calls)})", "label")
    for nested in run.calls:
        yield from _render_nested(nested, 4)
    outcome = "unfinished: no end was logged" if run.outcome is None else one_line(run.outcome)
    yield Line(f"  run ended: {outcome}", "label")


def _render_nested(call: ReplayedNestedCall, indent: int) -> Iterator[Line]:
    space = " " * indent
    head = f"{space}{one_line(call.id)}  {one_line(call.name)}  {_how_it_went(call)}"
    yield Line(head, "label" if indent else "title")
    if call.reused_from is not None:
        yield Line(f"{space}  answered from {one_line(call.reused_from)} of an earlier run", "note")
    yield from _arguments(call.arguments, indent + 2)
    yield from _content(call.content, indent + 2)
    yield from _recovered(call.recovered, indent + 2)


def _how_it_went(call: ReplayedCall | ReplayedNestedCall) -> str:
    if call.ended is None:
        return f"unfinished  {_time(call.started)}"
    state = "failed" if call.is_error else "ok"
    return f"{state}  {_time(call.started)}  {_duration(call.ended - call.started)}"


def _arguments(arguments: JSON, indent: int) -> Iterator[Line]:
    short = json.dumps(arguments, ensure_ascii=False)
    if len(short) <= _SHORT:
        yield Line(f"{' ' * indent}arguments {short}", "label")
    else:
        yield from _section("arguments", json_text(arguments), indent)


def _section(label: str, text: str, indent: int) -> Iterator[Line]:
    yield Line(f"{' ' * indent}{label}", "label")
    yield from _indented(text, indent + 2)


def _content(content: Content | None, indent: int) -> Iterator[Line]:
    if content is None:
        yield Line(f"{' ' * indent}shown: nothing; no end was logged", "note")
        return
    yield Line(f"{' ' * indent}shown" + ("" if content else ": no content"), "label")
    for block in content:
        if isinstance(block, Text):
            yield from _indented(block.text, indent + 2)
        else:
            size = f"{len(block.data):,} characters of base64"
            yield Line(f"{' ' * (indent + 2)}[image {one_line(block.media_type)}, {size}]", "note")


def _recovered(recovered: bool, indent: int) -> Iterator[Line]:
    if recovered:
        yield Line(f"{' ' * indent}(added on recovery: the host ended before this did)", "note")


def _indented(text: str, indent: int) -> Iterator[Line]:
    for line in text.split("\n"):
        yield Line(" " * indent + line if line else "")


def one_line(text: str) -> str:
    """Return text in which nothing ends a line, so that it can stand in a title."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _time(milliseconds: int) -> str:
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms after 1970"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03} UTC"


def _duration(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
