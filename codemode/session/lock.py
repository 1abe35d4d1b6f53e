"""The writer's place at a session file: who has it is the one writer. Nothing here knows what a session is.

The place is a lock (flock) on a small file beside the session. The kernel gives it back when the process
ends, however it ends. The session file itself is not locked this way: SQLite keeps POSIX locks on it, and
closing any other descriptor of the same file in this process would drop those.
"""

from __future__ import annotations

import fcntl
import os
import weakref

from codemode.errors import SessionError

__all__ = ["WriterLock"]


class WriterLock:
    """Hold the writer's place at `path`, until `release` or the end of the process.

    Raises `SessionError` if somebody has it, in this process or another, or if it cannot be had at all.
    """

    def __init__(self, path: str) -> None:
        self._name = f"{path}.lock"
        self._fd = -1
        try:
            while self._fd < 0:
                self._try(path)
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, b"%d\n" % os.getpid(), 0)
        except OSError as error:
            self._close()
            raise SessionError(
                f"cannot open session {path} for writing: no lock at {self._name} ({error.strerror}); "
                "choose a directory that exists, that you may write to, and that is on a local disk"
            ) from error
        _held.add(self)

    def _try(self, path: str) -> None:
        fd = os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A writer that ends removes the name; what was opened may by now be nobody's file.
            named = os.stat(self._name)
        except BlockingIOError:
            holder = os.pread(fd, 20, 0).strip().decode("ascii", "replace")
            os.close(fd)
            whom = "in this process" if holder == str(os.getpid()) else f"by process {holder or '(unknown)'}"
            raise SessionError(
                f"session {path} is open for writing {whom}, and a session has one writer; "
                "close it there, or read it with Session.read"
            ) from None
        except FileNotFoundError:
            os.close(fd)
            return
        except BaseException:
            os.close(fd)
            raise
        if os.path.samestat(named, os.fstat(fd)):
            self._fd = fd
        else:
            os.close(fd)

    @property
    def held(self) -> bool:
        """False after `release`, and in a process that was forked from the holder."""
        return self._fd >= 0

    def release(self) -> None:
        """Give the place back and remove the lock's file. Harmless when it is not held."""
        if self.held:
            _held.discard(self)
            os.unlink(self._name)
            self._close()

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


def _let_go_in_child() -> None:
    # A forked child shares the lock, and would keep the place taken after its parent has gone.
    for lock in tuple(_held):
        lock._close()
    _held.clear()


os.register_at_fork(after_in_child=_let_go_in_child)
