"""Who is asked, once for how many, and what an answer means."""

import pytest
import trio

from codemode import CodeMode, Hooks, Limits, as_json, tool
from codemode.tools.hooks import Ask

DONE = []


@tool(
    render=as_json,
    approval=lambda arguments: None if arguments["path"].startswith("tmp/") else "writes a file",
)
async def write(path: str) -> str:
    """Write a file."""
    DONE.append(path)
    return path


@pytest.fixture(autouse=True)
def nothing_done():
    DONE.clear()


class Approver:
    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def __call__(self, requests):
        self.asked.append([(each.tool.name, each.arguments["path"], each.reason) for each in requests])
        await trio.sleep(0)
        return self.answers.pop(0)


CATCH = "try:\n    tools.write('b')\nexcept ToolCallError as error:\n    return [error.code, error.message]\n"


async def test_without_an_approver_a_question_is_a_denial_that_says_so():
    async with CodeMode([write]) as cm:
        result = await cm.run(CATCH)
    assert result.result == [
        "DENIED",
        "writes a file (tool 'write' needs approval, and nobody is there to give it)",
    ]
    assert DONE == []


async def test_only_what_asks_is_asked_about():
    approver = Approver()
    async with CodeMode([write], approver=approver) as cm:
        assert (await cm.run("return tools.write('tmp/x')")).result == "tmp/x"
    assert approver.asked == []


async def test_allow_once_holds_for_one_call_and_a_denial_can_be_caught():
    approver = Approver("allow-once", "deny")
    async with CodeMode([write], approver=approver) as cm:
        result = await cm.run("tools.write('a')\n" + CATCH)
    assert result.result == ["DENIED", "the call of tool 'write' was not approved (writes a file)"]
    assert DONE == ["a"]
    assert approver.asked == [[("write", "a", "writes a file")], [("write", "b", "writes a file")]]


async def test_allow_for_run_answers_a_loop_once_and_the_next_run_asks_again():
    approver = Approver("allow-for-run", "deny")
    async with CodeMode([write], approver=approver) as cm:
        result = await cm.run("for n in range(20):\n    tools.write(f'f{n}')\nreturn 'all'")
        assert result.result == "all"
        assert len(approver.asked) == 1
        again = await cm.run(CATCH)
    assert again.result[0] == "DENIED"
    assert len(DONE) == 20


async def test_asks_that_wait_together_are_answered_together():
    approver = Approver(["allow-once", "deny", "allow-once"])
    async with CodeMode([write], approver=approver) as cm:
        result = await cm.run(
            "import asyncio\n"
            "done = await asyncio.gather(*[tools.write(p) for p in 'xyz'], return_exceptions=True)\n"
            "return [type(d).__name__ for d in done]"
        )
    assert result.result == ["str", "ToolCallError", "str"]
    assert [path for _, path, _ in approver.asked[0]] == ["x", "y", "z"]
    assert DONE == ["x", "z"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("cancelled", "was cancelled"),
        ("yes", "the approver answered 'yes', which is none of allow-once, allow-for-run, deny, cancelled"),
        (["allow-once", "allow-once"], "the approver answered"),
        (True, "asking for approval failed"),
        (None, "asking for approval failed"),
    ],
)
async def test_anything_but_a_clear_yes_is_a_no(answer, says):
    async with CodeMode([write], approver=Approver(answer)) as cm:
        result = await cm.run(CATCH)
    assert result.result[0] == "DENIED"
    assert says in result.result[1]
    assert DONE == []


async def test_an_approver_that_fails_has_approved_nothing():
    def broken(requests):
        raise ConnectionError("nobody home")

    async with CodeMode([write], approver=broken) as cm:
        result = await cm.run(CATCH)
    assert result.result == ["DENIED", "asking for approval failed: ConnectionError: nobody home"]


async def test_a_hook_can_ask_and_direct_calls_are_asked_about_too():
    approver = Approver("allow-once", "deny")
    hooks = Hooks(pre_execute=(lambda call: Ask("policy") if call.name == "write" else None,))
    async with CodeMode([write], approver=approver, hooks=hooks) as cm:
        assert (await cm.call("write", {"path": "tmp/a"})).value == "tmp/a"
        assert (await cm.call("write", {"path": "tmp/a"})).error.code == "DENIED"
    assert approver.asked[0] == [("write", "tmp/a", "policy")]


async def test_a_run_that_ends_while_somebody_is_asked_takes_the_question_back():
    asked = trio.Event()
    taken_back = []

    async def slow(requests):
        asked.set()
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            taken_back.append(len(requests))
            raise

    async with CodeMode([write], approver=slow) as cm:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cm.run, "tools.write('a')")
            await asked.wait()
            nursery.cancel_scope.cancel()
        types = [event.type for event in cm.session.events()]
    assert taken_back == [1]
    assert DONE == []
    assert "tool/code-dispatch-start" not in types  # it never started


async def test_the_time_that_an_answer_takes_is_not_the_program_s():
    async def slow(requests):
        await trio.sleep(1.6)
        return ["allow-once"] * len(requests)

    async with CodeMode([write], approver=slow, limits=Limits(wall_seconds=1.5)) as cm:
        result = await cm.run("tools.write(path='a')\nreturn tools.write(path='b')")
        assert result.error is None, result.error
        assert result.usage.wall_seconds > 3.2
        late = await cm.run("import time\ntools.write(path='a')\ntime.sleep(5)")
    assert late.error.kind == "timeout"
    assert "1.5 s of wall time" in late.error.message
