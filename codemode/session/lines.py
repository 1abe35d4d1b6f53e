"""Sessions as JSON lines: a first line that says what follows, then one event a line. No files are opened here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec
from msgspec import Struct

from codemode.errors import SessionError
from codemode.session.events import Event, from_text, to_text
from codemode.session.store import Session

__all__ = ["export_lines", "import_lines"]

_VERSION = 1


class _Header(Struct, frozen=True, tag_field="type", tag="session", rename="camel", omit_defaults=True):
    version: int
    first_seq: int = 0
    """Where the log begins, when earlier events were dropped."""


def export_lines(events: Iterable[Event]) -> Iterator[str]:
    """Yield events (`session.events()`) as JSON lines, each without its newline.

    Raises what iterating over the events raises.
    """
    rest = iter(events)
    first = next(rest, None)
    if first is None:
        yield to_text(_Header(_VERSION)).decode()
        return
    yield to_text(_Header(_VERSION, first.seq)).decode()
    for event in chain([first], rest):
        yield to_text(event).decode()


def import_lines(session: Session, lines: Iterable[str]) -> int:
    """Read exported lines into an empty session; return the number of events. They become durable on `commit`.

    All or none; equal to what was exported, including `seq` and `time`. Raises `SessionError`, with the number
    of the line, for lines that are not an export, and as `Session.restore` does.
    """
    numbered = enumerate(lines, start=1)
    return session.restore(_events(numbered), first_seq=_header(numbered).first_seq)


def _header(numbered: Iterator[tuple[int, str]]) -> _Header:
    try:
        header = msgspec.convert(from_text(next(numbered, (1, ""))[1]), _Header)
    except ValueError:
        raise SessionError(
            'line 1: not an exported session; it should begin with {"type":"session"'
        ) from None
    if header.version != _VERSION:
        raise SessionError(f"line 1: exported as version {header.version}; this version reads {_VERSION}")
    return header


def _events(numbered: Iterator[tuple[int, str]]) -> Iterator[Event]:
    for number, line in numbered:
        try:
            yield msgspec.convert(from_text(line), Event)
        except ValueError as error:
            raise SessionError(f"line {number}: not an event ({error})") from None
