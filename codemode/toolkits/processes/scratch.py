"""A temporary directory that goes with its owner, also with one that was killed: the next owner removes it.

A directory belongs to whoever holds a lock on it (flock), which the kernel lets go of when the process is gone,
however that came. Nothing is concluded from the numbers of processes. Everything here blocks.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import secrets
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
        # The name that it really has: what is bound elsewhere has to be found under it.
        path = os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX))
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        # On a file system without locks there is no mark: such a directory is never taken over.
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.close(os.open(_MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=lock))
        return cls(path, lock)

    def remove(self) -> None:
        """Remove the directory with all that is in it. What cannot be removed stays; that is no error."""
        try:
            _remove(self.path, self.lock)
        finally:
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
                if _remove(path, lock):
                    removed.append(path)
            finally:
                os.close(lock)
    return removed


def _remove(path: str, directory: int) -> bool:
    """Remove a directory and all that is in it, whatever its depth; return whether it is gone.

    A program made what is in there, and may be at work in it: nothing is reached by a path of several names, no
    link is followed, nothing recurses, and few descriptors are open at a time. What is too deep is made flat: each
    directory in a directory is moved up to the outermost one before its old place is removed.
    """
    with contextlib.suppress(OSError):
        os.fchmod(directory, 0o700)
        waiting = [name for name in os.listdir(directory) if name != _MARK]
        while waiting:
            name = waiting.pop()
            if not _is_unlinked(name, directory):
                waiting += _take_apart(name, directory)
        if os.listdir(directory) in ([_MARK], []):  # the mark goes last: without it, nobody would try again
            _is_unlinked(_MARK, directory)
            os.rmdir(path)
    return not os.path.lexists(path)


def _take_apart(name: str, outermost: int) -> list[str]:
    """Remove a directory in the outermost one; return the new names, up there, of the directories in it."""
    moved: list[str] = []
    with contextlib.suppress(OSError):
        place = _opened(name, outermost)
        try:
            for each in os.listdir(place):
                if not _is_unlinked(each, place):
                    with contextlib.suppress(OSError):
                        os.close(_opened(each, place))  # it must be writable to be moved
                        new = secrets.token_hex(16)
                        os.rename(each, new, src_dir_fd=place, dst_dir_fd=outermost)
                        moved.append(new)
        finally:
            os.close(place)
        os.rmdir(name, dir_fd=outermost)
    return moved


def _is_unlinked(name: str, place: int) -> bool:
    """Remove what is no directory."""
    try:
        os.unlink(name, dir_fd=place)
    except OSError:
        return False
    return True


def _opened(name: str, place: int) -> int:
    """Open a directory, and no link to one, after everything in it is allowed. Raises `OSError`."""
    flags = os.O_DIRECTORY | os.O_NOFOLLOW
    held = os.open(name, os.O_PATH | flags, dir_fd=place)  # needs no permission, and is no path any more
    try:
        with contextlib.suppress(OSError):
            os.chmod(f"/proc/self/fd/{held}", 0o700)
        return os.open(".", os.O_RDONLY | flags, dir_fd=held)
    finally:
        os.close(held)
