"""A small interpreter for the filter, written from the kernel's description of classic BPF and not from our builder."""

from __future__ import annotations

import struct
from collections.abc import Sequence

LITTLE_ENDIAN_ARGUMENTS = struct.Struct("<IIQ6Q")  # number, architecture, instruction pointer, arguments


def run(code: bytes, number: int, architecture: int, arguments: Sequence[int] = ()) -> int:
    """Return the filter's verdict on one system call."""
    padded = [value & 0xFFFF_FFFF_FFFF_FFFF for value in (*arguments, 0, 0, 0, 0, 0, 0)[:6]]
    data = LITTLE_ENDIAN_ARGUMENTS.pack(number & 0xFFFF_FFFF, architecture, 0, *padded)
    accumulator = at = 0
    while True:
        operation, yes, no, k = struct.unpack_from("<HBBI", code, at * 8)
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, k)
            case 0x54:
                accumulator &= k
            case 0x15:
                at += yes if accumulator == k else no
            case 0x35:
                at += yes if accumulator >= k else no
            case 0x45:
                at += yes if accumulator & k else no
            case 0x06:
                return int(k)
            case _:
                raise AssertionError(f"operation {operation:#x} is none that a seccomp filter here may have")
