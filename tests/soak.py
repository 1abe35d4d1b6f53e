"""`python -m tests.soak [--runs 10000 --hostile 1000] [--bombs 100]`: long mixed load, and what it leaves.

Two parts. The mix: good programs, each with one right answer, and hostile ones in between, a few at a time: programs
that loop, fill memory, flood, crash, forge frames, try forbidden system calls, or are killed from outside. Before and
after, processes, descriptors, threads and files are counted; on the way, the memory of host and zygote. The bombs:
that many at once while a heartbeat is measured, then a good run against its usual time.

Exit code 0 only if every good run was right, nothing was left, memory stayed flat, and the heartbeat was in time.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import trio

from codemode.sandbox import CallRequest, Limits, LocalSandbox, RunOutcome
from tests.escapes.arrangements import zygotes
from tests.escapes.left_behind import Witness
from tests.escapes.runner import Echo
from tests.sandbox.support import ECHO, descendants, eventually

MIB = 1024 * 1024
AT_ONCE = 4
SMALL = Limits(cpu_seconds=0.2, wall_seconds=0.6, memory_bytes=96 * MIB, log_bytes=64 * 1024, max_calls=50)
BOMB = Limits(cpu_seconds=1.0, wall_seconds=2.0, memory_bytes=128 * MIB, log_bytes=256 * 1024)

FLAT_BYTES = 12 * MIB
"""How much more memory host and zygote may have at the end than after the first tenth."""

LATE_SECONDS = 0.1
USUAL_FACTOR = 3.0

Good = Callable[[int], tuple[str, object]]

GOOD: tuple[Good, ...] = (
    lambda n: (f"return {n} * 2", n * 2),
    lambda n: (f"return sum(tools.echo(x=i) for i in range({n % 9}))", sum(range(n % 9))),
    lambda n: (f"print('line', {n})\nreturn await tools.echo(x={{'n': [{n}]}})", {"n": [n]}),
    lambda n: (
        f"import asyncio\nreturn await asyncio.gather(*[tools.echo(x=i + {n}) for i in range(5)])",
        [i + n for i in range(5)],
    ),
    lambda n: (
        "import json, re, collections\nclass A:\n    def __init__(self, v):\n        self._v = v\n"
        f"found = collections.Counter(re.findall('[a-c]', 'abcabca' * {n % 5}))\n"
        "return json.loads(json.dumps([A(found['a'])._v, found['c']]))",
        [3 * (n % 5), 2 * (n % 5)],
    ),
    lambda n: (f"return 'x' * {70_000 + n % 100}", "x" * (70_000 + n % 100)),
)

LANGUAGE = (
    "while True: pass",
    "x = []\nwhile True: x.append(bytearray(1_000_000))",
    "while True: print('x' * 1000)",
    "print('x' * 10_000_000)",
    "for i in range(1000): tools.echo(x=i)",
    "return [0] * 9_000_000",
    "return {f'{n:x}': 0 for n in range(600_000)}",
    "return {1, 2}",
    "return ().__class__",
    "def f(n): return f(n + 1)\nf(0)",
    "raise ValueError('x' * 1_000_000)",
    "import itertools\nx = iter([1])\nfor i in range(200_000): x = itertools.chain(x)\nlist(x)",
    "x = 1 << 10 ** 12",
    "import time\ntime.sleep(30)",
    "import asyncio\nawait asyncio.Event().wait()",
    "try:\n    while True: tools.echo(x=1)\nfinally:\n    while True: pass",
    "x = " + "(" * 500 + ")" * 500,
)
"""Hostile programs of the language."""

PLAIN = (
    "import os\nos.fork()",
    "import os\nos.posix_spawn('/bin/true', ['true'], {})",
    "import threading\nthreading.Thread(target=print).start()",
    "import socket\nsocket.socket()",
    "import os\nos.abort()",
    "import ctypes\nctypes.string_at(8)",
    "import os\nos._exit(3)",
    "import os\nos.write(3, b'junk and more junk')\nwhile True: pass",
    "import os\nos.write(3, (1 << 31).to_bytes(4, 'little'))",
    "import os\nos.write(3, (900).to_bytes(4, 'little') + b'x')\nos._exit(0)",
    "from codemode import wire\nimport os\nwhile True: os.write(3, wire.pack(wire.Log('')) * 1000)",
    "from codemode import wire\nimport msgspec, os\nraw = msgspec.Raw(wire.encode_value({'x': 1}))\n"
    "os.write(3, wire.pack(wire.Call(1, 'echo', raw)))\nwhile True: os.write(3, wire.pack(wire.Cancel(1)))",
    "from codemode import wire\nimport os\nos.write(3, wire.pack(wire.Failed('abort', 'x')))\nwhile True: pass",
    "from codemode import wire\nimport msgspec, os\nraw = msgspec.Raw(wire.encode_value({'x': 'x' * 60_000}))\n"
    "for i in range(1, 5000): os.write(3, wire.pack(wire.Call(i, 'echo', raw)))",
    "open('/etc/passwd')",
    "raw_syscall(62, 1, 9)",
)
"""Hostile programs for a guest whose language wall has fallen."""


def resident(pid: int) -> int:
    """Resident memory of a process, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")


