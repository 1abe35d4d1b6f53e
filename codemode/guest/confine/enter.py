"""The way of one forked guest behind the wall, in the order that matters. Nothing is optional here."""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Final, NamedTuple

from codemode.guest.confine import process, rlimits, seccomp
from codemode.guest.confine.kernel import Prepared
from codemode.guest.confine.rlimits import Size
from codemode.guest.confine.table import CHANNEL

__all__ = ["DESCRIPTOR", "FILTER", "LIMITS", "Cage", "Unconfined", "Way", "enter"]

DESCRIPTOR: Final = "one descriptor"
LIMITS: Final = "resource limits"
FILTER: Final = "seccomp"

_PAIRS: Final = 16
"""Pairs of limits whose calls are kept prepared."""


class Unconfined(Exception):
    """A layer could not be put on a guest."""

    def __init__(self, layer: str, problem: str) -> None:
        super().__init__(layer, problem)
        self.layer = layer
        self.problem = problem


class Cage:
    """What all guests of one zygote share: its process number, its size, the filter."""

    def __init__(self, zygote: int, base: Size, filter_: seccomp.Filter) -> None:
        self.zygote = zygote
        self.base = base
        self._own_end = process.dying_with_parent()
        self._closing = process.closing_all_but(CHANNEL)
        self._door = filter_.prepared()
        self._limits: OrderedDict[tuple[int, float], list[Prepared]] = OrderedDict()

    def prepare(self, channel: int, memory_bytes: int, cpu_seconds: float) -> Way:
        """Put down all that a guest with this channel and these limits has to do; see `enter`."""
        pair = memory_bytes, cpu_seconds
        limits = self._limits.get(pair)
        if limits is None:
            limits = self._limits[pair] = rlimits.guest_limits(self.base, memory_bytes, cpu_seconds)
            if len(self._limits) > _PAIRS:
                self._limits.popitem(last=False)
        return Way(
            self.zygote,
            self._own_end,
            process.moving_to(channel, CHANNEL),
            self._closing,
            limits,
            self._door,
        )


class Way(NamedTuple):
    """The way of one guest behind the wall, prepared by its zygote."""

    zygote: int
    own_end: Prepared
    channel: list[Prepared]
    closing: list[Prepared]
    limits: list[Prepared]
    door: seccomp.Door


def enter(way: Way) -> None:
    """Confine this process, just forked from the zygote, for ever; its channel is descriptor 3 afterwards.

    Inherited from the zygote: no new privileges, memory hidden, signals at their default, and the limits that are
    the same for all.
    Raises `Unconfined` when a layer cannot be put on; the caller then ends the process.
    """
    layer = "death with the zygote"
    try:
        way.own_end.make()
        if os.getppid() != way.zygote:
            os._exit(1)
        layer = DESCRIPTOR
        for call in way.channel:
            call.make()
        for call in way.closing:
            call.make()
        if not way.closing:
            os.closerange(0, CHANNEL)
            os.closerange(CHANNEL + 1, os.sysconf("SC_OPEN_MAX"))
        layer = LIMITS
        for call in way.limits:
            call.make()
        layer = FILTER
        way.door.close(os.getpid())
    except (OSError, ValueError) as error:
        raise Unconfined(layer, str(error)) from error
