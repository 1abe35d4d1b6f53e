"""Reported faults: tool failures inside the program.

A test's name says what holds; its program is the small input that showed the fault elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest
import trio

from codemode import (
    CodeMode,
    Limits,
    as_json,
    tool,
)
from tests.reported_faults.support import echo, failure, value
from tests.sandbox.support import descendants


@pytest.mark.parametrize("style", ["", "await "])
async def test_a_failing_tool_is_an_ordinary_exception_and_partial_results_stay(cm, style):
    source = f"""
out = []
for n in ("ok", "boom", "fine"):
    try:
        out.append({style}tools.call(n))
    except Exception as e:
        out.append(type(e).__name__)
    finally:
        out.append("finally")
return out
"""
    assert await value(cm, source) == ["ok", "finally", "ToolCallError", "finally", "fine", "finally"]


async def test_synchronous_and_asynchronous_tools_fail_alike(cm):
    for style in ("", "await "):
        source = f"""
out = []
for f in (tools.bad_sync, tools.bad_async):
    try:
        {style}f()
    except ToolCallError as e:
        out.append([e.tool_name, str(e)])
return out
"""
        sync, asynchronous = await value(cm, source)
        assert sync[0] == "bad_sync"
        assert "sync: quota 0 left" in sync[1]
        assert asynchronous[0] == "bad_async"
        assert "async: quota 0 left" in asynchronous[1]


async def test_an_argument_that_the_host_refuses_can_be_caught_and_the_program_goes_on(cm):
    source = """
try:
    tools.user(id="")
except ToolCallError as e:
    problem = str(e)
return [problem, tools.user(id="5")]
"""
    problem, second = await value(cm, source)
    assert "id" in problem
    assert "length" in problem
    assert "user(id: " in problem
    assert second == "user 5"


async def test_the_tools_own_message_reaches_the_program_and_the_model(cm):
    message = await failure(cm, "tools.bad_async()")
    assert "ToolCallError: async: quota 0 left\n(the tool raised RuntimeError)" in message
    assert "tools.bad_async()" in message


async def test_the_class_of_a_tools_exception_reaches_the_program_beside_the_message(cm):
    source = """
try:
    tools.bad_sync()
except ToolCallError as e:
    return [str(e), e.message, e.type, e.code]
"""
    assert await value(cm, source) == ["sync: quota 0 left", "sync: quota 0 left", "RuntimeError", None]


async def test_a_failed_tool_raises_where_it_is_called_and_is_no_value(cm):
    message = await failure(cm, "rows = tools.load('missing')\nreturn len(rows)")
    assert "line 1" in message
    assert "no table 'missing'" in message
    assert "line 2" not in message


async def test_an_error_names_every_line_of_the_programs_own_chain(cm):
    source = "def inner(xs):\n    return xs[9]\n\ndef outer():\n    return inner([1])\n\nouter()"
    message = await failure(cm, source)
    for part in ("line 7", "line 5, in outer", "return inner([1])", "line 2, in inner", "return xs[9]"):
        assert part in message
    assert message.endswith("IndexError: list index out of range")


async def test_a_syntax_error_has_name_message_line_and_caret(cm):
    message = await failure(cm, "x = 1\ny = (2))\n")
    assert message.splitlines()[:3] == ["SyntaxError: unmatched ')' (line 2)", "    y = (2))", "           ^"]


async def test_each_end_of_a_run_has_a_kind_of_its_own(cm):
    limits = Limits(cpu_seconds=0.5, max_calls=3, log_bytes=2000)
    async with CodeMode([echo], limits=limits) as small:
        ends = {
            "while True: pass": "timeout",
            "return {1}": "invalid-output",
            "print('x' * 5000)": "output-limit",
            "for i in range(9): tools.echo(i)": "call-limit",
            "x = [0] * 10**10": "memory-limit",
            "1 / 0": "exception",
        }
        kinds = {source: (await small.run(source)).error.kind for source in ends}
    assert kinds == ends


async def test_a_killed_worker_is_said_to_be_lost_and_the_next_run_works(cm):
    async with trio.open_nursery() as nursery:
        result = {}
        printed = trio.Event()

        async def run() -> None:
            result["it"] = await cm.run(
                "print('before')\nwhile True: pass", on_log=lambda text: printed.set()
            )

        nursery.start_soon(run)
        await printed.wait()  # before that, what computes may be the process that forks the guests
        busy = await _busy_descendant()
        os.kill(busy, signal.SIGKILL)
    assert result["it"].error.kind == "worker-exit"
    assert await value(cm, "return 'next'") == "next"


async def test_workers_that_are_killed_between_runs_cost_no_run_and_no_call_twice():
    calls: list[int] = []

    @tool(render=as_json)
    async def count(n: int) -> int:
        """Count."""
        calls.append(n)
        return n

    async with CodeMode([count]) as cm:
        for n in range(4):
            assert (await cm.run(f"return tools.count(n={n})")).result == n
            for pid in descendants():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        assert calls == [0, 1, 2, 3]


async def _busy_descendant() -> int:
    """The process below this one that computes: the guest of a program that never ends."""
    with trio.fail_after(10):
        while True:
            for pid in descendants():
                if _ticks(pid) > 10 and not descendants(pid):  # not the process that forks the guests
                    return pid
            await trio.sleep(0.02)


def _ticks(pid: int) -> int:
    """Processor time of a process that runs at this moment, else 0."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) if fields[0] == "R" else 0


async def test_a_call_that_nobody_awaited_and_that_fails_fails_the_run(cm):
    message = await failure(cm, "tools.load('x')\nawait tools.echo(1)\nreturn 'done'")
    assert "no table 'x'" in message
    assert "await" in message


async def test_malformed_exceptions_are_reported_like_others(cm):
    source = "class Bad(Exception):\n    def __str__(self):\n        raise KeyError('in str')\nraise Bad()"
    message = await failure(cm, source)
    assert "Bad" in message
    assert "__str__" in message
    huge = await failure(cm, "raise ValueError('x' * 5_000_000)")
    assert huge.count("x") < 70_000
    assert "ValueError" in huge
    assert "line 1" in huge


@pytest.mark.parametrize(
    "source", ["import socket", "().__class__.__bases__", "def f(:", "x = 1\0", "\ud800"]
)
async def test_what_cannot_run_is_an_ordinary_result_with_a_message(cm, source):
    result = await cm.run(source)
    assert result.error is not None
    assert result.error.kind in ("exception", "refused")
    assert len(result.error.message) > 20
    assert await value(cm, "return 1") == 1
