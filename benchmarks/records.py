"""What a measurement leaves: rows, each with what was measured and what was to be reached. Data only.

Everything here goes into the JSON file as it is, and the page and the plots are made from that file alone, so
that neither can say anything that was not measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

__all__ = [
    "Check",
    "Curve",
    "Grid",
    "Report",
    "Row",
    "Series",
    "Spread",
    "missing",
    "read",
    "spread_of",
    "write",
]


class Spread(Struct, frozen=True):
    """The median of what was measured `count` times, with its first and third quartile."""

    low: float
    median: float
    high: float
    count: int


class Check(Struct, frozen=True, kw_only=True):
    """One thing that is to be reached: `figure`'s median at most (or at least) `bound`.

    `unit` is "×" for a ratio to what `against` names, else the figure's own unit. `figure` is None when it could
    not be measured; `note` then says why. `holds` is None then too.
    """

    against: str
    unit: str
    bound: float
    figure: Spread | None = None
    at_least: bool = False
    note: str = ""
    holds: bool | None = None

    def judged(self) -> Check:
        """Return this check with `holds` as its figure says."""
        if self.figure is None:
            return msgspec.structs.replace(self, holds=None)
        median = self.figure.median
        return msgspec.structs.replace(
            self, holds=median >= self.bound if self.at_least else median <= self.bound
        )


class Series(Struct, frozen=True, kw_only=True):
    """One engine doing one thing. `spread` is over single samples, or None where it cannot do it: `note` says why.

    `percentiles` are the 0th, 5th, … 100th of the samples, where there are enough of them.
    """

    engine: str
    what: str
    unit: str
    spread: Spread | None = None
    percentiles: list[float] = []
    note: str = ""


class Curve(Struct, frozen=True, kw_only=True):
    """How something grows: points (x, y), in order. `plot` names the plot that it belongs to."""

    plot: str
    name: str
    points: list[tuple[float, float]]


class Grid(Struct, frozen=True, kw_only=True):
    """A table of its own: each line a name and its cells; text in place of a number says why there is none."""

    title: str
    columns: list[str]
    lines: list[tuple[str, list[float | str]]]


class Row(Struct, frozen=True, kw_only=True):
    """One line of the table of targets, with all that was measured for it."""

    id: str
    name: str
    title: str
    checks: list[Check] = []
    series: list[Series] = []
    curves: list[Curve] = []
    grids: list[Grid] = []
    notes: list[str] = []

    def judged(self) -> Row:
        """Return this row with every check judged."""
        return msgspec.structs.replace(self, checks=[check.judged() for check in self.checks])


class Report(Struct, frozen=True, kw_only=True):
    """One run of the measurements. `missing` says of each peer that was not measured why not."""

    machine: dict[str, str]
    versions: dict[str, str]
    missing: dict[str, str]
    options: dict[str, str]
    seconds: float
    rows: list[Row]


def spread_of(samples: Sequence[float]) -> Spread:
    """Return the median and quartiles of samples (by the nearest of them, so that each was really measured)."""
    ordered = sorted(samples)
    if not ordered:
        raise ValueError("no samples")
    last = len(ordered) - 1
    return Spread(
        low=ordered[round(0.25 * last)],
        median=statistics.median(ordered),
        high=ordered[round(0.75 * last)],
        count=len(ordered),
    )


def percentiles_of(samples: Sequence[float]) -> list[float]:
    """Return the 0th, 5th, … 100th percentile of at least 20 samples; of fewer, nothing."""
    ordered = sorted(samples)
    last = len(ordered) - 1
    return [ordered[round(step / 20 * last)] for step in range(21)] if last >= 19 else []


def missing(against: str, unit: str, bound: float, why: str, *, at_least: bool = False) -> Check:
    """Return a check that nothing was measured for."""
    return Check(against=against, unit=unit, bound=bound, at_least=at_least, note=why)


def write(report: Report, path: Path) -> None:
    """Write a report as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")


def read(path: Path) -> Report:
    """Read a report. Raises `msgspec.ValidationError` for a file that is none."""
    return msgspec.json.decode(path.read_bytes(), type=Report)
