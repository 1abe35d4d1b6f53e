"""`python -m benchmarks`: measure, print a table, perhaps write JSON."""

from __future__ import annotations

import argparse
import sys

import msgspec
import trio

from benchmarks.figures import FIGURES
from benchmarks.measure import Figure, machine


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", choices=FIGURES, action="append", help="measure this figure only (repeatable)"
    )
    parser.add_argument("--json", metavar="FILE", help="also write the figures there")
    options = parser.parse_args()
    print(machine())
    figures: list[Figure] = []
    for name in options.only or FIGURES:
        print(f"  measuring {name} …", file=sys.stderr)
        figures.append(trio.run(FIGURES[name]))
    print(f"{'figure':12} {'ratio':>7}  {'quartiles':>13}  {'ours':>10}  {'reference':>10}  against")
    for figure in figures:
        quartiles = f"{figure.low:.2f}–{figure.high:.2f}"
        print(
            f"{figure.name:12} {figure.ratio:7.2f}  {quartiles:>13}  {_time(figure.subject_seconds):>10}  "
            f"{_time(figure.reference_seconds):>10}  {figure.reference}"
        )
    if options.json:
        with open(options.json, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode({"machine": machine(), "figures": figures})))
    return 0


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


raise SystemExit(main())
