"""Each row measures what it says, with few samples: what was measured is there, and against what. No time is judged."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.bench import NOT_ASKED, Bench, opened
from benchmarks.processes import Counted, children, guests_and_zygote, is_asleep, memory_of
from benchmarks.records import Row
from benchmarks.rows import (
    ROWS,
    compiling,
    computing,
    fresh_run,
    gathered,
    memory,
    nested_call,
    output,
    signatures,
    starting,
    throughput,
    values,
    workload,
)
from codemode import CodeMode

MIB = 1024 * 1024


@pytest.fixture
def bench() -> Iterator[Bench]:
    with opened(with_peers=False, scale=0.01) as bench:
        yield bench


def _measured(row: Row) -> list[tuple[str, bool]]:
    return [(check.against, check.figure is not None) for check in row.checks]


async def test_a_fresh_run_stands_beside_every_engine(bench: Bench) -> None:
    row = await fresh_run.measure(bench)
    assert _measured(row) == [(peers.ASYNC_MONTY, False)]
    assert row.checks[0].note == NOT_ASKED
    measured = {(each.engine, each.note) for each in row.series if each.spread is not None}
    assert measured == {
        ("codemode", "log in memory"),
        ("codemode", "log in an SQLite file, on disk"),
        (peers.EXEC, ""),
        (peers.INTERPRETER, ""),
    }
    assert {each.engine for each in row.series} == {"codemode", *peers.PEERS}


async def test_a_nested_call_stands_beside_a_bare_round_trip(bench: Bench) -> None:
    row = await nested_call.measure(bench)
    assert _measured(row) == [
        (peers.ASYNC_MONTY, False),
        ("trio: a bare round trip over a socket pair", True),
    ]
    assert {each.engine for each in row.series if each.spread} == {"codemode", "trio", peers.EXEC}


async def test_bare_round_trips_are_as_many_as_asked_for() -> None:
    async with nested_call.bare_round_trips(5) as trips:
        assert len(await trips(3)) == 3


async def test_programs_that_compute_give_what_cpython_gives(bench: Bench) -> None:
    row = await computing.measure(bench)
    assert _measured(row) == [("CPython: the same programs", True), (peers.SYNC_MONTY, False)]
    assert row.checks[0].figure is not None
    assert row.checks[0].figure.count == 2
    (grid,) = row.grids
    assert grid.columns == ["program", "CPython, ms", "codemode"]
    assert [name for name, _ in grid.lines] == ["loop", "dict", "geometric mean"]
    assert all(isinstance(cell, float) and cell > 0 for _, cells in grid.lines for cell in cells)


async def test_values_of_all_sizes_arrive(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "SIZES", (1, 20))
    monkeypatch.setattr(values, "ROWS", 300)
    row = await values.measure(bench)
    assert _measured(row) == [(peers.ASYNC_MONTY, False)]
    curves = {curve.name: [x for x, _ in curve.points] for curve in row.curves}
    assert curves == {
        "codemode": [1, 20, 300],
        "codemode, rendered whole": [1, 20, 300],
        peers.EXEC: [1, 20, 300],
    }


async def test_throughput_is_counted_for_every_number_of_callers(bench: Bench) -> None:
    row = await throughput.measure(bench)
    assert [(each.unit, each.figure is not None) for each in row.checks] == [("/s", True), ("×", False)]
    assert "--long" in row.checks[1].note
    (curve,) = row.curves
    assert [x for x, _ in curve.points] == [1, 2, 4, 8]
    assert all(y > 0 for _, y in curve.points)


def test_rates_are_counted_in_equal_parts_of_the_time() -> None:
    assert throughput.windows([0.1, 0.2, 0.3, 1.1, 2.9], 3.0, 3) == [3.0, 1.0, 1.0]
    assert throughput.windows([0.5, 3.0, 3.1], 3.0, 3) == [
        1.0,
        0.0,
        0.0,
    ]  # what ended too late does not count


async def test_gathered_calls_overlap(bench: Bench) -> None:
    row = await gathered.measure(bench)
    (check,) = row.checks
    assert check.figure is not None
    assert check.figure.low >= 1.0  # no less than the cap allows
    assert check.against == "the ideal 100 ms"


async def test_compiling_stands_beside_compile(bench: Bench) -> None:
    row = await compiling.measure(bench)
    assert _measured(row) == [("CPython: compile", True)]
    assert [each.engine for each in row.series] == ["codemode", "CPython"]


async def test_memory_is_that_of_a_guest_and_of_a_zygote(bench: Bench) -> None:
    row = await memory.measure(bench)
    guest, zygote = row.checks
    if guest.figure is None or zygote.figure is None:
        pytest.skip(f"{guest.note}{zygote.note}")
    assert 0.2 < guest.figure.median < 30
    assert guest.figure.median < zygote.figure.median < 200


async def test_starting_is_measured_in_new_processes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    row = await starting.measure(bench)
    assert _measured(row) == [("Python: import trio, msgspec", True), ("codemode run, whole process", True)]
    assert len(row.series) == 5


@pytest.mark.parametrize("case", output.CASES, ids=lambda case: case.what)
async def test_output_is_measured_as_it_must_end(case: output.Case, tmp_path: Path) -> None:
    pieces, bound = 4, 5 if case.bound > output.PIECES else 1
    gives = None if case.gives is None else pieces * 262_144 if case.gives > output.PIECES else pieces
    small = output.Case(what=case.what, program=case.program, bound=bound, ends=case.ends, gives=gives)
    size = MIB if case.ends or bound > 1 else 262_144
    grown = await output.growth(small, str(tmp_path / "session.db"), pieces=pieces, size=size)
    assert 0 <= grown < 200 * MIB


async def test_output_that_ends_otherwise_is_not_measured(tmp_path: Path) -> None:
    wrong = output.Case(what="x", program="return 1", bound=1, ends="output-limit")
    with pytest.raises(AssertionError, match="ended as None"):
        await output.growth(wrong, str(tmp_path / "session.db"))
    wrong = output.Case(what="x", program="return 1", bound=1, gives=2)
    with pytest.raises(AssertionError, match="gave 1 where 2 was due"):
        await output.growth(wrong, str(tmp_path / "other.db"))


async def test_a_task_costs_a_model_the_same_context_however_many_calls_one_program_makes() -> None:
    async with CodeMode([workload.customer]) as cm:
        one = {count: await workload.one_program(cm, count) for count in (2, 30)}
        each = {count: await workload.call_by_call(cm, count) for count in (2, 30)}
    # customers 2 and 28, 30 …: the even ones are active
    assert one[2].answer == each[2].answer == {"active": 1, "owes": 0.5}
    assert one[30].answer == each[30].answer == {"active": 15, "owes": sum(n / 4 for n in range(2, 31, 2))}
    assert (one[2].turns, one[30].turns, each[2].turns, each[30].turns) == (1, 1, 2, 30)
    assert one[30].content_bytes - one[2].content_bytes < 10  # two digits of a number
    assert each[30].content_bytes > 10 * each[2].content_bytes
    assert one[30].envelope_bytes == one[2].envelope_bytes
    assert each[30].envelope_bytes == 15 * each[2].envelope_bytes
    assert each[30].read_bytes > 10 * (each[30].content_bytes + each[30].envelope_bytes)
    assert one[30].read_bytes == one[30].content_bytes + one[30].envelope_bytes


def test_a_transcript_counts_what_is_written_and_shown_and_what_is_put_around_it() -> None:
    transcript = workload.Transcript()
    transcript.turn("look", {"id": 1}, "é")
    turn = (
        '[{"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_000000000000000000000001", '
        '"name": "look", "input": {"id": 1}}]}, {"role": "user", "content": [{"type": "tool_result", '
        '"tool_use_id": "toolu_000000000000000000000001", "content": [{"type": "text", "text": "é"}]}]}]'
    )
    assert transcript.content_bytes == len('{"id": 1}') + len("é".encode())
    assert transcript.content_bytes + transcript.envelope_bytes == len(turn.encode())
    assert transcript.read_bytes == 0
    transcript.turn("look", {"id": 2}, "e")
    assert transcript.read_bytes == len(turn.encode())


async def test_the_task_is_a_row_with_both_ways_of_it(bench: Bench) -> None:
    row = await workload.measure(bench)
    assert [name for name, _ in row.grids[0].lines] == [
        "1 call, call by call",
        "1 call, one program",
        "10 calls, call by call",
        "10 calls, one program",
    ]
    assert {curve.plot for curve in row.curves} == {workload.PLOT_BYTES, workload.PLOT_SECONDS}


async def test_the_signatures_of_few_and_many_tools_are_a_row(bench: Bench) -> None:
    row = await signatures.measure(bench)
    assert [name for name, _ in row.grids[0].lines] == ["10", "100"]
    assert all(check.figure is not None for check in row.checks)
    assert [each.what for each in row.series][:3] == [
        "signatures, 10 tools",
        "prompt, 10 tools",
        "prompt within the budget, 10 tools",
    ]
    sizes = dict(row.grids[0].lines)
    assert sizes["100"][0] > 5 * sizes["10"][0] > 0  # type: ignore[operator]


def test_what_is_written_of_tools_is_measured_as_it_is() -> None:
    found = signatures.written(20, 1)
    tree = ast.parse(found.signatures)
    functions = {each.name for each in tree.body if isinstance(each, ast.AsyncFunctionDef)}
    assert {"change_issue_0", "read_branch_11", "say_branch_19"} <= functions
    assert '# tools["set-up_issue_7"](' in found.signatures
    assert found.signatures.rstrip() in found.prompt
    assert found.size_ratio == len(found.signatures.encode()) / len(found.definitions)
    assert len(json.loads(found.definitions)) == 20
    assert found.within_budget == found.prompt  # so few are not listed in fewer words


async def test_processes_are_found_and_read() -> None:
    async with CodeMode() as cm:
        assert (await cm.run("return 1")).result == 1
        guests, zygote = guests_and_zygote()
        assert zygote not in guests
        assert set(guests) <= set(children(zygote))
        assert memory_of(zygote).private <= memory_of(zygote).resident
        assert is_asleep(zygote) in (True, False)
    with pytest.raises(RuntimeError, match="0 zygotes"):
        guests_and_zygote()
    assert not is_asleep(2**22 + 1)
    assert Counted(5, 4, 3, 2, 1).since(Counted(1, 1, 1, 1, 1)) == Counted(4, 3, 2, 1, 0)


def test_the_rows_are_in_the_order_of_the_table() -> None:
    assert list(ROWS) == [
        "fresh-run",
        "nested-call",
        "computing",
        "values",
        "throughput",
        "gathered",
        "compiling",
        "memory",
        "starting",
        "output",
        "signatures",
        "workload",
    ]
