"""The guest's end of the wire: frames out, frames in, and the text that a program prints.

The only file in the guest that reads or writes the descriptor. It knows frames, not what they mean for
a program.
"""

from __future__ import annotations

import os
import select
from collections import deque

from msgspec import Struct

from codemode import wire

__all__ = ["Channel", "Disconnected", "Output"]

_MAX_FRAME = 1 << 31  # what the host sends is bounded by the host
_CHUNK = 1 << 16
_LOG_CHUNK = 1 << 17  # characters of one log frame


class Disconnected(BaseException):
    """The host is gone; the run is over. No handler of a program outlives it, for every wait raises it again."""


class Channel:
    """Frames over one descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._reader = wire.FrameReader(_MAX_FRAME)
        self._received: deque[wire.FromHost] = deque()
        self._poll: select.poll | None = None

    def send(self, frame: Struct) -> None:
        """Write one frame whole."""
        self.send_packed(wire.pack(frame))

    def send_packed(self, packed: bytes) -> None:
        """Write the bytes of one frame."""
        data = memoryview(packed)
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except OSError:
                raise Disconnected from None

    def receive(self) -> wire.FromHost:
        """Return the next frame; waits for it."""
        while not self._received:
            self._read()
        return self._received.popleft()

    def arrived(self, seconds: float | None) -> list[wire.FromHost]:
        """Return the frames that are there, after waiting at most `seconds` (None: until one comes) for the first."""
        if not self._received and (seconds is None or self._ready(seconds)):
            self._read()
        frames = list(self._received)
        self._received.clear()
        return frames

    def rest(self) -> None:
        """Wait for the end, after the last word. The host kills a guest that has answered, or is gone.

        Taking a process down is work, and the host's turn comes first.
        """
        while self._hear():
            pass

    def _ready(self, seconds: float) -> bool:
        if self._poll is None:
            self._poll = select.poll()
            self._poll.register(self._fd, select.POLLIN)
        return bool(self._poll.poll(max(0.0, min(seconds, 86_400.0)) * 1000))

    def _read(self) -> None:
        data = self._hear()
        if not data:
            raise Disconnected
        self._received.extend(wire.from_host(body) for body in self._reader.feed(data))

    def _hear(self) -> bytes:
        try:
            return os.read(self._fd, _CHUNK)
        except OSError:
            raise Disconnected from None


class Output:
    """What a program prints, sent at once, within its budget of UTF-8 bytes."""

    def __init__(self, channel: Channel, limit: int) -> None:
        self._channel = channel
        self._limit = limit
        self._left = limit

    def write(self, text: str) -> None:
        """Send `text`, an exact str. When the budget is spent, sends what fits and ends the process."""
        if not text:
            return
        # A character takes at least a byte, so a text far too long is cut before it is encoded.
        data = text[: self._left + 1].encode("utf-8", "backslashreplace")
        if len(data) > self._left:
            self._send(data[: self._left].decode("utf-8", "ignore"))
            self._end()
        self._left -= len(data)
        self._send(text if text.isascii() else data.decode())

    def _send(self, text: str) -> None:
        for start in range(0, len(text), _LOG_CHUNK):
            self._channel.send(wire.Log(text[start : start + _LOG_CHUNK]))

    def _end(self) -> None:
        message = (
            f"the program printed more than {self._limit:,} bytes; "
            "print a summary, or return the data as the result instead"
        )
        self._channel.send(wire.Failed("output-limit", message))
        # Nothing in the program may stop this, so no exception carries it.
        os._exit(0)
