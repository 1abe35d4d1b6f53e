"""The way of one forked guest behind the wall, in the order that matters. Nothing is left out here that can be had."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
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
        return Way(
            self.zygote,
            self._own_end,
            process.moving_to(channel, CHANNEL),
            self._closing,
            limits,
            self._door,
            self.lacking,
        )


class Way(NamedTuple):
    """The way of one guest behind the wall, prepared by its zygote."""

    zygote: int
    own_end: Prepared
    channel: list[Prepared]
    closing: list[Prepared]
    limits: list[Prepared]
    door: seccomp.Door
    lacking: frozenset[str]

    def die_with_zygote(self) -> None:
        self.own_end.make()
        if os.getppid() != self.zygote:
            os._exit(1)

    def take_channel(self) -> None:
        for call in self.channel:
            call.make()

    def close_others(self) -> None:
        if not self.closing:
            os.closerange(0, CHANNEL)
            os.closerange(CHANNEL + 1, os.sysconf("SC_OPEN_MAX"))
        for call in self.closing:
            call.make()

    def set_limits(self) -> None:
        """Set every limit that can be set, also when one of them cannot."""
        problem: OSError | None = None
        for call in self.limits:
            try:
                call.make()
            except OSError as error:
                problem = problem or error
        if problem is not None:
            raise problem

    def close_door(self) -> None:
        self.door.close(os.getpid())


_STEPS: Final[tuple[tuple[str, Callable[[Way], None]], ...]] = (
    ("death with the zygote", Way.die_with_zygote),
    ("the channel", Way.take_channel),
    (DESCRIPTOR, Way.close_others),
    (LIMITS, Way.set_limits),
    (FILTER, Way.close_door),
)


def enter(way: Way) -> dict[str, str]:
    """Confine this process, just forked from the zygote, for ever; its channel is descriptor 3 afterwards.

    Inherited from the zygote: no new privileges, memory hidden, signals at their default, and the limits that are
    the same for all.
    Returns what kept off which of the layers that `way` may lack. Raises `Unconfined` when another one cannot be put
    on; the caller then ends the process.
    """
    missing: dict[str, str] = {}
    for layer, put_on in _STEPS:
        try:
            put_on(way)
        except (OSError, ValueError) as error:
            if layer not in way.lacking:
                raise Unconfined(layer, str(error)) from error
            missing[layer] = str(error)
    return missing
