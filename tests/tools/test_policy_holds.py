"""Policy holds in corners too: what a hook blocks or takes out stays so when calls are cancelled, repeated,
replaced, stored or badly worded."""

import pytest
import trio

from codemode import CodeMode, Hooks, Registry, Spill, as_json, text, tool
from codemode.tools.approval import Approvals
from codemode.tools.hooks import Accept, Ask, Block, Deny
from codemode.tools.pipeline import Pipeline

SECRET = "TOP-SECRET"


@tool(render=as_json, parallel=True)
async def secret() -> str:
    """A value that policy keeps back."""
    return SECRET


async def slow_block(call, outcome):
    if call.name == "secret":
        await trio.sleep(0.5)
        return Block(feedback="kept back")
    return None


async def test_a_call_that_is_cancelled_before_policy_has_seen_it_shows_and_stores_nothing():
    seen = []
    hooks = Hooks(
        post_execute=(slow_block,), observers=(lambda call, outcome: seen.append((call.name, outcome)),)
    )
    async with CodeMode([secret], hooks=hooks) as cm:
        result = await cm.run(
            "import asyncio\n"
            "try:\n    await asyncio.wait_for(tools.secret(), 0.1)\nexcept TimeoutError: pass\nreturn 1",
            remember=True,
        )
        with trio.move_on_after(0.1):
            await cm.call("secret", {})
        stored = [str(event.data) for event in cm.session.events()]
    assert result.result == 1
    assert not any(SECRET in each for each in stored)
    assert [outcome.is_error for name, outcome in seen if name == "secret"] == [True, True]
    assert SECRET not in str(result.calls)


async def test_what_one_hook_takes_out_of_the_stored_copy_spill_does_not_bring_back(tmp_path):
    @tool(render=as_json)
    async def long_secret() -> str:
        """A long value with a password in it."""
        return "password=hunter2 " + "x" * 5_000

    def redact(call, outcome):
        return [text(block.text.replace("hunter2", "***")) for block in outcome.content]

    spill = Spill(tmp_path, max_bytes=1_000)
    async with CodeMode([long_secret], hooks=Hooks(stored_content=(redact,)), spill=spill) as cm:
        await cm.run("kept = tools.long_secret()")
        (end,) = cm.session.events(types=["tool/code-dispatch"])
    (file,) = tmp_path.iterdir()
    assert "password=***" in end.data["content"][0]["text"]
    assert "hunter2" not in end.data["content"][0]["text"] + file.read_text()


@pytest.mark.parametrize("ends", ["by itself", "engine"])
async def test_a_call_that_is_cancelled_after_it_was_shown_is_stored_as_the_hook_says(ends):
    """An observer waits; the outcome stands, so what is stored goes through the hook all the same."""

    async def redact(call, outcome):
        await trio.lowlevel.checkpoint()
        return [text(block.text.replace(SECRET, "***")) for block in outcome.content]

    async def watch(call, outcome):
        if call.name == "secret":
            await trio.sleep(60)

    program = (
        "import asyncio\n"
        "try:\n    await asyncio.wait_for(tools.secret(), 0.1)\nexcept TimeoutError: pass\nreturn 1"
    )
    hooks = Hooks(stored_content=(redact,), observers=(watch,))
    async with CodeMode([secret], hooks=hooks) as cm, trio.open_nursery() as nursery:
        if ends == "engine":
            nursery.start_soon(cm.run, program.replace("0.1", "50"))
            while not any(cm.session.events(types=["tool/code-dispatch-start"])):
                await trio.sleep(0.01)
            await trio.sleep(0.1)
            cm._core.entered.nursery.cancel_scope.cancel()
            await trio.sleep(0.3)
            nursery.cancel_scope.cancel()
        else:
            assert (await cm.run(program)).result == 1
        (end,) = cm.session.events(types=["tool/code-dispatch"])
    assert end.data["content"] == [{"type": "text", "text": '"***"'}]


