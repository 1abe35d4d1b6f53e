"""Regular expressions over files, in a process of their own for each search.

A pattern comes from a model or its program, and Python's `re` can take for ever over a short one (`(a+)+$`),
cannot be stopped, and keeps every other thread of its process waiting. A process can be killed: when the
time is up, and when the call is cancelled. It is sent open descriptors and opens nothing itself
(`matcher_process.py` has the wire).
"""

from __future__ import annotations

import json
import math
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from codemode import ToolError
from codemode.toolkits.filesystem.matcher_process import MAX_DESCRIPTORS
from codemode.toolkits.filesystem.walking import Deadline

__all__ = ["MAX_DESCRIPTORS", "Matcher"]

MAX_FOUND_BYTES = 20_000_000
"""The most text that one search returns."""

_MEMORY_BYTES = 1024 * 1024 * 1024
_CHECK_SECONDS = 0.1  # between looks at the clock and for cancellation
_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "matcher_process.py")


class Matcher:
    """One search, as a context manager; at its end its process is gone.

    Entering and searching raise `ToolError`: SEARCH_INVALID_PATTERN, SEARCH_TIMEOUT, SEARCH_TOO_LARGE,
    SEARCH_FAILED.
    """

    def __init__(self, pattern: str, *, ignore_case: bool, context: int = 0, deadline: Deadline) -> None:
        self._search = {
            "pattern": pattern,
            "ignoreCase": ignore_case,
            "context": context,
            "maxBytes": MAX_FOUND_BYTES,
            "cpuSeconds": math.ceil(deadline.seconds) + 1,
            "memoryBytes": _MEMORY_BYTES,
        }
        self._deadline = deadline

    def __enter__(self) -> Matcher:
        self._wire, theirs = socket.socketpair()
        with theirs:
            try:
                # -I -S: nothing from the environment, the working directory or site-packages.
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", _PROGRAM],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={},
                    cwd="/",
                )
            except OSError as error:
                self._wire.close()
                raise _failed(f"its process could not be started: {error.strerror}") from error
        try:
            self._wire.settimeout(_CHECK_SECONDS)
            data = json.dumps(self._search).encode()
            self._send(struct.pack(">I", len(data)) + data)
            self._answer()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self._wire.close()
        self._process.kill()
        self._process.wait()

    def search(self, descriptors: Sequence[int]) -> list[list[list[Any]]]:
        """Return, for each of up to MAX_DESCRIPTORS open files, the lines that match.

        Each is its number and its text; with `context`, also the lists of lines before and after it. Binary files,
        and those that cannot be read, have none.
        """
        if not descriptors:
            return []
        try:
            socket.send_fds(self._wire, [b"f"], descriptors)
        except OSError:
            raise _failed("its process ended") from None
        found: list[list[list[Any]]] = self._answer()["found"]
        return found

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self._wire.send(view) :]
            except TimeoutError:
                self._deadline.check()
            except OSError:
                raise _failed("its process ended") from None

    def _answer(self) -> dict[str, Any]:
        (length,) = struct.unpack(">I", self._receive(4))
        answer: dict[str, Any] = json.loads(self._receive(length))
        failed = answer.get("failed")
        if failed == "pattern":
            raise ToolError(
                f"the pattern is no regular expression: {answer['reason']}; the syntax is that of Python's re "
                "(a backslash before ( ) [ ] { } . * + ? takes them literally)",
                code="SEARCH_INVALID_PATTERN",
            )
        if failed == "full":
            raise ToolError(
                f"the lines that match are more than {MAX_FOUND_BYTES // 10**6} MB; narrow pattern, path or include",
                code="SEARCH_TOO_LARGE",
            )
        if failed is not None:
            raise _failed(f"the pattern takes more than {_MEMORY_BYTES // 2**20} MiB of memory")
        return answer

    def _receive(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            self._deadline.check()
            try:
                piece = self._wire.recv(count - len(data))
            except TimeoutError:
                continue
            except OSError:
                piece = b""
            if not piece:
                raise _failed("its process ended")
            data += piece
        return bytes(data)


def _failed(why: str) -> ToolError:
    return ToolError(f"the search failed: {why}", code="SEARCH_FAILED")
