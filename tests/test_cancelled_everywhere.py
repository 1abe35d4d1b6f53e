"""A host that is cancelled at any of its steps: each start in the log has its end, nothing is left, the next run works.

The steps are those of every task of the process, so that a cancellation falls between any two of them: while the
session opens, while the zygote boots, in a hook, in a body, in a thread, while the log is written, while it closes.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from codemode import CodeMode, Hooks, as_json, tool
from codemode.sandbox import LocalSandbox
from codemode.session import Session
from codemode.tools.call import Call, Outcome
from tests.sandbox.support import descendants, descriptors, eventually

PROGRAM = """
import asyncio
print("start")
a = await tools.quick(n=1)
b = await asyncio.gather(tools.slow(n=2), tools.thread(n=3), tools.quick(n=4), tools.alone(n=5))
print("end")
return [a, *b]
"""
RESULT = [1, 2, 3, 4, 5]
MOST_STEPS = 90  # of a run with more, every so manieth is tried


@tool(render=as_json, parallel=True)
async def quick(n: int) -> int:
    """Answer at once."""
    return n


@tool(render=as_json, parallel=True)
async def slow(n: int) -> int:
    """Answer after a moment."""
    await trio.sleep(0.001)
    return n


@tool(render=as_json)
async def alone(n: int) -> int:
    """Answer alone."""
    await trio.sleep(0)
    return n


@tool(render=as_json, parallel=True)
def thread(n: int) -> int:
    """Answer from a thread."""
    return n


async def before(call: Call) -> None:
    await trio.sleep(0)


async def around(call: Call, proceed: Callable[[], Awaitable[Outcome]]) -> Outcome:
    await trio.sleep(0)
    outcome = await proceed()
    await trio.sleep(0)
    return outcome


async def after(call: Call, outcome: Outcome) -> None:
    await trio.sleep(0)


HOOKS = Hooks(pre_execute=(before,), around=(around,), post_execute=(after,))
TOOLS = [quick, slow, alone, thread]


class Steps(trio.abc.Instrument):
    """Counts the steps of all tasks, and cancels a scope before the n-th."""

    def __init__(self, scope: trio.CancelScope, at: int) -> None:
        self.count = 0
        self._scope = scope
        self._at = at

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += 1
        if self.count == self._at:
            self._scope.cancel()


async def cancelled_at(step: int, what: Callable[[], Awaitable[object]]) -> tuple[int, bool]:
    """Do something and cancel it at a step; return how many steps there were, and whether it was cancelled."""
    with trio.CancelScope() as scope:
        steps = Steps(scope, step)
        trio.lowlevel.add_instrument(steps)
        try:
            await what()
        finally:
            trio.lowlevel.remove_instrument(steps)
    return steps.count, scope.cancelled_caught


def unended(session: Session) -> list[tuple[str, object]]:
    """The starts in a log that have no end, and the ends that have no start."""
    open_: list[tuple[str, object]] = []
    ends = {
        "tool/result": ("tool/call", "callId"),
        "run/end": ("run/start", "callId"),
        "tool/code-dispatch": ("tool/code-dispatch-start", "subCallId"),
    }
    for event in session.events():
        if event.type in ends:
            start, key = ends[event.type]
            entry = (start, event.data[key])
            if entry in open_:
                open_.remove(entry)
            else:
                open_.append((event.type, event.data[key]))
        elif event.type in ("tool/call", "run/start", "tool/code-dispatch-start"):
            key = "subCallId" if event.type == "tool/code-dispatch-start" else "callId"
            open_.append((event.type, event.data[key]))
    return open_


def all_spares_wait(cm: CodeMode) -> bool:
    """Whether there is no guest but the two that wait, and the host has its handle to both."""
    assert cm._core.opened is not None
    sandbox = cm._core.opened.sandbox
    assert isinstance(sandbox, LocalSandbox)
    assert sandbox._zygote is not None
    guests = sandbox._zygote._guests.values()
    return len(guests) == 2 and all(guest.pidfd >= 0 and not guest._doomed for guest in guests)


@pytest.mark.parametrize("stored", [False, True])
async def test_a_run_with_calls_and_hooks(tmp_path: Path, stored: bool) -> None:
    path = tmp_path / "log.sqlite" if stored else None
    async with (
        LocalSandbox(max_spares=2) as sandbox,
        CodeMode(TOOLS, hooks=HOOKS, session=path, sandbox=sandbox) as cm,
    ):

        async def run() -> None:
            assert (await cm.run(PROGRAM)).result == RESULT

        await run()
        await cancelled_at(0, run)
        assert await eventually(lambda: all_spares_wait(cm))
        open_before, threads = descriptors(), threading.active_count()
        total, _ = await cancelled_at(0, run)
        cancelled = 0
        for step in range(1, total, max(1, total // MOST_STEPS)):
            _, was_cancelled = await cancelled_at(step, run)
            cancelled += was_cancelled
            assert unended(cm.session) == []
        assert cancelled > 30
        assert await eventually(lambda: all_spares_wait(cm) and descriptors() == open_before)
        assert threading.active_count() <= threads + 1
        await run()
    if path is not None:
        async with Session.open(path) as session:
            assert unended(session) == []


async def test_opening_running_and_closing(tmp_path: Path) -> None:
    await trio.to_thread.run_sync(int)  # trio keeps a thread for later; let it be there before

    async def whole() -> None:
        async with CodeMode(TOOLS, hooks=HOOKS, session=tmp_path / "log.sqlite") as cm:
            assert (await cm.run("return tools.quick(n=1)")).result == 1

    await whole()
    processes, open_before = descendants(), descriptors()
    total, _ = await cancelled_at(0, whole)
    for step in range(1, total, max(1, total // 24)):
        await cancelled_at(step, whole)
        assert descendants() == processes
        assert descriptors() == open_before
        async with Session.open(tmp_path / "log.sqlite") as session:
            assert unended(session) == []
    await whole()
