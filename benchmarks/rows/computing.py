"""P3: programs that only compute, beside CPython and the peers. Processor time, so that nobody's waiting counts."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import trio

from benchmarks import peers
from benchmarks.bench import Bench
from benchmarks.peers import CannotRun, reason
from benchmarks.programs import CPU_BOUND, as_expression, as_function
from benchmarks.records import Check, Grid, Row, Spread, missing, spread_of
from codemode import CodeMode

__all__ = ["measure"]

CPYTHON_BOUND = 1.10
MONTY_BOUND = 0.33
SLOW_SECONDS = 20.0
"""How long a peer may take for a program; all but the slowest take a tenth of a second."""

_CHILD = Path(peers.__file__).with_name("child.py")
_CPYTHON = "CPython"
_ONCE = (peers.SMOLAGENTS, peers.RESTRICTED)

Timed = tuple[float, Any]
Way = Callable[[str], Awaitable[Timed]]


async def measure(bench: Bench) -> Row:
    names = list(CPU_BOUND)[: bench.count(len(CPU_BOUND), 2)]
    async with CodeMode() as cm:

        async def in_guest(program: str) -> Timed:
            ran = await cm.run(program)
            if ran.error is not None:
                raise CannotRun(ran.error.message)
            return ran.usage.cpu_seconds, ran.result

        compared: dict[str, Way] = {"codemode": in_guest, _CPYTHON: _child("plain", as_function)}
        if peers.SYNC_MONTY in bench.engines:
            compared[peers.SYNC_MONTY] = _monty(bench.engines[peers.SYNC_MONTY])
        once: dict[str, Way] = {}
        if peers.SMOLAGENTS in bench.engines:
            once[peers.SMOLAGENTS] = _child("smolagents", as_expression)
        if peers.RESTRICTED in bench.engines:
            once[peers.RESTRICTED] = _child("restricted", as_function)
        found = {name: await _program(CPU_BOUND[name], compared, once, bench.count(5, 2)) for name in names}
    columns = [*compared, *once]
    return Row(
        id="P3",
        name="computing",
        title=f"Programs that only compute ({len(names)}), geometric mean",
        checks=[_check(found, _CPYTHON, CPYTHON_BOUND), _monty_check(bench, found)],
        grids=[
            Grid(
                title="Processor time, as a multiple of CPython's (and CPython's own, in milliseconds)",
                columns=["program", f"{_CPYTHON}, ms", *(name for name in columns if name != _CPYTHON)],
                lines=[(name, _line(each, columns)) for name, each in found.items()]
                + [("geometric mean", _means(found, columns))],
            )
        ],
        notes=[
            "Seconds of processor time of the process that computes, compiling included, each run in a fresh one. "
            "Under CPython the program is a function, its fastest place. What differs from CPython's result is "
            "no result.",
            "smolagents and RestrictedPython run each program once.",
            *(
                _unable(name, found)
                for name in columns
                if any(name in each.cannot for each in found.values())
            ),
            *(f"{name}: {why}." for name, why in bench.absent.items() if name in _ONCE),
        ],
    )


class _Found:
    """One program: for each engine its times, or why it has none; and the ratios to ours, round by round."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}
        self.cannot: dict[str, str] = {}

    def ratio(self, to: str) -> float | None:
        """How many times as long as `to` ours took, the median over the rounds; None if either has no time."""
        ours, theirs = self.times.get("codemode"), self.times.get(to)
        if not ours or not theirs:
            return None
        return statistics.median(left / right for left, right in zip(ours, theirs, strict=True))


async def _program(source: str, compared: dict[str, Way], once: dict[str, Way], rounds: int) -> _Found:
    found = _Found()
    _, expected = await compared[_CPYTHON](source)
    for number in range(rounds):
        for name, way in compared.items() if number % 2 == 0 else reversed(compared.items()):
            await _one(found, name, way, source, expected)
    for name, way in once.items():
        await _one(found, name, way, source, expected)
    return found


