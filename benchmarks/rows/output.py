"""P10: how much memory the host takes while a program prints, returns or passes 64 MiB in pieces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import trio
from msgspec import Struct

from benchmarks.bench import Bench
from benchmarks.processes import memory_of, peak_bytes, reset_peak
from benchmarks.records import Check, Row, Series, missing, spread_of
from codemode import CodeMode, Limits, as_json, tool

__all__ = ["Case", "growth", "measure"]

BOUND = 3.0
MIB = 1024 * 1024
PIECES = 64
_ROOT = Path(__file__).parents[2]
_CHILD = "from benchmarks.rows import output; output.main()"


class Case(Struct, frozen=True, kw_only=True):
    """One way of much output. `bound` is the limit that it is under, in MiB; `ends` what the run is to end as."""

    what: str
    program: str
    bound: int
    ends: str | None = None
    gives: int | None = None


_PRINTED = "for n in range({pieces}):\n    print('x' * {size})\n"
_RETURNED = "return ['x' * {size} for n in range({pieces})]"
_PASSED = "n = 0\nfor _ in range({pieces}):\n    n += tools.measure_text(text='x' * {size})\nreturn n"
CASES = (
    Case(what="printed, all of it kept", program=_PRINTED, bound=PIECES + 1),
    Case(what="printed, an eighth of it kept", program=_PRINTED, bound=PIECES // 8, ends="output-limit"),
    Case(what="returned as one list", program=_RETURNED, bound=PIECES + 1, gives=PIECES),
    Case(what="returned, over the limit", program=_RETURNED, bound=PIECES // 8, ends="output-limit"),
    Case(what="passed to a tool, call by call", program=_PASSED, bound=PIECES // 8, gives=PIECES * MIB),
)


async def measure(bench: Bench) -> Row:
    checks, series = [], []
    for case in CASES:
        found: list[float] = []
        why = ""
        for _ in range(bench.count(3)):
            growth, why = await trio.to_thread.run_sync(_in_child, case)
            if why:
                break
            found.append(growth)
        against = f"{case.what}; bound {case.bound} MiB"
        if why:
            checks.append(missing(against, "×", BOUND, why))
            continue
        note = f"{spread_of(found).median / MIB:.1f} MiB"
        figure = spread_of([value / (case.bound * MIB) for value in found])
        checks.append(Check(against=against, unit="×", bound=BOUND, figure=figure, note=note))
        megabytes = spread_of([value / MIB for value in found])
        series.append(Series(engine="codemode", what=against, unit="MiB", spread=megabytes))
    return Row(
        id="P10",
        name="output",
        title=f"Growth of the host's memory over {PIECES} MiB of output in pieces, by the bound set",
        checks=checks,
        series=series,
        notes=[
            "The most that the host had in RAM during the run, above what it had before, after a small run; each "
            "time in a host of its own. The bound is the limit of the run: log_bytes for what is printed, "
            "result_bytes for what is returned or passed."
        ],
    )


def _in_child(case: Case) -> tuple[float, str]:
    """Run a case in a host of its own; return its growth, or why it could not be measured."""
    command = [sys.executable, "-c", _CHILD, str(CASES.index(case))]
    ended = subprocess.run(command, stdout=subprocess.PIPE, cwd=_ROOT, check=False)
    if ended.returncode != 0:
        return 0.0, f"the host that was measured ended with {ended.returncode}"
    return float(json.loads(ended.stdout)), ""


@tool(render=as_json)
async def measure_text(text: str) -> int:
    """Return the length of a text."""
    return len(text)


async def growth(case: Case, session: str, pieces: int = PIECES, size: int = MIB) -> int:
    """Run a case in this process, logged to a file, and return by how many bytes its memory grew."""
    limit = case.bound * MIB
    limits = Limits(log_bytes=limit, result_bytes=limit)
    async with CodeMode([measure_text], limits=limits, session=session) as cm:
        for _ in range(3):
            await cm.run("print('x' * 1000)\nreturn tools.measure_text(text='x' * 1000)")
        before = memory_of(os.getpid()).resident
        reset_peak()
        ran = await cm.run(case.program.format(pieces=pieces, size=size))
        grown = peak_bytes() - before
    kind = None if ran.error is None else ran.error.kind
    if kind != case.ends:
        raise AssertionError(f"{case.what}: ended as {kind!r} ({ran.text[:200]})")
    got = len(ran.result) if isinstance(ran.result, list) else ran.result
    if got != case.gives:
        raise AssertionError(f"{case.what}: gave {got!r} where {case.gives!r} was due")
    return max(0, grown)


def main() -> None:
    """Measure the case of the number on the command line, in this process, and print the bytes."""
    with TemporaryDirectory() as directory:
        print(trio.run(growth, CASES[int(sys.argv[1])], f"{directory}/session.db"))
