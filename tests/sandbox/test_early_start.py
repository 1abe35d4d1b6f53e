"""The process that guests are forked from, started before the rest of the host is loaded."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codemode import launch
from codemode.sandbox import LocalSandbox, Package
from tests.sandbox.support import Recorder, descendants, descriptors, eventually


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    gc.collect()  # what earlier tests have left to it
    before = descriptors(), descendants()
    yield
    assert launch._early is None
    assert (descriptors(), descendants()) == before


async def test_a_sandbox_takes_the_process_that_was_started_early() -> None:
    launch.start_early()
    launch.start_early()  # once is enough
    assert launch._early is not None
    pid = launch._early[0].process.pid
    async with LocalSandbox() as sandbox:
        assert sandbox._zygote is not None
        assert sandbox._zygote.pid == pid
        assert (await sandbox.run("return 1 + 2", (), Recorder())).result == 3


async def test_one_that_needs_packages_starts_another() -> None:
    launch.start_early()
    assert launch._early is not None
    pid = launch._early[0].process.pid
    async with LocalSandbox(packages=[Package("colorsys")]) as sandbox:
        assert sandbox._zygote is not None
        assert sandbox._zygote.pid != pid
        outcome = await sandbox.run("import colorsys\nreturn colorsys.rgb_to_hsv(0, 0, 0)", (), Recorder())
    assert outcome.result == [0.0, 0.0, 0]


async def test_one_that_was_killed_before_it_was_taken_is_said() -> None:
    launch.start_early()
    assert launch._early is not None
    launch._early[0].process.kill()
    with pytest.raises(Exception, match="could not start"):
        async with LocalSandbox():
            pass


def test_one_that_nobody_takes_ends_with_its_host() -> None:
    program = "from codemode import launch\nlaunch.start_early()\nprint(launch._early[0].process.pid)"
    output = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout
    pid = int(output)

    async def gone() -> bool:
        return await eventually(lambda: not _runs(pid))

    import trio

    assert trio.run(gone)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b"" and os.getpgid(pid) == pid
    except OSError:
        return False
