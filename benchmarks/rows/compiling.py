"""P7: checking and compiling a program of 100 lines as a guest does it, beside CPython's `compile` alone."""

from __future__ import annotations

import json
import subprocess
import sys

import trio

from benchmarks.bench import Bench
from benchmarks.programs import as_function, hundred_lines
from benchmarks.records import Check, Row, Series, spread_of

__all__ = ["measure"]

BOUND = 3.0

_CHILD = """
import json, statistics, sys, time
from codemode.guest.language.compiler import compile_program
program, function = json.load(sys.stdin)
rounds, samples = map(int, sys.argv[1:])

def seconds(do):
    times = []
    for _ in range(samples):
        start = time.perf_counter()
        do()
        times.append(time.perf_counter() - start)
    return statistics.median(times)

ours = lambda: compile_program(program)
plain = lambda: compile(function, "<program>", "exec")
seconds(ours), seconds(plain)
print(json.dumps([(seconds(ours), seconds(plain)) for _ in range(rounds)]))
"""


async def measure(bench: Bench) -> Row:
    program = hundred_lines()
    command = [sys.executable, "-c", _CHILD, str(bench.count(9, 2)), str(bench.count(30, 2))]
    told = json.dumps([program, as_function(program)]).encode()
    ended = await trio.to_thread.run_sync(
        lambda: subprocess.run(command, input=told, stdout=subprocess.PIPE, check=True)
    )
    pairs: list[list[float]] = json.loads(ended.stdout)
    return Row(
        id="P7",
        name="compiling",
        title="Check and compile 100 lines, with the policy",
        checks=[
            Check(
                against="CPython: compile",
                unit="×",
                bound=BOUND,
                figure=spread_of([ours / plain for ours, plain in pairs]),
            )
        ],
        series=[
            Series(
                engine=engine,
                what="compile 100 lines",
                unit="s",
                spread=spread_of([pair[place] for pair in pairs]),
            )
            for place, engine in enumerate(("codemode", "CPython"))
        ],
        notes=[
            "In a process that does nothing else, with warm caches, as the process is that guests are forked from."
        ],
    )
