"""The asyncio face: coroutines on the caller's loop, cancellation both ways, from where it must refuse."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from contextlib import asynccontextmanager

import pytest
import trio

import codemode
from codemode import Ask, Output, SessionError, ToolError, as_json
from codemode.asyncio import CodeMode, Hooks, Tool, tool
from codemode.direct import ModelCall
from codemode.sync import CodeMode as SyncCodeMode
from codemode.toolkits import files, shell

USER: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


@tool(render=as_json, parallel=True)
async def double(number: int) -> int:
    """Twice a number, on the caller's loop."""
    await asyncio.sleep(0)
    return 2 * number


@tool(render=as_json, parallel=True)
def blocking_double(number: int) -> int:
    """Twice a number, in a worker thread."""
    return 2 * number


@codemode.tool(render=as_json, parallel=True)
async def trio_double(number: int) -> int:
    """Twice a number, in trio, as a toolkit's tool would."""
    await trio.sleep(0)
    return 2 * number


@tool(render=as_json)
async def where() -> list:
    """Loop, thread and user of the body."""
    return [id(asyncio.get_running_loop()), threading.get_ident(), USER.get()]


def loops() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "codemode loop"]


def test_a_program_runs_and_its_tools_run_on_the_callers_loop():
    logs: list[tuple[str, int]] = []

    async def main():
        USER.set("ann")
        async with CodeMode([double, blocking_double, trio_double, where]) as cm:
            result = await cm.run(
                "print('a')\nprint('b')\n"
                "return [tools.double(1), tools.blocking_double(2), tools.trio_double(3), tools.where()]",
                on_log=lambda text: logs.append((text, threading.get_ident())),
            )
        return result.result, [id(asyncio.get_running_loop()), threading.get_ident(), "ann"]

    result, here = asyncio.run(main())
    assert result == [2, 4, 6, here]
    assert "".join(text for text, _ in logs) == "a\nb\n"
    assert {ident for _, ident in logs} == {threading.get_ident()}
    assert loops() == []


def test_log_coroutines_are_awaited_in_order_before_the_run_returns(caplog):
    logs: list[str] = []

    async def slowly(text: str) -> None:
        await asyncio.sleep(0.01)
        logs.append(text)

    async def fail(text: str) -> None:
        raise ValueError(text)

    async def main():
        async with CodeMode() as cm:
            await cm.run("for n in range(5):\n    print(n)", on_log=slowly)
            assert "".join(logs) == "0\n1\n2\n3\n4\n"
            assert (await cm.run("print(1)\nprint(2)\nreturn 3", on_log=fail)).result == 3

    asyncio.run(main())
    assert [record.message for record in caplog.records] == ["on_log failed; the run goes on without it"]


def test_the_loop_stays_free_and_runs_overlap():
    async def main():
        meet = asyncio.Barrier(2)

        @tool(render=as_json)
        async def both() -> int:
            """Return when the other run is here too."""
            await meet.wait()
            return 1

        async with CodeMode([both]) as cm:
            results = await asyncio.gather(*(cm.run("return tools.both()") for _ in range(2)))
        return [result.result for result in results]

    assert asyncio.run(main()) == [1, 1]


def test_direct_calls_scopes_descriptions_and_the_session(tmp_path):
    ended: list[str] = []

    async def note(call, outcome):
        await asyncio.sleep(0)
        ended.append(call.id)

    async def main():
        async with CodeMode([double], session=tmp_path / "log.db") as cm:
            scope = cm.scope(allow=["double"], mode="native")
            assert [each["name"] for each in scope.describe()] == ["double"]
            assert "double(number: int)" in cm.prompt()
            assert (await scope.call("double", {"number": 3})).value == 6
            calls = [ModelCall(id=str(n), name="double", arguments={"number": n}) for n in range(3)]
            outcomes = await cm.call_all(calls, on_end=note)
            assert sorted(ended) == ["0", "1", "2"]
            cm.session.append("note", {}, ignorable=True)
            await cm.session.commit()
            assert await cm.session.trim(max_bytes=10**9) == 0
            kinds = [event.type async for event in cm.session.events()]
            assert kinds.count("tool/result") == 4
            assert kinds[-1] == "note"
            return [outcome.value for outcome in outcomes]

    assert asyncio.run(main()) == [0, 2, 4]


