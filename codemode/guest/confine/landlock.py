"""Landlock with no rule at all: the kernel itself denies every file, port, abstract socket and outside signal.

It is asked by system call whether it is there; the files under /sys are missing where securityfs is not mounted.
It does not cover stat(2), which the filter does. Forks inherit it.
"""

from __future__ import annotations

import ctypes
import os
import struct

from codemode.guest.confine import kernel

__all__ = ["deny_everything"]

_GET_VERSION = 1

# linux/landlock.h: how many file-system rights each version knows; the sixteenth came with version 5.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_FILE_RIGHTS_SINCE_5 = 16
_NETWORK_RIGHTS = 0b11  # bind and connect, since version 4
_SCOPES = 0b11  # abstract sockets and signals, since version 6


def deny_everything() -> int:
    """Deny all that this kernel's Landlock can deny. Needs no new privileges. Returns its version; raises OSError."""
    version = kernel.call("landlock_create_ruleset", None, ctypes.c_size_t(0), _GET_VERSION)
    rights = (1 << _FILE_RIGHTS.get(version, _FILE_RIGHTS_SINCE_5)) - 1
    rules = struct.pack("=Q", rights)
    if version >= 4:
        rules += struct.pack("=Q", _NETWORK_RIGHTS)
    if version >= 6:
        rules += struct.pack("=Q", _SCOPES)
    ruleset = kernel.call("landlock_create_ruleset", rules, ctypes.c_size_t(len(rules)), 0)
    try:
        kernel.call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)
    return version
