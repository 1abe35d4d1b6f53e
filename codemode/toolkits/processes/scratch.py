"""A temporary directory that goes with its owner, also with one that was killed: the next owner removes it.

A directory belongs to whoever holds a lock on it (flock), which the kernel lets go of when the process is gone,
however that came. Nothing is concluded from the numbers of processes. Everything here blocks.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import shutil
import tempfile
from typing import NamedTuple, Self

__all__ = ["Scratch", "remove_left_behind"]

_PREFIX = "codemode-jobs-"
_MARK = ".locked"
"""A file that says that the directory has been locked: without it, nobody knows whether there is an owner."""


class Scratch(NamedTuple):
    """One directory, and the descriptor by which it is locked. `make` it, and `remove` it at the end."""

    path: str
    lock: int

    @classmethod
    def make(cls) -> Self:
        """Return a new directory, locked, for this user alone. Raises `OSError`."""
        while True:
            # The name that it really has: what is bound elsewhere has to be found under it.
            path = os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX))
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            with contextlib.suppress(
                OSError
            ):  # a file system without locks: such a directory is never taken over
                fcntl.flock(lock, fcntl.LOCK_EX)
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(_MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=lock))
            if os.path.isdir(path):
                return cls(path, lock)
            os.close(lock)  # somebody took it for one that is left behind, before it was locked

    def remove(self) -> None:
        """Remove the directory with all that is in it."""
        _remove(self.path)
        os.close(self.lock)


def remove_left_behind() -> list[str]:
    """Remove this user's directories whose owners are gone; return their paths."""
    removed = []
    for path in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), f"{_PREFIX}*")):
        with contextlib.suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid != os.geteuid():
                    continue
                os.stat(_MARK, dir_fd=lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
                removed.append(path)
            finally:
                os.close(lock)
    return removed


def _remove(directory: str) -> None:
    for place, names, _ in os.walk(directory):  # what is write-protected goes, too
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path):
                with contextlib.suppress(OSError):
                    os.chmod(path, 0o700)
    shutil.rmtree(directory, ignore_errors=True)
