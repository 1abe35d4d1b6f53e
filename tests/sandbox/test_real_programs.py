"""Both walls standing: programs of the real language, run to each of their ends."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio
from msgspec import UNSET

from codemode.sandbox import Limits, LocalSandbox
from tests.sandbox.support import ECHO, Recorder, ignore

MIB = 1024 * 1024


@pytest.fixture
async def sandbox() -> AsyncIterator[LocalSandbox]:
    async with LocalSandbox() as sandbox:
        yield sandbox


async def test_a_program_prints_calls_and_returns(sandbox: LocalSandbox) -> None:
    recorder = Recorder()
    program = "print('start')\nvalue = tools.echo(x=[1, 2])\nprint(len(value['x']))\nreturn {'sum': sum(value['x'])}"
    outcome = await sandbox.run(program, [ECHO], recorder)
    assert (outcome.kind, outcome.result, outcome.logs) == (None, {"sum": 3}, ("start", "2"))
    assert [(request.id, request.name, request.arguments) for request in recorder.calls] == [
        (1, "echo", {"x": [1, 2]})
    ]
    assert outcome.usage.calls == 1


async def test_each_end_has_its_kind_and_keeps_the_lines_before(sandbox: LocalSandbox) -> None:
    cases = {
        "raise ValueError('x')": ("exception", Limits()),
        "while True: pass": ("timeout", Limits(cpu_seconds=0.3)),
        "import asyncio\nawait asyncio.sleep(60)": ("timeout", Limits(wall_seconds=0.3)),
        "tools.echo(x=1)": ("timeout", Limits(wall_seconds=0.3)),
        "x = [0] * 10**10": ("memory-limit", Limits()),
        "x = []\nwhile True: x.append('x' * 1_000_000)": ("memory-limit", Limits(memory_bytes=64 * MIB)),
        "for i in range(10_000): tools['echo'](x=i)": (
            "call-limit",
            Limits(max_calls=0 + 1, wall_seconds=3.0),
        ),
        "for i in range(1_000_000): print(i)": ("output-limit", Limits()),
        "return 'x' * 20_000_000": ("output-limit", Limits()),
        "return {1, 2}": ("invalid-output", Limits()),
    }
    for program, (kind, limits) in cases.items():
        recorder = Recorder(ignore) if kind == "timeout" else Recorder()
        outcome = await sandbox.run("print('before')\n" + program, [ECHO], recorder, limits)
        assert (outcome.kind, outcome.logs[0], outcome.result) == (kind, "before", UNSET), (
            program,
            outcome.message,
        )
        assert outcome.message
        assert (await sandbox.run("return 1 + 1", (), Recorder())).result == 2


async def test_a_program_that_never_ends_does_not_hold_the_host(sandbox: LocalSandbox) -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await trio.sleep(0.01)
            beats += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(beat)
        assert (
            await sandbox.run("while True: pass", (), Recorder(), Limits(wall_seconds=0.5))
        ).kind == "timeout"
        nursery.cancel_scope.cancel()
    assert beats > 15


async def test_gathered_calls_are_in_flight_together(sandbox: LocalSandbox) -> None:
    answered: list[int] = []
    all_there = trio.Event()
    recorder = Recorder(lambda request: all_there.set() if request.id == 5 else None)

    async def answer_backwards() -> None:
        await all_there.wait()
        for request in reversed(recorder.calls):
            answered.append(request.id)
            request.answer(request.arguments["x"] * 10)

    program = "import asyncio\nreturn await asyncio.gather(*(tools.echo(x=i) for i in range(5)))"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer_backwards)
        with trio.fail_after(10):
            outcome = await sandbox.run(program, [ECHO], recorder)
    assert (outcome.result, answered) == ([0, 10, 20, 30, 40], [5, 4, 3, 2, 1])


async def test_a_failing_call_can_be_caught(sandbox: LocalSandbox) -> None:
    recorder = Recorder(lambda request: request.fail("quota 0 left", "QUOTA"))
    program = "try:\n    tools.echo(x=1)\nexcept ToolCallError as error:\n    return [str(error), error.code]"
    outcome = await sandbox.run(program, [ECHO], recorder)
    assert outcome.kind is None, outcome.message
    assert outcome.result[1] == "QUOTA"
    assert "quota 0 left" in outcome.result[0]


async def test_memory_too_little_to_begin_with_is_said(sandbox: LocalSandbox) -> None:
    for memory in (1, 100_000, 1_000_000):
        outcome = await sandbox.run("return 'x' * 10_000_000", (), Recorder(), Limits(memory_bytes=memory))
        assert outcome.kind == "memory-limit", outcome


async def test_a_null_character_in_a_program_is_an_ordinary_error(sandbox: LocalSandbox) -> None:
    outcome = await sandbox.run("return 1\0", (), Recorder())
    assert outcome.kind == "exception"
    assert "null" in outcome.message.lower()


async def test_a_loop_that_is_not_running_is_an_error_and_no_socket(sandbox: LocalSandbox) -> None:
    program = (
        "import asyncio\nasync def f():\n    pass\nc = f()\ntry:\n    list(asyncio.as_completed([c]))\n"
        "except RuntimeError as error:\n    c.close()\n    return str(error)"
    )
    outcome = await sandbox.run(program, (), Recorder())
    assert (
        outcome.result == "no running event loop; use it inside a program that awaits, or inside asyncio.run"
    )
