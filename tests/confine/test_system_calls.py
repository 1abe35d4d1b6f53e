"""Each system call number, made by a living guest with nothing but the process wall around it."""

from __future__ import annotations

import errno
import platform

import pytest
import trio

from codemode.guest.confine.table import TABLE, Verdict
from codemode.sandbox import Limits, LocalSandbox
from tests.sandbox.support import Recorder

MACHINE = platform.machine()
FORBIDDEN = "the program tried a forbidden system call and was stopped"
ROWS = {getattr(row, MACHINE): row for row in TABLE if getattr(row, MACHINE, None) is not None}

# Calls that go through do something; these arguments make them harmless, and say what then comes back.
# `None` is for a call that ends the guest.
HARMLESS: dict[str, tuple[tuple[int, ...], set[int] | None]] = {
    "read": ((0,), {errno.EBADF}),
    "write": ((1,), {errno.EBADF}),
    "poll": ((0, 0, 0), {0}),
    "ppoll": ((1, 1, 0, 0, 0), {errno.EFAULT}),
    "mmap": ((0, 4096, 3, 0x21, -1, 0), {errno.EPERM}),
    "mprotect": ((0, 4096, 7), {errno.EPERM}),
    "futex": ((0, 6), {errno.ENOSYS}),
    "madvise": ((0, 4096, 16), {errno.EINVAL}),
    "nanosleep": ((0, 0), {errno.EFAULT}),
    "clock_nanosleep": ((0, 0, 0, 0), {errno.EFAULT}),
    "tgkill": ((1, 1, 9), None),
    "rt_sigreturn": ((), None),
    "exit": ((), None),
    "exit_group": ((), None),
}


# Since 6.13 Linux lets uretprobe and uprobe on x86-64 past every filter (arch/x86/kernel/uprobes.c): they serve a
# tracer's trampoline and do nothing for any other caller.
KERNELS_OWN = {335, 336} if MACHINE == "x86_64" else set()


@pytest.mark.skipif(MACHINE not in ("x86_64", "aarch64"), reason="no table for this machine")
async def test_each_system_call_number_does_in_a_guest_what_the_table_says(bare: LocalSandbox) -> None:
    limits = Limits(cpu_seconds=2.0, wall_seconds=10.0)
    wrong: list[str] = []
    numbers = iter(range(461))

    async def try_numbers() -> None:
        for number in numbers:
            row = ROWS.get(number)
            arguments, back = HARMLESS.get(row.name if row else "", ((), set()))
            program = f"value, error = raw_syscall({number}, *{arguments!r})\ndone([value, error])"
            outcome = await bare.run(program, (), Recorder(), limits)
            verdict = row.verdict if row else Verdict.KILL
            if verdict is Verdict.KILL:
                right = (outcome.kind, outcome.message) == ("worker-exit", FORBIDDEN) or (
                    number in KERNELS_OWN
                    and ("SIGILL" in outcome.message or outcome.result == [-1, errno.ENXIO])
                )
            elif verdict is Verdict.REFUSE:
                right = outcome.kind is None and outcome.result == [-1, errno.EPERM]
            elif back is None:
                right = outcome.kind == "worker-exit" and (row.name == "tgkill") == (
                    outcome.message == FORBIDDEN
                )
            else:
                right = outcome.kind is None and (not back or outcome.result[1] in back)
            if not right:
                wrong.append(f"{number} {row}: {outcome}")

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(try_numbers)
    assert wrong == []


async def test_other_doors_to_the_kernel_kill(bare: LocalSandbox) -> None:
    for number in (0x4000_0000, 0x4000_0000 + 41, 0x4000_0000 + 59, 1000, -1, 2**31):
        outcome = await bare.run(f"raw_syscall({number})\ndone()", (), Recorder())
        assert (outcome.kind, outcome.message) == ("worker-exit", FORBIDDEN), number
