"""A host on another kind of machine: run as a process of its own by `test_other_machines.py`.

    python -m tests.confine.visitor '{"user": 65534, "processes": 9, "denied": {"unshare": 1}}'

It becomes an ordinary user, or lets the kernel deny some system calls (name: errno), then opens a sandbox without the
language wall (with `accept_missing`, if given), runs a few programs, and prints what it saw as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import struct
import sys
from pathlib import Path

import trio

from codemode.errors import SandboxUnavailable
from codemode.guest.confine import kernel, process, seccomp
from codemode.sandbox import Limits, LocalSandbox, zygote
from tests.sandbox.support import WITHOUT_LANGUAGE_WALL, Recorder, descendants

NUMBERS = {
    "x86_64": {
        "unshare": 272,
        "mount": 165,
        "pivot_root": 155,
        "seccomp": 317,
        "landlock_create_ruleset": 444,
        "prctl": 157,
        "prlimit64": 302,
        "close_range": 436,
    },
    "aarch64": {
        "unshare": 97,
        "mount": 40,
        "pivot_root": 41,
        "seccomp": 277,
        "landlock_create_ruleset": 444,
        "prctl": 167,
        "prlimit64": 261,
        "close_range": 436,
    },
}

PROGRAMS = {
    "value": "done(1 + 2)",
    "file": "try:\n    open('/etc/passwd')\nexcept OSError as error:\n    done(error.errno)",
    "socket": "import socket\nsocket.socket()",
    "fork": "os.fork()",
    "kill": "os.kill(1, 9)",
    "memory": "try:\n    bytearray(10**9)\nexcept MemoryError:\n    done('refused')",
    "time": "while True: pass",
}


def become(user: int) -> None:
    """Be an ordinary user that can read what this Python is made of, wherever root keeps it."""
    home = Path("/root")
    if Path(sys.base_prefix).is_relative_to(home) and not home.stat().st_mode & 0o001:
        # In mounts of our own: the same tree at the same place, below a directory that everybody may pass.
        kernel.unshare(0x0002_0000)
        kernel.mount(b"none", b"/", None, 0x4000 | 0x4_0000)
        part = home / Path(sys.base_prefix).relative_to(home).parts[0]
        held = os.open(part, os.O_RDONLY)
        kernel.mount(b"tmpfs", bytes(home), b"tmpfs", 0, b"mode=0755")
        part.mkdir()
        kernel.mount(f"/proc/self/fd/{held}".encode(), bytes(part), None, 0x1000 | 0x4000)
        os.close(held)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def deny(calls: dict[str, int]) -> None:
    """Have the kernel answer these calls with these errors from now on, in everything that is started from here."""
    lines = [(0x20, 0, 0, 0)]
    for name, number in calls.items():
        lines += [(0x15, 0, 1, NUMBERS[kernel.MACHINE][name]), (0x06, 0, 0, seccomp.ERRNO | number)]
    lines.append((0x06, 0, 0, seccomp.ALLOW))
    process.forbid_new_privileges()
    seccomp.install(b"".join(struct.pack("<HBBI", *line) for line in lines))


async def visit(accept_missing: list[str]) -> dict[str, object]:
    seen: dict[str, object] = {}
    try:
        limits = Limits(cpu_seconds=0.3, wall_seconds=20.0, memory_bytes=64 * 2**20)
        async with LocalSandbox(limits, accept_missing=accept_missing) as sandbox:
            seen["layers"] = {layer.name: layer.stands for layer in sandbox.layers}
            seen["details"] = {layer.name: layer.detail for layer in sandbox.layers}
            for name, program in PROGRAMS.items():
                outcome = await sandbox.run(program, (), Recorder())
                seen[name] = outcome.result if outcome.kind is None else [outcome.kind, outcome.message]
                seen["missing"] = list(outcome.missing_layers)
    except SandboxUnavailable as error:
        seen["unavailable"] = str(error)
        seen["layers"] = {layer.name: layer.stands for layer in error.layers}
    seen["left"] = len(descendants())
    return seen


if __name__ == "__main__":
    task = json.loads(sys.argv[1])
    if "user" in task:
        become(task["user"])
    if "processes" in task:
        resource.setrlimit(resource.RLIMIT_NPROC, (task["processes"],) * 2)
    if "denied" in task:
        deny(task["denied"])
    zygote.BOOTSTRAP = WITHOUT_LANGUAGE_WALL + zygote.BOOTSTRAP
    print(json.dumps(trio.run(visit, task.get("accept_missing", []))))