async def test_a_reused_call_is_still_seen_by_policy_and_not_asked_about_again():
    asked = []

    @tool(render=as_json, approval="costs money")
    async def paid(n: int) -> int:
        """Pay."""
        return n

    def approve(requests):
        asked.extend(requests)
        return "allow-once"

    source = "tools.paid(1)\nreturn 'through'"
    async with CodeMode([paid], approver=approve) as cm:
        first = await cm.run(source, remember=True)
        assert (await cm.run(source, reuse=first)).result == "through"
        assert len(asked) == 1
        strict = cm.scope(
            hooks=Hooks(pre_execute=(lambda c: Deny("not here") if c.name == "paid" else None,))
        )
        refused = await strict.run(source, reuse=first)
    assert "not here" in refused.error.message


async def test_a_tool_that_was_replaced_since_it_was_decided_on_does_not_run():
    ran = []

    def version(number, **options):
        @tool(render=as_json, name="x", **options)
        async def body() -> int:
            """Run."""
            ran.append(number)
            return number

        return body

    registry = Registry()
    remove = registry.register(version(1))

    def swap(call):
        remove()
        registry.register(version(2, approval="dangerous"))

    registry.add_hooks(Hooks(pre_execute=(swap,)))
    outcome = await Pipeline(registry, approvals=Approvals(lambda requests: "deny")).execute("x", {}, id="c1")
    assert outcome.error.code == "TOOL_REPLACED"
    assert ran == []


async def test_nobody_is_asked_about_a_call_that_can_only_fail():
    asked = []
    hooks = Hooks(pre_execute=(lambda call: Ask("policy") if call.name != "run_code" else None,))

    @tool(render=as_json)
    async def typed(n: int) -> int:
        """Take a number."""
        return n

    async with CodeMode([typed], hooks=hooks, approver=asked.append) as cm:
        assert (await cm.call("typed", {"n": "x"})).error.code == "INVALID_ARGUMENTS"
        assert (await cm.call("unknown", {})).error.code == "UNKNOWN_TOOL"
        remove = cm.registry.register(tool(render=as_json, name="gone")(typed_body))
        remove_in_program = cm.scope([tool(render=as_json, name="drop")(lambda_body(remove))])
        with trio.fail_after(10):
            result = await remove_in_program.run(
                "try:\n    tools.drop()\nexcept ToolCallError: pass\n"
                "try:\n    tools.gone(n=1)\nexcept ToolCallError as e:\n    return e.code"
            )
    assert result.result in ("UNKNOWN_TOOL", "DENIED")


async def typed_body(n: int) -> int:
    """Take a number."""
    return n


def lambda_body(remove):
    async def body() -> None:
        """Remove a tool."""
        remove()

    return body


async def test_a_question_that_nobody_waits_for_any_more_is_taken_back_and_the_next_call_goes_on():
    taken_back = []

    async def never(requests):
        try:
            await trio.sleep_forever()
        finally:
            taken_back.append(len(requests))

    @tool(render=as_json, approval="sure?")
    async def asks() -> int:
        """Ask."""
        return 1

    @tool(render=as_json)
    async def plain() -> int:
        """Just answer."""
        return 2

    async with CodeMode([asks, plain], approver=never) as cm:
        with trio.fail_after(10):
            result = await cm.run(
                "import asyncio\n"
                "try:\n    await asyncio.wait_for(tools.asks(), 0.2)\n"
                "except TimeoutError:\n    return await tools.plain()"
            )
    assert result.result == 2
    assert taken_back == [1]


async def test_a_tool_whose_clean_up_fails_while_it_is_cancelled_fails_alone():
    @tool(render=as_json)
    async def messy() -> int:
        """Fail while cleaning up."""

        async def child():
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("cleanup failed")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(child)
        return 1

    async with CodeMode([messy]) as cm:
        result = await cm.run(
            "import asyncio\nprint('before')\n"
            "try:\n    await asyncio.wait_for(tools.messy(), 0.1)\nexcept TimeoutError:\n    return 'went on'"
        )
        (end,) = cm.session.events(types=["tool/code-dispatch"])
    assert (result.result, result.logs) == ("went on", ["before"])
    assert end.data["isError"] is True


