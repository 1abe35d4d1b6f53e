"""What opening a session for writing adds, so that everything that began has exactly one end.

Whoever opens a session for writing is its one writer, so whatever is unfinished in it then was left by a host
that crashed or was killed, and can be closed without asking anybody. What is added says no more than is known:

    a direct call that cannot have started     `tool/result`, an error, TOOL_NOT_STARTED
    any other direct call                      `tool/result`, an error, TOOL_OUTCOME_UNKNOWN
    a nested call                              `tool/code-dispatch`, an error
    a run                                      `run/end`, interrupted
    a step                                     `step/end`
    a turn                                     `turn/end`, interrupted

and last a `session/recovered`. Each is marked `recovered`; their time is that of the last event before them,
for when the host ended is not known. All are stored in one transaction: a crash meanwhile leaves nothing of
them, and the next writer begins again. Nothing here opens a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from codemode.session.events import Event, check_event
from codemode.session.pairs import Unfinished
from codemode.values import JSON, freeze

__all__ = ["TOOL_NOT_STARTED", "TOOL_OUTCOME_UNKNOWN", "closing_events"]

TOOL_NOT_STARTED = "TOOL_NOT_STARTED"
"""Code of a direct call whose body had not started when the host ended."""
TOOL_OUTCOME_UNKNOWN = "TOOL_OUTCOME_UNKNOWN"
"""Code of a direct call whose body had started, or may have, when the host ended."""

INTERRUPTED = "interrupted"
"""Outcome of a run, and reason of a turn, that was going on when the host ended."""

_CARE = "call it again only if that does no harm when it was done already; otherwise look first what was done"


def closing_events(
    unfinished: Unfinished, event_at: Callable[[int], Event], next_seq: int, time: int
) -> list[Event]:
    """Return the events that close what is unfinished, to be stored from `next_seq` on; none if nothing is.

    `event_at(seq)` returns an event of the log; `time` (milliseconds since 1970) becomes theirs. Raises what
    `event_at` raises.
    """
    events: list[Event] = []

    def add(kind: str, data: JSON) -> None:
        frozen = freeze(data, root="data")
        check_event(kind, frozen, ignorable=False)
        events.append(Event(next_seq + len(events), time, kind, frozen))

    for kind, data in _ends(unfinished, event_at):
        add(kind, {**data, "recovered": True})
    if events:
        add("session/recovered", {"closed": len(events)})
    return events


def _ends(unfinished: Unfinished, event_at: Callable[[int], Event]) -> Iterator[tuple[str, dict[str, JSON]]]:
    """Yield the ends, from the inside outwards."""
    for seq in unfinished.begun("tool/code-dispatch-start"):
        start = event_at(seq).data
        text = (
            f"the host ended while this call of tool {start['name']!r} was under way; its outcome is unknown"
        )
        yield "tool/code-dispatch", {**start, **_error(text)}
    programs = set()
    for seq in unfinished.begun("run/start"):
        call_id = event_at(seq).data["callId"]
        programs.add(call_id)
        yield "run/end", {"callId": call_id, "outcome": INTERRUPTED}
    for seq in unfinished.begun("tool/call"):
        yield "tool/result", _result(event_at(seq).data, unfinished, programs)
    for seq in reversed(unfinished.begun("step/start")):
        started = event_at(seq).data
        yield "step/end", {"turn": started["turn"], "step": started["step"]}
    for seq in reversed(unfinished.begun("turn/start")):
        yield "turn/end", {"turn": event_at(seq).data["turn"], "reason": INTERRUPTED}


def _result(call: dict[str, JSON], unfinished: Unfinished, programs: set[JSON]) -> dict[str, JSON]:
    call_id, name = call["callId"], call["name"]
    if call_id in programs:
        kind, code = "ToolOutcomeUnknownError", TOOL_OUTCOME_UNKNOWN
        text = (
            "the host ended while this program was running; what it printed is lost, and of its last tool calls "
            f"some may have been made that are not in the log; {_CARE}"
        )
    elif unfinished.body_has_started(call_id):
        kind, code = "ToolOutcomeUnknownError", TOOL_OUTCOME_UNKNOWN
        text = f"the host ended while tool {name!r} was at work; the outcome of this call is unknown; {_CARE}"
    elif call.get("startLogged") is True:
        kind, code = "ToolNotStartedError", TOOL_NOT_STARTED
        text = (
            f"the host ended before this call of tool {name!r} started; nothing was done; call it again if it "
            "is still needed"
        )
    else:
        kind, code = "ToolOutcomeUnknownError", TOOL_OUTCOME_UNKNOWN
        text = (
            f"the host ended before tool {name!r} had answered; whether it had started is not in the log, and "
            f"the outcome of this call is unknown; {_CARE}"
        )
    placed: dict[str, JSON] = {field: call[field] for field in ("turn", "step") if field in call}
    return {"callId": call_id, **_error(text), "error": {"name": kind, "code": code}, **placed}


def _error(text: str) -> dict[str, JSON]:
    return {"content": [{"type": "text", "text": f"Error: {text}"}], "isError": True}
