"""P6: 100 gathered calls of 10 ms each, at most 10 at once: how much longer than the 100 ms that they must take."""

from __future__ import annotations

import asyncio
import statistics

import trio

from benchmarks import peers
from benchmarks.bench import Bench
from benchmarks.peers import Function
from benchmarks.records import Check, Row, spread_of
from benchmarks.sampling import Side, alternate, take
from codemode import CodeMode, as_json, tool

__all__ = ["measure"]

BOUND = 1.10
CALLS, CAP, SECONDS = 100, 10, 0.010
IDEAL = CALLS / CAP * SECONDS
PROGRAM = f"import asyncio\nfound = await asyncio.gather(*[tools.wait(n=n) for n in range({CALLS})])\nreturn sum(found)"
WHAT = f"{CALLS} gathered calls of {SECONDS * 1000:g} ms, {CAP} at once"


@tool(render=as_json, parallel=True)
async def wait(n: int) -> int:
    """Wait a moment and return what was given."""
    await trio.sleep(SECONDS)
    return n


def _function() -> Function:
    """The peer has no cap of its own; the function keeps one."""
    slots: asyncio.Semaphore | None = None

    async def asynchronous(n: int) -> int:
        nonlocal slots
        slots = slots or asyncio.Semaphore(CAP)
        async with slots:
            await asyncio.sleep(SECONDS)
        return n

    def plain(n: int) -> int:
        raise NotImplementedError("calls that overlap must be asynchronous")

    return Function(plain, asynchronous)


async def _bare() -> object:
    """The same waiting under trio alone: no engine, no program, nothing made of the values."""
    slots, found = trio.CapacityLimiter(CAP), []

    async def one(n: int) -> None:
        async with slots:
            await trio.sleep(SECONDS)
        found.append(n)

    async with trio.open_nursery() as nursery:
        for n in range(CALLS):
            nursery.start_soon(one, n)
    return sum(found)


async def measure(bench: Bench) -> Row:
    expected = sum(range(CALLS))
    async with CodeMode([wait], session=bench.new_file(), max_parallel_calls=CAP) as cm:

        async def run() -> object:
            ran = await cm.run(PROGRAM)
            return ran.error or ran.result

        ours = Side(engine="codemode", what=WHAT, take=take(run, expected))
        bare = Side(
            engine="trio", what=f"{CALLS} bare sleeps of {SECONDS * 1000:g} ms", take=take(_bare, expected)
        )
        sides, unable = await bench.sides([peers.ASYNC_MONTY], WHAT, PROGRAM, expected, {"wait": _function()})
        measured = await alternate(
            [ours, bare, *sides.values()], rounds=bench.count(7, 2), samples=bench.count(3, 1)
        )
    samples = measured.samples[0]
    return Row(
        id="P6",
        name="gathered",
        title=WHAT,
        checks=[
            Check(
                against=f"the ideal {IDEAL * 1000:g} ms",
                unit="×",
                bound=BOUND,
                figure=spread_of([seconds / IDEAL for seconds in samples]),
                note=f"{statistics.median(samples) * 1000:.1f} ms",
            )
        ],
        series=[*measured.series(), *unable],
        notes=[
            "From the start of the run to its result, its start and end and the log included. What bare sleeps take is "
            "the least that an engine under trio can: the kernel's wait is told whole milliseconds.",
        ],
    )
