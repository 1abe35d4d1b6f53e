"""What a session says to a person, replayed or event by event: lines of text for a terminal or a pipe. Pure; no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import UNSET

from codemode.content import Content, Text, content_from_json
from codemode.rendering import json_text
from codemode.session.events import KNOWN, Event
from codemode.session.message_lines import message_lines
from codemode.session.replay import (
    Replayed,
    ReplayedCall,
    ReplayedMessage,
    ReplayedNestedCall,
    ReplayedRun,
    ReplayedTurn,
)
from codemode.session.shown_lines import Line, indented, labelled, one_line, section

__all__ = ["Line", "duration", "moment", "one_line", "render", "render_event"]


def render(replayed: Replayed) -> Iterator[Line]:
    """Yield what was shown as lines for a person to read; text may hold control characters, as it did."""
    if isinstance(replayed, ReplayedMessage):
        yield Line(f"message from {replayed.role}  {moment(replayed.time)}", "title")
        yield from message_lines(replayed.message)
    elif isinstance(replayed, ReplayedTurn):
        said = "begins" if replayed.reason is None else f"ends: {replayed.reason}"
        yield Line(f"turn {replayed.turn} {one_line(said)}  {moment(replayed.time)}", "title")
        if replayed.detail is not UNSET:
            yield from labelled("detail", replayed.detail, 2)
        yield from _recovered(replayed.recovered, 2)
    elif isinstance(replayed, ReplayedCall):
        yield from _render_call(replayed)
    elif isinstance(replayed, ReplayedRun):
        yield Line(f"run of {one_line(replayed.call_id)}  {moment(replayed.started)}", "title")
        yield from _render_run(replayed)
    else:
        yield from _render_nested(replayed, 0)


def _render_call(call: ReplayedCall) -> Iterator[Line]:
    yield Line(f"{one_line(call.id)}  {one_line(call.name)}  {_how_it_went(call)}", "title")
    arguments = call.arguments
    if call.run is not None and call.run.program is not None:
        arguments = {name: value for name, value in arguments.items() if name != "code"}
    yield from labelled("arguments", arguments, 2)
    if call.run is not None:
        yield from _render_run(call.run)
    yield from _content(call.content, 2)
    if call.error is not None:
        yield Line(one_line(f"  error {call.error.code or ''} {call.error.name or ''}").rstrip(), "label")
    if call.meta is not UNSET:
        yield from section("metadata", json_text(call.meta), 2)
    yield from _recovered(call.recovered, 2)


def _render_run(run: ReplayedRun) -> Iterator[Line]:
    if run.program is None:
        yield Line(f"  program: its text is not in the log (SHA-256 {one_line(run.program_hash)})", "note")
    else:
        yield Line("  program", "label")
        yield from _numbered(run.program)
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
    yield from labelled("arguments", call.arguments, indent + 2)
    yield from _content(call.content, indent + 2)
    yield from _recovered(call.recovered, indent + 2)


def render_event(event: Event) -> Iterator[Line]:
    """Yield one event as lines for a person to read, on its own, as it is seen while it comes."""
    kind = one_line(event.type)
    if event.type not in KNOWN:
        yield Line(f"{moment(event.time)}  {kind}", "title")
        yield from indented(json_text(event.data), 2)
        return
    rest = {name: value for name, value in event.data.items() if name not in ("rootCallId", "parentCallId")}
    said = [rest.pop(name) for name in ("subCallId", "callId", "name") if name in rest]
    if "isError" in rest:
        said.append("failed" if rest.pop("isError") else "ok")
    yield Line("  ".join((moment(event.time), kind, *(one_line(str(word)) for word in said))), "title")
    arguments, content, message = (rest.pop(name, UNSET) for name in ("arguments", "content", "message"))
    if content is not UNSET:  # the end of a call says its arguments again
        yield from _content(content_from_json(content), 2)
    elif arguments is not UNSET:
        code = arguments.get("code") if isinstance(arguments, dict) else None
        if isinstance(code, str):
            yield Line("  code", "label")
            yield from _numbered(code)
            arguments = {name: value for name, value in arguments.items() if name != "code"}
        if arguments or code is None:
            yield from labelled("arguments", arguments, 2)
    elif message is not UNSET:
        yield from message_lines(message)
    if rest:
        yield from indented(json_text(rest), 2)


def _how_it_went(call: ReplayedCall | ReplayedNestedCall) -> str:
    if call.ended is None:
        return f"unfinished  {moment(call.started)}"
    state = "failed" if call.is_error else "ok"
    return f"{state}  {moment(call.started)}  {duration(call.ended - call.started)}"


def _content(content: Content | None, indent: int) -> Iterator[Line]:
    if content is None:
        yield Line(f"{' ' * indent}shown: nothing; no end was logged", "note")
        return
    yield Line(f"{' ' * indent}shown" + ("" if content else ": no content"), "label")
    for block in content:
        if isinstance(block, Text):
            yield from indented(block.text, indent + 2)
        else:
            size = f"{len(block.data):,} characters of base64"
            yield Line(f"{' ' * (indent + 2)}[image {one_line(block.media_type)}, {size}]", "note")


def _recovered(recovered: bool, indent: int) -> Iterator[Line]:
    if recovered:
        yield Line(f"{' ' * indent}(added on recovery: the host ended before this did)", "note")


def _numbered(program: str) -> Iterator[Line]:
    for number, line in enumerate(program.removesuffix("\n").split("\n"), 1):
        yield Line(f"    {number:3} | {line}".rstrip(" "))


def moment(milliseconds: int) -> str:
    """Return a time in milliseconds since 1970, as a date and a time of day in UTC."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms after 1970"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03} UTC"


def duration(milliseconds: int) -> str:
    """Return a time span in milliseconds, as a person says it."""
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
