"""What a command prints: its end in memory, the whole in a file once it is longer. Bounded in both places."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

import trio

__all__ = ["KEPT_BYTES", "Output", "Piece", "Spills"]

KEPT_BYTES = 64_000
"""How much of a stream's end is kept in memory."""
SPILL_BYTES = 64 * 1024 * 1024
"""How much of a stream's beginning goes to its file."""
ALL_SPILL_BYTES = 1024 * 1024 * 1024
"""How much all files of one owner may hold; beyond that there are no more."""

_CHUNK_BYTES = 65_536


class Spills:
    """The files of one owner, in a directory that exists only when it is needed."""

    def __init__(self, directory: Callable[[], Awaitable[str]]) -> None:
        self._directory = directory
        self._room = ALL_SPILL_BYTES

    async def create(self, name: str) -> tuple[str, int]:
        """Return path and descriptor of a new file. Raises OSError."""
        path = os.path.join(await self._directory(), f"{name}-{secrets.token_hex(6)}.txt")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return path, await trio.to_thread.run_sync(os.open, path, flags, 0o600)

    def take(self, count: int) -> bool:
        """Take room for so many bytes; return False if there is not so much."""
        if count > self._room:
            return False
        self._room -= count
        return True


class Piece(NamedTuple):
    """Some text, whether there was more before it that is no longer in memory, and the file of the whole."""

    text: str
    truncated: bool
    spill_path: str | None


class _Source(Protocol):
    async def receive_some(self, max_bytes: int) -> bytes: ...


class Output:
    """One stream of bytes, as UTF-8 text with a replacement character for what is none.

    `total` is how many bytes came. The file holds the first `SPILL_BYTES`; `spill_path` is None while everything is
    in memory, and when there could be no file.
    """

    def __init__(self, spills: Spills, name: str) -> None:
        self._spills = spills
        self._name = name
        self._kept = bytearray()
        self._taken = 0  # how much `take` has given, counted from the beginning of the stream
        self._ended = False
        self._spill: int | None = None
        self._spilled = 0
        self._may_spill = True
        self.spill_path: str | None = None
        self.total = 0

    async def fill(self, source: _Source) -> None:
        """Read to the end of a stream. Cancellation leaves what was read."""
        try:
            with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                while data := await source.receive_some(_CHUNK_BYTES):
                    await self._add(data)
        finally:
            self._ended = True
            if self._spill is not None:
                os.close(self._spill)
                self._spill = None

    async def _add(self, data: bytes) -> None:
        self._kept += data
        self.total += len(data)
        if len(self._kept) > KEPT_BYTES:
            if self._may_spill:
                with trio.CancelScope(shield=True):  # so that nothing is missing in the middle of the file
                    await self._write(bytes(self._kept) if self._spill is None else data)
            del self._kept[:-KEPT_BYTES]

    async def _write(self, data: bytes) -> None:
        data = data[: SPILL_BYTES - self._spilled]
        try:
            if not self._spills.take(len(data)):
                raise OSError("there is no more room")
            if self._spill is None:
                self.spill_path, self._spill = await self._spills.create(self._name)
            await trio.to_thread.run_sync(_write_all, self._spill, data)
            self._spilled += len(data)
            self._may_spill = self._spilled < SPILL_BYTES
        except OSError:
            # A file that lacks something in its middle would be taken for the whole.
            self._may_spill = False
            path, self.spill_path = self.spill_path, None
            if path is not None:
                with contextlib.suppress(OSError):
                    os.unlink(path)

    def whole(self) -> Piece:
        """Return all that is in memory, the end of the stream."""
        start = self.total - len(self._kept)
        return Piece(_text(bytes(self._kept), cut=start > 0), start > 0, self.spill_path)

    def take(self) -> Piece:
        """Return what came since the last time, as far as it is in memory; a character that is not all there, later."""
        start = max(self._taken, self.total - len(self._kept))
        data = bytes(self._kept[len(self._kept) - (self.total - start) :])
        if not self._ended:
            data = data[: len(data) - _unfinished(data)]
        lost = start > self._taken
        self._taken = start + len(data)
        return Piece(_text(data, cut=lost), lost, self.spill_path if lost else None)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _text(data: bytes, *, cut: bool) -> str:
    if cut:  # perhaps in the middle of a character
        start = 0
        while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
            start += 1
        data = data[start:]
    return data.decode("utf-8", "replace")


def _unfinished(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if needed > back else 0
        if byte < 0x80:
            return 0
    return 0
