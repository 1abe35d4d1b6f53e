"""A directory that no path leaves.

Every path of a tool is resolved here, one component at a time, each opened relative to the descriptor of
the directory before it and never through a link: links are read and resolved by hand, from the root down.
So a path cannot leave the workspace by `..`, by being absolute or through a link, and a link that is put
in place while it is resolved makes the call fail; it is not followed. What is opened is an ordinary file:
devices, pipes and sockets are refused before they could block.

The root itself, and the way to it, are the host's. A hard link cannot be told from a file, and a mount
inside the workspace is part of it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import threading
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from codemode import ToolArgumentsError, ToolDefinitionError, ToolError

__all__ = ["Entry", "Workspace", "open_regular", "read_entry", "require_regular", "shown"]

_MAX_PATH = 4096  # bytes; Linux's PATH_MAX
_MAX_LINKS = 40  # Linux's own bound (path_resolution(7))

_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PASSING = _DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY)  # to go through a directory, not to list it
_REGULAR = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_LOCKS = tuple(threading.Lock() for _ in range(64))
"""Writers of one file wait for each other. Files share locks by hash; a writer never holds two."""

_ESCAPED_BYTE = re.compile(rb"\\x([89a-f][0-9a-f])")


class Entry(NamedTuple):
    """A place in a directory: its open descriptor, a name in it that is no link, and what is there.

    `path` is the way there from the root without links, `status` None where nothing is.
    """

    directory: int
    name: str
    path: str
    status: os.stat_result | None


class Workspace:
    """The tools' view of a directory. Raises `ToolDefinitionError` if there is none at `root`."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        given = os.path.abspath(os.fspath(root))
        self.root = os.path.realpath(given)
        self._prefixes = [_components(self.root), _components(given)]
        if not os.path.isdir(self.root):
            raise ToolDefinitionError(f"the workspace {self.root!r} is not a directory")
        if os.open not in os.supports_dir_fd or os.scandir not in os.supports_fd:
            raise ToolDefinitionError(
                "this system cannot open files relative to a directory, as a workspace needs"
            )

    # ------------------------------------------------------------------------------ resolving

    @contextlib.contextmanager
    def entry(self, path: str, *, doing: str, make_parents: bool = False) -> Iterator[Entry]:
        """Resolve a path, links included, and hold the directory it ends in open.

        `doing` ("cannot read") opens the message of every error, also of those raised within the block.
        Raises `ToolError`: FS_OUTSIDE_WORKSPACE, FS_NOT_FOUND, FS_IO_ERROR.
        """
        if not path:
            raise ToolArgumentsError("the path must be a non-empty string")
        if "\0" in path or len(os.fsencode(path)) > _MAX_PATH:
            raise ToolArgumentsError(f"a path has at most {_MAX_PATH} bytes and no NUL character")
        with _errors(doing, path):
            found = self._resolve(path, doing, make_parents)
            try:
                yield found
            finally:
                os.close(found.directory)

    def _resolve(self, path: str, doing: str, make_parents: bool) -> Entry:
        pending = deque(self._within(path, path, doing))
        done: list[str] = []
        links = 0
        directory = self._open_root()
        try:
            while pending:
                name = pending.popleft()
                if name == "..":
                    if not done:
                        raise self._outside(path, doing)
                    # Up is down again from the root: the parent of an open directory may have been moved out.
                    pending.extendleft(reversed(done[:-1]))
                    directory, done = self._back_to_root(directory), []
                    continue
                name, status = _look(name, directory)
                if status is not None and stat.S_ISLNK(status.st_mode):
                    links += 1
                    if links > _MAX_LINKS:
                        raise OSError(errno.ELOOP, "too many symbolic links")
                    target = os.readlink(name, dir_fd=directory)
                    if target.startswith("/"):
                        directory, done = self._back_to_root(directory), []
                    pending.extendleft(reversed(self._within(target, path, doing)))
                    continue
                if not pending:
                    return Entry(directory, name, "/".join([*done, name]), status)
                if status is None:
                    if not make_parents or ".." in pending:
                        raise FileNotFoundError(errno.ENOENT, "not found")
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=directory)
                elif not stat.S_ISDIR(status.st_mode):
                    where = shown("/".join([*done, name]))
                    raise NotADirectoryError(errno.ENOTDIR, f'not found: "{where}" is not a directory')
                deeper = os.open(name, _PASSING, dir_fd=directory)
                os.close(directory)
                directory = deeper
                done.append(name)
            return Entry(directory, ".", ".", os.stat(directory))
        except BaseException:
            os.close(directory)
            raise

    def _within(self, path: str, asked: str, doing: str) -> list[str]:
        """The components of a path or of a link's target, from the root if it is absolute."""
        parts = _components(path)
        if not path.startswith("/"):
            return parts
        for prefix in self._prefixes:
            if parts[: len(prefix)] == prefix:
                return parts[len(prefix) :]
        raise self._outside(asked, doing)

    def _outside(self, path: str, doing: str) -> ToolError:
        return ToolError(
            f'{doing} "{path}": it leaves the workspace; a path is relative to {self.root}, or absolute '
            "beneath it, and neither '..' nor a symbolic link may lead out",
            code="FS_OUTSIDE_WORKSPACE",
        )

    def _open_root(self) -> int:
        return os.open(self.root, _PASSING)

    def _back_to_root(self, directory: int) -> int:
        root = self._open_root()
        os.close(directory)
        return root

    # -------------------------------------------------------------------------------- opening

    @contextlib.contextmanager
    def open(self, path: str, *, doing: str = "cannot read") -> Iterator[tuple[str, BinaryIO]]:
        """Open a regular file for reading; gives its path without links, and the file.

        Raises `ToolError`, as `entry` does, and FS_NOT_REGULAR_FILE.
        """
        with self.entry(path, doing=doing) as found:
            require_regular(found, path, doing)
            with os.fdopen(open_regular(found.name, found.directory), "rb") as file:
                yield found.path, file

    def descend(self, parts: tuple[str, ...]) -> int:
        """Return a descriptor of the directory that these names lead to, none of which may be a link.

        Raises OSError. The caller closes it.
        """
        directory = self._open_root()
        for name in parts:
            try:
                deeper = os.open(name, _PASSING, dir_fd=directory)
            finally:
                os.close(directory)
            directory = deeper
        return directory

    def open_found(self, path: str) -> int:
        """Return a descriptor of the regular file at a path that a walk found. Raises OSError."""
        *parents, name = path.split("/")
        directory = self.descend(tuple(parents))
        try:
            return open_regular(name, directory)
        finally:
            os.close(directory)

    # -------------------------------------------------------------------------------- writing

    @contextlib.contextmanager
    def exclusively(self, found: Entry) -> Iterator[Entry]:
        """Keep other writers of this file in this process out; gives the entry as it is now."""
        place = os.path.join(self.root, found.path)  # the same in a workspace around or inside this one
        with _LOCKS[hash(place) % len(_LOCKS)]:
            _, status = _look(found.name, found.directory)
            yield found._replace(status=status)

    def replace(self, found: Entry, data: bytes) -> None:
        """Put a file with this content in place, whole or not at all. An existing one keeps its mode."""
        old = found.status
        if old is not None and not os.access(found.name, os.W_OK, dir_fd=found.directory):
            raise PermissionError(errno.EACCES, "the file is write-protected")
        temporary = f".{secrets.token_hex(8)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o666 if old is None else 0o600, dir_fd=found.directory)
        try:
            with os.fdopen(descriptor, "wb") as file:
                if old is not None:
                    _take_over(descriptor, old)
                file.write(data)
            os.rename(temporary, found.name, src_dir_fd=found.directory, dst_dir_fd=found.directory)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=found.directory)
            raise


