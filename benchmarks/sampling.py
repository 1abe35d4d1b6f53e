"""How things are timed: sides in turn, in the same seconds, each warm, and the ratio round by round.

Absolute times say more about a machine than about a program, and a machine's speed changes while one measures.
So what is compared is taken alternately: a round takes some samples of each side, in an order that turns with every
round, and gives one ratio; what is reported is the median of the rounds' ratios, with their quartiles.
"""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import TypeAlias

from msgspec import Struct

from benchmarks.records import Check, Series, Spread, percentiles_of, spread_of

__all__ = ["Measured", "Side", "Take", "alternate", "sync_take", "take"]

Take: TypeAlias = Callable[[int], Awaitable[list[float]]]
"""Takes that many samples, one after another, and returns the seconds of each. It checks what it measured."""


class Side(Struct, frozen=True, kw_only=True):
    """One side of a comparison: who does what. One sample does `per` operations; times are reported for one.

    `share` is how many of a round's samples it takes, at least one; less than 1 for a slow one.
    """

    engine: str
    what: str
    take: Take
    per: int = 1
    share: float = 1.0
    note: str = ""


class Measured(Struct, frozen=True, kw_only=True):
    """What `alternate` found: for each side, all samples and the medians of the rounds; seconds per operation."""

    sides: list[Side]
    samples: list[list[float]]
    medians: list[list[float]]

    def series(self) -> list[Series]:
        """Return every side as a line of the report."""
        return [
            Series(
                engine=side.engine,
                what=side.what,
                unit="s",
                spread=spread_of(samples),
                percentiles=percentiles_of(samples),
                note=side.note,
            )
            for side, samples in zip(self.sides, self.samples, strict=True)
        ]

    def ratio(self, side: Side, other: Side) -> Spread:
        """Return how many times as long `side` took as `other`, over the rounds."""
        ours, theirs = (self.medians[_place(self.sides, each)] for each in (side, other))
        return spread_of([left / right for left, right in zip(ours, theirs, strict=True)])

    def check(self, side: Side, other: Side, bound: float, note: str = "") -> Check:
        """Return the check that `side` takes at most `bound` times as long as `other`."""
        return Check(
            against=f"{other.engine}: {other.what}",
            unit="×",
            bound=bound,
            figure=self.ratio(side, other),
            note=note,
        )


async def alternate(sides: Sequence[Side], *, rounds: int, samples: int) -> Measured:
    """Measure sides in turn. Before its samples of a round, each side does one more that does not count."""
    taken: list[list[float]] = [[] for _ in sides]
    medians: list[list[float]] = [[] for _ in sides]
    for number in range(rounds):
        places = range(len(sides)) if number % 2 == 0 else reversed(range(len(sides)))
        for place in places:
            side = sides[place]
            seconds = (await side.take(1 + max(1, round(samples * side.share))))[1:]
            each = [value / side.per for value in seconds]
            taken[place] += each
            medians[place].append(statistics.median(each))
    return Measured(sides=list(sides), samples=taken, medians=medians)


def take(operation: Callable[[], Awaitable[object]], expected: object) -> Take:
    """Return how to sample an asynchronous operation of trio, which is to give `expected` every time."""

    async def samples(times: int) -> list[float]:
        seconds = []
        for _ in range(times):
            start = perf_counter()
            got = await operation()
            seconds.append(perf_counter() - start)
            _check(got, expected)
        return seconds

    return samples


def sync_take(operation: Callable[[], object], expected: object) -> Take:
    """Return how to sample a synchronous operation. It holds the loop up, on purpose: nothing else is to run."""

    async def samples(times: int) -> list[float]:
        seconds = []
        for _ in range(times):
            start = perf_counter()
            got = operation()
            seconds.append(perf_counter() - start)
            _check(got, expected)
        return seconds

    return samples


def _check(got: object, expected: object) -> None:
    if got != expected:
        raise AssertionError(f"what is measured gave {got!r} where {expected!r} was due")


def _place(sides: Sequence[Side], side: Side) -> int:
    return next(place for place, each in enumerate(sides) if each is side)
