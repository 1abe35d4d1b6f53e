"""`codemode log`: what a session file holds, shown, listed, followed, as a page, and as JSON lines in and out."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec
import trio
from msgspec import Struct

from codemode.cli.log_follow import follow, write_lines
from codemode.cli.log_page import check_output, write_page
from codemode.cli.options import add_json
from codemode.cli.terminal import UsageError, printable, say_error, write, write_json
from codemode.content import content_to_json
from codemode.errors import SessionError
from codemode.session import Event, Session, export_lines, import_lines
from codemode.session.events import MAX_TIME
from codemode.session.page import page
from codemode.session.replay import NOT_REBUILT, Replayed, ReplayedCall, ReplayedRun, replay
from codemode.session.shown import Line, one_line, render

__all__ = ["DESCRIPTION", "add_arguments", "command"]

DESCRIPTION = (
    "Look into the log that `codemode run --session FILE` keeps. Exit code: 0 it was done, 1 the file or the call "
    "cannot be used, 2 wrong usage."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of the command."""
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
    show = _action(actions, "show", _show, "print what was shown: messages, calls, programs, their contents")
    show.add_argument("--call", metavar="ID", help="only this call, direct or made by a program")
    add_json(show)
    listed = _action(actions, "list", _list, "print one line for each direct call")
    add_json(listed)
    html = _action(actions, "html", _html, "write one HTML page of what was shown, complete in itself")
    html.add_argument("--call", metavar="ID", help="only this call, direct or made by a program")
    html.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write it there, readable for you alone (default: standard output)",
    )
    followed = _action(actions, "follow", follow, "print what is added from now on, until interrupted")
    followed.add_argument(
        "--since",
        type=_place,
        metavar="SEQ",
        help="print first what there is from this event on (0: everything)",
    )
    add_json(followed, "print each event as one line of JSON")
    _action(actions, "export", _export, "write all events to standard output, one JSON object a line")
    imported = _action(
        actions, "import", _import, "make a new session file of exported lines from standard input"
    )
    add_json(imported, 'print {"events": their number}')


def _action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, command: object, says: str
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=says, description=f"{says[0].upper()}{says[1:]}.")
    parser.add_argument("file", metavar="FILE", help="the session file")
    parser.set_defaults(action=command)
    return parser


def _place(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= MAX_TIME):
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of an event; they count from 0")
    return int(text)


def command(options: argparse.Namespace) -> int:
    """Run the action that was chosen and return its exit code."""
    try:
        code: int = options.action(options)
    except SessionError as error:
        say_error("session", str(error), as_json=getattr(options, "json", False))
        return 1
    return code


# ------------------------------------------------------------------------------------------- show


def _show(options: argparse.Namespace) -> int:
    with Session.read(options.file) as session:
        first = session.first_seq
        entries = replay(session.events())
        if options.call is not None:
            entries = iter(_find(entries, options))
        if options.json:
            return _write_json(entries, {"firstSeq": first, "notRebuilt": NOT_REBUILT})
        if first and options.call is None:
            write_lines(
                [Line(f"(the first {first} events were dropped to keep the file small)", "note"), Line("")]
            )
        for entry in entries:
            write_lines([*render(entry), Line("")])
    write_lines([Line("Not in any session, and so not here:", "note"), *_notes(NOT_REBUILT)])
    return 0


def _notes(texts: Iterable[str]) -> Iterator[Line]:
    return (Line(f"  - {text}", "note") for text in texts)


def _find(entries: Iterator[Replayed], options: argparse.Namespace) -> list[Replayed]:
    for entry in entries:
        found = [each for each in _with_nested(entry) if getattr(each, "id", None) == options.call]
        if found:
            return found
    raise SessionError(
        f"there is no call {options.call!r} in {options.file}; `codemode log list {options.file}` shows the calls "
        "that there are"
    )


def _with_nested(entry: Replayed) -> Iterator[Replayed]:
    yield entry
    run = entry.run if isinstance(entry, ReplayedCall) else entry
    if isinstance(run, ReplayedRun):
        yield from run.calls


