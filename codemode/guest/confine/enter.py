"""The way of one forked guest behind the wall, in the order that matters. Nothing is optional here."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from codemode.guest.confine import process, rlimits, seccomp
from codemode.guest.confine.rlimits import Size
from codemode.guest.confine.table import CHANNEL

__all__ = ["DESCRIPTOR", "FILTER", "LIMITS", "Cage", "Unconfined", "enter"]

DESCRIPTOR: Final = "one descriptor"
LIMITS: Final = "resource limits"
FILTER: Final = "seccomp"


class Unconfined(Exception):
    """A layer could not be put on a guest."""

    def __init__(self, layer: str, problem: str) -> None:
        super().__init__(layer, problem)
        self.layer = layer
        self.problem = problem


class Cage(NamedTuple):
    """What all guests of one zygote share: its process number, its size, the filter."""

    zygote: int
    base: Size
    filter: seccomp.Filter


def enter(cage: Cage, channel: int, memory_bytes: int, cpu_seconds: float) -> None:
    """Confine this process, just forked from the zygote, for ever; its channel is descriptor 3 afterwards.

    Inherited from the zygote: no new privileges, memory hidden, signals at their default, and the limits that are
    the same for all.
    Raises `Unconfined` when a layer cannot be put on; the caller then ends the process.
    """
    layer = "death with the zygote"
    try:
        process.die_with_parent()
        if os.getppid() != cage.zygote:
            os._exit(1)
        layer = DESCRIPTOR
        if channel != CHANNEL:
            os.dup2(channel, CHANNEL, inheritable=False)
        process.close_all_but(CHANNEL)
        layer = LIMITS
        rlimits.limit_guest(cage.base, memory_bytes, cpu_seconds)
        layer = FILTER
        seccomp.install(cage.filter.for_process(os.getpid()))
    except (OSError, ValueError) as error:
        raise Unconfined(layer, str(error)) from error
