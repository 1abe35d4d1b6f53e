"""The way of one forked guest behind the wall, in the order that matters. Nothing is optional here."""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

from codemode.guest.confine import process, rlimits, seccomp
from codemode.guest.confine.rlimits import Size
from codemode.guest.confine.table import CHANNEL

__all__ = ["Cage", "enter"]


class Cage(NamedTuple):
    """What all guests of one zygote share: its process number, its size, the filter."""

    zygote: int
    base: Size
    filter: seccomp.Filter


def enter(cage: Cage, channel: int, memory_bytes: int, cpu_seconds: float) -> None:
    """Confine this process, just forked from the zygote, for ever; its channel is descriptor 3 afterwards.

    Inherited from the zygote: no new privileges, memory hidden, and the limits that are the same for all.
    Raises OSError or ValueError when a layer cannot be put on; the caller then ends the process.
    """
    process.die_with_parent()
    if os.getppid() != cage.zygote:
        os._exit(1)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    if channel != CHANNEL:
        os.dup2(channel, CHANNEL, inheritable=False)
    process.close_all_but(CHANNEL)
    rlimits.limit_guest(cage.base, memory_bytes, cpu_seconds)
    seccomp.install(cage.filter.for_process(os.getpid()))
