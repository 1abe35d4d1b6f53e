"""What the kernel says of processes, read from /proc: children, memory, page faults, reads and writes. Linux."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

__all__ = [
    "Counted",
    "Memory",
    "children",
    "counted",
    "guests_and_zygote",
    "is_asleep",
    "memory_of",
    "peak_bytes",
    "reset_peak",
]

_IO = {"rchar": "bytes_read", "wchar": "bytes_written", "syscr": "reads", "syscw": "writes"}


class Memory(Struct, frozen=True):
    """Bytes: what belongs to this process alone, and what of its memory is in RAM at all."""

    private: int
    resident: int


class Counted(Struct, frozen=True):
    """What a process has done so far."""

    page_faults: int
    bytes_read: int
    bytes_written: int
    reads: int
    writes: int

    def since(self, earlier: Counted) -> Counted:
        """Return what it has done between `earlier` and now."""
        return Counted(*(getattr(self, f) - getattr(earlier, f) for f in self.__struct_fields__))


def children(pid: int) -> list[int]:
    """Return the process numbers of the children of a process, oldest first; empty for one that is gone."""
    try:
        threads = sorted(map(int, os.listdir(f"/proc/{pid}/task")))
        found = [
            Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii") for thread in threads
        ]
    except OSError:
        return []
    return [int(number) for line in found for number in line.split()]


def guests_and_zygote() -> tuple[list[int], int]:
    """Return the guests of the one engine that this process has open, and the process that they are forked from.

    Raises `RuntimeError` if there is no engine, or more than one.
    """
    zygotes = [pid for pid in children(os.getpid()) if _is_zygote(pid)]
    if len(zygotes) != 1:
        raise RuntimeError(f"{len(zygotes)} zygotes where one was expected")
    zygote = zygotes[0]
    inner = [pid for pid in children(zygote) if _is_zygote(pid)]
    # In a namespace of its own the process that forks is the child of the one that was started. Guests have the
    # same command line; it is the one with children, or the only one there is.
    if len(inner) == 1:
        return children(inner[0]), inner[0]
    return inner, zygote


def _is_zygote(pid: int) -> bool:
    try:
        return b"codemode.guest.zygote" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def is_asleep(pid: int) -> bool:
    """Whether a process waits for something; one that computes, or would if it were its turn, does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "S"


def memory_of(pid: int) -> Memory:
    """Return what memory a process has. Raises OSError when it may not be read, or is gone."""
    values: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]:
        name, _, rest = line.partition(":")
        values[name] = int(rest.split()[0]) * 1024
    return Memory(values["Private_Clean"] + values["Private_Dirty"], values["Rss"])


def counted(pid: int) -> Counted:
    """Return what a process has done so far. Raises OSError when it may not be read, or is gone."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    io: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name in _IO:
            io[_IO[name]] = int(value)
    return Counted(page_faults=int(stat[7]), **io)


def peak_bytes() -> int:
    """Return the most memory that this process has had in RAM since `reset_peak`."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel does not say how much memory this process has had")


def reset_peak() -> None:
    """Start counting `peak_bytes` anew (Documentation/filesystems/proc.rst, clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
