"""Lifespans of tools: entered at the first call, shared, left when the engine closes."""

from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from codemode import CodeMode, Failure, Success, Tool, ToolDefinitionError, ToolError, as_json, tool


class Place:
    def __init__(self):
        self.log = []
        self.error = None

    async def __aenter__(self):
        await trio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error
        self.log.append("entered")

    async def __aexit__(self, *details):
        with trio.CancelScope(shield=True):
            await trio.lowlevel.checkpoint()
        self.log.append("left")


def using(place, name="look") -> Tool:
    @tool(name=name, render=as_json, lifespan=place, parallel=True)
    async def look() -> list[str]:
        return list(place.log)

    return look


async def test_it_is_entered_at_the_first_call_and_left_with_the_engine():
    place = Place()
    async with CodeMode([using(place), using(place, "other")]) as cm:
        assert place.log == []
        assert (await cm.call("look", {})).value == ["entered"]
        result = await cm.run("import asyncio\nreturn await asyncio.gather(tools.look(), tools.other())")
        assert result.result == [["entered"], ["entered"]]
    assert place.log == ["entered", "left"]
    async with CodeMode([using(place)]) as cm:
        await cm.call("look", {})
    assert place.log == ["entered", "left", "entered", "left"]


async def test_a_tool_of_a_later_scope_has_one_too():
    place = Place()
    async with CodeMode() as cm:
        assert (await cm.scope([using(place)]).call("look", {})).value == ["entered"]
    assert place.log == ["entered", "left"]


async def test_one_that_fails_fails_the_call_and_is_tried_again():
    place = Place()
    place.error = ToolError("not today", code="CLOSED")
    async with CodeMode([using(place)]) as cm:
        outcome = await cm.call("look", {})
        assert isinstance(outcome, Failure)
        assert (outcome.error.code, outcome.error.message) == ("CLOSED", "not today")
        place.error = None
        assert isinstance(await cm.call("look", {}), Success)
    assert place.log == ["entered", "left"]


async def test_one_that_breaks_later_harms_nobody():
    @asynccontextmanager
    async def breaking():
        async with trio.open_nursery() as nursery:

            async def breaks():
                await trio.lowlevel.checkpoint()
                raise ValueError("broken")

            nursery.start_soon(breaks)
            yield

    place = breaking()
    async with CodeMode([using(place)]) as cm:
        await trio.testing.wait_all_tasks_blocked()
        assert (await cm.run("return 1")).result == 1


async def test_a_call_that_is_cancelled_while_it_is_entered_leaves_it_to_others():
    place = Place()
    gate = trio.Event()

    class Slow(Place):
        async def __aenter__(self):
            await gate.wait()
            await super().__aenter__()

    place = Slow()
    async with CodeMode([using(place)]) as cm:
        with trio.move_on_after(0.02) as limit:
            await cm.call("look", {})
        assert limit.cancelled_caught
        gate.set()
        assert (await cm.call("look", {})).value == ["entered"]
    assert place.log == ["entered", "left"]


async def test_an_engine_that_closes_while_it_is_entered():
    class Endless(Place):
        async def __aenter__(self):
            await trio.sleep_forever()

    place = Endless()
    async with trio.open_nursery() as nursery:
        async with CodeMode([using(place)]) as cm:
            outcomes = []

            async def call():
                outcomes.append(await cm.call("look", {}))

            nursery.start_soon(call)
            await trio.testing.wait_all_tasks_blocked()
    assert place.log == []
    assert [outcome.error.code for outcome in outcomes] == ["ABORTED"]


def test_it_has_to_be_a_context_manager():
    with pytest.raises(ToolDefinitionError, match="lifespan=3 must be an async context manager"):
        using(3)


async def test_it_is_left_when_the_last_tool_that_needs_it_is_removed():
    place, other = Place(), Place()
    async with CodeMode([using(other, "other")]) as cm:
        remove = [cm.registry.register(using(place, name)) for name in ("look", "see")]
        await cm.call("look", {})
        await cm.call("other", {})
        remove[0]()
        await trio.testing.wait_all_tasks_blocked()
        assert place.log == ["entered"]
        assert (await cm.call("see", {})).value == ["entered"]
        remove[1]()
        await trio.testing.wait_all_tasks_blocked()
        assert place.log == ["entered", "left"]
        assert other.log == ["entered"]
        again = cm.registry.register(using(place))
        assert (await cm.call("look", {})).value == ["entered", "left", "entered"]
        again()
    assert place.log == ["entered", "left"] * 2
