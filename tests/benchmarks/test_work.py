"""What the engine does stays within the table of work; counting sees more where more is done."""

from __future__ import annotations

import types
from pathlib import Path

import pytest
import trio

from benchmarks.work import bounds
from benchmarks.work.bytecodes import bytecodes
from benchmarks.work.guest import guest_work
from benchmarks.work.host import host_work
from benchmarks.work.processes import process_work

pytestmark = pytest.mark.timeout(300)

WRITTEN = bounds.written()
SLACK = 0.25
"""Of what is written down, how much may go unused before it must be written anew."""


@pytest.fixture(scope="module")
def host() -> dict[str, float]:
    return host_work()


@pytest.fixture(scope="module")
def guest() -> dict[str, float]:
    return guest_work()


@pytest.fixture(scope="module")
def processes() -> dict[str, float]:
    try:
        return trio.run(process_work)
    except PermissionError as error:
        pytest.skip(f"this user may not look into guests: {error}")


def _hold(found: dict[str, float], kind: tuple[str, ...]) -> None:
    version = bounds.this_version()
    wrong = []
    for name, value in found.items():
        number = WRITTEN[name].get(version)
        if number is None:
            wrong.append(f"{name}: {value:g} under Python {version}, for which nothing is written down")
        elif value > bounds.bound_of(number, name):
            wrong.append(
                f"{name}: {value:g}, where {number:g} is written and {bounds.bound_of(number, name):g} let pass"
            )
        elif value < number * (1 - SLACK):
            wrong.append(f"{name}: {value:g}, far less than the {number:g} written down")
    assert not wrong, "\n".join([*wrong, "see benchmarks/work/bounds.py: python -m benchmarks work --write"])
    assert set(found) == {name for name in WRITTEN if name.startswith(kind)}


def test_the_host_does_no_more_for_a_run_and_a_call_than_is_written_down(host: dict[str, float]) -> None:
    _hold(host, ("host: ",))


def test_a_guest_executes_no_more_bytecodes_than_are_written_down(guest: dict[str, float]) -> None:
    _hold(guest, ("guest: bytecodes",))


def test_a_guest_touches_reads_and_holds_no_more_than_is_written_down(processes: dict[str, float]) -> None:
    kinds = (
        "guest: page",
        "guest: private",
        "guest: reads",
        "guest: writes",
        "guest: bytes ",
        "zygote: ",
        "import CodeMode",
    )
    _hold(processes, kinds)


def test_a_regression_of_15_percent_is_more_than_is_let_pass_and_one_of_10_is_not() -> None:
    assert bounds.bound_of(1000) < 1150
    assert bounds.bound_of(1000) > 1100
    assert bounds.bound_of(0) == 0
    assert bounds.bound_of(2) < 3


def test_every_number_is_written_down_for_every_version_that_is_tested() -> None:
    assert {tuple(versions) for versions in WRITTEN.values()} == {("3.11", "3.12", "3.13")}


def test_bytecodes_are_counted_exactly_and_only_in_the_directory(tmp_path: Path) -> None:
    inside = _function(tmp_path / "in" / "code.py")
    outside = _function(tmp_path / "out" / "code.py")
    inside(3), outside(3)

    def count(function: types.FunctionType, turns: int) -> int:
        with bytecodes(str(tmp_path / "in")) as found:
            function(turns)
        return found.number

    ten, twenty, thirty = (count(inside, turns) for turns in (10, 20, 30))
    assert ten > 0
    assert thirty - twenty == twenty - ten > 0
    assert count(inside, 10) == ten
    assert count(outside, 10) == 0


def test_what_a_function_inside_calls_outside_is_not_counted(tmp_path: Path) -> None:
    inside = _function(tmp_path / "in" / "code.py", "f(turns)", f=_function(tmp_path / "out" / "code.py"))
    with bytecodes(str(tmp_path / "in")) as few:
        inside(1)
    with bytecodes(str(tmp_path / "in")) as many:
        inside(1000)
    assert few.number == many.number > 0


def _function(path: Path, body: str = "for _ in range(turns): pass", **names: object) -> types.FunctionType:
    source = f"def main(turns):\n    {body}\n"
    namespace: dict[str, object] = dict(names)
    exec(compile(source, str(path), "exec"), namespace)
    function = namespace["main"]
    assert isinstance(function, types.FunctionType)
    return function


def test_numbers_are_written_for_one_version_and_kept_for_others(tmp_path: Path) -> None:
    table = tmp_path / "bounds.json"
    bounds.write({"a": 1.04, "b": 2.0}, table, "3.11")
    bounds.write({"a": 3.0, "b": 4.26}, table, "3.12")
    assert bounds.written(table) == {"a": {"3.11": 1.0, "3.12": 3.0}, "b": {"3.11": 2.0, "3.12": 4.3}}
    bounds.write({"b": 5.0}, table, "3.12")
    assert bounds.written(table) == {"b": {"3.11": 2.0, "3.12": 5.0}}  # what is counted no more goes
