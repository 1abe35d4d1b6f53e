"""When a run is over nothing of it is left: no process, no descriptor, no task; and the next run works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio
import trio.testing

from codemode.sandbox import CallRequest, Limits, LocalSandbox
from tests.sandbox.support import (
    ECHO,
    WITHOUT_LANGUAGE_WALL,
    Recorder,
    descendants,
    descriptors,
    eventually,
    lives,
)

ROOT = Path(__file__).parents[2]

MIXED = (
    "done(1)",
    "log('x')\ncall(1, 'echo', {'x': 1})\nanswer()\ndone(2)",
    "raise ValueError",
    "os.abort()",
    "import socket\nsocket.socket()",
    "send(b'junk and more junk')\nimport time\ntime.sleep(30)",
    "frame(wire.Log('x' * 10_000))\nos._exit(5)",
    "import time\ntime.sleep(30)",
)


async def settled(sandbox: LocalSandbox, count: int) -> set[int]:
    """The sandbox's processes below the outer one, once there are `count` and the host has a handle to each guest."""
    zygote = sandbox._zygote
    assert zygote is not None
    assert await eventually(
        lambda: (
            len(descendants(zygote.pid)) == count
            and all(guest.pidfd >= 0 and not guest._doomed for guest in zygote._guests.values())
        )
    )
    return descendants(zygote.pid)


async def test_many_runs_leave_nothing_but_the_spares(bare: LocalSandbox) -> None:
    await bare.run("done()", (), Recorder())
    await settled(bare, 3)
    before = descriptors()
    for number in range(160):
        await bare.run(MIXED[number % 7], [ECHO], Recorder())
    async with trio.open_nursery() as nursery:
        for number in range(40):
            nursery.start_soon(bare.run, MIXED[number % 8], [ECHO], Recorder(), Limits(wall_seconds=0.5))
    await settled(bare, 3)  # the inner zygote and two spares
    assert descriptors() == before


async def test_a_closed_sandbox_leaves_nothing_at_all(no_language_wall: None) -> None:
    await trio.to_thread.run_sync(int)  # trio keeps a thread for later; let it be there before
    processes, open_before = descendants(), descriptors()
    for spares in (0, 1, 3):
        async with LocalSandbox(spares=spares) as sandbox:
            assert (await sandbox.run("done(1)", (), Recorder())).result == 1
    async with LocalSandbox() as sandbox:
        pass  # closed while its spares are being forked
    with pytest.raises(KeyError):
        async with LocalSandbox() as sandbox:
            raise KeyError
    assert descendants() == processes
    assert descriptors() == open_before


async def test_a_cancelled_run_is_gone_when_the_cancellation_passes_on(bare: LocalSandbox) -> None:
    await bare.run("done()", (), Recorder())
    await settled(bare, 3)
    before = descriptors()
    for program in ("while True: pass", "import time\ntime.sleep(30)", "while True: log('x')"):
        with trio.move_on_after(0.05) as scope:
            await bare.run(program, (), Recorder())
        assert scope.cancelled_caught
        await settled(bare, 3)
        assert descriptors() == before
    assert (await bare.run("done(1)", (), Recorder())).result == 1


async def test_a_handler_that_raises_ends_its_run_and_leaves_nothing(bare: LocalSandbox) -> None:
    def fail(request: CallRequest) -> None:
        raise KeyError(request.name)

    await settled(bare, 3)
    before = descriptors()
    with pytest.raises(KeyError, match="echo"):
        await bare.run("call(1, 'echo', {})\nanswer()", [ECHO], Recorder(fail))
    await settled(bare, 3)
    assert descriptors() == before
    assert (await bare.run("done(1)", (), Recorder())).result == 1


class _CancelAtStep(trio.abc.Instrument):
    """Cancels a scope when its task is about to take its n-th step."""

    def __init__(self, task: trio.lowlevel.Task, scope: trio.CancelScope, step: int) -> None:
        self._task, self._scope, self._left = task, scope, step

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is self._task:
            self._left -= 1
            if self._left == 0:
                self._scope.cancel()


