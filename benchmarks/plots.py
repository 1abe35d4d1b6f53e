"""A report as plots, in SVG. The same report gives the same bytes.

Text is drawn as outlines and the ground is white, so that a plot looks the same wherever it is shown, light or dark.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.records import Curve, Report, Row, Series
from benchmarks.rows import throughput, values, workload

__all__ = ["PLOTS", "draw"]

_OWN = "codemode"
_OWN_COLOUR = "#0b5fb0"
_COLOURS = ("#c2410c", "#15803d", "#9333ea", "#b45309", "#0e7490", "#be185d", "#4b5563")
_STYLE = {
    "svg.fonttype": "path",
    "svg.hashsalt": "codemode",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.edgecolor": "#4b5563",
    "axes.grid": True,
    "grid.color": "#d4d4d8",
    "grid.linewidth": 0.6,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


def draw(report: Report, directory: Path) -> list[Path]:
    """Write the plots that a report has figures for; return their paths.

    Raises `ModuleNotFoundError`, naming what to install, without matplotlib.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ModuleNotFoundError("plots need matplotlib: pip install 'codemode[bench]'") from None
    rows = {row.name: row for row in report.rows}
    written = []
    directory.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(_STYLE):
        for name, (needs, plot) in PLOTS.items():
            if not all(need in rows for need in needs):
                continue
            figure = Figure(layout="constrained")
            plot(figure, *(rows[need] for need in needs))
            path = directory / f"{name}.svg"
            figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
            written.append(path)
    return written


def _latency(figure: Any, *rows: Row) -> None:
    lines = [_timed(row) for row in rows]
    figure.set_size_inches(8.2, 1.3 + 0.27 * sum(map(len, lines)))
    panels = figure.subplots(len(rows), 1, gridspec_kw={"height_ratios": [len(each) + 1 for each in lines]})
    for axes, row, series in zip(panels, rows, lines, strict=True):
        axes.set_title(row.title.partition(":")[0], loc="left")
        axes.set_xscale("log")
        for place, each in enumerate(reversed(series)):
            _distribution(axes, place, each)
        axes.set_yticks(range(len(series)), [_label(each) for each in reversed(series)])
        axes.set_ylim(-0.6, len(series) - 0.4)
        axes.grid(axis="y", visible=False)
        axes.xaxis.set_major_formatter(_seconds)
    panels[-1].set_xlabel("time; point: median, bar: quartiles, line: 5th to 95th percentile")


def _timed(row: Row) -> list[Series]:
    """The series of a row that took time, the fastest first."""
    timed = [each for each in row.series if each.spread is not None and each.unit == "s"]
    return sorted(timed, key=lambda each: each.spread.median if each.spread else math.inf)


def _distribution(axes: Any, place: int, series: Series) -> None:
    spread = series.spread
    assert spread is not None
    colour = _OWN_COLOUR if series.engine == _OWN else "#6b7280"
    if series.percentiles:
        axes.plot(
            [series.percentiles[1], series.percentiles[-2]], [place, place], color=colour, linewidth=1.2
        )
    axes.plot(
        [spread.low, spread.high],
        [place, place],
        color=colour,
        linewidth=5,
        solid_capstyle="butt",
        alpha=0.55,
    )
    axes.plot([spread.median], [place], "o", color=colour, markersize=5)
    axes.annotate(
        _seconds(spread.median, 0),
        (spread.median, place),
        (0, 5),
        textcoords="offset points",
        ha="center",
        fontsize=7,
    )


def _label(series: Series) -> str:
    if series.engine == _OWN:
        way = (
            "awaited"
            if "awaited" in series.what
            else series.note.partition(",")[0]
            if "log in" in series.note
            else ""
        )
        return f"{_OWN} ({way})" if way else _OWN
    if series.engine == "trio":
        return "a bare round trip under trio"
    return f"{series.engine}, awaited" if "awaited" in series.what else series.engine


def _by_calls(figure: Any, row: Row) -> None:
    figure.set_size_inches(8.2, 3.6)
    left, right = figure.subplots(1, 2)
    _curves(left, _of(row, workload.PLOT_BYTES), "bytes of a model's context", _bytes, logarithmic=True)
    _curves(right, _of(row, workload.PLOT_SECONDS), "time of the engine", _seconds, logarithmic=True)
    for axes in (left, right):
        axes.set_xlabel("calls of the task")


def _by_size(figure: Any, row: Row) -> None:
    figure.set_size_inches(8.2, 3.6)
    axes = figure.subplots()
    _curves(axes, _of(row, values.PLOT), "a tool's value into the program", _seconds, logarithmic=True)
    axes.set_xlabel("rows of the value, of five fields each")


def _by_callers(figure: Any, row: Row) -> None:
    figure.set_size_inches(8.2, 3.2)
    axes = figure.subplots()
    curves = _of(row, throughput.PLOT)
    _curves(axes, curves, "fresh runs a second", _number)
    axes.set_xlabel("concurrent callers")
    axes.set_ylim(bottom=0)
    axes.set_xticks([x for x, _ in curves[0].points])


def _curves(
    axes: Any,
    curves: list[Curve],
    title: str,
    format: Callable[[float, object], str],
    *,
    logarithmic: bool = False,
) -> None:
    if logarithmic:  # first, for setting a scale sets the format of its ticks
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(_number)
    axes.set_title(title, loc="left")
    others = iter(_COLOURS * 2)
    for number, curve in enumerate(curves):
        own = curve.name.startswith(_OWN) or curve.name.startswith("one program")
        colour = _OWN_COLOUR if own else next(others)
        style = (
            "--"
            if own and number and curves[number - 1].name.startswith(curve.name.partition(",")[0])
            else "-"
        )
        xs, ys = zip(*curve.points, strict=True)
        axes.plot(
            xs,
            ys,
            style,
            marker="o",
            markersize=3.5,
            linewidth=2.2 if own else 1.4,
            color=colour,
            label=curve.name,
        )
    axes.yaxis.set_major_formatter(format)
    axes.legend(
        fontsize=7.5, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0) if len(curves) > 4 else None
    )


def _of(row: Row, plot: str) -> list[Curve]:
    return [curve for curve in row.curves if curve.plot == plot]


def _seconds(value: float, _: object) -> str:
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if value * factor < 999.5:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def _bytes(value: float, _: object) -> str:
    for factor, unit in ((1, "B"), (1e3, "kB"), (1e6, "MB")):
        if value < factor * 1e3:
            return f"{value / factor:g} {unit}"
    return f"{value / 1e9:g} GB"


def _number(value: float, _: object) -> str:
    return f"{value:,.0f}"


PLOTS: dict[str, tuple[tuple[str, ...], Callable[..., None]]] = {
    "latency": (("fresh-run", "nested-call"), _latency),
    "calls": (("workload",), _by_calls),
    "values": (("values",), _by_size),
    "throughput": (("throughput",), _by_callers),
}
"""By name: the rows that a plot is of, and how it is drawn."""
