"""Tools that do not stop when they are told to: reported, and nobody is held by them for ever."""

import threading

import pytest
import trio

from codemode import CodeMode, as_json, tool
from codemode.tools import bodies


@pytest.fixture
def release():
    event = trio.Event()
    yield event


@pytest.fixture(autouse=True)
def short_grace(monkeypatch):
    monkeypatch.setattr(bodies, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr("codemode.tools.job.GRACE_SECONDS", 0.2)
    monkeypatch.setattr("codemode.run_code.nested.GRACE_SECONDS", 0.2)


def stubborn(release, **options):
    @tool(render=as_json, name="stubborn", **options)
    async def body() -> int:
        """Go on whatever happens."""
        with trio.move_on_after(20, shield=True):  # so that a test that fails does not hang
            await release.wait()
        return 1

    return body


async def test_a_timeout_is_reported_although_the_body_goes_on(release):
    async with CodeMode([stubborn(release, timeout=0.1)]) as cm:
        with trio.fail_after(5):
            outcome = await cm.call("stubborn", {})
            nested = await cm.run(
                "try:\n    tools.stubborn()\nexcept ToolCallError as e:\n    return [e.code, e.message]"
            )
        release.set()
    assert outcome.error.code == "TOOL_TIMEOUT"
    assert nested.result == ["TOOL_TIMEOUT", "tool call timed out after 0.1 s"]


async def test_a_cancelled_direct_call_does_not_wait_for_ever(release):
    async with CodeMode([stubborn(release)]) as cm:
        with trio.fail_after(5), trio.move_on_after(0.1) as scope:
            await cm.call("stubborn", {})
        assert scope.cancelled_caught
        result = list(cm.session.events(types=["tool/result"]))[-1].data
        release.set()
    assert result["isError"] is True
    assert result["error"]["code"] == "ABORTED"


@pytest.mark.parametrize("parallel", [False, True])
async def test_a_run_ends_although_its_tool_goes_on_and_the_log_says_so(release, parallel):
    async with CodeMode([stubborn(release, parallel=parallel)]) as cm:
        with trio.fail_after(10):
            result = await cm.run(
                "import asyncio\n"
                "try:\n    await asyncio.wait_for(tools.stubborn(), 0.1)\nexcept TimeoutError:\n    return 'went on'"
            )
        assert result.result == "went on"
        (end,) = cm.session.events(types=["tool/code-dispatch"])
        assert end.data["isError"] is True
        assert "did not stop within 0.2 s" in end.data["content"][0]["text"]
        release.set()
        await trio.sleep(0.1)
        assert len(list(cm.session.events(types=["tool/code-dispatch"]))) == 1


async def test_a_thread_that_does_not_stop_is_left_behind():
    go_on = threading.Event()

    @tool(render=as_json)
    def stuck() -> int:
        """Wait in a thread."""
        go_on.wait(30)
        return 1

    async with CodeMode([stuck]) as cm:
        with trio.fail_after(5):
            result = await cm.run("import asyncio\ntry:\n    await asyncio.wait_for(tools.stuck(), 0.1)\n"
                                  "except TimeoutError:\n    return 'went on'")  # fmt: skip
        (end,) = cm.session.events(types=["tool/code-dispatch"])
    go_on.set()
    assert result.result == "went on"
    assert end.data["isError"] is True


async def test_an_error_inside_the_engines_block_is_not_wrapped():
    with pytest.raises(LookupError, match="mine"):
        async with CodeMode([]):
            raise LookupError("mine")
