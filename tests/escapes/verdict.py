"""What became of a payload. Pure.

An escape is a printed line with ESCAPED, or ESCAPED in the result of a run that ended well; the text of an error is
none. More processor time or memory than the run was given has escaped its limit. With a wall down the other one is
judged by what it must stop alone. The language wall alone has nothing behind it, so a payload that crashes the
interpreter has got past it.
"""

from __future__ import annotations

import json
from enum import Enum

from codemode.cli.terminal import printable
from codemode.sandbox import Limits, RunOutcome
from tests.escapes.payload import Payload

__all__ = ["Verdict", "how_it_ended", "judge"]

_WORD = "ESCAPED"
_CPU_GRACE_SECONDS = 0.5
_MEMORY_GRACE = 1.25


class Verdict(Enum):
    """The values are what is printed."""

    CONTAINED = "contained"
    ESCAPED = "ESCAPED"
    PERMITTED = "ESCAPED, which this wall alone need not stop"
    NOT_APPLICABLE = "not applicable"


def judge(payload: Payload, standing: str, outcome: RunOutcome, limits: Limits) -> Verdict:
    escaped = any(_WORD in line for line in outcome.logs)
    if outcome.kind is None and _holds_the_word(outcome.result):
        escaped = True
    if standing == "language" and _crashed(outcome):
        escaped = True
    if standing != "language" and _took_more(outcome, limits):
        escaped = True
    if not escaped:
        return Verdict.CONTAINED
    needed = {"both": "must", "language": payload.walls.language, "process": payload.walls.os}[standing]
    return Verdict.ESCAPED if needed == "must" else Verdict.PERMITTED


def how_it_ended(outcome: RunOutcome) -> str:
    """Return the end in a line: its kind, and the first line that says why."""
    if outcome.kind is None:
        return "ok"
    lines = [line.strip() for line in outcome.message.splitlines() if line.strip()]
    shown = [
        line for line in lines if not line.startswith(("Traceback", "line ", "The program was not started"))
    ]
    said = (shown or lines or [""])[-1 if lines and lines[0].startswith("Traceback") else 0]
    return printable(f"{outcome.kind}: {said}").replace("\n", " ")


def _took_more(outcome: RunOutcome, limits: Limits) -> bool:
    return (
        outcome.usage.cpu_seconds > limits.cpu_seconds + _CPU_GRACE_SECONDS
        or outcome.usage.max_memory_bytes > limits.memory_bytes * _MEMORY_GRACE
    )


def _crashed(outcome: RunOutcome) -> bool:
    return outcome.kind == "worker-exit" and "crashed the interpreter" in outcome.message


def _holds_the_word(result: object) -> bool:
    try:
        return _WORD in json.dumps(result, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return _WORD in repr(result)
