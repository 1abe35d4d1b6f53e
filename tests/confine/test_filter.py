"""The filter program agrees with the table, in an interpreter, on both machines."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

from codemode.guest.confine import seccomp
from codemode.guest.confine.table import TABLE, Row, Verdict
from tests.confine.simulator import run

PID = 4242
ALLOW, KILL = seccomp.ALLOW, seccomp.KILL
REFUSED = seccomp.ERRNO | errno.EPERM
MACHINES = ["x86_64", "aarch64"]

# Each verdict, tried with arguments on both sides of its line: (arguments, what the filter must say).
CASES: dict[Verdict, list[tuple[tuple[int, ...], int]]] = {
    Verdict.ALLOW: [((), ALLOW), ((2**64 - 1,) * 6, ALLOW)],
    Verdict.REFUSE: [((), REFUSED), ((2**64 - 1,) * 6, REFUSED)],
    Verdict.KILL: [((), KILL), ((2**64 - 1,) * 6, KILL)],
    Verdict.CHANNEL: [
        ((3,), ALLOW),
        ((0,), seccomp.ERRNO | errno.EBADF),
        ((1,), seccomp.ERRNO | errno.EBADF),
        ((4,), seccomp.ERRNO | errno.EBADF),
        ((2**32 - 1,), seccomp.ERRNO | errno.EBADF),
        ((2**32 + 3,), ALLOW),  # the kernel takes the low half of a descriptor
    ],
    Verdict.ANONYMOUS: [
        ((0, 4096, 3, 0x22, 2**32 - 1, 0), ALLOW),
        ((0, 4096, 0, 0x4022, 2**32 - 1, 0), ALLOW),
        ((0, 4096, 7, 0x22, 2**32 - 1, 0), REFUSED),
        ((0, 4096, 4, 0x22, 2**32 - 1, 0), REFUSED),
        ((0, 4096, 3, 0x21, 2**32 - 1, 0), REFUSED),
        ((0, 4096, 3, 0x23, 2**32 - 1, 0), REFUSED),
        ((0, 4096, 3, 0x02, 3, 0), REFUSED),
        ((0, 4096, 3, 0x4_0022, 2**32 - 1, 0), REFUSED),
    ],
    Verdict.NO_EXEC: [
        ((0, 4096, 3), ALLOW),
        ((0, 4096, 0), ALLOW),
        ((0, 4096, 4), REFUSED),
        ((0, 4096, 7), REFUSED),
    ],
    Verdict.FUTEX: [
        *(((0, operation), ALLOW) for operation in (0, 1, 9, 10, 128, 129, 137, 138, 256 + 9)),
        *(
            ((0, operation), seccomp.ERRNO | errno.ENOSYS)
            for operation in (2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 134)
        ),
    ],
    Verdict.MADVISE: [
        *(((0, 4096, advice), ALLOW) for advice in (4, 8, 14, 15)),
        *(
            ((0, 4096, advice), seccomp.ERRNO | errno.EINVAL)
            for advice in (0, 3, 9, 12, 16, 20, 21, 23, 25, 100)
        ),
    ],
    Verdict.ABORT: [
        ((PID, PID, 6), ALLOW),
        ((PID, PID + 1, 6), ALLOW),  # a thread of this very process, of which there is one
        ((PID, PID, 9), KILL),
        ((PID, PID, 0), KILL),
        ((1, 1, 6), KILL),
        ((PID - 1, PID, 6), KILL),
    ],
}


def rows_by_number(machine: str) -> dict[int, Row]:
    return {getattr(row, machine): row for row in TABLE if getattr(row, machine) is not None}


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_is_judged_as_the_table_says(machine: str) -> None:
    code = seccomp.build(machine).for_process(PID)
    rows = rows_by_number(machine)
    for number in [*range(2048), 0x3FFF_FFFF]:
        verdict = rows[number].verdict if number in rows else Verdict.KILL
        for arguments, expected in CASES[verdict]:
            said = run(code, number, seccomp.ARCHITECTURES[machine], arguments)
            assert said == expected, f"{number} {rows.get(number)} {arguments}: {said:#x}, not {expected:#x}"


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_through_another_door_of_the_processor_kills(machine: str) -> None:
    code = seccomp.build(machine).for_process(PID)
    for architecture in (0x4000_0003, 0x4000_0028, 0, *seccomp.ARCHITECTURES.values()):
        if architecture != seccomp.ARCHITECTURES[machine]:
            assert {run(code, number, architecture) for number in range(600)} == {KILL}


def test_the_x32_numbers_and_negative_ones_kill() -> None:
    code = seccomp.build("x86_64").for_process(PID)
    for number in (*range(0x4000_0000, 0x4000_0000 + 600), 2**31, -1, -2, 2**32 - 39):
        assert run(code, number, seccomp.ARCHITECTURES["x86_64"]) == KILL


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_is_short_because_each_guest_pays_for_its_length(machine: str) -> None:
    assert len(seccomp.instructions(machine)) <= 110


def test_each_name_and_number_stands_in_the_table_once_and_has_a_reason() -> None:
    assert len({row.name for row in TABLE}) == len(TABLE)
    for machine in MACHINES:
        numbers = [getattr(row, machine) for row in TABLE if getattr(row, machine) is not None]
        assert len(set(numbers)) == len(numbers)
    assert all(row.reason and row.verdict is not Verdict.KILL for row in TABLE)


# The kernel's own lists, where its headers are installed; aarch64 uses the generic one.
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_the_kernels(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"{HEADERS[machine]} is not installed")
    text = HEADERS[machine].read_text()
    theirs = {
        name: int(number)
        for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)$", text, re.MULTILINE)
    }
    theirs.setdefault("newfstatat", theirs.get("fstatat", -1))
    for row in TABLE:
        number = getattr(row, machine)
        assert theirs.get(row.name) == number or (number is None and row.name not in theirs), row
