"""How things are measured here: both sides in turn, warm, medians, and the ratio round by round.

Absolute times say more about a machine than about a program; each figure is therefore a ratio of two
things measured in the same seconds.
"""

from __future__ import annotations

import platform
import statistics
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import TypeAlias

from msgspec import Struct

__all__ = ["Figure", "Side", "compare", "machine"]

Side: TypeAlias = Callable[[], Awaitable[None]]
"""One thing to measure; called once per sample."""


class Figure(Struct, frozen=True, kw_only=True):
    """One ratio. Times are medians in seconds; `low` and `high` are the ratio's quartiles over the rounds."""

    name: str
    subject: str
    reference: str
    subject_seconds: float
    reference_seconds: float
    ratio: float
    low: float
    high: float
    rounds: int


async def compare(
    name: str,
    subject: tuple[str, Side],
    reference: tuple[str, Side],
    *,
    rounds: int,
    samples: int,
    per_subject: int = 1,
    per_reference: int = 1,
    warm_up: int = 2,
) -> Figure:
    """Measure two sides in turn and return their ratio.

    A round takes `samples` of each side and keeps the medians. `per_subject` and `per_reference` say how
    many operations one call of a side does.
    """
    for _ in range(warm_up):
        await _round(subject[1], 1)
        await _round(reference[1], 1)
    pairs: list[tuple[float, float]] = []
    for _ in range(rounds):
        left = await _round(subject[1], samples) / per_subject
        right = await _round(reference[1], samples) / per_reference
        pairs.append((left, right))
    ratios = sorted(left / right for left, right in pairs)
    return Figure(
        name=name,
        subject=subject[0],
        reference=reference[0],
        subject_seconds=statistics.median(left for left, _ in pairs),
        reference_seconds=statistics.median(right for _, right in pairs),
        ratio=statistics.median(ratios),
        low=_quantile(ratios, 0.25),
        high=_quantile(ratios, 0.75),
        rounds=rounds,
    )


async def _round(side: Side, samples: int) -> float:
    times = []
    for _ in range(samples):
        start = perf_counter()
        await side()
        times.append(perf_counter() - start)
    return statistics.median(times)


def _quantile(ordered: Sequence[float], fraction: float) -> float:
    return ordered[round(fraction * (len(ordered) - 1))]


def machine() -> str:
    """One line about the machine and the interpreter."""
    return f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
