"""P8: the private memory of a guest that waits, and of the zygote that it was forked from."""

from __future__ import annotations

from collections.abc import Callable

import trio

from benchmarks.bench import Bench
from benchmarks.processes import guests_and_zygote, is_asleep, memory_of
from benchmarks.records import Check, Row, Series, missing, spread_of
from codemode import CodeMode
from codemode.sandbox import LocalSandbox

__all__ = ["guest_bytes", "measure", "zygote_bytes"]

MIB = 1024 * 1024
GUEST_BOUND = 2.0
ZYGOTE_BOUND = 30.0
_SETTLE_SECONDS = 0.01


async def measure(bench: Bench) -> Row:
    times = bench.count(5, 2)
    checks = []
    for against, bound, read in (
        ("a waiting guest", GUEST_BOUND, guest_bytes),
        ("the zygote, with no guest", ZYGOTE_BOUND, zygote_bytes),
    ):
        try:
            figure = spread_of([await read() / MIB for _ in range(times)])
        except OSError as error:
            checks.append(
                missing(against, "MiB", bound, f"/proc/PID/smaps_rollup cannot be read: {error.strerror}")
            )
        else:
            checks.append(Check(against=against, unit="MiB", bound=bound, figure=figure))
    return Row(
        id="P8",
        name="memory",
        title="Private memory",
        checks=checks,
        series=[
            Series(
                engine="codemode", what=f"private memory of {check.against}", unit="MiB", spread=check.figure
            )
            for check in checks
            if check.figure is not None
        ],
        notes=[
            "Pages that no other process has, by /proc/PID/smaps_rollup. The zygote is measured while it has no "
            "guest, for with one most of its pages are shared with that."
        ],
    )


async def guest_bytes() -> int:
    """Return the private bytes of one guest that waits, confined and warm."""
    async with CodeMode() as cm:
        if (await cm.run("return 1")).result != 1:
            raise AssertionError("a run failed")

        def read() -> dict[int, int]:
            guests = guests_and_zygote()[0]
            return {pid: memory_of(pid).private for pid in guests} if all(map(is_asleep, guests)) else {}

        return await _settled(read)


async def zygote_bytes() -> int:
    """Return the private bytes of a zygote that has no guest."""
    async with LocalSandbox(spares=0) as sandbox, CodeMode(sandbox=sandbox) as cm:
        if (await cm.run("return 1")).result != 1:
            raise AssertionError("a run failed")

        def read() -> dict[int, int]:
            guests, zygote = guests_and_zygote()
            return {} if guests else {zygote: memory_of(zygote).private}

        return await _settled(read)


async def _settled(read: Callable[[], dict[int, int]]) -> int:
    """Return the largest of what is read, once it stays the same for a while."""
    before: dict[int, int] = {}
    same = 0
    with trio.fail_after(60):
        while True:
            try:
                now = read()
            except FileNotFoundError:  # one ended while it was read
                now = {}
            same = same + 1 if now and now == before else 0
            if same == 3:
                return max(now.values())
            before = now
            await trio.sleep(_SETTLE_SECONDS)
