"""The synchronous face: from plain threads, under interrupts, from where it must refuse."""

from __future__ import annotations

import contextvars
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import trio

from codemode import (
    Accept,
    Ask,
    Block,
    Limits,
    RunFailure,
    SandboxUnavailable,
    SessionError,
    ToolDefinitionError,
    as_json,
)
from codemode import Hooks as TrioHooks
from codemode import Session as TrioSession
from codemode import tool as make_tool
from codemode.direct import ModelCall
from codemode.sync import CodeMode, Hooks

USER: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


@make_tool(render=as_json, parallel=True)
def double(number: int) -> int:
    """Twice a number, in a worker thread."""
    return 2 * number


@make_tool(render=as_json, parallel=True)
async def trio_double(number: int) -> int:
    """Twice a number, in trio, as a toolkit's tool would."""
    await trio.sleep(0)
    return 2 * number


@make_tool(render=as_json)
def who() -> str:
    """The user of the caller."""
    return USER.get()


@make_tool(render=as_json)
async def wait_for_ever() -> int:
    """Never returns."""
    await trio.sleep_forever()
    return 0


def loops() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "codemode loop"]


def test_a_program_runs_prints_and_returns():
    here: list[tuple[str, int]] = []
    with CodeMode([double, trio_double]) as cm:
        result = cm.run(
            "print('a')\nprint('b')\nreturn [tools.double(4), tools.trio_double(5)]",
            on_log=lambda text: here.append((text, threading.get_ident())),
        )
    assert result.result == [8, 10]
    assert result.error is None
    assert "".join(text for text, _ in here) == "a\nb\n"
    assert {ident for _, ident in here} == {threading.get_ident()}
    assert loops() == []


def test_a_log_function_that_fails_is_reported_once_and_the_run_goes_on(caplog):
    def fail(text: str) -> None:
        raise ValueError(text)

    with CodeMode() as cm:
        assert cm.run("print(1)\nprint(2)\nreturn 3", on_log=fail).result == 3
    assert [record.message for record in caplog.records] == ["on_log failed; the run goes on without it"]


def test_direct_calls_scopes_and_descriptions():
    ended: list[str] = []
    with CodeMode([double, who]) as cm:
        scope = cm.scope(allow=["double"], mode="native")
        assert [each["name"] for each in scope.describe()] == ["double"]
        assert "double(number: int)" in cm.prompt()
        assert cm.capabilities() is not None
        assert scope.call("double", {"number": 3}).value == 6
        small = cm.scope(session=cm.session, limits=Limits(max_calls=1))
        assert small.limits.max_calls == 1
        assert small.run("tools.double(1)\ntools.double(2)").error.kind == "call-limit"
        with CodeMode() as other, pytest.raises(ValueError, match="belongs to another engine"):
            other.scope(session=cm.session)
        assert scope.call("who", {}).error.code == "UNKNOWN_TOOL"
        outcomes = cm.call_all(
            [ModelCall(id=str(n), name="double", arguments={"number": n}) for n in range(3)],
            on_end=lambda call, outcome: ended.append(call.id),
        )
    assert [outcome.value for outcome in outcomes] == [0, 2, 4]
    assert sorted(ended) == ["0", "1", "2"]


def test_the_callers_context_is_seen_by_its_tools_and_hooks():
    seen: list[str] = []
    hooks = Hooks(observers=(lambda call, outcome: seen.append(USER.get()),))
    with CodeMode([who], hooks=hooks) as cm:

        def as_user(name: str) -> object:
            USER.set(name)
            return cm.run("return tools.who()").result

        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(as_user, ["ann", "bob", "cyd"])) == ["ann", "bob", "cyd"]
    assert set(seen) == {"ann", "bob", "cyd"}


def test_many_threads_use_one_engine():
    with CodeMode([double]) as cm, ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: cm.run(f"return tools.double({n})").result, range(24)))
    assert results == [2 * n for n in range(24)]


