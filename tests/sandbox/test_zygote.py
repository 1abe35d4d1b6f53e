"""How a zygote starts, and what is said when it cannot."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from codemode.errors import SandboxUnavailable
from codemode.sandbox import Limits, LocalSandbox, zygote
from tests.sandbox.support import WITHOUT_LANGUAGE_WALL, Recorder, descendants, descriptors

ROOT = Path(__file__).parents[2]


async def refusal() -> str:
    """Open a sandbox that cannot be opened; return what is said. Nothing may be left of the attempt."""
    before = descriptors(), descendants()
    with pytest.raises(SandboxUnavailable) as caught:
        async with LocalSandbox():
            pass
    assert (descriptors(), descendants()) == before
    return str(caught.value)


async def test_a_python_that_cannot_be_started_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert await refusal() == (
        "the process that confines programs could not be started: "
        "[Errno 2] No such file or directory: '/nowhere/python'"
    )


async def test_first_lines_that_fail_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zygote, "BOOTSTRAP", "import no_such_module")
    said = await refusal()
    assert said.startswith("the process that confines programs could not start\nTraceback")
    assert said.endswith("ModuleNotFoundError: No module named 'no_such_module'")


async def test_a_package_that_cannot_be_imported_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zygote, "BOOTSTRAP", "import sys\nsys.modules['msgspec'] = None\n" + zygote.BOOTSTRAP)
    assert (await refusal()).endswith("import of msgspec halted; None in sys.modules")


@pytest.mark.parametrize("moment", ["prepare", "warm_up"])
async def test_a_language_that_does_not_get_ready_is_shown(
    monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    first = (
        "import sys\nstandin = type(sys)('codemode.guest.program')\nsys.modules['codemode.guest.program'] = standin\n"
        "standin.prepare = standin.warm_up = standin.serve = lambda *arguments: None\n"
        "def fail(*arguments):\n    raise ValueError('the language is broken')\n"
    )
    monkeypatch.setattr(zygote, "BOOTSTRAP", f"{first}standin.{moment} = fail\n{zygote.BOOTSTRAP}")
    said = await refusal()
    assert said.startswith("the process that confines programs could not start\n")
    assert "ValueError: the language is broken" in said


async def test_a_flood_of_diagnostics_and_silence_are_both_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zygote, "BOOT_SECONDS", 0.5)
    monkeypatch.setattr(zygote, "_END_SECONDS", 0.1)
    monkeypatch.setattr(zygote, "BOOTSTRAP", "import sys\nwhile True: sys.stderr.write('x' * 1000)")
    said = await refusal()
    assert said.startswith("the process that confines programs was not ready after 0.5 s\nxxx")
    assert len(said) < 5000
    monkeypatch.setattr(zygote, "BOOTSTRAP", "import time\ntime.sleep(60)")
    assert await refusal() == "the process that confines programs was not ready after 0.5 s (it said nothing)"


async def test_another_system_is_told_what_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert await refusal() == (
        "programs can be confined on Linux only so far, and this is darwin; "
        "run codemode in a Linux container or virtual machine"
    )


async def test_a_host_without_descriptors_is_told_and_goes_on_when_it_has_some(
    no_language_wall: None,
) -> None:
    async with LocalSandbox(spares=0) as sandbox:
        assert (await sandbox.run("done(1)", (), Recorder())).result == 1
        held = []
        with contextlib.suppress(OSError):
            while True:
                held.append(os.dup(0))
        try:
            with pytest.raises(SandboxUnavailable, match="no guest can be started: Too many open files"):
                await sandbox.run("done(1)", (), Recorder())
            for _ in range(4):  # none, then too few, then just enough
                with trio.fail_after(5), contextlib.suppress(SandboxUnavailable):
                    assert (await sandbox.run("done(1)", (), Recorder())).result == 1
                os.close(held.pop())
        finally:
            for descriptor in held:
                os.close(descriptor)
        assert (await sandbox.run("done(1)", (), Recorder())).result == 1


async def test_a_machine_without_processes_is_said_and_used_again_when_it_has_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing = (
        "from codemode.guest import pages\nfork, count = pages.fork, 0\n"
        "def fails_for_a_while():\n"
        "    global count\n    count += 1\n"
        "    if 1 < count < 5: raise BlockingIOError(11, 'Resource temporarily unavailable')\n"
        "    return fork()\n"
        "pages.fork = fails_for_a_while\n"
    )
    last = "from codemode.guest.zygote import main\n"
    assert last in zygote.BOOTSTRAP
    bootstrap = zygote.BOOTSTRAP.replace(last, failing + last)
    monkeypatch.setattr(zygote, "BOOTSTRAP", WITHOUT_LANGUAGE_WALL + bootstrap)
    async with LocalSandbox(spares=0) as sandbox:
        for _ in range(3):
            with pytest.raises(SandboxUnavailable) as caught:
                await sandbox.run("done(1)", (), Recorder())
            assert str(caught.value) == "no guest can be started: Resource temporarily unavailable"
        assert (await sandbox.run("done(1)", (), Recorder())).result == 1


async def test_a_sandbox_that_is_not_open_says_so() -> None:
    with pytest.raises(SandboxUnavailable, match="not open"):
        await LocalSandbox().run("done(1)", (), Recorder())
    with pytest.raises(ValueError, match="spares=-1"):
        LocalSandbox(spares=-1)


async def test_a_host_that_blocks_and_ignores_signals_gets_its_time_limits_all_the_same(
    no_language_wall: None,
) -> None:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPROF, signal.SIGXCPU, signal.SIGSYS})
    ignored = signal.signal(signal.SIGPROF, signal.SIG_IGN)
    try:
        async with LocalSandbox() as sandbox:
            outcome = await sandbox.run("while True: pass", (), Recorder(), Limits(cpu_seconds=0.2))
            assert (outcome.kind, outcome.usage.cpu_seconds < 0.5) == ("timeout", True)
    finally:
        signal.signal(signal.SIGPROF, ignored)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def test_a_host_without_standard_streams_can_run_programs() -> None:
    script = f"""
import os, sys
os.closerange(0, 3)
import trio
from codemode.sandbox import LocalSandbox, zygote
from tests.sandbox.support import Recorder
zygote.BOOTSTRAP = {WITHOUT_LANGUAGE_WALL!r} + zygote.BOOTSTRAP
async def main():
    async with LocalSandbox() as sandbox:
        outcome = await sandbox.run("done(7)", (), Recorder())
        os._exit(outcome.result)
trio.run(main)
"""
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, timeout=60, check=False).returncode == 7
