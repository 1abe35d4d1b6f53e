"""A zygote without a process wall: its guests keep files, system calls, namespaces and privileges.

It stands in for `codemode.guest.zygote` and uses the shipped code for everything else. Of the wall there remain the
bounds on memory and processor time, so that bombs come to an end, and the death of a guest with its zygote.
"""

from __future__ import annotations

import os
import resource
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
    from codemode.guest.confine import rlimits

    language = forks._load(channel)
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return (), _NoCage(rlimits.own_size()), language, resident


class _NoCage:
    """Stands in for `confine.Cage`."""

    def __init__(self, base: Any) -> None:
        self.base = base
        self.lacking: frozenset[str] = frozenset()

    def prepare(self, channel: int, memory_bytes: int, cpu_seconds: float) -> tuple[int, int, float]:
        return channel, self.base.address_space + memory_bytes, cpu_seconds


def _enter(way: tuple[int, int, float]) -> dict[str, str]:
    import resource
    import signal

    from codemode.guest.confine import process
    from codemode.guest.confine.table import CHANNEL

    channel, address_space, cpu_seconds = way
    process.die_with_parent()
    os.dup2(channel, CHANNEL, inheritable=False)
    os.close(channel) if channel != CHANNEL else None
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    whole = int(cpu_seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 1))
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    return {}
