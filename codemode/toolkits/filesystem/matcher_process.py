"""The process that matches a regular expression for `matcher.py`. Run as a script; imported by nobody.

It has no environment, one socket, and opens nothing: the files to be searched come as open descriptors. It
imports the standard library only, and little of it, since it is started for each search.

The wire: messages of JSON after their length in four bytes. First the search comes, and is answered; then
single bytes that carry descriptors, each answered with what was found in these files.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import warnings
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO

MAX_LINE_CHARACTERS = 1024 * 1024
"""Of a longer line its beginning is searched and returned."""
MAX_DESCRIPTORS = 16
"""How many files come at once."""

_PROBE_BYTES = 8192  # as in texts.py
_BUFFER_BYTES = 64 * 1024
_BLOCK_BYTES = 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class _Full(Exception):
    """More was found than may be returned."""


def main() -> None:
    wire = socket.socket(fileno=0)
    search = _receive(wire)
    _limit_resources(search["cpuSeconds"], search["memoryBytes"])
    warnings.simplefilter("ignore")
    try:
        pattern = re.compile(search["pattern"], re.IGNORECASE if search["ignoreCase"] else 0)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        _send(wire, {"failed": "pattern", "reason": str(error) or type(error).__name__})
        return
    _send(wire, {})
    room = search["maxBytes"]
    while True:
        data, descriptors, _, _ = socket.recv_fds(wire, 1, MAX_DESCRIPTORS)
        if not data:
            return
        found = []
        try:
            for descriptor in descriptors:
                with os.fdopen(descriptor, "rb", buffering=_BUFFER_BYTES) as file:
                    hits = _search(file, pattern, room, search["context"])
                room -= sum(hit.size for hit in hits)
                found.append([hit.shown() for hit in hits])
        except _Full:
            _send(wire, {"failed": "full"})
            return
        except MemoryError:
            _send(wire, {"failed": "memory"})
            return
        _send(wire, {"found": found})


class _Hit:
    """A line that matches, with up to `context` lines before and after it if they were asked for."""

    def __init__(self, number: int, line: str, before: list[str] | None) -> None:
        self.number = number
        self.line = line
        self.before = before
        self.after: list[str] = []
        self.size = _size(line) + sum(map(_size, before or ()))

    def follow(self, line: str) -> None:
        self.after.append(line)
        self.size += _size(line)

    def shown(self) -> list[Any]:
        plain = [self.number, self.line]
        return plain if self.before is None else [*plain, self.before, self.after]


def _size(line: str) -> int:
    return len(line.encode())


def _search(file: BinaryIO, pattern: re.Pattern[str], room: int, context: int) -> list[_Hit]:
    """Return each line that matches; none for what is binary or cannot be read."""
    found: list[_Hit] = []
    before: deque[str] = deque(maxlen=context)
    open_hits: list[_Hit] = []  # those that have not all of their lines after them
    number = 0
    try:
        if b"\0" in file.peek(_PROBE_BYTES)[:_PROBE_BYTES]:  # type: ignore[attr-defined]
            return found
        for lines in _blocks_of_lines(file):
            for line in lines:
                number += 1
                matches = pattern.search(line, 0, MAX_LINE_CHARACTERS)
                if not (matches or context):
                    continue
                line = line[:MAX_LINE_CHARACTERS]
                for hit in open_hits:
                    hit.follow(line)
                    room -= _size(line)
                open_hits = [hit for hit in open_hits if len(hit.after) < context]
                if matches:
                    hit = _Hit(number, line, list(before) if context else None)
                    room -= hit.size
                    found.append(hit)
                    if context:
                        open_hits.append(hit)
                if room < 0:
                    raise _Full
                before.append(line)
    except OSError:
        return []
    return found


def _blocks_of_lines(file: BinaryIO) -> Iterator[list[str]]:
    """Yield a file's lines without their endings, many at a time; of very long ones the beginning."""
    block = file.read(_BLOCK_BYTES).removeprefix(_BOM)
    while block:
        if not block.endswith(b"\n"):
            rest = file.readline(4 * MAX_LINE_CHARACTERS)  # a character has at most four bytes
            block += rest
            while rest and not rest.endswith(b"\n"):
                rest = file.readline(_BLOCK_BYTES)
        lines = block.replace(b"\r\n", b"\n").decode("utf-8", "replace").split("\n")
        if not lines[-1]:
            lines.pop()
        yield lines
        block = file.read(_BLOCK_BYTES)


def _limit_resources(cpu_seconds: int, memory_bytes: int) -> None:
    """So that it ends also when whoever started it is gone and it is in the middle of a match."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    except (ImportError, OSError, ValueError):
        pass  # a limit that this system does not have


def _receive(wire: socket.socket) -> dict[str, Any]:
    (length,) = struct.unpack(">I", _exactly(wire, 4))
    message: dict[str, Any] = json.loads(_exactly(wire, length))
    return message


def _exactly(wire: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = wire.recv(count - len(data))
        if not piece:
            raise SystemExit
        data += piece
    return bytes(data)


def _send(wire: socket.socket, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode()
    wire.sendall(struct.pack(">I", len(data)) + data)


if __name__ == "__main__":
    main()