def _write_json(entries: Iterator[Replayed], about: dict[str, object]) -> int:
    """Write one JSON object, entry by entry, so that a long session is never held as a whole; return the exit code."""
    write(f'{_json(about)[:-1]},"entries":[')
    try:
        for number, entry in enumerate(entries):
            write((",\n" if number else "\n") + _json(entry))
    except SessionError as error:
        failed = {"kind": "session", "message": str(error)}
        write(f'\n],"error":{_json(failed)}}}\n')
        return 1
    write("\n]}\n")
    return 0


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


# ------------------------------------------------------------------------------------------- html


def _html(options: argparse.Namespace) -> int:
    check_output(options.output, options.file)
    with Session.read(options.file) as session:
        entries = replay(session.events())
        if options.call is not None:
            entries = iter(_find(entries, options)[:1])
        title = os.path.basename(session.path) + ("" if options.call is None else f": {options.call}")
        pieces = page(entries, title, first_seq=0 if options.call else session.first_seq)
        write_page(pieces, options.output)
    return 0


# ------------------------------------------------------------------------------------------- list


class _Row(Struct, frozen=True, rename="camel"):
    """A direct call in a list; `started` in milliseconds since 1970, `shown_bytes` of its content as stored."""

    id: str
    name: str
    state: str
    started: int
    milliseconds: int | None
    calls: int
    shown_bytes: int


def _list(options: argparse.Namespace) -> int:
    with Session.read(options.file) as session:
        rows = [_row(entry) for entry in replay(session.events()) if isinstance(entry, ReplayedCall)]
        first = session.first_seq
    if options.json:
        write(_json({"firstSeq": first, "calls": rows}) + "\n")
        return 0
    if not rows:
        write_lines([Line("no direct calls in this session", "note")])
        return 0
    table = [("CALL", "STARTED (UTC)", "TOOL", "STATE", "TOOK", "CALLS", "SHOWN"), *map(_cells, rows)]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(table[0]))]
    for number, cells in enumerate(table):
        padded = (
            cell.rjust(width) if column >= 4 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        write_lines([Line("  ".join(padded), "label" if number == 0 else "text")])
    return 0


def _row(call: ReplayedCall) -> _Row:
    state = "unfinished" if call.ended is None else "failed" if call.is_error else "ok"
    if call.run is not None and call.run.outcome not in (None, "ok"):
        state = f"{state} ({call.run.outcome})"
    return _Row(
        id=call.id,
        name=call.name,
        state=state,
        started=call.started,
        milliseconds=None if call.ended is None else call.ended - call.started,
        calls=len(call.run.calls) if call.run is not None else 0,
        shown_bytes=sum(len(_json(block)) for block in content_to_json(call.content or ())),
    )


def _cells(row: _Row) -> tuple[str, ...]:
    took = "" if row.milliseconds is None else f"{row.milliseconds / 1000:.3f} s"
    moment = datetime.fromtimestamp(row.started / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return (
        *(one_line(row.id), moment, one_line(row.name), one_line(row.state), took),
        *(str(row.calls or ""), f"{row.shown_bytes:,} B"),
    )


# ------------------------------------------------------------------------------ export and import


def _export(options: argparse.Namespace) -> int:
    with Session.read(options.file) as session:
        for line in export_lines(session.events()):
            write(line + "\n")
    return 0


def _import(options: argparse.Namespace) -> int:
    if sys.stdin.isatty():
        raise UsageError(f"give the lines on standard input: codemode log import {options.file} < LINES")
    if os.path.exists(options.file) and os.path.getsize(options.file):
        with Session.read(options.file) as there:
            if there.first_seq or next(there.events(), None) is not None:
                raise SessionError(f"{options.file} holds a session already; import into a new file")
    return trio.run(_import_from_stdin, options.file, options.json)


async def _import_from_stdin(file: str, as_json: bool) -> int:
    # Taken into memory first, so that lines that are wrong leave no file.
    async with Session.open(None) as checked:
        import_lines(checked, _stdin_lines())
        events: list[Event] = list(checked.events())
    async with Session.open(file) as session:
        count = session.restore(events, first_seq=events[0].seq if events else 0)
    if as_json:
        write_json({"events": count})
    else:
        print(f"{count} events imported into {printable(file)}", file=sys.stderr)
    return 0


def _stdin_lines() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise SessionError(
                f"line {number}: no UTF-8 text (byte {error.start}); export the session again"
            ) from None
