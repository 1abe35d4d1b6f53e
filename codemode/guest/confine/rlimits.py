"""Resource limits: memory and processor time as given, everything else nothing.

Memory is bounded twice: address space (every mapping) and data (private writable memory). Both count what a guest
inherits by the fork, so both are set above the zygote's own size. Over either, an allocation fails and Python raises
MemoryError. Processor time is a timer whose default action kills at once, wherever the program is, with the
coarser RLIMIT_CPU behind it.
"""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
from typing import NamedTuple

from codemode.guest.confine.kernel import Prepared

__all__ = ["WARM_UP_SECONDS", "Size", "allow_descriptors", "guest_limits", "limit_always", "own_size"]

WARM_UP_SECONDS = 0.05
"""Processor time that a guest may use before it has a program, on top of the program's own."""

_SPARE_BYTES = 2 * 1024 * 1024
"""What the zygote may grow after it was measured, and a guest for its warm-up."""

_STACK_BYTES = 64 * 1024 * 1024
"""Room for a recursion through C code as deep as a program may ask for (3 KiB each, the worst of them, a sort by a
key that sorts); its pages count as address space, so the memory limit holds for them as well."""

_NICENESS = 5
"""A guest gives way to its host where processors are scarce, so that a hundred that spin do not hold the host up."""

_LONGEST = 10 * 365 * 24 * 3600.0

_NOTHING = (
    resource.RLIMIT_FSIZE,
    resource.RLIMIT_CORE,
    resource.RLIMIT_MEMLOCK,
    resource.RLIMIT_MSGQUEUE,
)


class Size(NamedTuple):
    """The memory of a process in bytes, as the limits count it."""

    address_space: int
    data: int


def own_size() -> Size:
    """Measure this process. Raises OSError without /proc."""
    sizes: dict[str, int] = {}
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            name, _, value = line.partition(":")
            if name in ("VmSize", "VmData"):
                sizes[name] = int(value.split()[0]) * 1024
    return Size(sizes["VmSize"], sizes["VmData"])


def limit_always() -> None:
    """Set the limits that are the same for every guest; forks inherit them."""
    for kind in _NOTHING:
        resource.setrlimit(kind, (0, 0))
    _lower(resource.RLIMIT_STACK, _STACK_BYTES, _STACK_BYTES)


def allow_descriptors() -> None:
    """Let the zygote hold as many descriptors as it may: one per living guest."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def guest_limits(base: Size, memory_bytes: int, cpu_seconds: float) -> list[Prepared]:
    """Prepare a guest's own limits, to be set by itself. `base` is the size of the zygote that it is forked from.

    No further process can be made (for an ordinary user; for root the filter alone says so) and no descriptor
    opened. One descriptor is allowed because poll(2) counts the ones it is given against this limit.
    """
    room = memory_bytes + _SPARE_BYTES
    seconds = min(cpu_seconds, _LONGEST) + WARM_UP_SECONDS
    backstop = math.ceil(seconds) + 1
    timer = _Timer(0, 0, int(seconds), int(seconds % 1 * 1_000_000))
    return [
        _lowered(resource.RLIMIT_AS, base.address_space + room, base.address_space + room),
        _lowered(resource.RLIMIT_DATA, base.data + room, base.data + room),
        _lowered(resource.RLIMIT_NOFILE, 1, 1),
        _lowered(resource.RLIMIT_NPROC, 0, 0),
        _lowered(resource.RLIMIT_CPU, backstop, backstop + 1),
        Prepared.of("setpriority", os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + _NICENESS),
        Prepared.of("setitimer", signal.ITIMER_PROF, timer),
    ]


class _Limit(ctypes.Structure):
    _fields_ = (("soft", ctypes.c_uint64), ("hard", ctypes.c_uint64))


class _Timer(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_long) for name in ("again", "again_micro", "after", "after_micro"))


def _lowered(kind: int, soft: int, hard: int) -> Prepared:
    return Prepared.of("prlimit64", 0, kind, _Limit(*_below_ceiling(kind, soft, hard)))


def _lower(kind: int, soft: int, hard: int) -> None:
    """Set a limit, never above the hard one that is already there."""
    resource.setrlimit(kind, _below_ceiling(kind, soft, hard))


def _below_ceiling(kind: int, soft: int, hard: int) -> tuple[int, int]:
    try:
        _, ceiling = resource.getrlimit(kind)
    except OSError:  # then it cannot be set either, and whoever tries is told
        ceiling = resource.RLIM_INFINITY
    top = (1 << 63) - 1 if ceiling == resource.RLIM_INFINITY else ceiling
    return min(soft, top), min(hard, top)
