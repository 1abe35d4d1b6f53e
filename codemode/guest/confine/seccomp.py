"""The table as a filter that the kernel runs before every system call, and how it is installed.

The program is classic BPF, made here instruction by instruction: no library stands between the table and the
kernel, and a test interprets the result over every number. A guest's own process number is a part of it (for
`abort()`), so a filter is built once and the number put in after the fork. Nothing here says what is allowed.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from codemode.guest.confine import kernel
from codemode.guest.confine.table import CHANNEL, FUTEX_OPERATIONS, MADVISE_ADVICE, TABLE, Row, Verdict

__all__ = ["ALLOW", "ARCHITECTURES", "ERRNO", "KILL", "Filter", "Instruction", "build", "install"]

# linux/seccomp.h
KILL: Final = 0x8000_0000
ERRNO: Final = 0x0005_0000
ALLOW: Final = 0x7FFF_0000
_SET_MODE_FILTER: Final = 1

# linux/audit.h
ARCHITECTURES: Final[Mapping[str, int]] = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}

# linux/bpf_common.h
_LOAD: Final = 0x20
_AND: Final = 0x54
_IF_EQUAL: Final = 0x15
_IF_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06

# Offsets in struct seccomp_data. Of an argument only the low half is read, as the kernel itself does for
# descriptors, protections, flags and operations. Both machines are little-endian.
_NUMBER: Final = 0
_ARCHITECTURE: Final = 4

_PROT_EXEC: Final = 0x4
_MAP_SHARED: Final = 0x01
_MAP_ANONYMOUS: Final = 0x20
_MAP_HUGETLB: Final = 0x4_0000
_FUTEX_COMMAND: Final = 0x7F
_SIGABRT: Final = 6

_PLACEHOLDER: Final = 0x7FFF_FFF1
"""Stands for the guest's process number until it is known; no process has it."""


class Instruction(NamedTuple):
    """One instruction of classic BPF; `yes` and `no` are distances to jump."""

    code: int
    yes: int
    no: int
    k: int


class Filter(NamedTuple):
    """A program whose one unknown is the guest's process number."""

    head: bytes
    tail: bytes

    def for_process(self, pid: int) -> bytes:
        """Return the program for the process `pid`."""
        return self.head + pid.to_bytes(4, "little") + self.tail

    def prepared(self) -> Door:
        """Return the call that installs it, but for the process number."""
        program = self.for_process(_PLACEHOLDER)
        code = ctypes.create_string_buffer(program, len(program))
        pid = ctypes.c_uint32.from_buffer(code, len(self.head))
        return Door(pid, kernel.Prepared.of("seccomp", _SET_MODE_FILTER, 0, _program(code)))


class Door(NamedTuple):
    """A filter that is ready to be installed, for ever, by the process whose number is written to `pid`."""

    pid: ctypes.c_uint32
    call: kernel.Prepared


