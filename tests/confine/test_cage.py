"""What a guest cannot reach when its language wall has fallen and it has every builtin."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from codemode.sandbox import Limits, LocalSandbox
from tests.sandbox.support import Recorder, descendants, eventually

FORBIDDEN = "the program tried a forbidden system call and was stopped"


async def run(sandbox: LocalSandbox, program: str, **limits: float) -> object:
    """Return the program's value, or the kind and message of another end."""
    outcome = await sandbox.run(program, (), Recorder(), Limits(**limits))  # type: ignore[arg-type]
    return outcome.result if outcome.kind is None else (outcome.kind, outcome.message)


async def test_no_file_can_be_opened_listed_or_looked_at(bare: LocalSandbox) -> None:
    program = """
problems = []
for attempt in (
    lambda: open("/etc/passwd"),
    lambda: open("/proc/self/environ"),
    lambda: open("/a", "w"),
    lambda: os.listdir("/"),
    lambda: os.stat("/"),
    lambda: os.readlink("/proc/self/exe"),
    lambda: os.getcwd(),
):
    try:
        problems.append(repr(attempt()))
    except OSError as error:
        problems.append(type(error).__name__)
done(problems)
"""
    assert await run(bare, program) == ["PermissionError"] * 7


async def test_creating_directories_links_and_pipes_kills(bare: LocalSandbox) -> None:
    for attempt in (
        "os.mkdir('/a')",
        "os.symlink('/a', '/b')",
        "os.pipe()",
        "os.memfd_create('a')",
        "os.chdir('/')",
    ):
        assert await run(bare, f"{attempt}\ndone('reached')") == ("worker-exit", FORBIDDEN), attempt


async def test_sockets_kill(bare: LocalSandbox) -> None:
    for attempt in ("socket.socket()", "socket.socket(socket.AF_UNIX)", "socket.socketpair()"):
        assert await run(bare, f"import socket\n{attempt}\ndone('reached')") == ("worker-exit", FORBIDDEN), (
            attempt
        )


async def test_processes_and_threads_kill(bare: LocalSandbox) -> None:
    for attempt in (
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "import _thread; _thread.start_new_thread(print, ())",
    ):
        assert await run(bare, f"{attempt}\ndone('reached')") == ("worker-exit", FORBIDDEN), attempt


async def test_nobody_can_be_signalled(bare: LocalSandbox) -> None:
    for pid in (0, 1, -1, os.getpid(), os.getppid()):
        for number in (0, 9, 15):
            assert await run(bare, f"os.kill({pid}, {number})\ndone('reached')") == ("worker-exit", FORBIDDEN)


async def test_the_environment_is_empty_and_the_arguments_name_no_secret(bare: LocalSandbox) -> None:
    os.environ["SECRET_OF_THE_HOST"] = "pass-word-1"
    try:
        async with LocalSandbox() as fresh:  # a zygote started while the secret is there
            assert await run(fresh, "done(dict(os.environ))") in ({}, {"LC_CTYPE": "C.UTF-8"})
    finally:
        del os.environ["SECRET_OF_THE_HOST"]


async def test_the_hosts_modules_are_not_in_the_guests_memory(bare: LocalSandbox) -> None:
    program = (
        "import sys\ndone(sorted(name for name in sys.modules if name.split('.')[0] in ('codemode', 'trio')))"
    )
    loaded = await run(bare, program)
    assert isinstance(loaded, list)
    allowed = ("codemode", "codemode.values", "codemode.wire", "codemode.control")
    assert [name for name in loaded if name not in allowed and not name.startswith("codemode.guest")] == []


async def test_exactly_one_descriptor_is_open(bare: LocalSandbox) -> None:
    program = """
import select
open_ones = []
for descriptor in range(1024):
    poll = select.poll()
    poll.register(descriptor, 0)
    if not any(events & select.POLLNVAL for _, events in poll.poll(0)):
        open_ones.append(descriptor)
done(open_ones)
"""
    assert await run(bare, program) == [3]


async def test_limits_cannot_be_raised_and_timers_not_stopped(bare: LocalSandbox) -> None:
    program = """
import resource, signal
try:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
except (OSError, ValueError) as error:
    done(type(error).__name__)
"""
    assert await run(bare, program) in ("PermissionError", "ValueError")
    for attempt in ("signal.setitimer(signal.ITIMER_PROF, 0)", "signal.alarm(1)"):
        assert await run(bare, f"import signal\n{attempt}\ndone('reached')") == ("worker-exit", FORBIDDEN)
    ignored = "import signal\nsignal.signal(signal.SIGPROF, signal.SIG_IGN)"
    assert (
        await run(
            bare, f"try:\n    {ignored.replace(chr(10), '; ')}\nexcept OSError as e:\n    done(e.errno)"
        )
        == 1
    )


