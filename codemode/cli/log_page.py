"""Where the page of `codemode log html` is written: standard output, or a file that is whole or not there."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress

from codemode.cli.terminal import UsageError, write

__all__ = ["check_output", "write_page"]

_SESSION = b"SQLite format 3\x00"  # how a session file begins: https://sqlite.org/fileformat.html#magic_header_string


def check_output(path: str | None, session: str) -> None:
    """Raise `UsageError` for a place where a page would be of no use, or where it would destroy a session."""
    if path is None:
        if sys.stdout.isatty():
            raise UsageError(
                f"a page is nothing to read on a terminal; give it a file: codemode log html {session} -o page.html"
            )
        return
    try:
        with open(path, "rb") as there:
            is_session = os.path.isfile(path) and there.read(len(_SESSION)) == _SESSION
    except OSError:
        return
    if is_session:
        raise UsageError(f"{path} is a session; write the page to another file")


def write_page(pieces: Iterable[str], path: str | None) -> None:
    """Write a page in UTF-8. A file is replaced when all of it is written, and is readable for its owner alone.

    Raises `UsageError` if the file cannot be written; what was there is then untouched.
    """
    if path is None:
        for piece in pieces:
            write(piece)
        return
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe, a device
            with open(path, "w", encoding="utf-8") as out:
                out.writelines(pieces)
            return
        _replace(os.path.realpath(path), pieces)
    except BrokenPipeError:  # a reader that has gone is told nothing
        raise
    except OSError as error:
        raise UsageError(f"cannot write the page to {path}: {error.strerror or error}") from None


def _replace(path: str, pieces: Iterable[str]) -> None:
    descriptor, beside = tempfile.mkstemp(
        dir=os.path.dirname(path), prefix=".page-"
    )  # mode 0600, as a session
    try:
        with open(descriptor, "w", encoding="utf-8") as out:
            out.writelines(pieces)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
