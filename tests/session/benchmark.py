"""How long an append and a commit take, and how much of a commit is waiting for the disk.

Run it as `python -m tests.session.benchmark [DIRECTORY]` from the project's root; the directory decides which
disk is measured. It prints medians in microseconds.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter_ns

import trio

from codemode.session import Session

START = {
    "rootCallId": "call-1",
    "parentCallId": "call-1",
    "subCallId": "call-1.1",
    "name": "read",
    "arguments": {"path": "src/main.py", "limit": 200},
}
END = {**START, "content": [{"type": "text", "text": "def main() -> None: ..."}], "isError": False}


def append_us(session: Session, times: int = 20_000) -> float:
    """Return the median time of one append of a small event, in microseconds."""
    took = []
    for _ in range(times):
        began = perf_counter_ns()
        session.append("tool/code-dispatch-start", START)
        took.append(perf_counter_ns() - began)
    return median(took) / 1000


async def commit_us(session: Session, times: int = 500) -> float:
    """Return the median time of a commit of two small events, in microseconds."""
    took = []
    for _ in range(times):
        session.append("tool/code-dispatch-start", START)
        session.append("tool/code-dispatch", END)
        began = perf_counter_ns()
        await session.commit()
        took.append(perf_counter_ns() - began)
    return median(took) / 1000


async def thread_us(times: int = 2_000) -> float:
    """Return the median time of going to a worker thread and back, in microseconds."""
    took = []
    for _ in range(times):
        began = perf_counter_ns()
        await trio.to_thread.run_sync(int)
        took.append(perf_counter_ns() - began)
    return median(took) / 1000


def fsync_us(directory: str, times: int = 300) -> float:
    """Return the median time of appending 8 KiB to a file, as two events do, and fsync, in microseconds."""
    took = []
    with tempfile.TemporaryFile(dir=directory) as file:
        for _ in range(times):
            os.write(file.fileno(), bytes(8192))
            began = perf_counter_ns()
            os.fsync(file.fileno())
            took.append(perf_counter_ns() - began)
    return median(took) / 1000


async def main(directory: str) -> None:
    """Measure and print."""
    async with Session.open(None) as session:
        print(f"append, in memory      {append_us(session):9.1f}")
        print(f"commit, in memory      {await commit_us(session):9.1f}")
    async with Session.open(Path(directory, "a.session")) as session:
        print(f"append, file           {append_us(session):9.1f}")
        began = perf_counter_ns()
        await session.commit()
        print(f"commit of 20,000       {(perf_counter_ns() - began) / 1000:9.1f}")
        began = perf_counter_ns()
        count = sum(1 for _ in session.events())
        print(f"reading, per event     {(perf_counter_ns() - began) / 1000 / count:9.1f}")
    async with Session.open(Path(directory, "b.session")) as session:
        print(f"commit of 2, file      {await commit_us(session):9.1f}")
        # Not to be had from outside, for good reason: the same without waiting for the disk.
        assert session._writer is not None
        session._writer._connection.execute("PRAGMA synchronous = OFF")
        print(f"  without fsync        {await commit_us(session):9.1f}")
    print(f"  a worker thread      {await thread_us():9.1f}")
    print(f"  one fsync of 8 KiB   {fsync_us(directory):9.1f}")
    took = []
    for number in range(30):
        began = perf_counter_ns()
        async with Session.open(Path(directory, f"{number}.session")):
            pass
        took.append(perf_counter_ns() - began)
    print(f"create and close       {median(took) / 1000:9.1f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as place:
        trio.run(main, place)
