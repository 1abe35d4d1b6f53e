"""What guests of one zygote must not share, and what the kernel says of them while they live."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

from codemode.guest.library import imports, tables
from codemode.sandbox import Limits, LocalSandbox, guest
from tests.sandbox.support import Recorder, descendants, eventually

MIB = 1024 * 1024


@pytest.mark.parametrize(
    "draw",
    [
        "import random\nreturn random.random()",
        "from random import choices\nreturn choices(range(10**9), k=3)",
        "import random\nreturn random.Random().random()",
        "from random import SystemRandom\nreturn SystemRandom().random()",
        "import statistics\nreturn statistics.NormalDist().samples(2)",
        "import uuid\nreturn str(uuid.uuid4())",
        "import secrets\nreturn secrets.token_hex()",
    ],
)
async def test_each_run_draws_random_numbers_of_its_own(draw: str) -> None:
    async with LocalSandbox() as sandbox:
        drawn = [(await sandbox.run(draw, (), Recorder())).result for _ in range(4)]
    assert len({str(value) for value in drawn}) == 4


def test_every_module_that_draws_from_the_shared_generator_is_known() -> None:
    generator = importlib.import_module("random")
    drawing = set()
    for name in tables.LIBRARY:
        module = importlib.import_module(name)
        methods = [getattr(part, "__self__", None) for part in vars(module).values()]
        if generator in vars(module).values() or generator._inst in methods:
            drawing.add(name)
    assert drawing == set(imports._DRAWING)
    # uuid imports it in functions, where the names do not show it; those make versions that are not offered.
    assert not {"uuid1", "uuid6", "getnode"} & set(imports.exports("uuid") or tables.LIBRARY["uuid"].split())


async def test_a_program_s_seed_outlives_further_imports() -> None:
    program = "import random\nrandom.seed(5)\na = random.random()\nimport random\nb = random.random()\nreturn [a, b]"
    expected = importlib.import_module("random").Random(5)
    async with LocalSandbox() as sandbox:
        outcome = await sandbox.run(program, (), Recorder())
    assert outcome.result == [expected.random(), expected.random()]


WORK = "total = 0\nfor n in range(3_000_000):\n    total += n\nx = bytearray(64 * 2**20)\nreturn total"


@pytest.mark.parametrize("meter", ["while it lives", "at its end"])
async def test_usage_is_the_kernel_s_word(meter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if meter == "at its end":
        monkeypatch.setattr(guest._Meter, "of", classmethod(lambda cls, pidfd: None))
    async with LocalSandbox(Limits(memory_bytes=256 * MIB)) as sandbox:
        small = await sandbox.run("return 1", (), Recorder())
        large = await sandbox.run(WORK, (), Recorder())
    assert large.result == sum(range(3_000_000))
    assert 0 <= small.usage.cpu_seconds < 0.1 < large.usage.cpu_seconds + 0.08 < large.usage.wall_seconds + 1
    assert 63 * MIB <= large.usage.max_memory_bytes < 68 * MIB
    assert small.usage.max_memory_bytes < 2 * MIB


async def test_a_guest_that_has_answered_is_dead_before_long_and_not_waited_for_by_name() -> None:
    async with LocalSandbox(spares=1, max_spares=1) as sandbox:
        zygote = sandbox._zygote
        assert zygote is not None
        for _ in range(50):
            await sandbox.run("return 1", (), Recorder())
        assert await eventually(lambda: len(zygote._guests) == 1 and len(descendants(zygote.pid)) == 2)
        assert len(sandbox._dying) <= 50
    assert await eventually(lambda: zygote.pid not in descendants())


def test_the_clock_of_another_process_is_read_from_the_kernel() -> None:
    pidfd = os.pidfd_open(os.getpid())
    try:
        meter = guest._Meter.of(pidfd)
        assert meter is not None
        first = meter.read()
        sum(range(2_000_000))
        second = meter.read()
        meter.close()
    finally:
        os.close(pidfd)
    assert first is not None
    assert second is not None
    assert second.cpu_seconds > first.cpu_seconds > 0
    assert second.max_resident_bytes > 8 * MIB


async def test_a_guest_carries_no_ssl() -> None:
    async with LocalSandbox() as sandbox:
        assert sandbox._zygote is not None
        maps = [Path(f"/proc/{pid}/maps").read_text() for pid in sorted(descendants(sandbox._zygote.pid))]
    assert any("_asyncio" in each for each in maps)
    assert not any("_ssl" in each or "libssl" in each for each in maps)