def shown(path: str) -> str:
    r"""Return a path as text: bytes that are not UTF-8 become `\xNN`. Such a path can be given back."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def require_regular(found: Entry, path: str, doing: str) -> None:
    """Raise `ToolError` (FS_NOT_FOUND, FS_NOT_REGULAR_FILE) unless a regular file is there."""
    if found.status is None:
        raise FileNotFoundError(errno.ENOENT, "not found")
    mode = found.status.st_mode
    if not stat.S_ISREG(mode):
        raise ToolError(f'{doing} "{path}": {_kind(mode)}', code="FS_NOT_REGULAR_FILE")


def read_entry(found: Entry, max_bytes: int) -> bytes:
    """Return the first bytes of the regular file at an entry. Raises OSError."""
    with os.fdopen(open_regular(found.name, found.directory), "rb") as file:
        return file.read(max_bytes)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "it is a directory; glob lists its files"
    return "it is a pipe, socket or device, not a file"


def _look(name: str, directory: int) -> tuple[str, os.stat_result | None]:
    """What a directory has under a name, and under which name: perhaps the bytes that it was shown for."""
    try:
        return name, os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        encoded = os.fsencode(name)
        plain = _ESCAPED_BYTE.sub(lambda match: bytes.fromhex(match[1].decode()), encoded)
        if plain == encoded:
            return name, None
    other = os.fsdecode(plain)
    try:
        return other, os.stat(other, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return name, None


def open_regular(name: str, directory: int) -> int:
    """Return a descriptor of the regular file of that name in a directory; it never blocks. Raises OSError."""
    # Looked at first, because opening a device may already do something; and then, because it may have changed.
    if stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
        descriptor = os.open(name, _REGULAR, dir_fd=directory)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
    raise OSError(errno.EAGAIN, "it is not, or no longer, a regular file")


def _take_over(descriptor: int, old: os.stat_result) -> None:
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with contextlib.suppress(PermissionError):  # only root can give files away
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _components(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


@contextlib.contextmanager
def _errors(doing: str, path: str) -> Iterator[None]:
    """Turn the system's errors into the tool's."""
    try:
        yield
    except FileNotFoundError:
        raise ToolError(f'{doing} "{path}": not found', code="FS_NOT_FOUND") from None
    except NotADirectoryError as error:
        raise ToolError(f'{doing} "{path}": {_reason(error)}', code="FS_NOT_FOUND") from None
    except OSError as error:
        raise ToolError(f'{doing} "{path}": {_reason(error)}', code="FS_IO_ERROR") from error


def _reason(error: OSError) -> str:
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]
