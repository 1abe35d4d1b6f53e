"""The few doors to the kernel that Python's `os` does not have: prctl, mount, unshare and raw system calls.

Everything is looked up when this file is imported, in the zygote, so that a forked guest on its way behind the
wall opens no file and loads no library. Nothing here decides anything.
"""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Final, NamedTuple, TypeAlias

__all__ = [
    "MACHINE",
    "NUMBERS",
    "Call",
    "Prepared",
    "call",
    "failed",
    "make",
    "mount",
    "prctl",
    "syscall",
    "umount",
    "unshare",
]

Call: TypeAlias = tuple[int, ...]
"""A system call's number and its arguments."""

MACHINE: Final = platform.machine()

# Numbers of the calls that building the wall needs, by machine.
_NUMBERS: Final[dict[str, dict[str, int]]] = {
    "x86_64": {
        "capget": 125,
        "capset": 126,
        "pivot_root": 155,
        "seccomp": 317,
        "close_range": 436,
        "dup3": 292,
        "prctl": 157,
        "prlimit64": 302,
        "setitimer": 38,
        "setpriority": 141,
        "landlock_create_ruleset": 444,
        "landlock_restrict_self": 446,
    },
    "aarch64": {
        "capget": 90,
        "capset": 91,
        "pivot_root": 41,
        "seccomp": 277,
        "close_range": 436,
        "dup3": 24,
        "prctl": 167,
        "prlimit64": 261,
        "setitimer": 103,
        "setpriority": 140,
        "landlock_create_ruleset": 444,
        "landlock_restrict_self": 446,
    },
}

NUMBERS: Final = _NUMBERS.get(MACHINE, {})
"""Empty on a machine that this wall does not know."""

_libc = ctypes.CDLL(None, use_errno=True)
make = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 6, use_errno=True)(("syscall", _libc))
"""`syscall` for six whole numbers, which need no looking at; below 0 it failed, and `failed` says how."""
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
_prctl = _libc.prctl
_prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]


def failed() -> OSError:
    """Return the error of the call that has just failed."""
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


def prctl(option: int, value: int = 0) -> int:
    """Call prctl(2) with one argument. Raises OSError."""
    result: int = _prctl(option, value, 0, 0, 0)
    if result < 0:
        raise failed()
    return result


def syscall(number: int, *arguments: object) -> int:
    """Make a raw system call; arguments are ctypes values, bytes, None or small integers. Raises OSError."""
    result: int = _syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise failed()
    return result


def call(name: str, *arguments: object) -> int:
    """As `syscall`, by a name of `NUMBERS`."""
    return syscall(NUMBERS[name], *arguments)


class Prepared(NamedTuple):
    """A system call with its arguments, all put down before a fork, so that a child that makes it has nothing to
    look up, to convert or to allocate: what a child touches, it must copy. `make(*prepared.call)` makes it.

    An argument is a number, or what lies in memory: then it is passed as its address, and kept as long as this.
    """

    call: Call
    kept: tuple[ctypes.Structure | ctypes.Array[ctypes.c_char], ...]

    @classmethod
    def of(cls, name: str, *arguments: int | ctypes.Structure | ctypes.Array[ctypes.c_char]) -> Prepared:
        """Prepare a call by a name of `NUMBERS`, with at most five arguments."""
        numbers = [part if isinstance(part, int) else ctypes.addressof(part) for part in arguments]
        kept = tuple(part for part in arguments if not isinstance(part, int))
        return cls((NUMBERS[name], *numbers, *[0] * (5 - len(numbers))), kept)


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` name. Raises OSError."""
    if _libc.unshare(ctypes.c_int(flags)) < 0:
        raise failed()


def mount(
    source: bytes | None, target: bytes, kind: bytes | None, flags: int, options: bytes | None = None
) -> None:
    """Call mount(2). Raises OSError."""
    if _libc.mount(source, target, kind, ctypes.c_ulong(flags), options) < 0:
        raise failed()


def umount(target: bytes, flags: int) -> None:
    """Call umount2(2). Raises OSError."""
    if _libc.umount2(target, ctypes.c_int(flags)) < 0:
        raise failed()
