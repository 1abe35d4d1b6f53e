"""Capabilities: none left, in no set. Forks inherit it."""

from __future__ import annotations

import contextlib
import ctypes
import struct

from codemode.guest.confine import kernel

__all__ = ["drop_all"]

# linux/prctl.h, linux/capability.h
_CAPBSET_DROP = 24
_CAP_AMBIENT = 47
_CAP_AMBIENT_CLEAR_ALL = 4
_VERSION_3 = 0x2008_0522
_HIGHEST = 64


def drop_all() -> bool:
    """Drop every capability. Returns whether none is left. Raises OSError."""
    for capability in range(_HIGHEST):
        try:
            kernel.prctl(_CAPBSET_DROP, capability)
        except OSError:  # the kernel has no more of them, or we may not: then there is nothing to bound
            break
    with contextlib.suppress(OSError):  # before Linux 4.3 there is no such set
        kernel.prctl(_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL)
    header = ctypes.create_string_buffer(struct.pack("=Ii", _VERSION_3, 0))
    data = ctypes.create_string_buffer(bytes(24), 24)
    kernel.call("capset", header, data)
    kernel.call("capget", header, data)
    return data.raw == bytes(24)
