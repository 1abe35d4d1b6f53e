"""The figures: what is measured against what.

fresh-run    a confined run of `return 1 + 2`, from call to result, against starting a bare interpreter
nested-call  one tool call of a program, through the whole pipeline and into the log, against one round
             trip between two processes over a socket pair under trio
cpu-bound    programs that only compute, against the same source under plain CPython
compile      a program of 100 lines, checked and compiled as a guest does it, against CPython's own `compile`
"""

from __future__ import annotations

import json
import math
import os
import socket
import statistics
import subprocess
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import trio

from benchmarks.measure import Figure, compare
from benchmarks.programs import CPU_BOUND
from codemode import CodeMode, as_json, tool

__all__ = ["FIGURES", "compile_", "cpu_bound", "fresh_run", "nested_call"]


@tool(render=as_json)
async def increment(n: int) -> int:
    """Add one."""
    return n + 1


async def fresh_run() -> Figure:
    async with CodeMode() as cm:

        async def run() -> None:
            result = await cm.run("return 1 + 2")
            assert result.result == 3, result.text

        async def interpreter() -> None:
            subprocess.run([sys.executable, "-I", "-S", "-c", "1 + 2"], check=True)

        return await compare(
            "fresh-run",
            ("a confined run of `return 1 + 2`", run),
            ("starting `python -I -S`", interpreter),
            rounds=9,
            samples=15,
        )


CALLS = 200
_PROGRAM = f"n = 0\nfor _ in range({CALLS}):\n    n = tools.increment(n=n)\nreturn n"
_ECHO = """
import os, sys
fd = int(sys.argv[1])
while True:
    data = os.read(fd, 65536)
    if not data:
        break
    os.write(fd, data)
"""


async def nested_call() -> Figure:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        peer = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _ECHO, str(theirs.fileno())], pass_fds=[theirs.fileno()]
        )
        theirs.close()
        ours.setblocking(False)
        try:
            async with CodeMode([increment]) as cm:

                async def program() -> None:
                    result = await cm.run(_PROGRAM)
                    assert result.result == CALLS, result.text

                async def round_trips() -> None:
                    for _ in range(CALLS):
                        os.write(ours.fileno(), b"x" * 32)
                        await trio.lowlevel.wait_readable(ours)
                        assert len(os.read(ours.fileno(), 64)) == 32

                return await compare(
                    "nested-call",
                    ("one tool call, whole pipeline", program),
                    ("one bare round trip under trio", round_trips),
                    rounds=9,
                    samples=3,
                    per_subject=CALLS,
                    per_reference=CALLS,
                )
        finally:
            ours.close()
            peer.wait()


_OURS = """
import time as _clock
_start = _clock.thread_time()
{program}
return [_clock.thread_time() - _start, _value]
"""
_PLAIN = """
import json as _json
import time as _clock
def main():
{program}
    return _value
_start = _clock.thread_time()
_value = main()
print(_json.dumps([_clock.thread_time() - _start, _value]))
"""
_ROUNDS = 7


async def cpu_bound() -> Figure:
    """The geometric mean over the programs; each is timed inside its own interpreter."""
    figures = []
    async with CodeMode() as cm:
        for name, source in CPU_BOUND.items():
            figures.append(await _one_program(cm, name, source))
    for figure in figures:
        print(f"    {figure.name:14} {figure.ratio:5.2f}  ({_milliseconds(figure)})", file=sys.stderr)
    mean = math.exp(sum(math.log(figure.ratio) for figure in figures) / len(figures))
    return Figure(
        name="cpu-bound",
        subject="programs that compute, in the sandbox",
        reference="the same under plain CPython",
        subject_seconds=sum(figure.subject_seconds for figure in figures),
        reference_seconds=sum(figure.reference_seconds for figure in figures),
        ratio=mean,
        low=min(figure.ratio for figure in figures),
        high=max(figure.ratio for figure in figures),
        rounds=figures[0].rounds,
    )


def _milliseconds(figure: Figure) -> str:
    return f"{figure.subject_seconds * 1e3:.0f} ms against {figure.reference_seconds * 1e3:.0f}"


async def _one_program(cm: CodeMode, name: str, source: str) -> Figure:
    """Both sides time themselves, so that starting them does not count; and in processor time, for guests give way
    to whatever else runs. A program stands at the top level here, and in a function, the fastest place, there."""
    head, _, value = source.rpartition("\nreturn ")
    program = f"{head}\n_value = {value}"
    ours_timed = _OURS.format(program=program)
    plain_timed = _PLAIN.format(program="\n".join("    " + line for line in program.splitlines()))
    ratios, ours, plain = [], [], []
    for _ in range(_ROUNDS):
        result = await cm.run(ours_timed)
        assert result.error is None, f"{name}: {result.text}"
        output = subprocess.run(
            [sys.executable, "-I", "-c", plain_timed], check=True, capture_output=True
        ).stdout
        seconds, expected = json.loads(output)
        assert result.result[1] == expected, name
        ours.append(result.result[0])
        plain.append(seconds)
        ratios.append(result.result[0] / seconds)
    ratios.sort()
    return Figure(
        name=name,
        subject="in the sandbox",
        reference="plain CPython",
        subject_seconds=statistics.median(ours),
        reference_seconds=statistics.median(plain),
        ratio=statistics.median(ratios),
        low=ratios[1],
        high=ratios[-2],
        rounds=_ROUNDS,
    )


_COMPILE = """
import json, sys, time, statistics
from codemode.guest.language.compiler import compile_program
source = sys.stdin.read()

def seconds(f):
    times = []
    for _ in range(30):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return statistics.median(times)

ours = lambda: compile_program(source)
plain = lambda: compile("def main():\\n" + "".join("    " + line for line in source.splitlines(True)), "<p>", "exec")
pairs = [(seconds(ours), seconds(plain)) for _ in range(9)]
print(json.dumps(pairs))
"""


async def compile_() -> Figure:
    source = hundred_lines()
    output = subprocess.run(
        [sys.executable, "-c", _COMPILE], input=source.encode(), check=True, capture_output=True
    ).stdout
    pairs = json.loads(output)
    ratios = sorted(ours / plain for ours, plain in pairs)
    return Figure(
        name="compile",
        subject="checking and compiling 100 lines",
        reference="CPython's compile of them",
        subject_seconds=statistics.median(ours for ours, _ in pairs),
        reference_seconds=statistics.median(plain for _, plain in pairs),
        ratio=statistics.median(ratios),
        low=ratios[2],
        high=ratios[-3],
        rounds=len(pairs),
    )


def hundred_lines() -> str:
    """The first lines of the programs above, as one program of 100 lines."""
    lines: list[str] = []
    for name in ("richards", "raytrace"):
        lines += CPU_BOUND[name].splitlines()
    return "\n".join(lines[:100]) + "\n"


FIGURES: dict[str, Callable[[], Coroutine[Any, Any, Figure]]] = {
    "fresh-run": fresh_run,
    "nested-call": nested_call,
    "cpu-bound": cpu_bound,
    "compile": compile_,
}