def test_the_session_is_read_and_written_from_any_thread(tmp_path):
    path = tmp_path / "log.db"
    with CodeMode([double], session=path) as cm:
        cm.run("return tools.double(1)")
        first = cm.session.append("note", {"by": "me"}, ignorable=True)
        cm.session.commit()
        assert first.seq == cm.session.next_seq - 1
        kinds = [event.type for event in cm.session.events()]
        assert kinds[0] == "tool/call"
        assert kinds[-1] == "note"
        told: list[str] = []
        stop = cm.session.observe(lambda event: told.append(event.type))
        cm.session.append("note", {}, ignorable=True)
        stop()
        cm.session.append("note", {}, ignorable=True)
        assert told == ["note"]
        assert cm.session.path == str(path)
        assert cm.session.trim(max_bytes=10**9) == 0
    with TrioSession.read(path) as stored:
        assert [event.type for event in stored.events()][-2:] == ["note", "note"]


def test_errors_come_back_with_their_own_types(tmp_path):
    with pytest.raises(ToolDefinitionError, match="is not a Tool"):
        CodeMode([test_many_threads_use_one_engine])  # type: ignore[list-item]
    (tmp_path / "log.db").write_text("this is no session, and long enough to be looked at")
    with pytest.raises(SessionError), CodeMode(session=tmp_path / "log.db"):
        pass
    assert loops() == []
    with CodeMode() as cm:
        with pytest.raises(ValueError, match="the ids of calls"):
            cm.call_all([ModelCall(id="1", name="a", arguments={})] * 2)
        with pytest.raises(SessionError, match="unknown type of event"):
            cm.session.append("unknown/type", {})


def test_outside_the_block_it_says_so():
    cm = CodeMode([double])
    assert next(each["name"] for each in cm.describe()) == "double"
    with pytest.raises(RuntimeError, match="enter it first"):
        cm.run("return 1")
    with cm:
        with pytest.raises(RuntimeError, match="entered already"):
            cm.__enter__()
        assert cm.run("return 1").result == 1
    with pytest.raises(RuntimeError, match="enter it first"):
        cm.run("return 1")
    with cm:
        assert cm.run("return 2").result == 2


def test_a_tool_that_calls_its_own_engine_is_told_and_so_is_one_that_closes_it():
    said: list[str] = []

    @make_tool(render=as_json)
    def again() -> int:
        """Call the engine that calls this."""
        for use in (lambda: cm.run("return 1"), lambda: cm.__exit__(None, None, None)):
            try:
                use()
            except RuntimeError as error:
                said.append(str(error))
        return 1

    with CodeMode([again]) as cm, CodeMode([double]) as other:
        assert cm.run("return tools.again()").result == 1
        assert "cannot be called from inside a tool" in said[0]
        assert "cannot be closed from inside" in said[1]
        # A function that the loop itself calls cannot wait for the loop either.
        cm.session.observe(lambda event: said.append(_error_of(lambda: cm.run("return 1"))))
        cm.session.append("note", {}, ignorable=True)
        assert "cannot be called from inside a tool" in said[2]
        assert other.run("return tools.double(1)").result == 2


def _error_of(function) -> str:
    try:
        function()
    except RuntimeError as error:
        return str(error)
    return ""


def test_a_second_engine_may_be_called_from_a_tool():
    with CodeMode([double]) as inner:

        @make_tool(render=as_json)
        def ask_other(number: int) -> int:
            """Ask another engine."""
            return inner.run(f"return tools.double({number})").result

        with CodeMode([ask_other]) as cm:
            assert cm.run("return tools.ask_other(4)").result == 8


def test_closing_ends_what_other_threads_run():
    started = threading.Event()

    @make_tool(render=as_json)
    async def announce() -> int:
        """Say that it runs, and never return."""
        started.set()
        await trio.sleep_forever()
        return 0

    with ThreadPoolExecutor(1) as pool:
        with CodeMode([announce]) as cm:
            future = pool.submit(cm.run, "return tools.announce()")
            assert started.wait(60)
        with pytest.raises(RuntimeError, match="closed while this call was under way"):
            future.result(60)
    assert loops() == []


