"""One guest as the host sees it: a channel, a handle to kill it by, what it has used, and how it ended.

The channel can be used from the first moment; the kernel keeps what is written until the guest has been forked.
Nothing here reads what a guest says.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from pathlib import Path
from typing import NamedTuple

import trio

from codemode.control import Ended

__all__ = ["Guest", "Pair", "Used"]

Pair = tuple[int, float]
"""Memory in bytes and processor time in seconds: the limits that a guest has before it has a program."""


class Used(NamedTuple):
    """What a guest has used so far, by the kernel's word: seconds of processor time, and the most resident bytes."""

    cpu_seconds: float
    max_resident_bytes: int


class Guest:
    """A guest, from the request to fork it until it is reaped.

    `gone` is set when the guest is no more: `ended` then has the kernel's word on how, or is None when the zygote
    died with it; `refused` says why it never was, or never could be used.
    """

    __slots__ = ("_doomed", "_meter", "born_at", "ended", "gone", "id", "pair", "pidfd", "refused", "socket")

    def __init__(self, id: int, pair: Pair, channel: socket.socket) -> None:
        self.id = id
        self.pair = pair
        self.socket = channel
        self.pidfd = -1
        self.born_at = 0
        """When it was forked, in nanoseconds since the epoch; 0 before that."""
        self.ended: Ended | None = None
        self.refused = ""
        self.gone = trio.Event()
        self._doomed = False
        self._meter: _Meter | None = None

    def born(self, pidfd: int) -> None:
        """The zygote has forked it."""
        self.pidfd = pidfd
        self.born_at = time.time_ns()
        if self._doomed:
            self.kill()
        else:
            self._meter = _Meter.of(pidfd)

    def used(self) -> Used | None:
        """What it has used so far; None for one that is dead, not born, or whose processor time cannot be read."""
        return None if self._meter is None else self._meter.read()

    def cpu_seconds(self) -> float:
        """The processor time that it has used so far; 0 where that is not known, and before it is born."""
        return 0.0 if self._meter is None else self._meter.cpu_seconds()

    def depart(self, ended: Ended | None = None, *, refused: str = "") -> None:
        """It is no more, or never was; see the class."""
        self.ended = ended
        self.refused = self.refused or refused
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1
        self._forget_meter()
        self.gone.set()

    def kill(self) -> None:
        """Kill it, at once or as soon as it exists. Does not wait; but no instruction of it runs after this."""
        self._doomed = True
        self._forget_meter()
        if self.pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):  # it has ended; word of it is on the way
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def _forget_meter(self) -> None:
        if self._meter is not None:
            self._meter.close()
            self._meter = None

    @property
    def usable(self) -> bool:
        """Whether it lives, or is about to."""
        if self.gone.is_set() or self._doomed:
            return False
        if self.pidfd < 0:
            return True
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        """Give back the channel; whoever waits on it gets `trio.ClosedResourceError`."""
        if self.socket.fileno() >= 0:
            trio.lowlevel.notify_closing(self.socket)
            self.socket.close()


class _Meter:
    """Reads what a living process has used."""

    __slots__ = ("_clock", "_status")

    def __init__(self, clock: int, status: int) -> None:
        self._clock = clock
        self._status = status

    @classmethod
    def of(cls, pidfd: int) -> _Meter | None:
        """Return the meter of a process, or None where /proc does not show it."""
        try:
            about = Path(f"/proc/self/fdinfo/{pidfd}").read_bytes()
            number = int(about.partition(b"\nPid:")[2].split(None, 1)[0])
            if number <= 0:
                return None
            status = os.open(f"/proc/{number}/status", os.O_RDONLY)
        except (OSError, ValueError, IndexError):
            return None
        return cls(~number << 3 | 2, status)  # its CPUCLOCK_SCHED (include/linux/posix-timers.h)

    def cpu_seconds(self) -> float:
        try:
            return time.clock_gettime(self._clock)
        except OSError:
            return 0.0

    def read(self) -> Used | None:
        try:
            status = os.pread(self._status, 4096, 0)
            _, found, peak = status.partition(b"\nVmHWM:")
            if not found:
                return None  # it has ended
            return Used(time.clock_gettime(self._clock), int(peak.split(None, 1)[0]) * 1024)
        except OSError:
            return None

    def close(self) -> None:
        os.close(self._status)
