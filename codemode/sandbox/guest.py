"""One guest as the host sees it: a channel, a handle to kill it by, and how it ended.

The channel can be used from the first moment; the kernel keeps what is written until the guest has been forked.
Nothing here reads what a guest says.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket

import trio

from codemode.control import Ended

__all__ = ["Guest", "Pair"]

Pair = tuple[int, float]
"""Memory in bytes and processor time in seconds: the limits that a guest has before it has a program."""


class Guest:
    """A guest, from the request to fork it until it is reaped.

    `gone` is set when the guest is no more: `ended` then has the kernel's word on how, or is None when the zygote
    died with it; `refused` says why it never was, or never could be used.
    """

    __slots__ = ("_doomed", "ended", "gone", "id", "pair", "pidfd", "refused", "socket")

    def __init__(self, id: int, pair: Pair, channel: socket.socket) -> None:
        self.id = id
        self.pair = pair
        self.socket = channel
        self.pidfd = -1
        self.ended: Ended | None = None
        self.refused = ""
        self.gone = trio.Event()
        self._doomed = False

    def born(self, pidfd: int) -> None:
        """The zygote has forked it."""
        self.pidfd = pidfd
        if self._doomed:
            self.kill()

    def depart(self, ended: Ended | None = None, *, refused: str = "") -> None:
        """It is no more, or never was; see the class."""
        self.ended = ended
        self.refused = self.refused or refused
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1
        self.gone.set()

    def kill(self) -> None:
        """Kill it, at once or as soon as it exists. Does not wait."""
        self._doomed = True
        if self.pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):  # it has ended; word of it is on the way
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

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