async def _one(found: _Found, name: str, way: Way, source: str, expected: object) -> None:
    if name in found.cannot:
        return
    try:
        seconds, value = await way(source)
    except CannotRun as error:
        found.cannot[name] = str(error)
        return
    if value != expected:
        found.cannot[name] = "another result"
        return
    found.times.setdefault(name, []).append(seconds)


def _child(engine: str, form: Callable[[str], str]) -> Way:
    """Return how to run a program in a plain interpreter of its own, which times itself."""

    async def way(program: str) -> Timed:
        command = [sys.executable, "-P", str(_CHILD), engine]
        try:
            ended = await trio.to_thread.run_sync(
                lambda: subprocess.run(
                    command,
                    input=form(program).encode(),
                    capture_output=True,
                    timeout=SLOW_SECONDS,
                    check=False,
                )
            )
        except subprocess.TimeoutExpired:
            raise CannotRun(f"more than {SLOW_SECONDS:.0f} s") from None
        if ended.returncode != 0:
            raise CannotRun(ended.stderr.decode(errors="replace").strip().splitlines()[-1][:120])
        said = json.loads(ended.stdout.splitlines()[-1])
        if isinstance(said, dict):
            raise CannotRun(said["cannot"])
        return said[0], said[1]

    return way


def _monty(engine: Any) -> Way:
    """Return how to run a program in a session of pydantic-monty; the time is that of its worker process."""

    async def way(program: str) -> Timed:
        try:
            seconds, value = await trio.to_thread.run_sync(engine.measure, program, _processor_time)
        except CannotRun:
            raise
        except Exception as error:
            raise CannotRun(reason(error)) from error
        return seconds, value

    return way


def _processor_time(pid: int) -> float:
    return time.clock_gettime(~pid << 3 | 2)  # its CPUCLOCK_SCHED (include/linux/posix-timers.h)


def _check(found: dict[str, _Found], to: str, bound: float, note: str = "") -> Check:
    ratios = [ratio for each in found.values() if (ratio := each.ratio(to)) is not None]
    if not ratios:
        return missing(to, "×", bound, "no program ran on both")
    quarters = spread_of(ratios)
    mean = Spread(low=quarters.low, median=_mean(ratios), high=quarters.high, count=len(ratios))
    return Check(against=f"{to}: the same programs", unit="×", bound=bound, figure=mean, note=note)


def _monty_check(bench: Bench, found: dict[str, _Found]) -> Check:
    name = peers.SYNC_MONTY
    if name not in bench.engines:
        return missing(name, "×", MONTY_BOUND, bench.why_absent(name))
    cannot = sum(name in each.cannot for each in found.values())
    return _check(
        found, name, MONTY_BOUND, f"without the {cannot} programs that it cannot run" if cannot else ""
    )


def _unable(name: str, found: dict[str, _Found]) -> str:
    """Say which programs an engine cannot run, and why; programs with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for program, each in found.items():
        if name in each.cannot:
            reasons.setdefault(each.cannot[name], []).append(program)
    return (
        f"{name} cannot run "
        + "; ".join(f"{', '.join(names)} (`{why}`)" for why, names in reasons.items())
        + "."
    )


def _line(each: _Found, columns: list[str]) -> list[float | str]:
    base = statistics.median(each.times[_CPYTHON])
    cells: list[float | str] = [base * 1000]
    for name in columns:
        if name == _CPYTHON:
            continue
        if name in each.cannot:
            cells.append("cannot")
        else:
            cells.append(statistics.median(each.times[name]) / base)
    return cells


def _means(found: dict[str, _Found], columns: list[str]) -> list[float | str]:
    cells: list[float | str] = [
        _mean([statistics.median(each.times[_CPYTHON]) for each in found.values()]) * 1000
    ]
    for name in columns:
        if name == _CPYTHON:
            continue
        ratios = [
            statistics.median(each.times[name]) / statistics.median(each.times[_CPYTHON])
            for each in found.values()
            if name not in each.cannot
        ]
        cells.append(_mean(ratios) if ratios else "none ran")
    return cells


def _mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
