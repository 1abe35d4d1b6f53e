"""What a process can do to itself: die with its parent, keep one descriptor, hide its memory, give up privileges."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal

from codemode.guest.confine import kernel
from codemode.guest.confine.kernel import Prepared

__all__ = [
    "closing_all_but",
    "default_signals",
    "die_with_parent",
    "dying_with_parent",
    "forbid_new_privileges",
    "hide_memory",
    "moving_to",
]

# linux/prctl.h
_SET_PDEATHSIG = 1
_SET_DUMPABLE = 4
_SET_NO_NEW_PRIVS = 38
_GET_NO_NEW_PRIVS = 39

_LAST_DESCRIPTOR = 0xFFFF_FFFF


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the thread that forked it ends.

    A fork and a change of credentials undo it, so it is asked again after each. A parent that was already gone is
    not noticed: the caller compares `os.getppid()` afterwards.
    """
    kernel.prctl(_SET_PDEATHSIG, signal.SIGKILL)


def dying_with_parent() -> Prepared:
    """Prepare what `die_with_parent` does."""
    return Prepared.of("prctl", _SET_PDEATHSIG, signal.SIGKILL)


def hide_memory() -> None:
    """No core dump, no debugger, and /proc/self belongs to root. Forks inherit it."""
    kernel.prctl(_SET_DUMPABLE, 0)


def forbid_new_privileges() -> bool:
    """Make every later exec gain nothing, for ever; forks inherit it. Returns whether it holds."""
    kernel.prctl(_SET_NO_NEW_PRIVS, 1)
    return kernel.prctl(_GET_NO_NEW_PRIVS) == 1


def default_signals() -> None:
    """Let every signal do what it does by default, above all those of the time limits: kill. Forks inherit it.

    Whoever started us may have had some blocked or ignored, which exec hands on.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE}:
        with contextlib.suppress(OSError):  # two of them belong to the C library
            signal.signal(number, signal.SIG_DFL)


def moving_to(channel: int, descriptor: int) -> list[Prepared]:
    """Prepare to give `channel` the number `descriptor`."""
    return [] if channel == descriptor else [Prepared.of("dup3", channel, descriptor, os.O_CLOEXEC)]


def closing_all_but(descriptor: int) -> list[Prepared]:
    """Prepare to close every descriptor but one, whatever a process knows of them.

    Empty before Linux 5.9, which has no call for that; then `os.closerange` must do it.
    """
    try:
        kernel.call("close_range", ctypes.c_uint(_LAST_DESCRIPTOR), ctypes.c_uint(_LAST_DESCRIPTOR), 0)
    except OSError:
        return []
    return [
        Prepared.of("close_range", 0, descriptor - 1),
        Prepared.of("close_range", descriptor + 1, _LAST_DESCRIPTOR),
    ]
