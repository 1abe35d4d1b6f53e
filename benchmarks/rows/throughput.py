"""P5: fresh runs a second with 1, 2, 4 and 8 concurrent callers, and whether that stays so over time."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

import trio

from benchmarks import peers
from benchmarks.bench import Bench
from benchmarks.records import Check, Curve, Row, Series, Spread, missing, spread_of
from codemode import CodeMode

__all__ = ["PLOT", "measure", "windows"]

BOUND = 1_000.0
FLAT_BOUND = 0.9
CALLERS = (1, 2, 4, 8)
SECONDS = 6.0
LONG_SECONDS = 60.0
WINDOWS = 6
PLOT = "throughput"
PROGRAM = "return 1 + 2"


async def measure(bench: Bench) -> Row:
    seconds = max(0.2, SECONDS * bench.scale)
    async with CodeMode() as cm:
        await _ours(cm, 2, seconds / 4)
        rates = {callers: windows(await _ours(cm, callers, seconds), seconds) for callers in CALLERS}
        best = max(rates, key=lambda callers: statistics.median(rates[callers]))
        long = LONG_SECONDS if bench.long else seconds
        over_time = windows(await _ours(cm, best, long), long)
    curves = [_curve("codemode", rates)]
    series = [_series("codemode", callers, each) for callers, each in rates.items()]
    theirs: dict[int, list[float]] | None = None
    engine: Any = bench.engines.get(peers.ASYNC_MONTY)
    if engine is not None:
        theirs = {
            callers: windows(engine.runner.run(_monty(engine, callers, seconds)), seconds)
            for callers in CALLERS
        }
        curves.append(_curve(peers.ASYNC_MONTY, theirs))
        series += [_series(peers.ASYNC_MONTY, callers, each) for callers, each in theirs.items()]
    else:
        series.append(
            Series(
                engine=peers.ASYNC_MONTY,
                what="fresh runs",
                unit="/s",
                note=bench.why_absent(peers.ASYNC_MONTY),
            )
        )
    half = len(over_time) // 2
    flat = statistics.median(over_time[half:]) / statistics.median(over_time[:half])
    return Row(
        id="P5",
        name="throughput",
        title="Fresh runs a second, concurrent callers",
        checks=[
            Check(
                against=_who(best),
                unit="/s",
                bound=BOUND,
                figure=spread_of(rates[best]),
                at_least=True,
            ),
            Check(
                against="the second half of a minute against its first",
                unit="×",
                bound=FLAT_BOUND,
                figure=Spread(low=flat, median=flat, high=flat, count=len(over_time)),
                at_least=True,
            )
            if bench.long
            else missing(
                "the second half of a minute against its first",
                "×",
                FLAT_BOUND,
                f"measured with --long; over {long:g} s it was {flat:.2f}",
                at_least=True,
            ),
        ],
        series=series,
        curves=curves,
        notes=[
            "Each caller makes one run after another. Quartiles are those of the parts of the time measured."
        ],
    )


async def _ours(cm: CodeMode, callers: int, seconds: float) -> list[float]:
    """Return when each run ended, in seconds from the start."""
    ends: list[float] = []
    start = time.perf_counter()

    async def caller() -> None:
        while time.perf_counter() - start < seconds:
            ran = await cm.run(PROGRAM)
            if ran.result != 3:
                raise AssertionError(ran.text)
            ends.append(time.perf_counter() - start)

    async with trio.open_nursery() as nursery:
        for _ in range(callers):
            nursery.start_soon(caller)
    return ends


async def _monty(engine: Any, callers: int, seconds: float) -> list[float]:
    ends: list[float] = []
    start = time.perf_counter()

    async def caller() -> None:
        while time.perf_counter() - start < seconds:
            if await engine.run("1 + 2", {}) != 3:
                raise AssertionError("1 + 2")
            ends.append(time.perf_counter() - start)

    await asyncio.gather(*(caller() for _ in range(callers)))
    return ends


def windows(ends: list[float], seconds: float, parts: int = WINDOWS) -> list[float]:
    """Return the rate, in runs a second, in each of so many equal parts of the time."""
    length = seconds / parts
    counts = [0] * parts
    for end in ends:
        if end < seconds:
            counts[int(end / length)] += 1
    return [count / length for count in counts]


def _who(callers: int) -> str:
    return "1 caller" if callers == 1 else f"{callers} callers"


def _series(engine: str, callers: int, rates: list[float]) -> Series:
    return Series(engine=engine, what=f"fresh runs, {_who(callers)}", unit="/s", spread=spread_of(rates))


def _curve(name: str, rates: dict[int, list[float]]) -> Curve:
    points = [(float(callers), statistics.median(each)) for callers, each in rates.items()]
    return Curve(plot=PLOT, name=name, points=points)
