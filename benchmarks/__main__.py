"""`python -m benchmarks`: measure, print, and perhaps write JSON, plots and the page. See `--help`."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from pathlib import Path

import trio

from benchmarks import machine, page, plots
from benchmarks.bench import Bench, opened
from benchmarks.records import Report, Row, read, write
from benchmarks.rows import ROWS
from benchmarks.table import summary_lines


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["profile"]:
        from benchmarks.profile import main as profile

        return profile(arguments[1:])
    if arguments[:1] == ["work"]:
        from benchmarks.work import main as work

        return work(arguments[1:])
    return _measure(_parser().parse_args(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure the engine, and beside it its peers, as ratios taken in one run.",
        epilog="python -m benchmarks profile: where the time of a fresh run and of a nested call goes. "
        "python -m benchmarks work: what they do, counted; the table that tests hold.",
    )
    parser.add_argument(
        "--peers", action="store_true", help="measure the peers too: pip install 'codemode[bench]'"
    )
    parser.add_argument("--only", choices=ROWS, action="append", help="measure this row only (repeatable)")
    parser.add_argument(
        "--long", action="store_true", help="measure over a minute whether throughput stays flat"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="take so many times as many samples (default: 1)"
    )
    parser.add_argument(
        "--from", dest="source", type=Path, metavar="FILE", help="measure nothing; read this JSON file"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured there")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw plots there, as SVG")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="put the figures into this page, between its markers"
    )
    parser.add_argument(
        "--publish", action="store_true", help="--json, --plots and --page, as the documentation has them"
    )
    return parser


def _measure(options: argparse.Namespace) -> int:
    if options.publish:
        options.json = options.json or page.DEFAULT_REPORT
        options.plots = options.plots or page.DEFAULT_PLOTS
        options.page = options.page or page.DEFAULT_PAGE
    if options.page and not options.plots:
        print("--page needs --plots: the page shows them", file=sys.stderr)
        return 2
    report = read(options.source) if options.source else _report(options)
    print("\n".join(summary_lines(report)))
    if options.json and options.json != options.source:
        write(report, options.json)
    if options.plots:
        plots.draw(report, options.plots)
    if options.page:
        page.publish(report, options.page, options.plots)
    return 0


def _report(options: argparse.Namespace) -> Report:
    names = [name for name in ROWS if name in (options.only or ROWS)]
    described, start = machine.describe(), time.perf_counter()
    with opened(with_peers=options.peers, scale=options.scale, long=options.long) as bench:
        for name, why in bench.absent.items():
            print(f"missing: {name}: {why}", file=sys.stderr)
        rows = [_row(bench, name) for name in names]
        missing = bench.absent
    return Report(
        machine=described,
        versions=machine.versions(),
        missing=missing,
        options={
            "peers": "yes" if options.peers else "no",
            "long": "yes" if options.long else "no",
            "scale": f"{options.scale:g}",
        },
        seconds=round(time.perf_counter() - start, 1),
        rows=rows,
    )


def _row(bench: Bench, name: str) -> Row:
    start = time.perf_counter()
    print(f"measuring {name} …", end=" ", flush=True, file=sys.stderr)
    gc.collect()
    row: Row = trio.run(ROWS[name], bench)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    return row.judged()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
