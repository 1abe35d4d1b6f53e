"""Sides are measured in turn, warm, and compared round by round."""

from __future__ import annotations

import pytest

from benchmarks.records import Check, Spread, spread_of
from benchmarks.sampling import Measured, Side, Take, alternate, sync_take, take


def _fake(log: list[tuple[str, int]], name: str, seconds: list[float]) -> Take:
    left = iter(seconds)

    async def samples(times: int) -> list[float]:
        log.append((name, times))
        return [next(left) for _ in range(times)]

    return samples


async def test_sides_take_turns_and_the_first_sample_of_each_turn_does_not_count() -> None:
    log: list[tuple[str, int]] = []
    a = Side(engine="a", what="x", take=_fake(log, "a", [9, 2, 2, 9, 6, 6]), per=2)
    b = Side(engine="b", what="x", take=_fake(log, "b", [9, 4, 4, 9, 4, 4]))
    measured = await alternate([a, b], rounds=2, samples=2)
    assert log == [("a", 3), ("b", 3), ("b", 3), ("a", 3)]
    assert measured.samples == [[1, 1, 3, 3], [4, 4, 4, 4]]
    assert measured.medians == [[1, 3], [4, 4]]
    assert measured.ratio(a, b) == Spread(low=0.25, median=0.5, high=0.75, count=2)
    assert [each.spread for each in measured.series()] == [Spread(1, 2, 3, 4), Spread(4, 4, 4, 4)]


async def test_a_slow_side_takes_its_share_of_the_samples() -> None:
    log: list[tuple[str, int]] = []
    sides = [
        Side(engine=name, what="x", take=_fake(log, name, [1.0] * 99), share=share)
        for name, share in (("fast", 1.0), ("slow", 0.2), ("slowest", 0.01))
    ]
    await alternate(sides, rounds=1, samples=10)
    assert log == [("fast", 11), ("slow", 3), ("slowest", 2)]


async def test_a_wrong_result_is_no_sample() -> None:
    async def wrong() -> int:
        return 4

    with pytest.raises(AssertionError, match="gave 4 where 3 was due"):
        await take(wrong, 3)(1)
    with pytest.raises(AssertionError, match="gave 4 where 3 was due"):
        await sync_take(lambda: 4, 3)(1)
    assert len(await sync_take(lambda: 3, 3)(5)) == 5


async def test_a_check_says_against_what_and_whether_it_holds() -> None:
    a, b = (Side(engine=name, what="x", take=_fake([], name, [])) for name in "ab")
    measured = Measured(sides=[a, b], samples=[[3.0], [4.0]], medians=[[3.0], [4.0]])
    assert measured.check(a, b, 0.75).judged().holds is True
    assert measured.check(a, b, 0.74).judged().holds is False
    assert measured.check(a, b, 0.75).against == "b: x"
    at_least = Check(against="b", unit="/s", bound=5, figure=spread_of([5.0]), at_least=True)
    assert at_least.judged().holds is True
    assert (
        Check(against="b", unit="/s", bound=5.1, figure=spread_of([5.0]), at_least=True).judged().holds
        is False
    )
    assert Check(against="b", unit="×", bound=1).judged().holds is None


def test_quartiles_are_samples_that_were_measured() -> None:
    assert spread_of([5, 1, 4, 2, 3]) == Spread(low=2, median=3, high=4, count=5)
    assert spread_of([1.0]) == Spread(1, 1, 1, 1)
    with pytest.raises(ValueError, match="no samples"):
        spread_of([])
