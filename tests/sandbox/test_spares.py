"""Guests that wait: how many, for which limits, and that a run never gets one made for other limits."""

from __future__ import annotations

import os
import signal

import pytest
import trio

from codemode import control
from codemode.sandbox import Limits, LocalSandbox, pool
from codemode.sandbox.guest import Guest
from tests.sandbox.support import Recorder, descendants, eventually

MIB = 1024 * 1024
MEMORY = "try:\n    x = bytearray(100 * 2**20)\n    done('more')\nexcept MemoryError:\n    done('less')"


def waiting(sandbox: LocalSandbox) -> dict[tuple[int, float], int]:
    """How many guests wait, by their limits."""
    counts: dict[tuple[int, float], int] = {}
    assert sandbox._zygote is not None
    for guest in sandbox._zygote._guests.values():
        counts[guest.pair] = counts.get(guest.pair, 0) + 1
    return counts


async def test_a_run_has_its_own_limits_and_not_a_spares(no_language_wall: None) -> None:
    async with LocalSandbox(Limits(memory_bytes=64 * MIB)) as sandbox:
        for _ in range(3):
            assert (await sandbox.run(MEMORY, (), Recorder())).result == "less"
            larger = Limits(memory_bytes=256 * MIB)
            assert (await sandbox.run(MEMORY, (), Recorder(), larger)).result == "more"
            shorter = Limits(memory_bytes=64 * MIB, cpu_seconds=0.2)
            assert (await sandbox.run("while True: pass", (), Recorder(), shorter)).kind == "timeout"


async def test_spares_are_made_for_the_usual_limits_and_for_others_that_come_again(
    no_language_wall: None,
) -> None:
    usual = Limits()
    async with LocalSandbox(spares=2) as sandbox:
        usual_pair = usual.memory_bytes, usual.cpu_seconds
        assert waiting(sandbox) == {usual_pair: 2}
        other = Limits(cpu_seconds=5.0)
        other_pair = other.memory_bytes, 5.0
        await sandbox.run("done()", (), Recorder(), other)
        assert await eventually(lambda: waiting(sandbox) == {usual_pair: 2})
        await sandbox.run("done()", (), Recorder(), other)
        assert await eventually(lambda: waiting(sandbox) == {usual_pair: 2, other_pair: 1})
        for seconds in range(10, 30):  # many others, twice each: only the last few keep a spare
            for _ in range(2):
                await sandbox.run("done()", (), Recorder(), Limits(cpu_seconds=float(seconds)))
        assert await eventually(lambda: sum(waiting(sandbox).values()) <= 6)
        assert (usual.memory_bytes, 29.0) in waiting(sandbox)
        assert other_pair not in waiting(sandbox)


async def test_limits_beyond_every_machine_are_taken_as_none(no_language_wall: None) -> None:
    endless = Limits(
        wall_seconds=1e300,
        cpu_seconds=1e300,
        memory_bytes=2**80,
        log_bytes=2**80,
        result_bytes=2**80,
        max_calls=2**80,
    )
    async with LocalSandbox(endless) as sandbox:
        assert (await sandbox.run(MEMORY, (), Recorder())).result == "more"


async def test_more_callers_than_spares_each_get_a_guest_of_their_own(bare: LocalSandbox) -> None:
    results: list[object] = []

    async def one(number: int) -> None:
        results.append((await bare.run(f"done([{number}, os.getpid()])", (), Recorder())).result)

    async with trio.open_nursery() as nursery:
        for number in range(30):
            nursery.start_soon(one, number)
    assert sorted(number for number, _ in results) == list(range(30))  # type: ignore[misc]
    assert len({pid for _, pid in results}) == 30  # type: ignore[misc]


async def test_one_run_leaves_nothing_to_the_next(bare: LocalSandbox) -> None:
    await bare.run("import sys\nsys.leftover = 1\nos.environ['LEFT'] = '1'\ndone()", (), Recorder())
    program = "import sys\ndone([hasattr(sys, 'leftover'), 'LEFT' in os.environ])"
    for _ in range(4):
        assert (await bare.run(program, (), Recorder())).result == [False, False]


async def test_without_spares_a_run_waits_for_its_fork(no_language_wall: None) -> None:
    async with LocalSandbox(spares=0) as sandbox:
        assert sandbox._zygote is not None
        assert (await sandbox.run("done(1)", (), Recorder())).result == 1
        zygote = sandbox._zygote.pid
        assert await eventually(lambda: len(descendants(zygote)) == 1)


async def test_after_a_burst_as_many_wait_as_it_took(no_language_wall: None) -> None:
    async with LocalSandbox(spares=1, max_spares=5) as sandbox:
        for runs, spares in ((3, 3), (2, 3), (9, 5)):
            for _ in range(runs):
                assert (await sandbox.run("done(1)", (), Recorder())).result == 1
            assert await eventually(lambda wanted=spares: sum(waiting(sandbox).values()) == wanted)  # type: ignore[misc]
        pids = [(await sandbox.run("done(os.getpid())", (), Recorder())).result for _ in range(5)]
        assert len(set(pids)) == 5


async def test_spares_for_a_burst_are_given_back(
    no_language_wall: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_KEPT_SECONDS", 0.5)
    async with LocalSandbox(spares=1, max_spares=4) as sandbox:
        for _ in range(4):
            assert (await sandbox.run("done(1)", (), Recorder())).result == 1
        assert sandbox._zygote is not None
        zygote = sandbox._zygote.pid
        assert await eventually(lambda: len(descendants(zygote)) == 5)
        assert await eventually(lambda: len(descendants(zygote)) == 2)
        assert (await sandbox.run("done(1)", (), Recorder())).result == 1


async def test_no_more_spares_are_forked_while_a_program_runs(no_language_wall: None) -> None:
    async with LocalSandbox(spares=1, max_spares=8) as sandbox, trio.open_nursery() as nursery:
        nursery.start_soon(sandbox.run, "import time\ntime.sleep(60)", (), Recorder())
        for _ in range(6):
            assert (await sandbox.run("done(1)", (), Recorder())).result == 1
        await trio.sleep(0.2)
        assert sum(waiting(sandbox).values()) <= 2  # the one that runs, and the usual one
        nursery.cancel_scope.cancel()


async def test_the_zygote_kills_for_a_host_that_has_no_handle(bare: LocalSandbox) -> None:
    zygote = bare._zygote
    assert zygote is not None
    guest = zygote.spawn((64 * MIB, 1.0))
    zygote._send(control.Kill(guest.id))
    with trio.fail_after(5):
        await guest.gone.wait()
    assert guest.ended is not None
    assert os.WTERMSIG(guest.ended.status) == signal.SIGKILL
    guest.close()


async def test_a_guest_killed_before_it_is_born_dies_when_it_is(bare: LocalSandbox) -> None:
    assert bare._zygote is not None
    guests: list[Guest] = [bare._zygote.spawn((64 * MIB, 1.0)) for _ in range(5)]
    for guest in guests:
        guest.kill()
        guest.close()
    with trio.fail_after(5):
        for guest in guests:
            await guest.gone.wait()
    assert all(guest.pidfd == -1 for guest in guests)
