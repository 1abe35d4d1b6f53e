"""Server-sent events: bytes in, the data of events out, wherever the bytes are cut. No I/O.

The rules are those of the HTML standard (section 9.2.6, interpreting an event stream): lines end in LF, CR or
CRLF, an empty line ends an event, and one that has not ended when the bytes do is dropped. Only the data is
kept: the providers here say an event's type inside it as well. It is taken from here and not from an SDK's own
events so that every field arrives exactly as it was sent.
"""

from __future__ import annotations

__all__ = ["MAX_EVENT_BYTES", "EventLines"]

MAX_EVENT_BYTES = 64 * 1024 * 1024
"""Of one event; a whole answer, repeated in its last event, stays far below."""


class EventLines:
    """Takes bytes, gives the data of complete events as text."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._at_start = True

    def feed(self, data: bytes) -> list[str]:
        """Return the data of the events that these bytes complete. Raises `ValueError` for what is no UTF-8,
        or too long."""
        complete: list[str] = []
        for piece in data.splitlines(keepends=True) if data else ():
            # bytes.splitlines knows LF, CR and CRLF only, which are just the ends that the standard has.
            if self._after_cr and piece == b"\n":
                self._after_cr = False
                continue
            self._after_cr = piece.endswith(b"\r")
            body = piece.rstrip(b"\r\n")
            self._line += body
            self._size += len(body)
            if self._size > MAX_EVENT_BYTES:
                raise ValueError(f"an event of more than {MAX_EVENT_BYTES:,} bytes")
            if len(body) < len(piece):
                self._end_line(complete)
        return complete

    def _end_line(self, complete: list[str]) -> None:
        line = bytes(self._line)
        self._line.clear()
        if self._at_start:
            line = line.removeprefix(b"\xef\xbb\xbf")
            self._at_start = False
        if not line:
            if self._data:
                complete.append(b"\n".join(self._data).decode())
            self._data.clear()
            self._size = 0
            return
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
