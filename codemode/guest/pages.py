"""What keeps a fork of the zygote cheap.

Every page that either side writes to after a fork costs a fault and a copy, also where only a reference count
changes. Nothing here changes what a guest may do.
"""

from __future__ import annotations

import ctypes
import os

__all__ = ["fork"]

_fork = ctypes.PyDLL(None, use_errno=True).fork


def fork() -> int:
    """fork(2) without the hooks that `os.fork` runs; for a process that has one thread and never had another.

    The hooks make locks and threads usable again that a child of this process does not have, and write to two
    hundred pages on the way. One thing that they do is left to others: to seed a child's `random` anew
    (`library/afresh.py`). Raises OSError.
    """
    pid: int = _fork()
    if pid < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return pid
