"""Reported faults: limits and output.

A test's name says what holds; its program is the small input that showed the fault elsewhere.
"""

from __future__ import annotations

import time

import trio

from codemode import (
    CodeMode,
    Limits,
)
from tests.reported_faults.support import echo


async def test_there_are_limits_by_default():
    limits = Limits()
    assert limits.cpu_seconds <= 60
    assert limits.wall_seconds <= 600
    assert limits.memory_bytes <= 1 << 30
    async with CodeMode() as cm:
        for source in ("'x' * 10**10", "[0] * 10**10", "x = []\nwhile True: x.append('y' * 10**6)"):
            assert (await cm.run(source)).error.kind == "memory-limit"


async def test_a_program_that_never_ends_is_killed_and_the_host_keeps_ticking():
    gaps = []

    async def tick() -> None:
        last = time.perf_counter()
        while True:
            await trio.sleep(0.01)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    async with CodeMode(limits=Limits(wall_seconds=1)) as cm, trio.open_nursery() as nursery:
        nursery.start_soon(tick)
        start = time.perf_counter()
        assert (await cm.run("while True: pass")).error.kind == "timeout"
        assert time.perf_counter() - start < 4
        nursery.cancel_scope.cancel()
    assert len(gaps) > 30
    assert sorted(gaps)[len(gaps) // 2] < 0.05


async def test_each_run_has_a_budget_of_its_own():
    async with CodeMode([echo], limits=Limits(max_calls=10, log_bytes=1000)) as cm:
        for _ in range(10):
            result = await cm.run("for i in range(4): tools.echo(i)\nprint('x' * 400)")
            assert result.error is None, result.text


async def test_printed_text_is_kept_whole_and_what_is_cut_for_the_model_says_so(cm):
    result = await cm.run("for i in range(15_000): print('token', i)")
    assert result.error is None
    assert len(result.logs) == 15_000
    assert result.logs[-1] == "token 14999"
    assert len(result.text) < len("\n".join(result.logs))
    assert result.text.startswith("token 0\n")
    assert result.text.rstrip().endswith("token 14999")
    assert "bytes in all, cut here" in result.text


async def test_logs_before_a_limit_are_kept(cm):
    result = await cm.run("print('first')\nwhile True: print('flood' * 1000)")
    assert result.error.kind == "output-limit"
    assert result.logs[0] == "first"
