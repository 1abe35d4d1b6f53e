"""Reported faults: async, parallel, order.

A test's name says what holds; its program is the small input that showed the fault elsewhere.
"""

# ruff: noqa: E501  (each program stands on one line)

from __future__ import annotations

import time
from typing import Any

import pytest
import trio

from codemode import (
    CodeMode,
    Hooks,
    as_json,
    tool,
)
from codemode.tools.hooks import Ask
from tests.reported_faults.support import value


async def test_an_asynchronous_tools_value_is_a_value_and_no_coroutine(cm):
    result = await cm.run("x = tools.fetch('u')\nprint(x)\nreturn x")
    assert (result.logs, result.result) == (["u:3"], "u:3")


async def test_twenty_gathered_calls_take_about_as_long_as_one(cm):
    start = time.perf_counter()
    source = "import asyncio\nreturn sum(await asyncio.gather(*[tools.slow(0.1) for _ in range(20)]))"
    assert await value(cm, source) == pytest.approx(2.0)
    assert time.perf_counter() - start < 1.5


async def test_gathered_calls_of_which_one_needs_approval_pause_in_place_and_run_once():
    made = []

    @tool(render=as_json, parallel=True)
    async def act(name: str) -> str:
        """Act."""
        made.append(name)
        return name

    asked = []

    async def approver(requests: Any) -> Any:
        asked.extend(request.arguments["name"] for request in requests)
        return "allow-once"

    def ask(call: Any) -> Any:
        return Ask("sure?") if call.arguments.get("name") == "b" else None

    async with CodeMode([act], hooks=Hooks(pre_execute=[ask]), approver=approver) as cm:
        source = "import asyncio\nreturn await asyncio.gather(tools.act('a'), tools.act('b'), tools.act('c'))"
        assert await value(cm, source) == ["a", "b", "c"]
    assert sorted(made) == ["a", "b", "c"]
    assert asked == ["b"]


async def test_reads_overlap_and_a_write_runs_alone():
    now: dict[str, int] = {"reads": 0, "most": 0}
    beside_write = []

    @tool(render=as_json, parallel=True)
    async def read() -> int:
        """Read."""
        now["reads"] += 1
        now["most"] = max(now["most"], now["reads"])
        await trio.sleep(0.02)
        now["reads"] -= 1
        return 1

    @tool(render=as_json)
    async def write() -> int:
        """Write."""
        beside_write.append(now["reads"])
        await trio.sleep(0.02)
        beside_write.append(now["reads"])
        return 2

    async with CodeMode([read, write]) as cm:
        source = (
            "import asyncio\n"
            "return await asyncio.gather(*[tools.read() for _ in range(5)], tools.write(), *[tools.read() for _ in range(5)])"
        )
        assert await value(cm, source) == [1] * 5 + [2] + [1] * 5
    assert now["most"] == 5
    assert beside_write == [0, 0]


async def test_await_works_at_the_top_level(cm):
    assert await value(cm, "return await tools.fetch('a')") == "a:3"


async def test_a_synchronous_tool_that_sleeps_does_not_hold_the_host():
    @tool(render=as_json)
    def sleepy() -> int:
        """Sleep in a thread."""
        time.sleep(0.5)
        return 1

    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await trio.sleep(0.01)
            ticks += 1

    async with CodeMode([sleepy]) as cm, trio.open_nursery() as nursery:
        nursery.start_soon(tick)
        assert await value(cm, "return tools.sleepy()") == 1
        nursery.cancel_scope.cancel()
    assert ticks > 20
