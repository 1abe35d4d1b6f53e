"""A report as text: for a terminal, and as the Markdown of the page. Pure: it takes a report and returns text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.records import Check, Grid, Report, Row, Series, Spread

__all__ = ["details", "machine_lines", "summary", "summary_lines", "verdict"]


def verdict(check: Check) -> str:
    """Return `yes`, `no`, or that nothing was measured."""
    return "not measured" if check.holds is None else "yes" if check.holds else "no"


def amount(value: float, unit: str) -> str:
    """Return a figure with its unit, three digits of it."""
    if unit == "s":
        for factor, name in ((1e6, "µs"), (1e3, "ms")):
            if value * factor < 1000:
                return f"{_digits(value * factor)} {name}"
        return f"{_digits(value)} s"
    if unit == "×":
        return f"{_digits(value)} ×"
    return f"{_digits(value)} {unit}" if unit != "/s" else f"{value:,.0f}/s"


def _digits(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _quartiles(spread: Spread, unit: str) -> str:
    return f"{amount(spread.low, unit)} – {amount(spread.high, unit)}"


def summary(rows: Iterable[Row]) -> list[list[str]]:
    """Return the table of targets, its head first."""
    lines = [["", "figure", "measured", "quartiles", "target", "of", "holds"]]
    for row in rows:
        for number, check in enumerate(row.checks):
            bound = f"{'at least' if check.at_least else 'at most'} {amount(check.bound, check.unit)}"
            figure = check.figure
            lines.append(
                [
                    row.id if number == 0 else "",
                    row.title if number == 0 else "",
                    "–" if figure is None else amount(figure.median, check.unit),
                    check.note if figure is None else _quartiles(figure, check.unit),
                    bound,
                    check.against + (f" ({check.note})" if check.note and figure is not None else ""),
                    verdict(check),
                ]
            )
    return lines


def summary_lines(report: Report) -> list[str]:
    """Return the whole report for a terminal."""
    said = [*(f"{name}: {value}" for name, value in machine_lines(report)), ""]
    for row in report.rows:
        said += [f"{row.id}  {row.title}"]
        for check in row.checks:
            figure = "–" if check.figure is None else amount(check.figure.median, check.unit)
            spread = (
                ""
                if check.figure is None
                else f" ({_quartiles(check.figure, check.unit)}, {check.figure.count})"
            )
            bound = f"{'at least' if check.at_least else 'at most'} {amount(check.bound, check.unit)}"
            note = f"; {check.note}" if check.note else ""
            said.append(f"    {verdict(check):>12}  {figure}{spread}; {bound} of {check.against}{note}")
        said += [f"                  {line}" for line in _plain(_series(row.series))]
        for grid in row.grids:
            said += [f"      {line}" for line in _plain(_grid(grid))]
        said.append("")
    said += [f"missing: {name}: {why}" for name, why in report.missing.items()]
    return said


def machine_lines(report: Report) -> list[tuple[str, str]]:
    """Return what was measured on, as names and values."""
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    facts = [
        ("load at the start" if name == "load" else name, value) for name, value in report.machine.items()
    ]
    scale = report.options.get("scale", "1")
    samples = [] if scale == "1" else [("samples", f"{scale} times as many as usual")]
    return [*facts, *samples, ("versions", versions)]


def details(row: Row) -> list[str]:
    """Return the Markdown of one row: its series, its grids, its notes."""
    said = [f"### {row.id}: {row.title}", ""]
    if row.series:
        said += [*markdown(_series(row.series)), ""]
    for grid in row.grids:
        said += [f"{grid.title}:", "", *markdown(_grid(grid)), ""]
    for note in row.notes:
        said += [note, ""]
    return said


def _series(series: Sequence[Series]) -> list[list[str]]:
    if not series:
        return []
    lines = [["engine", "what", "median", "quartiles", "samples", ""]]
    for each in series:
        spread = each.spread
        if spread is None:
            lines.append([each.engine, each.what, "–", "", "", each.note])
        else:
            quartiles = _quartiles(spread, each.unit)
            lines.append(
                [
                    each.engine,
                    each.what,
                    amount(spread.median, each.unit),
                    quartiles,
                    str(spread.count),
                    each.note,
                ]
            )
    return lines


def _grid(grid: Grid) -> list[list[str]]:
    lines = [grid.columns]
    lines += [
        [name, *(cell if isinstance(cell, str) else _cell(cell) for cell in cells)]
        for name, cells in grid.lines
    ]
    return lines


def _cell(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or value >= 1000 else _digits(value)


def markdown(lines: list[list[str]]) -> list[str]:
    """Return a table as Markdown; the first line is its head."""
    rows = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return [rows[0], "|" + " --- |" * len(lines[0]), *rows[1:]]


def _plain(lines: list[list[str]]) -> list[str]:
    if not lines:
        return []
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