@pytest.mark.parametrize("reason", ["no \udcff", None, 5, ""])
@pytest.mark.parametrize(
    "make",
    [
        lambda reason: Hooks(pre_execute=(lambda c: Deny(reason) if c.name == "secret" else None,)),
        lambda reason: Hooks(
            post_execute=(lambda c, o: Block(feedback=reason) if c.name == "secret" else None,)
        ),
    ],
    ids=["deny", "block"],
)
async def test_badly_worded_reasons_fail_the_call_and_nothing_else(reason, make):
    async with CodeMode([secret], hooks=make(reason)) as cm:
        result = await cm.run("try:\n    tools.secret()\nexcept ToolCallError as e:\n    return e.message")
        direct = await cm.call("secret", {})
    assert isinstance(result.result, str), result.text
    assert direct.is_error


async def test_a_hook_that_exits_fails_its_call_and_not_the_engine():
    def leave(*_):
        raise SystemExit("out")

    for point in ("pre_execute", "guards", "around", "post_execute", "finalize_content", "observers"):
        calls = {"n": 0}

        def once(call, *rest, calls=calls, point=point):
            if call.name == "secret":
                calls["n"] += 1
                leave()
            return rest[0]() if rest and callable(rest[0]) and point == "around" else None

        async with CodeMode([secret], hooks=Hooks(**{point: (once,)})) as cm:
            outcome = await cm.call("secret", {})
            assert outcome.is_error is (point != "observers")
            assert (await cm.run("return 1")).result == 1
        assert calls["n"] == 1


async def test_a_refused_run_keeps_what_was_printed_and_called():
    hooks = Hooks(post_execute=(lambda c, o: Block(feedback="no") if c.name == "run_code" else None,))
    async with CodeMode([secret], hooks=hooks) as cm:
        result = await cm.run("print('before')\ntools.secret()", remember=True)
    assert (result.error.kind, result.logs, len(result.calls)) == ("refused", ["before"], 1)
    assert result.usage.calls == 1


async def test_a_listener_that_fails_does_not_end_the_run():
    def broken(piece):
        raise ConnectionError("nobody listens")

    async with CodeMode([]) as cm:
        result = await cm.run("print('a')\nprint('b')\nreturn 1", on_log=broken)
    assert (result.result, result.logs) == (1, ["a", "b"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: CodeMode([], limits=5),
        lambda: CodeMode([], hooks=[]),
        lambda: CodeMode([], approver=5),
        lambda: CodeMode([], max_parallel_calls=0),
        lambda: Hooks(guards=5),
        lambda: Hooks(guards=("text",)),
        lambda: Hooks(pre_execute="text"),
    ],
)
def test_wrong_settings_are_refused_at_once(make):
    with pytest.raises((TypeError, ValueError), match=r"must be|takes a tuple|is no function"):
        make()


async def test_hooks_may_be_given_as_lists():
    async with CodeMode([secret], hooks=Hooks(guards=[lambda call: None])) as cm:
        assert (await cm.run("return tools.secret()")).result == SECRET


async def test_a_name_that_is_no_text_is_an_unknown_tool():
    async with CodeMode([secret]) as cm:
        for name in (5, None, "\ud800"):
            assert (await cm.call(name, {})).error.code == "UNKNOWN_TOOL"


async def test_replaced_content_of_a_direct_call_stands_also_when_the_caller_goes_away_later():
    hooks = Hooks(post_execute=(lambda c, o: Accept(content=[text("redacted")]),))
    async with CodeMode([secret], hooks=hooks) as cm:
        outcome = await cm.call("secret", {})
    assert outcome.content == (text("redacted"),)