def test_an_interrupt_ends_the_run_and_is_passed_on():
    ended = threading.Event()

    @make_tool(render=as_json)
    async def interrupt() -> int:
        """Interrupt the caller, and wait."""
        try:
            os.kill(os.getpid(), signal.SIGINT)
            await trio.sleep_forever()
        finally:
            ended.set()
        return 0

    with CodeMode([interrupt, double]) as cm:
        with pytest.raises(KeyboardInterrupt):
            cm.run("return tools.interrupt()")
        assert ended.is_set()
        assert [event.type for event in cm.session.events()][-1] == "tool/result"
        assert cm.run("return tools.double(2)").result == 4
    assert loops() == []


def test_hooks_and_approvers_may_block_in_worker_threads():
    threads: dict[str, int] = {}

    def before(call):
        threads["before"] = threading.get_ident()
        return Ask("why not")

    def approve(requests):
        threads["approve"] = threading.get_ident()
        time.sleep(0)
        return "allow-once"

    def around(call, proceed):
        threads["around"] = threading.get_ident()
        first = proceed()
        return proceed() if call.name == "double" else first

    def after(call, outcome):
        return Accept(value=outcome.value + 1) if call.name == "double" else None

    hooks = Hooks(pre_execute=(before,), around=(around,), post_execute=(after,))
    calls: list[str] = []

    async def trio_observer(call, outcome):
        await trio.sleep(0)
        calls.append(call.name)

    with CodeMode([double], hooks=hooks | TrioHooks(observers=(trio_observer,)), approver=approve) as cm:
        assert cm.call("double", {"number": 5}).value == 11
    assert calls == ["double"]
    assert threading.get_ident() not in threads.values()
    assert set(threads) == {"before", "approve", "around"}


def test_an_around_hook_that_raises_fails_the_call_and_nothing_else():
    def around(call, proceed):
        proceed()
        raise ValueError("no")

    with CodeMode([double], hooks=Hooks(around=(around,))) as cm:
        assert "a hook around the call failed: no" in cm.call("double", {"number": 1}).error.message
    with pytest.raises(TypeError, match="is no function"):
        Hooks(guards=(3,))  # type: ignore[arg-type]
    with CodeMode([double], hooks=Hooks(post_execute=(lambda call, outcome: Block(feedback="shut"),))) as cm:
        assert cm.call("double", {"number": 1}).error.message == "shut"


def test_a_run_that_fails_is_a_result():
    with CodeMode() as cm:
        result = cm.run("return 1 // 0")
    assert isinstance(result.error, RunFailure)
    assert result.error.kind == "exception"


def test_the_guests_end_with_the_engine():
    before = _children()
    with CodeMode() as cm:
        cm.run("return 1")
        assert _children() - before
    assert _children() - before == set()


def _children() -> set[int]:
    listed = Path("/proc/self/task")
    found: set[int] = set()
    for task in listed.iterdir():
        try:
            found |= {int(pid) for pid in (task / "children").read_text().split()}
        except OSError:
            continue
    return found


def test_no_sandbox_is_an_error_of_its_own_type(monkeypatch):
    monkeypatch.setattr("codemode.sandbox.zygote.BOOTSTRAP", "import sys\nsys.exit(3)\n")
    with pytest.raises(SandboxUnavailable), CodeMode():
        pass
    assert loops() == []


def test_a_program_that_never_closes_its_engine_still_ends():
    program = (
        "from codemode.sync import CodeMode\ncm = CodeMode().__enter__()\nprint(cm.run('return 7').result)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True
    )
    assert (done.stdout, done.stderr) == ("7\n", "")


def test_a_forked_process_is_told_to_make_its_own():
    program = """
import os
from codemode.sync import CodeMode
with CodeMode() as cm:
    pid = os.fork()
    if pid == 0:
        try:
            cm.run("return 1")
        except RuntimeError as error:
            print(str(error)[:40], flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert done.stdout == "this engine belongs to the process that \n"
