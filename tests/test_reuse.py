"""Fix and continue: a corrected program is given the finished calls of the failed one."""

import pytest

from codemode import CodeMode, ToolError, as_json, text, tool

CALLS = []


@tool(render=lambda arguments, value: [text(f"fetched {arguments['key']}")])
async def fetch(key: str | int) -> dict[str, str]:
    """Fetch something, slowly and at a price."""
    CALLS.append(key)
    if key == "bad":
        raise ToolError("no such key")
    return {"key": str(key), "secret": f"value of {key}"}


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


FAILS = "a = tools.fetch('a')\nb = tools.fetch('b')\nreturn a['nothing']"


async def test_the_same_calls_are_answered_from_memory_and_marked_in_the_log():
    async with CodeMode([fetch]) as cm:
        failed = await cm.run(FAILS, remember=True)
        assert failed.error.kind == "exception"
        fixed = await cm.run(
            FAILS.replace("a['nothing']", "[a['secret'], b['key'], tools.fetch('c')['key']]"), reuse=failed
        )
        assert fixed.result == ["value of a", "b", "c"]
        assert CALLS == ["a", "b", "c"]
        events = list(cm.session.events())
    reused = [event.data for event in events if event.type == "run/reuse"]
    first, second = (call.id for call in failed.calls)
    assert [each["fromSubCallId"] for each in reused] == [first, second]
    ends = [event.data for event in events if event.type == "tool/code-dispatch"]
    assert [end["content"][0]["text"] for end in ends] == [
        f"fetched {key}" for key in ("a", "b", "a", "b", "c")
    ]
    assert not any("value of" in str(event.data) for event in events if event.type != "tool/result")


async def test_the_first_difference_ends_reuse():
    async with CodeMode([fetch]) as cm:
        failed = await cm.run(FAILS, remember=True)
        await cm.run("tools.fetch('a')\ntools.fetch('x')\ntools.fetch('b')", reuse=failed)
    assert CALLS == ["a", "b", "x", "b"]


async def test_arguments_that_are_only_equal_in_python_are_different():
    async with CodeMode([fetch]) as cm:
        first = await cm.run("tools.fetch(1)", remember=True)
        await cm.run("tools.fetch(key='1')", reuse=first)
    assert CALLS == [1, "1"]


async def test_a_call_that_failed_is_made_again_and_ends_reuse():
    source = "try:\n    tools.fetch('bad')\nexcept ToolCallError: pass\ntools.fetch('b')"
    async with CodeMode([fetch]) as cm:
        first = await cm.run(source, remember=True)
        await cm.run(source, reuse=first)
    assert CALLS == ["bad", "b", "bad", "b"]  # the second try may have changed what `b` gives


async def test_a_remembered_value_is_made_again_under_the_tools_present_declaration():
    async with CodeMode([fetch]) as cm:
        first = await cm.run("tools.fetch('a')", remember=True)

    @tool(render=as_json, name="fetch")
    async def changed(key: str) -> list[str]:
        """Fetch something else."""
        raise AssertionError("not to be called")

    async with CodeMode([changed]) as cm:
        result = await cm.run(
            "try:\n    tools.fetch('a')\nexcept ToolCallError as e:\n    return e.code", reuse=first
        )
    assert result.result == "INVALID_OUTPUT"


async def test_nothing_is_remembered_unless_asked_for():
    async with CodeMode([fetch]) as cm:
        first = await cm.run("tools.fetch('a')")
        assert first.calls == ()
        await cm.run("tools.fetch('a')", reuse=first)
    assert CALLS == ["a", "a"]


async def test_gathered_calls_are_reused_in_the_order_of_making():
    source = (
        "import asyncio\nrows = await asyncio.gather(*[tools.fetch(k) for k in 'abc'])\n"
        "return [r['key'] for r in rows]"
    )
    async with CodeMode([fetch]) as cm:
        first = await cm.run(source, remember=True)
        again = await cm.run(source, reuse=first)
    assert first.result == again.result == ["a", "b", "c"]
    assert CALLS == ["a", "b", "c"]