def zygote_pid(sandbox: LocalSandbox) -> int:
    """The process that forks guests: the outer one's child, or the outer one where there is no namespace."""
    zygote = sandbox._zygote
    assert zygote is not None
    children = Path(f"/proc/{zygote.pid}/task/{zygote.pid}/children").read_text(encoding="ascii").split()
    grandchildren = [
        child
        for child in children
        if Path(f"/proc/{child}/task/{child}/children").read_text(encoding="ascii").strip()
    ]
    return int(grandchildren[0]) if grandchildren else zygote.pid


class Mix:
    """The mixed load over two sandboxes: the shipped one, and one whose guests have no language wall."""

    def __init__(
        self, shipped: LocalSandbox, plain: LocalSandbox, runs: int, hostile: int, seed: int
    ) -> None:
        self.shipped = shipped
        self.plain = plain
        self.random = random.Random(seed)
        jobs = ["good"] * runs + ["hostile"] * hostile
        self.random.shuffle(jobs)
        self.jobs = jobs
        self.total = len(jobs)
        self.done = 0
        self.wrong: list[str] = []
        self.ends: Counter[str] = Counter()

    async def work(self) -> None:
        while self.jobs:
            number = self.total - len(self.jobs)
            job = self.jobs.pop()
            if job == "good":
                await self._good(number)
            else:
                await self._hostile(number)
            self.done += 1

    async def _good(self, number: int) -> None:
        source, expected = GOOD[number % len(GOOD)](number)
        outcome = await self.shipped.run(source, [ECHO], Echo())
        if outcome.kind is not None or outcome.result != expected:
            self.wrong.append(f"{source!r}: {outcome.kind} {outcome.message[:200]} {outcome.result!r:.100}")

    async def _hostile(self, number: int) -> None:
        which = number % 3
        if which == 0:
            outcome = await self.shipped.run(self.random.choice(LANGUAGE), [ECHO], Echo(), SMALL)
        elif which == 1:
            outcome = await self.plain.run(self.random.choice(PLAIN), [ECHO], Echo(), SMALL)
        else:
            outcome = await self._killed()
        self.ends[outcome.kind or "ok"] += 1

    async def _killed(self) -> RunOutcome:
        """A run whose guest is killed from outside at some moment."""
        sandbox = self.plain

        class Killer(Echo):
            def call(self, request: CallRequest) -> None:
                guests = list(sandbox._zygote._guests.values()) if sandbox._zygote else []
                for guest in guests:
                    if guest.pidfd >= 0 and guest.socket.fileno() >= 0:
                        with contextlib.suppress(ProcessLookupError):  # dead already, and not reaped yet
                            signal.pidfd_send_signal(guest.pidfd, signal.SIGKILL)
                            break

        return await sandbox.run("while True: echo(x=1)", [ECHO], Killer(), SMALL)


