"""The files under a directory of a workspace: regular ones, without those that git would leave alone.

Links are not followed, so there are no cycles and no way out. What cannot be read is passed over, as is
what goes away in the meantime.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

import trio

from codemode import ToolError
from codemode.toolkits.filesystem.ignoring import Ignored
from codemode.toolkits.filesystem.workspace import Workspace, open_regular

__all__ = ["VERSION_CONTROL", "Deadline", "Found", "walk"]

VERSION_CONTROL = frozenset({".git", ".svn", ".hg", ".bzr", ".jj", ".sl"})
"""Names that are never listed or entered, whatever else is asked for."""

_MAX_RULES_BYTES = 512 * 1024  # of one .gitignore
_ENTRIES_PER_CHECK = 1000


class Deadline:
    """The time that a search may take. It also ends when the call is cancelled."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """Raise `ToolError` SEARCH_TIMEOUT, or the cancellation. Must be called in the tool's thread."""
        trio.from_thread.check_cancelled()
        if time.monotonic() > self._end:
            raise ToolError(
                f"the search took longer than {self.seconds:g} s and was stopped; search a subdirectory (path), "
                "fewer files or for a simpler pattern",
                code="SEARCH_TIMEOUT",
            )


class Found(NamedTuple):
    """A file: its path from the workspace's root, and when it was last changed, in nanoseconds."""

    path: str
    modified: int


def walk(
    workspace: Workspace, start: tuple[str, ...], deadline: Deadline, *, include_ignored: bool
) -> Iterator[Found]:
    """Yield the files beneath a directory, in no particular order.

    The directory itself is entered also where it is ignored, since it was asked for. Raises `ToolError`
    FS_IO_ERROR when it cannot be listed.
    """
    ignored = Ignored() if include_ignored else _rules_above(workspace, start)
    todo = [(start, ignored)]
    while todo:
        parts, ignored = todo.pop()
        deadline.check()
        with _passing_over(parts, is_start=parts == start), _directory(workspace, parts) as directory:
            path = "/".join(parts)
            prefix = path + "/" if path else ""
            if not include_ignored:
                ignored = _with_rules_of(directory, path, ".gitignore", ignored)
            with os.scandir(directory) as entries:
                for count, entry in enumerate(entries):
                    if count % _ENTRIES_PER_CHECK == _ENTRIES_PER_CHECK - 1:
                        deadline.check()
                    if entry.name in VERSION_CONTROL:
                        continue
                    is_directory = entry.is_dir(follow_symlinks=False)
                    if not is_directory and not entry.is_file(follow_symlinks=False):
                        continue
                    inside = prefix + entry.name
                    if (inside, is_directory) in ignored:
                        continue
                    if is_directory:
                        todo.append(((*parts, entry.name), ignored))
                    else:
                        with contextlib.suppress(OSError):
                            yield Found(inside, entry.stat(follow_symlinks=False).st_mtime_ns)


@contextlib.contextmanager
def _passing_over(parts: tuple[str, ...], *, is_start: bool) -> Iterator[None]:
    """A directory that cannot be listed is passed over, as `find` does; but not the one that was asked for."""
    try:
        yield
    except OSError as error:
        if is_start:
            shown = "/".join(parts) or "the workspace"
            raise ToolError(
                f"cannot search {shown}: {(error.strerror or str(error)).lower()}", code="FS_IO_ERROR"
            ) from None


def _rules_above(workspace: Workspace, start: tuple[str, ...]) -> Ignored:
    """The rules that hold in a directory, but for its own file's."""
    ignored = Ignored()
    with contextlib.suppress(OSError), _directory(workspace, (".git", "info")) as directory:
        ignored = _with_rules_of(directory, "", "exclude", ignored)
    for depth in range(len(start)):
        with contextlib.suppress(OSError), _directory(workspace, start[:depth]) as directory:
            ignored = _with_rules_of(directory, "/".join(start[:depth]), ".gitignore", ignored)
    return ignored


def _with_rules_of(directory: int, path: str, name: str, ignored: Ignored) -> Ignored:
    # As git does, without following a link.
    with contextlib.suppress(OSError):
        with os.fdopen(open_regular(name, directory), "rb") as file:
            text = os.fsdecode(file.read(_MAX_RULES_BYTES))  # as names are decoded
        return ignored.with_rules(path, text)
    return ignored


@contextlib.contextmanager
def _directory(workspace: Workspace, parts: tuple[str, ...]) -> Iterator[int]:
    """A directory, open to be listed."""
    passing = workspace.descend(parts)
    try:
        directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=passing)
    finally:
        os.close(passing)
    try:
        yield directory
    finally:
        os.close(directory)
