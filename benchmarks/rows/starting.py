"""P9: what it takes to import the package, and to run a trivial program from the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import perf_counter

from benchmarks.bench import Bench
from benchmarks.records import Check, Row, spread_of
from benchmarks.sampling import Side, Take, alternate

__all__ = ["measure"]

IMPORT_BOUND = 1.5
RUN_BOUND = 250.0


async def measure(bench: Bench) -> Row:
    program = bench.directory / "program.py"
    program.write_text("return 1 + 2\n", encoding="utf-8")
    ours = Side(
        engine="codemode", what="from codemode import CodeMode", take=_import("from codemode import CodeMode")
    )
    bare = Side(engine="codemode", what="import codemode, and nothing of it", take=_import("import codemode"))
    theirs = Side(engine="Python", what="import trio, msgspec", take=_import("import trio, msgspec"))
    command = Side(engine="codemode", what="codemode run, whole process", take=_command(program))
    python = Side(
        engine="Python", what="an interpreter that does nothing", take=_timed([sys.executable, "-c", ""], b"")
    )
    measured = await alternate(
        [ours, theirs, command, python, bare], rounds=bench.count(9, 2), samples=bench.count(3, 1)
    )
    seconds = measured.samples[2]
    return Row(
        id="P9",
        name="starting",
        title="Start: `from codemode import CodeMode`; `codemode run` of a trivial program",
        checks=[
            measured.check(ours, theirs, IMPORT_BOUND),
            Check(
                against="codemode run, whole process",
                unit="ms",
                bound=RUN_BOUND,
                figure=spread_of([value * 1000 for value in seconds]),
            ),
        ],
        series=measured.series(),
        notes=[
            "The package loads what is asked of it; the bound is held against the engine itself. Imports "
            "are timed inside a new interpreter, without its own start; compiled files are there already."
        ],
    )


def _import(statement: str) -> Take:
    code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"

    async def samples(times: int) -> list[float]:
        return [
            float(subprocess.run([sys.executable, "-c", code], stdout=-1, check=True).stdout)
            for _ in range(times)
        ]

    return samples


def _command(program: Path) -> Take:
    return _timed([sys.executable, "-m", "codemode", "run", str(program)], b"3")


def _timed(command: list[str], expected: bytes) -> Take:
    async def samples(times: int) -> list[float]:
        seconds = []
        for _ in range(times):
            start = perf_counter()
            said = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            seconds.append(perf_counter() - start)
            if said.strip() != expected:
                raise AssertionError(f"{command[1:]} printed {said!r} where {expected!r} was due")
        return seconds

    return samples
