"""P4: a tool's value of 5,000 rows into the program, frozen there; and how the cost grows with the size."""

from __future__ import annotations

import statistics
from functools import partial
from typing import TypedDict

from benchmarks import peers
from benchmarks.bench import Bench
from benchmarks.peers import Function
from benchmarks.records import Curve, Row
from benchmarks.sampling import Measured, Side, alternate, take
from codemode import CodeMode, Tool, as_json, text, tool

__all__ = ["PLOT", "Record", "made", "measure"]

BOUND = 0.5
ROWS = 5_000
SIZES = (1, 10, 100, 1_000, 5_000, 20_000)
PLOT = "values"
CALLS = 4


class Record(TypedDict):
    """One row: five fields of the usual kinds, about 90 bytes as JSON."""

    id: int
    name: str
    email: str
    score: float
    active: bool


def made(count: int) -> list[Record]:
    """Return that many rows."""
    return [
        {"id": n, "name": f"customer {n}", "email": f"c{n}@example.org", "score": n / 7, "active": n % 3 == 0}
        for n in range(count)
    ]


def _tool(count: int, *, whole: bool) -> Tool:
    rows = made(count)

    async def rows_of() -> list[Record]:
        """Return the rows."""
        return rows

    render = as_json if whole else lambda arguments, value: [text(f"{len(value)} rows")]
    return tool(rows_of, render=render)


async def measure(bench: Bench) -> Row:
    curves: dict[str, list[tuple[float, float]]] = {}
    kept: tuple[Measured, Side, dict[str, Side]] | None = None
    series = []
    for size in sorted({*SIZES, ROWS}):
        measured, ours, sides, unable = await _one_size(bench, size)
        for side, samples in zip(measured.sides, measured.samples, strict=True):
            name = f"{side.engine}, rendered whole" if side.note.endswith("as JSON") else side.engine
            curves.setdefault(name, []).append((float(size), statistics.median(samples)))
        if size == ROWS:
            kept = measured, ours, sides
            series = [*measured.series(), *unable]
    assert kept is not None
    measured, ours, sides = kept
    return Row(
        id="P4",
        name="values",
        title=f"A tool's value of {ROWS:,} rows into the program, frozen",
        checks=[bench.check(measured, ours, sides, peers.ASYNC_MONTY, BOUND)],
        series=series,
        curves=[Curve(plot=PLOT, name=name, points=points) for name, points in curves.items()],
        notes=[
            f"A call's share of a run that makes {CALLS}; rows of five fields, about 90 bytes each as JSON. The tool "
            "shows a line of text; rendering the whole value as JSON and logging that is the line beside it. The "
            "asynchronous peer awaits its function, as in the nested call. Peers in this process hand over a "
            "reference: no copy, no check, and the program can change what the host holds."
        ],
    )


async def _one_size(bench: Bench, size: int) -> tuple[Measured, Side, dict[str, Side], list]:
    program = f"n = 0\nfor _ in range({CALLS}):\n    n += len(tools.rows_of())\nreturn n"
    expected = CALLS * size
    what = f"a value of {size:,} rows"
    rows = made(size)

    async def asynchronous() -> list[Record]:
        return rows

    functions = {"rows_of": Function(lambda: rows, asynchronous)}
    async with (
        CodeMode([_tool(size, whole=False)], session=bench.new_file()) as short,
        CodeMode([_tool(size, whole=True)], session=bench.new_file()) as long,
    ):

        async def run(cm: CodeMode) -> object:
            ran = await cm.run(program)
            return ran.error or ran.result

        ours, whole = (
            Side(
                engine="codemode",
                what=what,
                take=take(partial(run, cm), expected),
                per=CALLS,
                note=note,
                share=share,
            )
            for cm, note, share in ((short, "shown as one line", 1.0), (long, "shown whole, as JSON", 0.3))
        )
        others = [peers.SYNC_MONTY, peers.SMOLAGENTS, peers.RESTRICTED, peers.EXEC]
        sides, unable = await bench.sides(others, what, program, expected, functions, per=CALLS)
        awaiting, cannot = await bench.sides(
            [peers.ASYNC_MONTY],
            what,
            program.replace("tools.rows_of()", "(await tools.rows_of())"),
            expected,
            functions,
            per=CALLS,
        )
        sides.update(awaiting)
        measured = await alternate(
            [ours, whole, *sides.values()],
            rounds=bench.count(7 if size == ROWS else 3, 2),
            samples=bench.count(3, 2),
        )
    return measured, ours, sides, [*unable, *cannot]
