"""What the kernel counts of a real guest, confined and warm; its memory and its zygote's; what importing loads."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable

import trio

from benchmarks.processes import Counted, counted, guests_and_zygote, is_asleep
from benchmarks.rows.memory import guest_bytes, zygote_bytes
from benchmarks.rows.nested_call import increment
from codemode import CodeMode, Tool, as_json, tool
from codemode.sandbox import LocalSandbox

__all__ = ["faults_of_a_run", "process_work"]

FEW, MANY = 10, 110
TIMES, ZYGOTES = 2, 16
_PROGRAM = (
    "n = 0\ntools.probe()\nfor _ in range({calls}):\n    n = tools.increment(n=n)\ntools.probe()\nreturn n"
)


async def process_work() -> dict[str, float]:
    """Count. Raises OSError where /proc may not be read."""
    _, few = await _least(FEW)
    _, many = await _least(MANY)
    per_call = {
        f"guest: {name.replace('_', ' ')}, nested call": (getattr(many, name) - getattr(few, name))
        / (MANY - FEW)
        for name in ("reads", "writes", "bytes_read", "bytes_written")
    }
    return {
        "guest: page faults, fresh run": await faults_of_a_run(),
        **per_call,
        "guest: private KiB, waiting": await guest_bytes() / 1024,
        "zygote: private KiB, no guest": await zygote_bytes() / 1024,
        "import CodeMode: modules beside trio and msgspec": _modules(),
    }


async def faults_of_a_run(zygotes: int = ZYGOTES) -> float:
    """Return the page faults of a guest from waiting to the end of a small program.

    Guests of one zygote have the same, one or two apart; how its memory lies differs from zygote to zygote. So this
    is the mean over some of them.
    """
    return statistics.mean([(await _least(1))[0].page_faults for _ in range(zygotes)])


async def _least(calls: int) -> tuple[Counted, Counted]:
    """Return what a guest did from waiting to the end of a program, and between its first and last call."""
    seen: list[Counted] = []
    async with LocalSandbox(spares=1) as sandbox:
        guest = 0
        probe = _probe(lambda: seen.append(counted(guest)))
        async with CodeMode([increment, probe], sandbox=sandbox) as cm:
            whole, between = [], []
            for _ in range(TIMES):
                guest = await _waiting()
                waiting = counted(guest)
                seen.clear()
                ran = await cm.run(_PROGRAM.format(calls=calls))
                if ran.result != calls or len(seen) != 2:
                    raise AssertionError(ran.text)
                whole.append(seen[1].since(waiting))
                between.append(seen[1].since(seen[0]))
    return _least_of(whole), _least_of(between)


def _least_of(counts: list[Counted]) -> Counted:
    return Counted(*(min(getattr(each, name) for each in counts) for name in Counted.__struct_fields__))


def _probe(look: Callable[[], None]) -> Tool:
    async def probe() -> None:
        """Look at the guest."""
        look()

    return tool(probe, render=as_json)


async def _waiting() -> int:
    """Return the process number of the one guest that waits, once it does nothing more."""
    before: tuple[int, Counted] | None = None
    with trio.fail_after(30):
        while True:
            guests, _ = guests_and_zygote()
            now = (guests[0], counted(guests[0])) if len(guests) == 1 and is_asleep(guests[0]) else None
            if now is not None and now == before:
                return now[0]
            before = now
            await trio.sleep(0.005)


def _modules() -> int:
    code = (
        "import trio, msgspec, sys; before = len(sys.modules)\n"
        "from codemode import CodeMode; print(len(sys.modules) - before)"
    )
    return int(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout)