def test_cancelling_the_task_ends_the_run_and_its_tools_first():
    order: list[str] = []

    async def main():
        started = asyncio.Event()

        @tool(render=as_json)
        async def wait() -> int:
            """Wait until it is cancelled, and clean up."""
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.01)
                order.append("tool")
            return 0

        async with CodeMode([wait]) as cm:
            task = asyncio.create_task(cm.run("return tools.wait()"))
            await started.wait()
            task.cancel()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            order.append("run")
            kinds = [event.type async for event in cm.session.events()]
            assert kinds[-2:] == ["run/end", "tool/result"]
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await cm.run("while True:\n    pass")
            assert (await cm.run("return 1")).result == 1

    asyncio.run(main())
    assert order == ["tool", "run"]
    assert loops() == []


def test_a_cancellation_while_it_opens_leaves_nothing():
    async def main():
        task = asyncio.create_task(CodeMode().__aenter__())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert loops() == []

    asyncio.run(main())


def test_a_timeout_of_a_tool_cancels_its_task():
    ended: list[str] = []

    @tool(render=as_json, timeout=0.05)
    async def slow() -> int:
        """Take too long."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return 0

    async def main():
        async with CodeMode([slow]) as cm:
            return await cm.call("slow", {})

    assert asyncio.run(main()).error.code == "TOOL_TIMEOUT"
    assert ended == ["cancelled"]


def test_what_a_tool_raises_is_its_failure_also_when_it_cancels_itself():
    @tool(render=as_json)
    async def fail(how: str) -> int:
        """Fail in a way."""
        if how == "coded":
            raise ToolError("no", code="NO")
        if how == "cancel":
            asyncio.current_task().cancel()
            await asyncio.sleep(0)
        raise ValueError("bad")

    async def main():
        async with CodeMode([fail]) as cm:
            return [(await cm.call("fail", {"how": how})).error for how in ("coded", "cancel", "other")]

    coded, cancelled, other = asyncio.run(main())
    assert (coded.code, coded.message) == ("NO", "no")
    assert (cancelled.code, cancelled.message) == ("ABORTED", "the task was cancelled in its own loop")
    assert (other.type, other.message) == ("ValueError", "bad")


def test_hooks_approvers_and_raw_tools_are_asyncios():
    seen: list[object] = []

    async def before(call):
        await asyncio.sleep(0)
        return Ask("why not")

    async def approve(requests):
        seen.append(asyncio.get_running_loop())
        return "allow-for-run"

    async def around(call, proceed):
        await proceed()
        outcome = await proceed()
        await asyncio.sleep(0)
        return outcome

    def observe(call, outcome):
        seen.append(threading.get_ident())

    async def execute(arguments, call):
        await asyncio.sleep(0)
        seen.append(call.name)
        return arguments["n"]

    raw = Tool(
        "raw",
        "Return n.",
        {"type": "object", "properties": {"n": {"type": "integer"}}},
        Output({}, as_json),
        execute,
    )

    async def main():
        hooks = Hooks(pre_execute=(before,), around=(around,), observers=(observe,))
        async with CodeMode([raw], hooks=hooks, approver=approve) as cm:
            outcome = await cm.call("raw", {"n": 5})
            assert outcome.value == 5
            return asyncio.get_running_loop()

    loop = asyncio.run(main())
    assert seen[:3] == [loop, "raw", "raw"]
    assert seen[3] != threading.get_ident()


def test_an_around_hook_is_cancelled_with_its_call_and_may_give_up_waiting():
    ends: list[str] = []

    @tool(render=as_json)
    async def wait() -> int:
        """Wait until it is cancelled."""
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("body")
        return 0

    async def impatient(call, proceed):
        try:
            async with asyncio.timeout(0.05):
                return await proceed()
        except TimeoutError:
            ends.append("hook")
            raise ToolError("too slow", code="SLOW") from None

    async def main():
        async with CodeMode([wait], hooks=Hooks(around=(impatient,))) as cm:
            return await cm.call("wait", {})

    assert asyncio.run(main()).error.code == "SLOW"
    assert ends == ["body", "hook"]


def test_a_lifespan_is_entered_and_left_in_one_task_of_the_callers_loop():
    tasks: list[object] = []

    @asynccontextmanager
    async def pool():
        tasks.append(asyncio.current_task())
        try:
            yield
        finally:
            await asyncio.sleep(0)
            tasks.append(asyncio.current_task())

    held = pool()

    @tool(render=as_json, lifespan=held)
    async def one() -> int:
        """One."""
        return len(tasks)

    @tool(render=as_json, lifespan=held)
    async def two() -> int:
        """Two, of the same lifespan."""
        return len(tasks)

    @asynccontextmanager
    async def broken():
        raise ToolError("no pool", code="NO_POOL")
        yield

    @tool(render=as_json, lifespan=broken())
    async def three() -> int:
        """Needs what cannot be had."""
        return 3

    async def main():
        async with CodeMode([one, two, three]) as cm:
            assert (await cm.run("return [tools.one(), tools.two()]")).result == [1, 1]
            assert (await cm.call("three", {})).error.code == "NO_POOL"

    asyncio.run(main())
    assert len(tasks) == 2
    assert tasks[0] is tasks[1]


def test_from_a_wrong_place_it_says_so():
    cm = CodeMode([double])

    async def use():
        return await cm.run("return 1")

    async def main():
        with pytest.raises(RuntimeError, match="enter it first"):
            await use()
        async with cm:
            with pytest.raises(RuntimeError, match="another one"):
                await asyncio.to_thread(asyncio.run, use())
            with pytest.raises(RuntimeError, match="use codemode.CodeMode"):
                await asyncio.to_thread(trio.run, use)
            with pytest.raises(RuntimeError, match="entered already"):
                await cm.__aenter__()
            with pytest.raises(SessionError):
                cm.session.append("unknown/type", {})
        with pytest.raises(RuntimeError, match="enter it first"):
            await use()

    asyncio.run(main())


def test_a_tool_may_call_its_engine_but_not_close_it():
    async def main():
        said: list[str] = []

        @tool(render=as_json)
        async def again() -> int:
            """Call the engine that calls this, and try to close it."""
            try:
                await cm.__aexit__(None, None, None)
            except RuntimeError as error:
                said.append(str(error))
            return (await cm.run("return 20")).result

        async with CodeMode([again]) as cm:
            return (await cm.run("return tools.again()")).result, said

    result, said = asyncio.run(main())
    assert result == 20
    assert "cannot be closed from inside" in said[0]


def test_an_asyncio_tool_in_another_engine_says_what_it_needs():
    with SyncCodeMode([double]) as cm:
        assert cm.call("double", {"number": 1}).error.code == "NO_ASYNCIO_LOOP"


def test_closing_ends_what_other_tasks_run():
    async def main():
        started = asyncio.Event()

        @tool(render=as_json)
        async def announce() -> int:
            """Say that it runs, and never return."""
            started.set()
            await asyncio.Event().wait()
            return 0

        async with CodeMode([announce]) as cm:
            task = asyncio.create_task(cm.run("return tools.announce()"))
            await started.wait()
        with pytest.raises(RuntimeError, match="closed while this call was under way"):
            await task
        assert [each for each in asyncio.all_tasks() if each is not asyncio.current_task()] == []

    asyncio.run(main())
    assert loops() == []


def test_toolkits_work_beside_asyncio_tools_and_an_asyncio_approver(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    asked: list[str] = []

    async def approve(requests):
        await asyncio.sleep(0)
        asked.extend(request.call.name for request in requests)
        return "allow-once"

    async def main():
        async with CodeMode([double, *files(tmp_path), *shell(tmp_path)], approver=approve) as cm:
            return await cm.run(
                "lines = tools.read('a.txt')['totalLines']\n"
                "said = tools.bash(command='echo hi', description='say hi')['stdout']['text']\n"
                "return [tools.double(lines), said]"
            )

    assert asyncio.run(main()).result == [4, "hi\n"]
    assert asked == ["bash"]