async def test_memory_cannot_be_made_executable(bare: LocalSandbox) -> None:
    program = """
import ctypes
page = (ctypes.c_char * 8192)()
start = (ctypes.addressof(page) + 4095) & ~4095
done([raw_syscall(9, 0, 4096, 7, 0x22, -1, 0), raw_syscall(10, start, 4096, 7), raw_syscall(10, start, 4096, 3)])
"""
    if platform.machine() == "aarch64":
        program = program.replace("raw_syscall(9,", "raw_syscall(222,").replace(
            "raw_syscall(10,", "raw_syscall(226,"
        )
    assert await run(bare, program) == [[-1, 1], [-1, 1], [0, 0]]


async def test_memory_is_bounded_in_one_piece_and_in_many(bare: LocalSandbox) -> None:
    mib = 1024 * 1024
    one = (
        f"try:\n    x = bytearray({72 * mib})\n    done('reached')\nexcept MemoryError:\n    done('refused')"
    )
    many = f"""
kept = []
try:
    while True:
        kept.append(bytes(100_000))
except MemoryError:
    count = len(kept)
    del kept
    done(count * 100_000 < {72 * mib} and count * 100_000 > {40 * mib})
"""
    assert await run(bare, one, memory_bytes=64 * mib) == "refused"
    assert await run(bare, many, memory_bytes=64 * mib) is True
    enough = f"x = bytearray({48 * mib})\ndone(len(x))"
    assert await run(bare, enough, memory_bytes=64 * mib) == 48 * mib


async def test_the_kernel_says_the_same_of_a_waiting_guest(bare: LocalSandbox) -> None:
    zygote = bare._zygote
    assert zygote is not None
    assert await eventually(lambda: len(descendants(zygote.pid)) == 3)
    inner = min(descendants(zygote.pid))
    guest = max(descendants(zygote.pid))
    assert await eventually(lambda: status(guest)["Seccomp"] == "2")
    seen = status(guest)
    assert (seen["NoNewPrivs"], seen["Threads"], seen["SigBlk"], seen["SigCgt"]) == (
        "1",
        "1",
        "0" * 16,
        "0" * 16,
    )
    assert {seen[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert len(seen["NSpid"].split()) == len(status(os.getpid())["NSpid"].split()) + 1
    assert status(inner)["NSpid"].split()[-1] == "1"
    assert sorted(os.listdir(f"/proc/{guest}/fd")) == ["3"]
    assert os.listdir(f"/proc/{guest}/root") == []
    for name in ("user", "pid", "net", "ipc", "uts", "mnt", "cgroup"):
        assert os.readlink(f"/proc/{guest}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}"), name
    limits = {
        line[:26].strip(): line[26:].split()[:2] for line in text(f"/proc/{guest}/limits").splitlines()[1:]
    }
    for name in (
        "Max file size",
        "Max core file size",
        "Max processes",
        "Max locked memory",
        "Max msgqueue size",
    ):
        assert limits[name] == ["0", "0"], name
    niceness = int(text(f"/proc/{guest}/stat").rpartition(")")[2].split()[16])
    assert niceness == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 5)
    assert limits["Max open files"] == ["1", "1"]
    assert limits["Max cpu time"] == ["32", "33"]


def text(path: str) -> str:
    return Path(path).read_text(encoding="ascii", errors="replace")


def status(pid: int) -> dict[str, str]:
    return {
        name: value.strip()
        for name, _, value in (line.partition(":") for line in text(f"/proc/{pid}/status").splitlines())
    }


async def test_every_layer_stands_on_a_machine_that_has_them_all(bare: LocalSandbox) -> None:
    layers = {layer.name: layer for layer in bare.layers}
    required = {name for name, layer in layers.items() if layer.required}
    assert required == {"no new privileges", "resource limits", "one descriptor", "seccomp"}
    assert all(layers[name].stands for name in required)
    assert {*layers} - required == {
        *("user namespace", "process namespace", "network namespace", "ipc namespace", "host name namespace"),
        *("mount namespace", "cgroup namespace", "empty root", "landlock", "no capabilities"),
    }
