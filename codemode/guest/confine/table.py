"""Which system calls a guest may make. One row each: name, number on x86-64, on aarch64, verdict, reason.

A call that has no row kills the guest: a kill can be neither probed nor retried, and it makes an attack visible.
`REFUSE` is for what ordinary CPython or the C library tries in passing and can do without. Calls that take
pointers to structures (clone3, openat2, io_uring) are judged by number alone, for a filter cannot read them.

This file is the policy and nothing else; `seccomp.py` turns it into a filter, and the tests hold each number
against it, in a simulator and inside a living guest.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

__all__ = ["CHANNEL", "FUTEX_OPERATIONS", "MADVISE_ADVICE", "TABLE", "Row", "Verdict"]

CHANNEL: Final = 3
"""The one descriptor of a guest."""

FUTEX_OPERATIONS: Final = (0, 1, 9, 10)
"""WAIT, WAKE, WAIT_BITSET, WAKE_BITSET; never the priority-inheritance family."""

MADVISE_ADVICE: Final = (4, 8, 14, 15)
"""DONTNEED, FREE, HUGEPAGE, NOHUGEPAGE."""


class Verdict(Enum):
    """What becomes of a call."""

    ALLOW = "goes through"
    CHANNEL = "goes through on the channel, EBADF on any other descriptor"
    ANONYMOUS = "goes through for private anonymous memory that is not executable, else EPERM"
    NO_EXEC = "goes through unless the memory would be executable, else EPERM"
    FUTEX = "goes through for waiting and waking, else ENOSYS"
    MADVISE = "goes through for giving pages back and for huge pages, else EINVAL"
    ABORT = "goes through for SIGABRT to the guest itself, so that abort() ends as a crash; else kills"
    REFUSE = "EPERM"
    KILL = "kills the guest with SIGSYS"


class Row(NamedTuple):
    """One system call; a number is None where the machine has no such call."""

    name: str
    x86_64: int | None
    aarch64: int | None
    verdict: Verdict
    reason: str


_ALLOW, _REFUSE = Verdict.ALLOW, Verdict.REFUSE

TABLE: Final[tuple[Row, ...]] = (
    # The channel to the host.
    Row("read", 0, 63, Verdict.CHANNEL, "frames from the host"),
    Row("write", 1, 64, Verdict.CHANNEL, "frames to the host"),
    Row("poll", 7, None, _ALLOW, "waiting for the host with a time limit; there is no other descriptor"),
    Row("ppoll", 271, 73, _ALLOW, "poll, where the machine has only this one"),
    # Memory.
    Row("mmap", 9, 222, Verdict.ANONYMOUS, "the allocator"),
    Row("mprotect", 10, 226, Verdict.NO_EXEC, "the allocator and thread stacks; W^X holds"),
    Row("munmap", 11, 215, _ALLOW, "the allocator"),
    Row("brk", 12, 214, _ALLOW, "the allocator"),
    Row("mremap", 25, 216, _ALLOW, "the allocator, for large blocks"),
    Row("madvise", 28, 233, Verdict.MADVISE, "the allocator gives pages back"),
    # Time, chance, and the process itself.
    Row("clock_gettime", 228, 113, _ALLOW, "time"),
    Row("clock_getres", 229, 114, _ALLOW, "time"),
    Row("gettimeofday", 96, 169, _ALLOW, "time"),
    Row("time", 201, None, _ALLOW, "time"),
    Row("nanosleep", 35, 101, _ALLOW, "sleeping"),
    Row("clock_nanosleep", 230, 115, _ALLOW, "sleeping"),
    Row("getrandom", 318, 278, _ALLOW, "random, uuid"),
    Row("futex", 202, 98, Verdict.FUTEX, "locks of CPython and the C library"),
    Row("sched_yield", 24, 124, _ALLOW, "locks"),
    Row("getpid", 39, 172, _ALLOW, "abort(), random"),
    Row("gettid", 186, 178, _ALLOW, "abort()"),
    Row("tgkill", 234, 131, Verdict.ABORT, "abort()"),
    Row("restart_syscall", 219, 128, _ALLOW, "the kernel's own, after a stop"),
    Row("exit", 60, 93, _ALLOW, "the end"),
    Row("exit_group", 231, 94, _ALLOW, "the end"),
    # What ordinary code tries in passing: a traceback looks for source files, a stream asks whether it is a terminal.
    Row("open", 2, None, _REFUSE, "no files"),
    Row("openat", 257, 56, _REFUSE, "no files"),
    Row("openat2", 437, 437, _REFUSE, "no files"),
    Row("stat", 4, None, _REFUSE, "no files"),
    Row("lstat", 6, None, _REFUSE, "no files"),
    Row("fstat", 5, 80, _REFUSE, "no files"),
    Row("newfstatat", 262, 79, _REFUSE, "no files"),
    Row("statx", 332, 291, _REFUSE, "no files"),
    Row("access", 21, None, _REFUSE, "no files"),
    Row("faccessat", 269, 48, _REFUSE, "no files"),
    Row("faccessat2", 439, 439, _REFUSE, "no files"),
    Row("readlink", 89, None, _REFUSE, "no files"),
    Row("readlinkat", 267, 78, _REFUSE, "no files"),
    Row("getcwd", 79, 17, _REFUSE, "no files"),
    Row("getdents64", 217, 61, _REFUSE, "no files"),
    Row("lseek", 8, 62, _REFUSE, "no files"),
    Row("ioctl", 16, 29, _REFUSE, "isatty() of a stream"),
    Row("close", 3, 57, _REFUSE, "the channel stays open to the end"),
    Row("dup", 32, 23, _REFUSE, "one descriptor"),
    Row("fcntl", 72, 25, _REFUSE, "one descriptor, and its flags stay"),
    Row("uname", 63, 160, _REFUSE, "nothing about the machine"),
    Row("sysinfo", 99, 179, _REFUSE, "nothing about the machine"),
    Row("sched_getaffinity", 204, 123, _REFUSE, "nothing about the machine"),
    Row("getcpu", 309, 168, _REFUSE, "nothing about the machine"),
    Row("times", 100, 153, _REFUSE, "clock_gettime says as much"),
    Row("getrusage", 98, 165, _REFUSE, "nothing about the process"),
    Row("getrlimit", 97, 163, _REFUSE, "limits are not for reading"),
    Row("prlimit64", 302, 261, _REFUSE, "limits are not for changing"),
    Row("getppid", 110, 173, _REFUSE, "nothing about other processes"),
    Row("getuid", 102, 174, _REFUSE, "nothing about the user"),
    Row("geteuid", 107, 175, _REFUSE, "nothing about the user"),
    Row("getgid", 104, 176, _REFUSE, "nothing about the user"),
    Row("getegid", 108, 177, _REFUSE, "nothing about the user"),
    Row("rt_sigaction", 13, 134, _REFUSE, "signals keep their default: they kill"),
    Row("rt_sigprocmask", 14, 135, _REFUSE, "signals stay deliverable"),
    Row("sigaltstack", 131, 132, _REFUSE, "no signal handlers"),
    Row("rseq", 334, 293, _REFUSE, "the C library can do without"),
)
