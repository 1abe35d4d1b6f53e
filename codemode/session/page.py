"""A replayed session as one HTML page: programs with their lines, their calls as a waterfall, what was shown.

The page needs nothing beside itself and holds no script: what folds, browsers fold by themselves. Whatever was
logged comes through `page_text`; beyond that, a content policy in the page lets browsers load and run nothing.
Its size is bounded, and where it leaves something out it says so. Pure; no I/O.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import Final, TypeAlias

from msgspec import UNSET

from codemode.content import Content, Text
from codemode.rendering import cut_middle, json_text
from codemode.session.message_lines import message_lines
from codemode.session.page_style import STYLE
from codemode.session.page_text import block, inline, lines_of, picture
from codemode.session.page_waterfall import MAX_CALLS, waterfall
from codemode.session.replay import (
    NOT_REBUILT,
    Replayed,
    ReplayedCall,
    ReplayedMessage,
    ReplayedNestedCall,
    ReplayedRun,
    ReplayedTurn,
)
from codemode.session.shown import duration, moment, one_line

__all__ = ["MAX_CALLS", "MAX_PAGE", "MAX_PROGRAM", "MAX_TEXT", "page"]

MAX_PAGE: Final = 20_000_000
"""Characters after which nothing more is begun. What was begun is ended: some MB at most."""

MAX_TEXT: Final = 20_000
"""Bytes of one text: arguments, a block of content, a message, metadata."""

MAX_PROGRAM: Final = 200_000
"""Characters of a program."""

MAX_LINES: Final = 5_000
"""Lines of a program."""

MAX_BLOCKS: Final = 50
"""Blocks of one content."""

_LONG = 200  # calls; a longer table of contents is folded
_SHORT = 2_000  # characters of a message that is not folded

_AnyCall: TypeAlias = ReplayedCall | ReplayedRun | ReplayedNestedCall

_ELSEWHERE = "`codemode log show` prints it whole"


def page(
    entries: Iterable[Replayed], title: str, *, first_seq: int = 0, max_characters: int = MAX_PAGE
) -> Iterator[str]:
    """Yield the pieces of a page that shows what `replay` yields; `title` names it, as the file does.

    `first_seq` is how many events the session has dropped. All entries are gone through before the first piece
    comes, for the table of contents; held is no more than the page. Raises what iterating over them raises.
    """
    body = _Body(max_characters)
    for entry in entries:
        body.add(entry)
    yield _head(title)
    yield f"<h1>{inline(title)}</h1>\n"
    yield f'<p class="facts">{body.summary()}</p>\n'
    if first_seq:
        yield f'<p class="note">The first {first_seq:,} events were dropped to keep the file small.</p>\n'
    yield from body.contents()
    yield "<main>\n"
    yield from body.parts
    yield "</main>\n"
    items = "".join(f"<li>{inline(text, 1000)}</li>" for text in NOT_REBUILT)
    yield f"<footer><p>Not in any session, and so not here:</p><ul>{items}</ul></footer>\n</body>\n</html>\n"


def _head(title: str) -> str:
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(one_line(title))} – codemode</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    )


class _Body:
    """The parts of the page as they come, the lines of its table of contents, and what had to be left out."""

    def __init__(self, most: int) -> None:
        self.parts: list[str] = []
        self._room = most
        self._lines: list[str] = []
        self._count = self._calls = self._failed = self._left_out = 0

    def add(self, entry: Replayed) -> None:
        self._count += 1
        call = None if isinstance(entry, ReplayedTurn | ReplayedMessage) else entry
        if call is not None:
            self._calls += 1
            self._failed += _state(call) == "failed"
        if not self._has_room():
            self._left_out += 1
            return
        anchor = f"e{self._count}"
        if call is not None:
            self._lines.append(_line(call, anchor))
            self._room -= len(self._lines[-1])
        for part in _entry(entry, anchor, self._has_room):
            self.parts.append(part)
            self._room -= len(part)

    def _has_room(self) -> bool:
        return self._room > 0

    def summary(self) -> str:
        said = f"{_number(self._calls, 'call')}, {self._failed:,} failed"
        if self._left_out:
            shown = self._count - self._left_out
            said += (
                f'. <strong class="left-out">This page holds the first {shown:,} entries of {self._count:,}, to stay '
                "small enough to open; <code>codemode log html FILE --call ID</code> makes one of a single call, "
                "<code>codemode log show FILE</code> prints everything.</strong>"
            )
        return said

    def contents(self) -> Iterator[str]:
        if not self._lines:
            yield '<p class="empty">No calls on this page.</p>\n'
            return
        is_long = "" if len(self._lines) > _LONG else " open"
        yield f'<nav aria-label="Calls"><details{is_long}><summary>Calls on this page</summary><ol>\n'
        yield from self._lines
        yield "</ol></details></nav>\n"


def _line(entry: _AnyCall, anchor: str) -> str:
    return (
        f'<li><a class="name" href="#{anchor}">{_name(entry)}</a> {_badge(entry)} '
        f'<span class="id">{inline(_id(entry))}</span></li>\n'
    )


# ------------------------------------------------------------------------------------- what there is


def _entry(entry: Replayed, anchor: str, has_room: Callable[[], bool]) -> Iterator[str]:
    if isinstance(entry, ReplayedTurn):
        said = "begins" if entry.reason is None else f"ends: {inline(entry.reason)}"
        yield f'<p class="turn" id="{anchor}">Turn {entry.turn} {said} {_clock(entry.time)}</p>\n'
        if entry.detail is not UNSET:
            yield _block(json_text(entry.detail))
        yield _recovered(entry.recovered)
    elif isinstance(entry, ReplayedMessage):
        text = "\n".join(line.text for line in message_lines(entry.message))
        yield f'<section class="message" id="{anchor}"><details{_open_if_short(text)}>'
        yield f"<summary>Message from {entry.role} {_clock(entry.time)}</summary>"
        yield _block(text)
        yield "</details></section>\n"
    else:
        yield f'<section class="direct" id="{anchor}">\n<h2>{_name(entry)} {_badge(entry)} '
        yield f'<span class="id">{inline(_id(entry))}</span></h2>\n'
        if isinstance(entry, ReplayedCall):
            yield from _direct(entry, anchor, has_room)
        elif isinstance(entry, ReplayedRun):
            yield f'<p class="facts">{_clock(entry.started)}</p>\n'
            yield from _run(entry, anchor, has_room)
        else:
            yield f'<p class="facts">{_clock(entry.started)}, a call of a program: {inline(entry.root_id)}</p>\n'
            yield from _nested(entry)
        yield "</section>\n"


def _direct(call: ReplayedCall, anchor: str, has_room: Callable[[], bool]) -> Iterator[str]:
    placed = "".join(
        f", {name} {number}"
        for name, number in (("turn", call.turn), ("step", call.step))
        if number is not None
    )
    yield f'<p class="facts">{_clock(call.started)}{placed}</p>\n'
    arguments = call.arguments
    if call.run is not None and call.run.program is not None:
        arguments = {name: value for name, value in arguments.items() if name != "code"}
    if arguments or call.run is None:
        yield f"<h3>Arguments</h3>{_block(json_text(arguments))}\n"
    if call.run is not None:
        yield from _run(call.run, anchor, has_room)
    yield "<h3>Logs and result, as shown</h3>\n" if call.run is not None else "<h3>Shown</h3>\n"
    yield from _content(call.content)
    if call.error is not None:
        said = " ".join(inline(part) for part in (call.error.name, call.error.code) if part)
        yield f'<p class="failed">Error {said}</p>\n'
    if call.meta is not UNSET:
        yield f"<details><summary>Metadata</summary>{_block(json_text(call.meta))}</details>\n"
    yield _recovered(call.recovered)


def _run(run: ReplayedRun, anchor: str, has_room: Callable[[], bool]) -> Iterator[str]:
    yield "<h3>Program</h3>\n"
    if run.program is None:
        yield f'<p class="note">Its text is not in the log (SHA-256 {inline(run.program_hash)}).</p>\n'
    else:
        yield from _program(run.program, anchor)
    yield from waterfall(run, has_room, _nested)
    ended = inline(run.outcome) if run.outcome is not None else "unfinished: no end was logged"
    yield f'<p class="facts">Run ended: {ended}</p>\n{_recovered(run.recovered)}'


def _program(program: str, anchor: str) -> Iterator[str]:
    """Yield the first lines of a program; were it cut in its middle, the later ones would lose their numbers."""
    shown = "\n".join(program[:MAX_PROGRAM].split("\n", MAX_LINES)[:MAX_LINES])
    yield lines_of(shown, f"{anchor}-line") + "\n"
    if len(shown) < len(program.removesuffix("\n")):
        yield (
            f'<p class="note left-out">The first {len(shown):,} characters of {len(program):,}; {_ELSEWHERE}.</p>\n'
        )


def _nested(call: ReplayedNestedCall) -> Iterator[str]:
    if call.reused_from is not None:
        yield f'<p class="note">Answered from {inline(call.reused_from)} of an earlier run.</p>'
    yield f"<h3>Arguments</h3>{_block(json_text(call.arguments))}<h3>Shown</h3>"
    yield from _content(call.content)
    yield _recovered(call.recovered)


def _content(content: Content | None) -> Iterator[str]:
    if content is None:
        yield '<p class="note">Nothing; no end was logged.</p>\n'
    elif not content:
        yield '<p class="note">No content.</p>\n'
    for each in (content or ())[:MAX_BLOCKS]:
        yield (_block(each.text) if isinstance(each, Text) else picture(each)) + "\n"
    if content and len(content) > MAX_BLOCKS:
        more = len(content) - MAX_BLOCKS
        yield f'<p class="note left-out">{_number(more, "more block")}; {_ELSEWHERE}.</p>\n'


# ------------------------------------------------------------------------------------------- pieces


def _block(text: str) -> str:
    return block(cut_middle(text, MAX_TEXT, _ELSEWHERE))


def _name(entry: _AnyCall) -> str:
    return "run" if isinstance(entry, ReplayedRun) else inline(entry.name)


def _id(entry: _AnyCall) -> str:
    return entry.call_id if isinstance(entry, ReplayedRun) else entry.id


def _state(entry: _AnyCall) -> str:
    if entry.ended is None:
        return "unfinished"
    failed = entry.outcome != "ok" if isinstance(entry, ReplayedRun) else entry.is_error
    return "failed" if failed else "ok"


def _badge(entry: _AnyCall) -> str:
    state = _state(entry)
    took = "" if entry.ended is None else f" {duration(entry.ended - entry.started)}"
    return f'<span class="state {state}">{state}</span>{took}'


def _clock(milliseconds: int) -> str:
    return f"<time>{moment(milliseconds)}</time>"


def _recovered(recovered: bool) -> str:
    return '<p class="note">Added on recovery: the host ended before this did.</p>\n' if recovered else ""


def _open_if_short(text: str) -> str:
    return " open" if len(text) <= _SHORT else ""


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + "s" * (count != 1)
