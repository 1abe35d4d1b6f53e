"""The host's other tasks go on while guests flood, spin, die and send mountains."""

from __future__ import annotations

import trio

from codemode.sandbox import Limits, LocalSandbox
from tests.sandbox.support import ECHO, Recorder

BOMBS = {
    "spin": "while True: pass",
    "logs": "while True: frame(wire.Log('x' * 500))",
    "tiny logs": "data = wire.pack(wire.Log('x')) * 5000\nwhile True: send(data)",
    "huge logs": "while True: log('x' * 1_000_000)",
    "calls": "i = 0\nwhile True:\n    i += 1\n    call(i, 'echo', {'x': i})",
    "large calls": "i = 0\nwhile True:\n    i += 1\n    call(i, 'echo', {'x': 'x' * 1_000_000})",
    "cancels": "call(1, 'echo', {})\ndata = wire.pack(wire.Cancel(1)) * 5000\nwhile True: send(data)",
    "forged": "send(b'\\xff' * 100_000)",
    "half": "send(b'\\xff\\xff\\x0f\\x00' + b'x' * 900_000)\nimport time\ntime.sleep(60)",
    "result": "done(['x' * 10] * 400_000)",
    "keys": "done({f'{n:x}': 0 for n in range(1_000_000)})",
    "numbers": "done([0] * 9_000_000)",
    "parts": "body(b'\\x82\\xa4type\\x04\\xa5value\\xdd\\x00\\xf0\\x00\\x00' + b'\\x90' * 0xf00000)",
    "crash": "os.abort()",
    "memory": "x = []\nwhile True: x.append(bytes(1_000_000))",
}
LIMITS = Limits(wall_seconds=1.5, cpu_seconds=0.4, memory_bytes=128 * 1024 * 1024)


async def latest_beat(sandbox: LocalSandbox, bombs: list[str]) -> float:
    """Run the bombs at once; return how late the most late of a task's 5 ms beats was, in seconds."""
    late = 0.0

    async def beat() -> None:
        nonlocal late
        while True:
            due = trio.current_time() + 0.005
            await trio.sleep_until(due)
            late = max(late, trio.current_time() - due)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(beat)
        async with trio.open_nursery() as runs:
            for program in bombs:
                runs.start_soon(sandbox.run, program, [ECHO], Recorder(), LIMITS)
        nursery.cancel_scope.cancel()
    return late


async def test_no_flood_of_a_single_guest_delays_the_host(bare: LocalSandbox) -> None:
    late = {name: await latest_beat(bare, [program]) for name, program in BOMBS.items()}
    # Far above what is usual, for a busy machine; without bounded rounds it is seconds.
    assert max(late.values()) < 0.3, late


async def test_a_hundred_bombs_at_once_leave_the_host_alive_and_the_next_run_right(
    bare: LocalSandbox,
) -> None:
    late = await latest_beat(bare, [*BOMBS.values()] * 8)
    assert late < 0.5
    assert (await bare.run("done(1)", (), Recorder())).result == 1
