"""The page: what was measured goes between the markers of a hand-written text, and stays with its JSON.

A marker is a line `<!-- measured: NAME -->`; what is between it and the next `<!-- end -->` is replaced.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from benchmarks.plots import PLOTS
from benchmarks.records import Report
from benchmarks.table import details, machine_lines, markdown, summary

__all__ = ["DEFAULT_PAGE", "DEFAULT_PLOTS", "DEFAULT_REPORT", "fill", "parts"]

_DOCS = Path(__file__).parents[1] / "docs"
DEFAULT_PAGE = _DOCS / "performance.md"
DEFAULT_REPORT = _DOCS / "performance.json"
DEFAULT_PLOTS = _DOCS / "plots"

_PART = re.compile(r"(<!-- measured: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

_CAPTIONS = {
    "latency": "How long a fresh run and a nested call take, by engine",
    "calls": "One task of many calls, call by call and as one program",
    "values": "How long a tool's value takes into the program, by its size",
    "throughput": "Fresh runs a second, by concurrent callers",
}


def parts(report: Report, plots: str = "plots") -> dict[str, str]:
    """Return the generated parts of the page by name. `plots` is where the plots are, seen from the page."""
    rows = {row.name for row in report.rows}
    shown = [name for name, (needs, _) in PLOTS.items() if rows.issuperset(needs)]
    missing = [f"{name}: {why}." for name, why in report.missing.items()]
    return {
        "machine": "\n".join(
            [*(f"- {name}: {value}" for name, value in machine_lines(report)), *_busy(report)]
        ),
        "summary": "\n".join(markdown(summary(report.rows))),
        "missing": "\n".join(missing) or "All peers took part.",
        "plots": "\n\n".join(f"![{_CAPTIONS[name]}]({plots}/{name}.svg)" for name in shown),
        "details": "\n".join(line for row in report.rows for line in details(row)).strip(),
    }


def _busy(report: Report) -> list[str]:
    """Say so if the machine had other work to do: more of it than a quarter of a core."""
    load = report.machine.get("load", "").split()
    if not load or float(load[0]) < 0.25:
        return []
    return [
        "",
        "**The machine had other work while this was measured; what waits for its turn shows it most.**",
    ]


def fill(page: str, report: Report, plots: str = "plots") -> str:
    """Return the page with what was measured in its places. Raises `ValueError` for a place that nothing is for."""
    given = parts(report, plots)
    unknown = {found.group(2) for found in _PART.finditer(page)} - set(given)
    if unknown:
        raise ValueError(f"nothing is measured for {sorted(unknown)}; there are {sorted(given)}")
    return _PART.sub(lambda found: f"{found.group(1)}{given[found.group(2)]}\n{found.group(3)}", page)


def publish(report: Report, page: Path, plots: Path) -> None:
    """Put a report into a page."""
    seen_from_page = os.path.relpath(plots, page.parent)
    page.write_text(fill(page.read_text(encoding="utf-8"), report, seen_from_page), encoding="utf-8")
