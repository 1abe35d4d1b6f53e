"""The way of one forked guest behind the wall, in the order that matters. Nothing is left out here that can be had."""

from __future__ import annotations

import ctypes
import os
from collections import OrderedDict
from typing import Final, NamedTuple

from codemode.guest.confine import process, rlimits, seccomp
from codemode.guest.confine.kernel import Call, Prepared, failed, make
from codemode.guest.confine.rlimits import Size
from codemode.guest.confine.table import CHANNEL

__all__ = ["DESCRIPTOR", "FILTER", "LIMITS", "Cage", "Unconfined", "Way", "enter"]

CHANNEL_LAYER: Final = "the channel"
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
    """What all guests of one zygote share: its process number, its size, the filter.

    `lacking` names the layers that this machine was seen not to give, where whoever runs programs accepts that: a
    guest still tries to put them on, and goes on when that fails. Of every other layer a failure ends the guest.
    """

    def __init__(self, zygote: int, base: Size, filter_: seccomp.Filter) -> None:
        self.zygote = zygote
        self.base = base
        self.lacking: frozenset[str] = frozenset()
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
        layers = (
            (CHANNEL_LAYER, process.moving_to(channel, CHANNEL)),
            (DESCRIPTOR, self._closing),
            (LIMITS, limits),
            (FILTER, (self._door.call,)),
        )
        return Way(
            self.zygote,
            self._own_end.call,
            not self._closing,
            tuple((layer, prepared.call) for layer, calls in layers for prepared in calls),
            self._door.pid,
            self.lacking,
        )


class Way(NamedTuple):
    """The way of one guest behind the wall, prepared by its zygote.

    `calls` are system calls with their arguments, in order, each with the layer that it is a part of.
    """

    zygote: int
    own_end: Call
    close_by_hand: bool
    calls: tuple[tuple[str, Call], ...]
    filtered: ctypes.c_uint32
    lacking: frozenset[str]


def enter(way: Way) -> dict[str, str]:
    """Confine this process, just forked from the zygote, for ever; its channel is descriptor 3 afterwards.

    Inherited from the zygote: no new privileges, memory hidden, signals at their default, and the limits that are
    the same for all.
    Returns what kept off which of the layers that `way` may lack. Raises `Unconfined` when another one cannot be put
    on; the caller then ends the process.

    It is one loop over what was put down before the fork, since each line and each object that a guest comes by costs
    it a page.
    """
    zygote, own_end, close_by_hand, calls, filtered, lacking = way
    missing: dict[str, str] = {}
    if make(*own_end) < 0:
        raise Unconfined("death with the zygote", str(failed()))
    if os.getppid() != zygote:
        os._exit(1)
    filtered.value = os.getpid()
    for layer, call in calls:
        if close_by_hand and layer == LIMITS:
            close_by_hand = False
            os.closerange(0, CHANNEL)
            os.closerange(CHANNEL + 1, os.sysconf("SC_OPEN_MAX"))
        if make(*call) < 0:
            problem = str(failed())
            if layer not in lacking:
                raise Unconfined(layer, problem)
            missing.setdefault(layer, problem)
    return missing
