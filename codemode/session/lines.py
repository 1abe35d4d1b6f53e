"""Sessions as JSON lines: a first line that says what follows, then one event a line. No files are opened here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from codemode.errors import SessionError
from codemode.session.events import Event, from_text, to_text
from codemode.session.store import Session

__all__ = ["export_lines", "import_lines"]

_VERSION = 1


class _Header(Struct, frozen=True, tag_field="type", tag="session"):
    version: int


def export_lines(events: Iterable[Event]) -> Iterator[str]:
    """Yield events (`session.events()`) as JSON lines, each without its newline.

    Raises what iterating over the events raises.
    """
    yield to_text(_Header(_VERSION)).decode()
    for event in events:
        yield to_text(event).decode()


def import_lines(session: Session, lines: Iterable[str]) -> int:
    """Read exported lines into an empty session; return the number of events. They become durable on `commit`.

    All or none; equal to what was exported, including `seq` and `time`. Raises `SessionError`, with the number
    of the line, for lines that are not an export, and as `Session.restore` does.
    """
    return session.restore(_parse(lines))


def _parse(lines: Iterable[str]) -> Iterator[Event]:
    numbered = enumerate(lines, start=1)
    try:
        header = msgspec.convert(from_text(next(numbered, (1, ""))[1]), _Header)
    except ValueError:
        raise SessionError(
            'line 1: not an exported session; it should begin with {"type":"session"'
        ) from None
    if header.version != _VERSION:
        raise SessionError(f"line 1: exported as version {header.version}; this version reads {_VERSION}")
    for number, line in numbered:
        try:
            yield msgspec.convert(from_text(line), Event)
        except ValueError as error:
            raise SessionError(f"line {number}: not an event ({error})") from None