async def mix(runs: int, hostile: int, seed: int) -> list[str]:
    """Run the mix; print the figures; return what was wrong."""
    await trio.to_thread.run_sync(int)
    outside, threads = Witness(), threading.active_count()
    problems: list[str] = []
    async with AsyncExitStack() as stack:
        # Those that come and go with bursts would be counted as left behind.
        shipped = await stack.enter_async_context(LocalSandbox(max_spares=2))
        with zygotes("process", "raw"):
            plain = await stack.enter_async_context(LocalSandbox(SMALL, spares=1, max_spares=1))
        load = Mix(shipped, plain, runs, hostile, seed)
        for limits in (
            None,
            SMALL,
            SMALL,
        ):  # limits that are asked for again have a guest waiting from then on
            await shipped.run("return 1", [ECHO], Echo(), limits)
        await _calm()
        inside = Witness()
        zygote = zygote_pid(shipped)
        marks: list[tuple[int, int, int]] = []
        started = time.monotonic()
        async with trio.open_nursery() as nursery:
            for _ in range(AT_ONCE):
                nursery.start_soon(load.work)
            while load.done < load.total:
                due = load.total * len(marks) // 10
                if load.done >= due and len(marks) < 10:
                    gc.collect()
                    marks.append((load.done, resident(os.getpid()), resident(zygote)))
                await trio.sleep(0.01)
        seconds = time.monotonic() - started
        gc.collect()
        marks.append((load.done, resident(os.getpid()), resident(zygote)))
        await _calm()
        problems += [f"left behind while open: {what}" for what in await inside.left()]
        print(f"{load.total:,} runs ({hostile:,} hostile), {AT_ONCE} at a time, {seconds:.0f} s")
        print("hostile ends: " + ", ".join(f"{kind} {count}" for kind, count in load.ends.most_common()))
        print("resident memory in MiB, by runs: host / zygote")
        for done, host, forks in marks:
            print(f"  {done:8,}: {host / MIB:6.1f} / {forks / MIB:6.1f}")
        if zygote_pid(shipped) != zygote:
            problems.append("the zygote was replaced on the way")
        settled = marks[1] if len(marks) > 2 else marks[0]
        for name, index in (("host", 1), ("zygote", 2)):
            grown = marks[-1][index] - settled[index]
            if grown > FLAT_BYTES:
                problems.append(f"the {name}'s memory grew by {grown / MIB:.1f} MiB")
        problems += [f"wrong: {what}" for what in load.wrong[:20]]
        print(f"good runs with a wrong outcome: {len(load.wrong)}")
    await eventually(lambda: threading.active_count() <= threads + 1)
    problems += [f"left behind at the end: {what}" for what in await outside.left()]
    if threading.active_count() > threads + 1:  # trio keeps one for the next who needs it
        problems.append(f"{threading.active_count() - threads} threads more")
    print(
        f"processes below this one {len(descendants())}, descriptors {len(os.listdir('/proc/self/fd')) - 1}, "
        f"threads {threading.active_count()} (before: {threads})"
    )
    return problems


async def bombs(count: int, seed: int) -> list[str]:
    """Run that many bombs at once; print the figures; return what was wrong."""
    chosen = random.Random(seed)
    problems: list[str] = []
    async with LocalSandbox() as sandbox:
        usual = statistics.median([await _timed(sandbox) for _ in range(30)])
        lateness: list[float] = []
        ends: Counter[str] = Counter()

        async def heartbeat() -> None:
            while True:
                due = time.perf_counter() + 0.005
                await trio.sleep(0.005)
                lateness.append(time.perf_counter() - due)

        async def one(source: str) -> None:
            ends[(await sandbox.run(source, [ECHO], Echo(), BOMB)).kind or "ok"] += 1

        async with trio.open_nursery() as beating:
            beating.start_soon(heartbeat)
            await trio.sleep(0.1)
            async with trio.open_nursery() as nursery:
                for _ in range(count):
                    nursery.start_soon(one, chosen.choice(LANGUAGE))
            first = await _timed(sandbox)
            beating.cancel_scope.cancel()
        after = statistics.median([await _timed(sandbox) for _ in range(30)])
    lateness.sort()
    worst, tenth = lateness[-1], lateness[int(len(lateness) * 0.999)]
    print(f"{count} bombs at once: " + ", ".join(f"{kind} {number}" for kind, number in ends.most_common()))
    print(f"heartbeat: latest {worst * 1000:.0f} ms late, 99.9 % within {tenth * 1000:.0f} ms")
    print(
        f"good run: usually {usual * 1000:.2f} ms, the next one {first * 1000:.2f} ms, "
        f"median of 30 afterwards {after * 1000:.2f} ms"
    )
    if worst >= LATE_SECONDS:
        problems.append(f"the heartbeat was {worst * 1000:.0f} ms late")
    if after > usual * USUAL_FACTOR:
        problems.append("good runs are slower afterwards")
    return problems


async def _timed(sandbox: LocalSandbox) -> float:
    started = time.perf_counter()
    outcome = await sandbox.run("return 1 + 1", [ECHO], Echo())
    assert outcome.result == 2, outcome
    return time.perf_counter() - started


async def _calm() -> None:
    """Wait until the number of processes below this one has stayed the same for a while."""
    count, since = -1, time.monotonic()

    def calm() -> bool:
        nonlocal count, since
        now = len(descendants())
        if now != count:
            count, since = now, time.monotonic()
        return time.monotonic() - since > 0.3

    await eventually(calm, 15)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000, help="good runs (default: %(default)s)")
    parser.add_argument(
        "--hostile", type=int, default=1_000, help="hostile runs between them (default: %(default)s)"
    )
    parser.add_argument("--bombs", type=int, default=100, help="bombs at once (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    problems: list[str] = []
    if options.runs or options.hostile:
        problems += trio.run(mix, options.runs, options.hostile, options.seed)
    if options.bombs:
        problems += trio.run(bombs, options.bombs, options.seed)
    for problem in problems:
        print(f"PROBLEM: {problem}")
    print("all of it held" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