class _Assembler:
    """Writes instructions whose jumps name labels further down."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, int, str, str]] = []
        self._labels: dict[str, int] = {}

    def label(self, name: str) -> None:
        self._labels[name] = len(self._lines)

    def load(self, offset: int) -> None:
        self._lines.append((_LOAD, offset, "", ""))

    def load_argument(self, index: int) -> None:
        self.load(16 + 8 * index)

    def keep_bits(self, mask: int) -> None:
        self._lines.append((_AND, mask, "", ""))

    def jump(self, test: int, k: int, yes: str = "", no: str = "") -> None:
        """Go to `yes` or `no` by the outcome of a test; an empty label is the next line."""
        self._lines.append((test, k, yes, no))

    def give(self, verdict: int) -> None:
        self._lines.append((_RETURN, verdict, "", ""))

    def program(self) -> tuple[Instruction, ...]:
        return tuple(
            Instruction(code, self._distance(at, yes), self._distance(at, no), k)
            for at, (code, k, yes, no) in enumerate(self._lines)
        )

    def _distance(self, at: int, label: str) -> int:
        distance = self._labels[label] - at - 1 if label else 0
        if not 0 <= distance <= 255:
            raise ValueError(f"the filter's jump to {label!r} is {distance} long; 255 is the most")
        return distance


def build(machine: str, table: Sequence[Row] = TABLE) -> Filter:
    """Return the filter for a machine named as `platform.machine()` names it. Raises KeyError for another one."""
    code = b"".join(
        struct.pack("<HBBI", line.code, line.yes, line.no, line.k) for line in instructions(machine, table)
    )
    head, tail = code.split(_PLACEHOLDER.to_bytes(4, "little"))
    return Filter(head, tail)


def instructions(machine: str, table: Sequence[Row] = TABLE) -> tuple[Instruction, ...]:
    """Return the filter as instructions, the guest's process number still unknown."""
    out = _Assembler()
    out.load(_ARCHITECTURE)
    out.jump(_IF_EQUAL, ARCHITECTURES[machine], no=Verdict.KILL.name)
    out.load(_NUMBER)
    for row in table:  # in the table's order, so that what a guest does most is found first
        number: int | None = getattr(row, machine)
        if number is not None:
            out.jump(_IF_EQUAL, number, yes=row.verdict.name)
    out.give(KILL)  # the x32 numbers, a second door to the same calls, are among those without a row

    # For each verdict that looks at arguments, its test.
    out.label(Verdict.CHANNEL.name)
    out.load_argument(0)
    out.jump(_IF_EQUAL, CHANNEL, yes=Verdict.ALLOW.name)
    out.give(ERRNO | errno.EBADF)

    out.label(Verdict.ANONYMOUS.name)
    out.load_argument(2)
    out.jump(_IF_ANY_BIT, _PROT_EXEC, yes=Verdict.REFUSE.name)
    out.load_argument(3)
    out.jump(_IF_ANY_BIT, _MAP_SHARED | _MAP_HUGETLB, yes=Verdict.REFUSE.name)
    out.jump(_IF_ANY_BIT, _MAP_ANONYMOUS, yes=Verdict.ALLOW.name, no=Verdict.REFUSE.name)

    out.label(Verdict.NO_EXEC.name)
    out.load_argument(2)
    out.jump(_IF_ANY_BIT, _PROT_EXEC, yes=Verdict.REFUSE.name, no=Verdict.ALLOW.name)

    out.label(Verdict.FUTEX.name)
    out.load_argument(1)
    out.keep_bits(_FUTEX_COMMAND)
    for operation in FUTEX_OPERATIONS:
        out.jump(_IF_EQUAL, operation, yes=Verdict.ALLOW.name)
    out.give(ERRNO | errno.ENOSYS)

    out.label(Verdict.MADVISE.name)
    out.load_argument(2)
    for advice in MADVISE_ADVICE:
        out.jump(_IF_EQUAL, advice, yes=Verdict.ALLOW.name)
    out.give(ERRNO | errno.EINVAL)

    out.label(Verdict.ABORT.name)
    out.load_argument(0)
    out.jump(_IF_EQUAL, _PLACEHOLDER, no=Verdict.KILL.name)
    out.load_argument(2)
    out.jump(_IF_EQUAL, _SIGABRT, yes=Verdict.ALLOW.name, no=Verdict.KILL.name)

    out.label(Verdict.ALLOW.name)
    out.give(ALLOW)
    out.label(Verdict.REFUSE.name)
    out.give(ERRNO | errno.EPERM)
    out.label(Verdict.KILL.name)
    out.give(KILL)
    return out.program()


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _program(code: ctypes.Array[ctypes.c_char]) -> _Program:
    program = _Program(len(code) // 8, ctypes.addressof(code))
    program.code = code  # kept as long as the program is
    return program


def install(code: bytes) -> None:
    """Put the filter on this process, for ever. Raises OSError where the kernel refuses."""
    program = _program(ctypes.create_string_buffer(code, len(code)))
    kernel.call("seccomp", _SET_MODE_FILTER, 0, ctypes.byref(program))
