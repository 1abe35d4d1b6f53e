"""What a run's end is called and what is said about it. Pure: no process, no file, no clock.

The texts are read by the model that wrote the program: what happened, the limit with its value, what to do.
"""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

from codemode.control import OUT_OF_MEMORY, Ended
from codemode.sandbox.limits import MIB, Limits
from codemode.sandbox.outcome import RunErrorKind

__all__ = [
    "Ending",
    "arguments_too_large",
    "from_status",
    "not_text",
    "out_of_calls",
    "out_of_wall",
    "printed_too_much",
    "protocol",
    "result_too_large",
    "size",
    "source_too_long",
    "too_many_parts",
]

_NEAR = 0.75
"""A guest that crashed with this part of its memory in use most likely crashed for want of memory."""

_ABOUT_ALL = 0.5
"""A guest that somebody killed with this part of its memory in use was most likely the kernel's choice."""

_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP}


class Ending(NamedTuple):
    """How a run that did not end well ended."""

    kind: RunErrorKind
    message: str


def size(bytes_: int) -> str:
    """Return a size as a reader would write it."""
    if bytes_ >= MIB and bytes_ % MIB == 0:
        return f"{bytes_ // MIB:,} MiB"
    return f"{bytes_:,} bytes"


# ------------------------------------------------------------------------------- before the start


def source_too_long(length: int, limits: Limits) -> Ending:
    return Ending(
        "exception",
        f"the program is {length:,} bytes long, over the {limits.source_bytes:,} allowed; "
        "send data through tools instead of writing it into the program, or raise source_bytes",
    )


def not_text(source: str, position: int) -> Ending:
    line = source.count("\n", 0, position) + 1
    return Ending(
        "exception",
        f"the program is not valid text: line {line} holds a lone surrogate "
        f"(\\u{ord(source[position]):04x}), half of a character; write the whole character, or an escape",
    )


# ------------------------------------------------------------------------------- on the way


def out_of_wall(limits: Limits) -> Ending:
    return Ending(
        "timeout",
        f"the program ran for its {limits.wall_seconds:g} s of wall time and was stopped; "
        "do less per run, call slow tools at the same time, or raise wall_seconds (--timeout)",
    )


def out_of_calls(limits: Limits) -> Ending:
    return Ending(
        "call-limit",
        f"the program made more than its {limits.max_calls:,} tool calls; "
        "ask for more with each call, or raise max_calls (--max-calls)",
    )


def out_of_calls_in_flight(limits: Limits) -> Ending:
    return Ending(
        "call-limit",
        f"the program had more than its {limits.max_calls_in_flight:,} tool calls under way at once; "
        "wait for some before making more (asyncio.Semaphore), or raise max_calls_in_flight",
    )


def printed_too_much(limits: Limits) -> Ending:
    return Ending(
        "output-limit",
        f"the program printed more than its {size(limits.log_bytes)}; "
        "print less, return the data, or raise log_bytes",
    )


def result_too_large(length: int, limits: Limits) -> Ending:
    return Ending(
        "output-limit",
        f"the result is {length:,} bytes, over the {size(limits.result_bytes)} allowed; "
        "return a part or a summary of it, or raise result_bytes",
    )


def too_many_parts(limit: int) -> Ending:
    return Ending(
        "output-limit",
        f"a value holds more than {limit:,} parts (each list, dict, key, string and number is one); pass or return a "
        "part or a summary of it, or join rows into text (csv, json.dumps), which counts as one",
    )


def arguments_too_large(tool: str, length: int, limits: Limits) -> Ending:
    return Ending(
        "output-limit",
        f"the arguments of a call of {tool} are {length:,} bytes, over the {size(limits.result_bytes)} allowed; "
        "pass them in parts, or raise result_bytes",
    )


def protocol(what: str) -> Ending:
    return Ending("worker-exit", f"the program broke the protocol with its host ({what}) and was stopped")


# ------------------------------------------------------------------------------- by the kernel's word


def from_status(ended: Ended | None, limits: Limits, memory_bytes: int, *, oom_seen: bool) -> Ending:
    """Say how a guest ended that sent no end of its own, from its wait status.

    `ended` is None when nobody could wait for it; `memory_bytes` is what it had in use at most, beyond what every
    guest has; `oom_seen` says that the kernel has lately killed something for want of memory.
    """
    if ended is None:
        return Ending("worker-exit", "the process that ran the program was lost; run it again")
    if os.WIFEXITED(ended.status):
        code = os.WEXITSTATUS(ended.status)
        if code == OUT_OF_MEMORY:
            return out_of_memory(limits)
        return Ending(
            "worker-exit", f"the process that ran the program ended without a result (exit code {code})"
        )
    number = os.WTERMSIG(ended.status)
    if number in (signal.SIGPROF, signal.SIGXCPU) or (
        number == signal.SIGKILL and ended.cpu_seconds >= limits.cpu_seconds
    ):
        return Ending(
            "timeout",
            f"the program used its {limits.cpu_seconds:g} s of processor time; "
            "do less work per run, or raise cpu_seconds (--cpu)",
        )
    share = memory_bytes / limits.memory_bytes
    if (number in _CRASHES and share >= _NEAR) or (
        number == signal.SIGKILL and (oom_seen or share >= _ABOUT_ALL)
    ):
        return out_of_memory(limits)
    if number == signal.SIGSYS:
        return Ending("worker-exit", "the program tried a forbidden system call and was stopped")
    if number in _CRASHES:
        return Ending(
            "worker-exit",
            f"the program crashed the interpreter ({signal.Signals(number).name}); "
            "look for very deep nesting or recursion through built-in functions",
        )
    return Ending(
        "worker-exit", f"the process that ran the program was killed ({_name(number)}); run it again"
    )


def out_of_memory(limits: Limits) -> Ending:
    return Ending(
        "memory-limit",
        f"the program needed more than its {size(limits.memory_bytes)} of memory; "
        "hold less at once, or raise memory_bytes (--memory)",
    )


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
