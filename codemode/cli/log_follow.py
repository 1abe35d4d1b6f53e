"""`codemode log follow`: what another process adds to a session file, printed as it comes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from time import sleep

from codemode.cli.terminal import paint, printable, say_error, write
from codemode.errors import SessionError
from codemode.session import Event, Session
from codemode.session.events import to_text
from codemode.session.shown import Line, render_event

__all__ = ["follow", "write_lines"]

_COLOURS = {"title": "bold", "label": "cyan", "note": "dim"}

_SECONDS = 0.2  # between two looks into the file: soon for a person, nothing for the machine


def follow(options: argparse.Namespace) -> int:
    """Print events until interrupted. Raises `SessionError` when the file goes away or cannot be read."""
    with Session.read(options.file) as session:
        identity = os.stat(session.path)
        since = session.next_seq if options.since is None else options.since
        try:
            while True:
                for event in session.events(since):
                    if event.seq > since and not options.json:
                        dropped = f"({event.seq - since} events before this one were dropped)"
                        write_lines([Line(dropped, "note")])
                    _write(event, options.json)
                    since = event.seq + 1
                _check_place(session.path, identity)
                sleep(_SECONDS)
        except KeyboardInterrupt:  # which is how it ends, and no line of JSON
            say_error("interrupted", "interrupted", as_json=False)
            return 130


def _write(event: Event, as_json: bool) -> None:
    if as_json:
        write(to_text(event).decode() + "\n")
    else:
        write_lines(render_event(event))


def _check_place(path: str, identity: os.stat_result) -> None:
    try:
        is_there = os.path.samestat(identity, os.stat(path))
    except OSError:
        is_there = False
    if not is_there:
        raise SessionError(f"{path} was moved, replaced or deleted; nothing more comes from it")


def write_lines(lines: Iterable[Line]) -> None:
    """Write lines: safe and in colour for a person, the bare text into a pipe."""
    if not sys.stdout.isatty():
        write("".join(f"{line.text}\n" for line in lines))
        return
    for line in lines:
        text = printable(line.text)
        colour = _COLOURS.get(line.style)
        sys.stdout.write((paint(text, colour, sys.stdout) if colour and text else text) + "\n")
    sys.stdout.flush()
