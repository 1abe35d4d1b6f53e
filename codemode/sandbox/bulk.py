"""Large values from a guest: they are weighed before they are decoded.

A byte of msgpack can become a hundred bytes of Python: an empty list takes one on the wire. So a value that is large
on the wire may hold only so many lists and dicts, and that is counted without making one of them. Pure; slow enough
for a large value to be called in a thread.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from msgspec import UNSET, Raw, UnsetType

from codemode import wire
from codemode.values import JSON

__all__ = ["MAX_CONTAINERS", "Decoded", "TooManyContainers", "count_containers", "decode", "decode_frame"]

MAX_CONTAINERS: Final = 500_000
"""Lists and dicts in one value, at about 150 bytes and a microsecond each."""

_STARTS: Final = bytes([*range(0x80, 0xA0), *range(0xDC, 0xE0)])
"""The bytes that may begin a list or dict (and may as well be a part of something else)."""

# A few thousand items at a time that are neither containers nor of a length that must be read. `DOTALL`, by bytes.
_PLAIN: Final = re.compile(
    b"(?:[\x00-\x7f\xc0\xc2\xc3\xe0-\xff]+"
    b"|[\xcc\xd0]."
    b"|[\xcd\xd1].{2}"
    b"|[\xca\xce\xd2].{4}"
    b"|[\xcb\xcf\xd3].{8}"
    b"|\xd4.{2}|\xd5.{3}|\xd6.{5}|\xd7.{9}|\xd8.{17}"
    + b"".join(b"|" + re.escape(bytes([0xA0 + length])) + b".{%d}" % length for length in range(32))
    + b"){1,4000}+",
    re.DOTALL,
)
_SHORT_CONTAINERS: Final = re.compile(b"[\x80-\x9f]+")

# First byte: (bytes of the length that follows, bytes beside that and the payload)
_COUNTED: Final = {
    0xC4: (1, 1),
    0xC5: (2, 1),
    0xC6: (4, 1),
    0xC7: (1, 2),
    0xC8: (2, 2),
    0xC9: (4, 2),
    0xD9: (1, 1),
    0xDA: (2, 1),
    0xDB: (4, 1),
}
_LONG_CONTAINERS: Final = {0xDC: 3, 0xDD: 5, 0xDE: 3, 0xDF: 5}


class TooManyContainers(Exception):
    """A value holds more than `MAX_CONTAINERS` lists and dicts."""


class Decoded(NamedTuple):
    """A frame, with the value in it; `UNSET` if it has none, or one larger than was asked for."""

    frame: wire.FromGuest
    value: JSON | UnsetType


def decode_frame(body: bytes, max_value_bytes: int) -> Decoded:
    """Decode a frame that a guest sent, and the value in it.

    Raises `wire.WireError` if it is no frame, or its value no JSON value, and `TooManyContainers`.
    """
    frame = wire.from_guest(body)
    raw: Raw | UnsetType = UNSET
    if isinstance(frame, wire.Call):
        raw = frame.arguments
    elif isinstance(frame, wire.Done):
        raw = frame.value
    if raw is UNSET or len(memoryview(raw)) > max_value_bytes:
        return Decoded(frame, UNSET)
    return Decoded(frame, decode(raw))


def decode(data: Raw) -> JSON:
    """Decode a guest's value into a checked, frozen one.

    Raises `wire.WireError` if it is no JSON value, and `TooManyContainers`.
    """
    raw = bytes(data)
    may_be = len(raw) - len(raw.translate(None, _STARTS))
    if may_be > MAX_CONTAINERS and count_containers(raw) > MAX_CONTAINERS:
        raise TooManyContainers
    return wire.decode_untrusted(raw)


def count_containers(data: bytes) -> int:
    """Count the lists and dicts in well-formed msgpack; stops a little above `MAX_CONTAINERS`."""
    count = at = 0
    while at < len(data) and count <= MAX_CONTAINERS:
        first = data[at]
        if first in _COUNTED:
            digits, rest = _COUNTED[first]
            at += digits + rest + int.from_bytes(data[at + 1 : at + 1 + digits], "big")
        elif first in _LONG_CONTAINERS:
            count += 1
            at += _LONG_CONTAINERS[first]
        else:
            run = _SHORT_CONTAINERS.match(data, at)
            if run is not None:
                count += run.end() - at
            else:
                run = _PLAIN.match(data, at)
                if run is None:
                    break  # not well-formed; whoever decodes it will say so
            at = run.end()
    return count
