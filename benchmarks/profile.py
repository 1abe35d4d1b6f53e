"""`python -m benchmarks profile`: where the time of a fresh run and of a nested call goes.

Two views. The sums: wall time, processor time of the host and of the guest, and what is left, which is the kernel
(waking up, switching, copying, forking) and waiting; beside them the counts of `benchmarks.work`. The stages: the host
is sampled, and each sample counts for the innermost function of this package on the stack; the guest's stages are
sampled in a process that is made ready as a guest is, behind no wall and warmer than any.

Sampling interrupts and costs little; what it shows are shares, not times of their own.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import trio

import codemode
from benchmarks import machine
from benchmarks.records import spread_of
from benchmarks.rows.nested_call import bare_round_trips, increment, program
from benchmarks.table import amount
from benchmarks.unconfined import unconfined
from benchmarks.work.processes import faults_of_a_run
from codemode import CodeMode

__all__ = ["main", "sampled", "stage_of"]

CALLS = 200
_PACKAGE = str(Path(codemode.__file__).parent) + "/"
_WAITING = "waiting for the other side, or for the kernel"
_OTHER = "trio and the standard library, outside of this package"
_INTERVAL = 0.0005


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks profile", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="sample each view for so long (default: 5)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write it there")
    options = parser.parse_args(arguments)
    found = trio.run(_profile, options.seconds)
    for title, lines in found.items():
        print(title)
        for name, value in lines:
            print(f"  {value:>10}  {name}")
        print()
    if options.json:
        options.json.write_text(
            json.dumps({"machine": machine.describe(), "profile": found}, indent=2) + "\n"
        )
    return 0


Lines = list[tuple[str, str]]


async def _profile(seconds: float) -> dict[str, Lines]:
    found: dict[str, Lines] = {}

    def add(title: str, stages: Counter[str]) -> None:
        busy = Counter({name: count for name, count in stages.items() if name != _WAITING})
        found[f"{title}, by wall time"] = shares(
            Counter({_WAITING: stages[_WAITING], "working": busy.total()})
        )
        found[f"{title} while it works, by room"] = shares(by_room(busy))
        found[f"{title} while it works, by function"] = shares(busy)

    with TemporaryDirectory() as directory:
        async with CodeMode([increment], session=f"{directory}/session.db") as cm:
            for name, source, expected in (
                ("a fresh run", "return 1 + 2", 3),
                ("a nested call", program(CALLS), CALLS),
            ):
                per = CALLS if expected == CALLS else 1
                found[f"{name}: sums"] = await _sums(cm, source, expected, per, seconds)
                with sampled() as stages:
                    await _repeat(cm, source, expected, seconds)
                add(f"{name}: the host", stages)
                add(
                    f"{name}: the guest",
                    await trio.to_thread.run_sync(_guest_stages, source, expected, seconds),
                )
        async with bare_round_trips(CALLS) as trips:
            seconds_each = [each / CALLS for each in await trips(20)]
            found["a nested call: sums"].append(
                (
                    "wall time of a bare round trip under trio, beside it",
                    amount(spread_of(seconds_each).median, "s"),
                )
            )
    faults = await faults_of_a_run(3)
    found["a fresh run: sums"].append(("page faults of the guest, from waiting to its end", f"{faults:.0f}"))
    return found


async def _repeat(cm: CodeMode, source: str, expected: object, seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        if (await cm.run(source)).result != expected:
            raise AssertionError("another result")


async def _sums(cm: CodeMode, source: str, expected: object, per: int, seconds: float) -> Lines:
    """Return medians over runs, for one operation."""
    await _repeat(cm, source, expected, seconds / 10)
    wall, host, guest = [], [], []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        at, used = time.perf_counter(), time.thread_time()
        ran = await cm.run(source)
        wall.append((time.perf_counter() - at) / per)
        host.append((time.thread_time() - used) / per)
        guest.append(ran.usage.cpu_seconds / per)
    rest = [whole - ours - theirs for whole, ours, theirs in zip(wall, host, guest, strict=True)]
    return [
        ("wall time", amount(spread_of(wall).median, "s")),
        ("processor time of the host's thread, system calls included", amount(spread_of(host).median, "s")),
        ("processor time of the guest, system calls included", amount(spread_of(guest).median, "s")),
        (
            "neither: waking up, switching, other threads, waiting",
            amount(max(0.0, spread_of(rest).median), "s"),
        ),
    ]


@contextmanager
def sampled() -> Iterator[Counter[str]]:
    """Count, while the block runs, where this thread is, by wall time. In the main thread only."""
    stages: Counter[str] = Counter()

    def look(_: int, frame: FrameType | None) -> None:
        stages[stage_of(frame)] += 1

    before = signal.signal(signal.SIGALRM, look)
    timer = signal.setitimer(signal.ITIMER_REAL, _INTERVAL, _INTERVAL)
    try:
        yield stages
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *timer)


def stage_of(frame: FrameType | None, package: str = _PACKAGE) -> str:
    """Return the innermost function of the package on the stack, as `room/file.py: function`."""
    innermost = frame
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(package):
            return f"{code.co_filename.removeprefix(package)}: {code.co_qualname}"
        frame = frame.f_back
    if innermost is not None and innermost.f_code.co_name == "get_events":
        return _WAITING
    return _OTHER


def by_room(stages: Counter[str]) -> Counter[str]:
    """Return the counts summed up by directory, or by file for what lies in none."""
    rooms: Counter[str] = Counter()
    for name, count in stages.items():
        file = name.partition(": ")[0]
        rooms[file.rpartition("/")[0] or file] += count
    return rooms


def shares(stages: Counter[str], most: int = 25) -> Lines:
    """Return the share of each, the largest first; what is small is summed up."""
    total = stages.total()
    if not total:
        return [("nothing was sampled", "–")]
    shown = stages.most_common(most)
    lines = [(name, f"{count / total:.1%}") for name, count in shown if count]
    rest = total - sum(count for _, count in shown)
    return [*lines, (f"{len(stages) - most} others", f"{rest / total:.1%}")] if rest else lines


_SAMPLING = """
import signal
from collections import Counter
stages = Counter()

def look(_, frame):
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(package + "/"):
            waits = frame.f_code.co_qualname == "Channel._read"
            stages[waiting if waits else f"{name[len(package) + 1:]}: {frame.f_code.co_qualname}"] += 1
            return
        frame = frame.f_back

program.warm_up()
signal.signal(signal.SIGALRM, look)
signal.setitimer(signal.ITIMER_REAL, interval, interval)
for descriptor in channels():
    program.serve(descriptor)
    os.close(descriptor)
signal.setitimer(signal.ITIMER_REAL, 0)
tell(stages)
"""
"""Serves one program after another in one process, which a guest never does, so that there is enough to sample."""


def _guest_stages(source: str, expected: object, seconds: float) -> Counter[str]:
    end = time.perf_counter() + seconds
    given = f"waiting, interval = {_WAITING!r}, {_INTERVAL!r}\n"
    with unconfined(given + _SAMPLING) as guest:
        while time.perf_counter() < end:
            guest.run(source, expected)
        guest.end()
        return Counter(guest.told())
