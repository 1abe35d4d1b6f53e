"""The calls of a run over time, as HTML: a bar for each from its start to its end, and what it was under it.

Bars are drawn to the times in the log, in milliseconds. Pure; no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from codemode.session.page_text import inline
from codemode.session.replay import ReplayedNestedCall, ReplayedRun
from codemode.session.shown import duration

__all__ = ["MAX_CALLS", "waterfall"]

MAX_CALLS: Final = 1_000
"""Calls of one run that are shown."""

_THINNEST = 0.4  # percent of the width: a bar is seen however short its call was


def waterfall(
    run: ReplayedRun,
    has_room: Callable[[], bool],
    details: Callable[[ReplayedNestedCall], Iterable[str]],
) -> Iterator[str]:
    """Yield the calls of a run, in the order in which they started, each with its `details` folded under it.

    Ends early when there are more than `MAX_CALLS`, or there is no room any more, and says how many are left out.
    """
    calls = run.calls
    if not calls:
        yield '<p class="facts">It made no calls.</p>\n'
        return
    failed = sum(1 for call in calls if call.is_error)
    yield f"<h3>Its calls ({len(calls):,}, {failed:,} failed)</h3>\n"
    begin, end = _span(run)
    yield (
        '<div class="waterfall"><div class="axis" aria-hidden="true"><span>call</span>'
        f'<span class="scale"><span>0</span><span>{duration((end - begin) // 2)}</span>'
        f"<span>{duration(end - begin)}</span></span><span>start, length</span></div>\n"
    )
    shown = 0
    for call in calls[:MAX_CALLS]:
        if not has_room():
            break
        shown += 1
        yield from _call(call, begin, end, details)
    yield "</div>\n"
    if shown < len(calls):
        yield _left_out(calls, shown)


def _span(run: ReplayedRun) -> tuple[int, int]:
    """Return when the axis begins and ends: as the run did, and not before all that is known of its calls."""
    known = [run.started, *(call.started for call in run.calls), *(call.ended or 0 for call in run.calls)]
    return run.started, max([*known, run.ended or 0, run.started + 1])


def _call(
    call: ReplayedNestedCall, begin: int, end: int, details: Callable[[ReplayedNestedCall], Iterable[str]]
) -> Iterator[str]:
    state = "unfinished" if call.ended is None else "failed" if call.is_error else "ok"
    word = "" if state == "ok" else f'<span class="state {state}">{state}</span> '
    took = "" if call.ended is None else f", {duration(call.ended - call.started)}"
    stop = end if call.ended is None else call.ended
    yield (
        f'<details class="call {state}"><summary><span class="name">{inline(call.name)}</span>'
        f'{_bar(call.started - begin, stop - begin, end - begin)}<span class="took">{word}'
        f"{duration(call.started - begin)}{took}</span></summary>\n<div>"
        f'<p class="facts">{inline(call.name)} <span class="id">{inline(call.id)}</span></p>'
    )
    yield from details(call)
    yield "</div></details>\n"


def _bar(start: int, stop: int, whole: int) -> str:
    width = max(100 * (stop - start) / whole, _THINNEST)
    left = min(max(100 * start / whole, 0), 100 - width)
    return (
        '<svg class="bar" aria-hidden="true"><rect class="track" y="40%" width="100%" height="20%"/>'
        f'<rect class="span" x="{left:.2f}%" width="{width:.2f}%" height="100%" rx="2"/></svg>'
    )


def _left_out(calls: tuple[ReplayedNestedCall, ...], shown: int) -> str:
    rest = calls[shown:]
    failed = sum(1 for call in rest if call.is_error)
    return (
        f'<p class="note left-out">{len(rest):,} more calls are left out, {failed:,} of them failed; '
        "<code>codemode log show</code> prints all.</p>\n"
    )