async def test_a_run_can_be_cancelled_at_every_checkpoint(no_language_wall: None) -> None:
    program = (
        "log('a')\nfor i in range(1, 4):\n    call(i, 'echo', {'x': 'x' * 70_000})\n    answer()\n"
        "log('b')\ndone('x' * 300_000)"
    )
    async with LocalSandbox(spares=1) as sandbox:
        await settled(sandbox, 2)
        before = descriptors()
        cancelled = 0
        for step in range(1, 200):
            with trio.CancelScope() as scope:
                instrument = _CancelAtStep(trio.lowlevel.current_task(), scope, step)
                trio.lowlevel.add_instrument(instrument)
                try:
                    outcome = await sandbox.run(program, [ECHO], Recorder())
                finally:
                    trio.lowlevel.remove_instrument(instrument)
            if not scope.cancelled_caught and not scope.cancel_called:
                assert outcome.result == "x" * 300_000
                break
            cancelled += 1
            await settled(sandbox, 2)
            assert descriptors() == before
        assert 5 <= cancelled < 199
        assert (await sandbox.run("done(1)", (), Recorder())).result == 1


@pytest.mark.parametrize("spares", [0, 2])
async def test_entering_can_be_cancelled_at_every_checkpoint(no_language_wall: None, spares: int) -> None:
    processes, before = descendants(), descriptors()
    for step in range(1, 100):
        with trio.CancelScope() as scope:
            instrument = _CancelAtStep(trio.lowlevel.current_task(), scope, step)
            trio.lowlevel.add_instrument(instrument)
            try:
                async with LocalSandbox(spares=spares):
                    trio.lowlevel.remove_instrument(instrument)
                    instrument = None
            finally:
                if instrument is not None:
                    trio.lowlevel.remove_instrument(instrument)
        assert descendants() == processes
        assert descriptors() == before
        if not scope.cancel_called:
            break
    assert not scope.cancel_called


async def test_a_killed_zygote_ends_the_running_and_the_next_run_starts_another(bare: LocalSandbox) -> None:
    zygote = bare._zygote
    assert zygote is not None
    await settled(bare, 3)
    await settled(bare, 3)
    before = descriptors()
    recorder = Recorder(lambda request: os.kill(zygote.pid, signal.SIGKILL))
    outcome = await bare.run("log('a\\n')\ncall(1, 'echo', {})\nanswer()", [ECHO], recorder)
    assert (outcome.kind, outcome.message) == (
        "worker-exit",
        "the process that ran the program was lost; run it again",
    )
    assert outcome.logs == ("a",)
    assert (await bare.run("done(1)", (), Recorder())).result == 1
    assert bare._zygote is not zygote
    await settled(bare, 3)
    assert descriptors() == before


async def test_a_zygote_killed_between_runs_is_not_noticed(bare: LocalSandbox) -> None:
    for which in (min, max):  # the outer process, or one of those below it
        zygote = bare._zygote
        assert zygote is not None
        family = await settled(bare, 3) | {zygote.pid}
        inner = min(family - {zygote.pid})
        os.kill(zygote.pid if which is min else inner, signal.SIGKILL)
        while bare._zygote is zygote:  # a spare may well serve once more before it dies
            outcome = await bare.run("done(1)", (), Recorder())
            assert (outcome.kind, outcome.result) == (None, 1), outcome
    assert await eventually(lambda: not any(map(lives, family)))


async def test_a_killed_spare_is_not_handed_out(bare: LocalSandbox) -> None:
    for _ in range(5):
        family = await settled(bare, 3)
        for pid in family - {min(family)}:
            os.kill(pid, signal.SIGKILL)
        spares = family - {min(family)}
        assert await eventually(lambda: not any(map(lives, spares)))  # noqa: B023 (called here and now)
        assert (await bare.run("done(1)", (), Recorder())).result == 1


async def test_a_host_that_dies_takes_everything_along() -> None:
    script = f"""
import sys, trio
from codemode.sandbox import LocalSandbox, zygote
zygote.BOOTSTRAP = {WITHOUT_LANGUAGE_WALL!r} + zygote.BOOTSTRAP
from tests.sandbox.support import ECHO, WITHOUT_LANGUAGE_WALL, Recorder, descendants, descriptors, eventually, lives
async def main():
    async with LocalSandbox() as sandbox:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sandbox.run, "while True: pass", (), Recorder())
            await trio.sleep(0.2)
            print("running", flush=True)
            await trio.sleep_forever()
trio.run(main)
"""
    # A host of its own, to be killed.
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        assert await trio.to_thread.run_sync(host.stdout.readline) == b"running\n"
        family = descendants(host.pid)
        assert len(family) >= 4  # the zygote, the inner one, a spare, the running guest
        host.kill()
    assert await eventually(lambda: not any(map(lives, family)))
