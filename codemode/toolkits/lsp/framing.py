"""Messages of the Language Server Protocol as bytes, and back. No I/O.

A message is a header with `Content-Length` and a JSON object (LSP 3.17, "Base Protocol"). What arrives is
bounded, since it comes from a program that may have gone wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["MAX_MESSAGE_BYTES", "Framing", "FramingError", "frame"]

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
_MAX_HEADER_BYTES = 8192


class FramingError(Exception):
    """What arrived is no message."""


def frame(message: dict[str, Any]) -> bytes:
    """Return a message with its header."""
    data = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n%s" % (len(data), data)


class Framing:
    """Takes bytes as they arrive and gives whole messages."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._length: int | None = None  # of the message whose header has been read

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yield the messages that are complete now. Raises `FramingError`."""
        self._data += data
        while True:
            if self._length is None:
                self._length = self._header()
            if self._length is None or len(self._data) < self._length:
                return
            body = bytes(self._data[: self._length])
            del self._data[: self._length]
            self._length = None
            try:
                message = json.loads(body)
            except (ValueError, RecursionError):
                raise FramingError("a message is no JSON") from None
            if not isinstance(message, dict):
                raise FramingError("a message is no JSON object")
            yield message

    def _header(self) -> int | None:
        end = self._data.find(b"\r\n\r\n")
        if end < 0 or end > _MAX_HEADER_BYTES:
            if len(self._data) > _MAX_HEADER_BYTES:
                raise FramingError("a message begins without a header")
            return None
        lines = bytes(self._data[:end]).split(b"\r\n")
        del self._data[: end + 4]
        for line in lines:
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length" and value.strip().isdigit():
                length = int(value)
                if length > MAX_MESSAGE_BYTES:
                    raise FramingError(
                        f"a message has {length:,} bytes, over the bound of {MAX_MESSAGE_BYTES:,}"
                    )
                return length
        raise FramingError("a message has no Content-Length")
