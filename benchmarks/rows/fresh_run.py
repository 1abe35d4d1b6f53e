"""P1: a fresh confined run of the smallest program, from call to result, beside the peers."""

from __future__ import annotations

from benchmarks import peers
from benchmarks.bench import Bench
from benchmarks.records import Row
from benchmarks.sampling import Side, alternate, take
from codemode import CodeMode

__all__ = ["measure"]

PROGRAM = "return 1 + 2"
WHAT = "a fresh run of `return 1 + 2`"
BOUND = 1.0


async def measure(bench: Bench) -> Row:
    async with CodeMode() as in_memory, CodeMode(session=bench.new_file()) as in_file:

        async def run(cm: CodeMode) -> object:
            return (await cm.run(PROGRAM)).result

        ours = Side(engine="codemode", what=WHAT, take=take(lambda: run(in_memory), 3), note="log in memory")
        logged = Side(
            engine="codemode",
            what=WHAT,
            take=take(lambda: run(in_file), 3),
            note="log in an SQLite file, on disk",
        )
        sides, unable = await bench.sides(
            list(peers.PEERS), WHAT, PROGRAM, 3, shares={peers.INTERPRETER: 0.15, peers.FRESH_MONTY: 0.5}
        )
        measured = await alternate(
            [ours, logged, *sides.values()], rounds=bench.count(15, 2), samples=bench.count(20, 2)
        )
    return Row(
        id="P1",
        name="fresh-run",
        title="Fresh confined run of `return 1 + 2`, whole pipeline",
        checks=[bench.check(measured, ours, sides, peers.ASYNC_MONTY, BOUND)],
        series=[*measured.series(), *unable],
        notes=[
            "The bound is taken from pydantic-monty's asynchronous interface: an engine's host goes on with other "
            "work while a program runs, as this one's does. The synchronous interface is shown beside it.",
            "Here every run has a process of its own. pydantic-monty gives a worker process that has served one "
            "session to the next; the line with a process per session is what it takes when it does not.",
        ],
    )
