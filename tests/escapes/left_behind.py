"""What a run may not leave: processes, descriptors of the host, files.

Orphans are adopted by the process that looks (it becomes their reaper), so that nothing hides below another parent.
Files are looked for by name in the few directories where a program could put one and nobody else does.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

from tests.sandbox.support import descendants, descriptors, eventually

__all__ = ["Witness", "adopt_orphans", "places", "reap_orphans"]

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> bool:
    """Make this process the parent of every orphan below it. Returns whether it is."""
    try:
        return ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False


def reap_orphans() -> None:
    """Take leave of adopted processes that have ended; other children are somebody's to wait for."""
    for pid in descendants():
        try:
            stat = (
                Path(f"/proc/{pid}/stat")
                .read_text(encoding="ascii", errors="replace")
                .rpartition(")")[2]
                .split()
            )
        except OSError:
            continue
        if stat[0] == "Z" and int(stat[1]) == os.getpid():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def places() -> dict[str, str]:
    """The directories that are looked at, and what they are called. Not the temporary one, where others write too."""
    named = {path: path for path in ("/", "/dev/shm", "/var/tmp")}
    named |= {os.getcwd(): "the working directory", str(Path.home()): "the home directory"}
    return {path: name for path, name in named.items() if os.path.isdir(path)}


def _files() -> set[str]:
    return {f"{place}: {name}" for place in places() for name in os.listdir(place)}


class Witness:
    """Remembers how things are, to say later what is new."""

    def __init__(self) -> None:
        self._processes = len(descendants())
        self._descriptors = descriptors()
        self._files = _files()

    async def left(self) -> list[str]:
        """Return what is there that was not, given a few seconds for the last to go."""
        await eventually(lambda: len(descendants()) == self._processes and descriptors() == self._descriptors)
        found = []
        processes = len(descendants()) - self._processes
        if processes:
            found.append(f"{processes:+d} processes")
        new = list(descriptors())
        for each in self._descriptors:
            if each in new:
                new.remove(each)
        if new or len(descriptors()) != len(self._descriptors):
            found.append(f"descriptors {new}")
        files = _files() - self._files
        if files:
            found.append(f"files {sorted(files)}")
            self._files |= files  # said once
        return found
