"""The same programs, in the form that each engine takes, give the same; what an engine cannot do it says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks import peers
from benchmarks.bench import NOT_ASKED, Bench, opened
from benchmarks.peers import CannotRun, Function
from benchmarks.programs import CPU_BOUND, as_expression, as_function, hundred_lines
from benchmarks.sampling import alternate

CALLING = "n = 0\nfor _ in range(5):\n    n = tools.increment(n=n)\nreturn n"
COMPUTING = "rows = [n * n for n in range(10)]\nreturn {'sum': sum(rows), 'last': rows[-1]}"


async def _increment(n: int) -> int:
    return n + 1


FUNCTIONS = {"increment": Function(lambda n: n + 1, _increment)}


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with opened(with_peers=True) as bench:
        yield bench


def test_every_peer_is_there(bench: Bench) -> None:
    assert (set(bench.engines), bench.absent) == (set(peers.PEERS), {})


@pytest.mark.parametrize("name", peers.PEERS)
async def test_a_peer_runs_a_program_as_often_as_it_is_asked_to(bench: Bench, name: str) -> None:
    seconds = await bench.engines[name].take(COMPUTING, {"sum": 285, "last": 81})(2)
    assert len(seconds) == 2
    assert min(seconds) > 0


@pytest.mark.parametrize("name", peers.PEERS)
async def test_a_peer_with_another_result_is_not_measured(bench: Bench, name: str) -> None:
    with pytest.raises(AssertionError, match="285"):
        await bench.engines[name].take(COMPUTING, {"sum": 1})(1)


@pytest.mark.parametrize("name", [name for name in peers.PEERS if name != peers.INTERPRETER])
async def test_a_peer_calls_functions_of_the_host(bench: Bench, name: str) -> None:
    assert len(await bench.engines[name].take(CALLING, 5, FUNCTIONS)(1)) == 1


async def test_asyncio_awaits_functions_that_a_program_awaits(bench: Bench) -> None:
    program = CALLING.replace("tools.", "await tools.")
    assert len(await bench.engines[peers.ASYNC_MONTY].take(program, 5, FUNCTIONS)(1)) == 1


@pytest.mark.parametrize(
    ("name", "program", "why"),
    [
        (peers.INTERPRETER, CALLING, "no way to call a function of the host"),
        (peers.SMOLAGENTS, "await tools.increment(n=1)\nreturn 1", "it runs no program that awaits"),
        (peers.RESTRICTED, "x = [1]\nx[0] += 1\nreturn x", "Augmented assignment"),
        (peers.ASYNC_MONTY, "def f():\n    yield 1\nreturn list(f())", "yield"),
        (peers.SYNC_MONTY, "return 1 / 0", "division by zero"),
    ],
)
async def test_what_a_peer_cannot_run_is_named_with_the_reason(
    bench: Bench, name: str, program: str, why: str
) -> None:
    with pytest.raises(CannotRun, match=why):
        await bench.engines[name].take(program, None, FUNCTIONS)(1)
    sides, unable = await bench.sides([name], "it", program, None, FUNCTIONS)
    assert sides == {}
    assert [(each.engine, each.spread) for each in unable] == [(name, None)]
    assert unable[0].note.startswith("cannot: ")


async def test_a_peer_that_was_not_asked_for_is_named() -> None:
    with opened(with_peers=False) as bench:
        assert set(bench.engines) == {peers.EXEC, peers.INTERPRETER}
        assert bench.absent[peers.ASYNC_MONTY] == NOT_ASKED
        sides, unable = await bench.sides([peers.EXEC, peers.SMOLAGENTS], "1 + 2", "return 1 + 2", 3)
        measured = await alternate(list(sides.values()), rounds=1, samples=1)
        check = bench.check(measured, sides[peers.EXEC], sides, peers.SMOLAGENTS, 1.0).judged()
    assert list(sides) == [peers.EXEC]
    assert [(each.engine, each.note) for each in unable] == [(peers.SMOLAGENTS, NOT_ASKED)]
    assert (check.against, check.figure, check.holds, check.note) == (peers.SMOLAGENTS, None, None, NOT_ASKED)


async def test_a_peer_that_is_not_installed_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peers, "version_of", lambda distribution: None)
    with opened(with_peers=True) as bench:
        assert bench.absent[peers.SMOLAGENTS] == "smolagents is not installed; pip install 'codemode[bench]'"
        assert peers.EXEC in bench.engines


def test_a_program_takes_the_form_of_each_engine() -> None:
    assert as_expression("a = tools.f(n=1)\nreturn a + 1") == "a = f(n=1)\na + 1"
    assert as_expression("return 1 + 2") == "1 + 2"
    assert as_function("a = tools.f(n=1)\nreturn a") == "def main():\n    a = f(n=1)\n    return a\n"
    with pytest.raises(ValueError, match="one `return` at its top level"):
        as_expression("print(1)")


@pytest.mark.parametrize("name", CPU_BOUND)
def test_both_forms_of_a_program_that_computes_are_valid(name: str) -> None:
    compile(as_expression(CPU_BOUND[name]), name, "exec")
    compile(as_function(CPU_BOUND[name]), name, "exec")


def test_a_hundred_lines_are_a_hundred_lines() -> None:
    assert hundred_lines().count("\n") == 100
    compile(as_function(hundred_lines()), "lines", "exec")
