"""A zygote without a process wall: its guests keep files, system calls, namespaces and privileges.

It stands in for `codemode.guest.zygote` and uses the shipped code for everything else. Of the wall there remain the
bounds on memory and processor time, so that bombs come to an end, and the death of a guest with its zygote.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn


def main(control: int, host: int) -> NoReturn:
    from codemode.guest import forks
    from codemode.guest.confine import process

    process.die_with_parent()
    if os.getppid() != host:
        os._exit(1)
    process.default_signals()
    forks._boot = _boot
    forks.enter = _enter
    try:
        forks.serve(control, {})
    finally:
        os._exit(1)


def _boot(left: dict[str, str], channel: Any) -> Any:
    from codemode.guest import forks
    from codemode.guest.confine import Cage, kernel, rlimits, seccomp

    language = forks._load(channel)
    return (), Cage(os.getpid(), rlimits.own_size(), seccomp.build(kernel.MACHINE)), language


def _enter(cage: Any, channel: int, memory_bytes: int, cpu_seconds: float) -> None:
    import resource
    import signal

    from codemode.guest.confine import process
    from codemode.guest.confine.table import CHANNEL

    process.die_with_parent()
    os.dup2(channel, CHANNEL, inheritable=False)
    os.close(channel) if channel != CHANNEL else None
    address_space = cage.base.address_space + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    whole = int(cpu_seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 1))
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
