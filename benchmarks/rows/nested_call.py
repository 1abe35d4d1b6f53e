"""P2: one call of a trivial tool by a program, beside the peers' external calls and a bare round trip."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import trio

from benchmarks import peers
from benchmarks.bench import Bench
from benchmarks.peers import Function
from benchmarks.records import Row
from benchmarks.sampling import Side, Take, alternate, take
from codemode import CodeMode, as_json, tool

__all__ = ["CALLS", "FUNCTIONS", "bare_round_trips", "increment", "measure", "program"]

CALLS = 200
MONTY_BOUND = 0.5
ROUND_TRIP_BOUND = 2.5
WHAT = "one call of a trivial tool"
AWAITED = "one awaited call of a trivial tool"


@tool(render=as_json)
async def increment(n: int) -> int:
    """Add one."""
    return n + 1


def _plain(n: int) -> int:
    return n + 1


async def _asynchronous(n: int) -> int:
    return n + 1


FUNCTIONS = {"increment": Function(_plain, _asynchronous)}


def program(calls: int, *, awaits: bool = False) -> str:
    """Return a program that makes that many calls, one after another."""
    call = "await tools.increment(n=n)" if awaits else "tools.increment(n=n)"
    return f"n = 0\nfor _ in range({calls}):\n    n = {call}\nreturn n"


async def measure(bench: Bench) -> Row:
    calls = bench.count(CALLS, 3)
    async with bare_round_trips(calls) as bare, CodeMode([increment], session=bench.new_file()) as cm:

        async def run(source: str) -> object:
            return (await cm.run(source)).result

        ours, awaited = (
            Side(
                engine="codemode",
                what=AWAITED if awaits else WHAT,
                take=take(partial(run, program(calls, awaits=awaits)), calls),
                per=calls,
                note="validated, rendered, logged to SQLite",
            )
            for awaits in (False, True)
        )
        trip = Side(engine="trio", what="a bare round trip over a socket pair", take=bare, per=calls)
        plain, unable = await bench.sides(
            [name for name in peers.PEERS if name != peers.FRESH_MONTY],
            WHAT,
            program(calls),
            calls,
            FUNCTIONS,
            per=calls,
        )
        awaiting, unable_to_await = await bench.sides(
            [peers.ASYNC_MONTY], AWAITED, program(calls, awaits=True), calls, FUNCTIONS, per=calls
        )
        measured = await alternate(
            [ours, awaited, trip, *plain.values(), *awaiting.values()],
            rounds=bench.count(15, 2),
            samples=bench.count(3, 2),
        )
    return Row(
        id="P2",
        name="nested-call",
        title="Nested call of a trivial tool: validated, rendered, logged to SQLite",
        checks=[
            bench.check(measured, ours, awaiting, peers.ASYNC_MONTY, MONTY_BOUND),
            measured.check(ours, trip, ROUND_TRIP_BOUND),
        ],
        series=[*measured.series(), *unable, *unable_to_await],
        notes=[
            "A call's share of a run that makes many, the run's start and end included. The tool's body is "
            "asynchronous; so the bound is taken from pydantic-monty's asynchronous interface with an asynchronous "
            "function that the program awaits. Its other ways are shown beside it. None of them validates, renders "
            "or logs.",
        ],
    )


_ECHO = """
import os, sys
fd = int(sys.argv[1])
while True:
    data = os.read(fd, 65536)
    if not data:
        break
    os.write(fd, data)
"""


@asynccontextmanager
async def bare_round_trips(trips: int) -> AsyncIterator[Take]:
    """Give a way to sample that many round trips of 32 bytes under trio, to a process that sends back what it gets."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        echo = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _ECHO, str(theirs.fileno())], pass_fds=[theirs.fileno()]
        )
        theirs.close()
        ours.setblocking(False)

        async def round_trips() -> int:
            for _ in range(trips):
                os.write(ours.fileno(), b"x" * 32)
                await trio.lowlevel.wait_readable(ours)
                if len(os.read(ours.fileno(), 64)) != 32:
                    return 0
            return trips

        try:
            yield take(round_trips, trips)
        finally:
            ours.close()
            echo.wait()
