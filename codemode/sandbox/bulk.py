"""Large values from a guest: they are weighed before they are decoded.

A byte of msgpack can become a hundred bytes of Python: an empty list takes one on the wire. And a value is made, and
taken down again, in one go that no other thread can interrupt. So a value may hold only so many parts, and they are
counted without making one of them. Pure; slow enough for a large value to be called in a thread.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from msgspec import UNSET, Raw, UnsetType

from codemode import wire
from codemode.values import JSON

__all__ = ["MAX_PARTS", "Decoded", "TooManyParts", "count_parts", "decode", "decode_frame"]

MAX_PARTS: Final = 500_000
"""Lists, dicts, keys, strings, numbers and so on in one value, each counted once; at most about 150 bytes and a
microsecond each. Measured with 1,200,000 of them (600,000 keys): the host's loop stood still for 0.2 s."""

# One part that is neither a container nor of a length that must be read. `DOTALL`, by bytes.
_ONE: Final = re.compile(
    b"[\x00-\x7f\xc0\xc2\xc3\xe0-\xff]"
    b"|[\xcc\xd0]."
    b"|[\xcd\xd1].{2}"
    b"|[\xca\xce\xd2].{4}"
    b"|[\xcb\xcf\xd3].{8}"
    b"|\xd4.{2}|\xd5.{3}|\xd6.{5}|\xd7.{9}|\xd8.{17}"
    + b"".join(b"|" + re.escape(bytes([0xA0 + length])) + b".{%d}" % length for length in range(32)),
    re.DOTALL,
)
_RUN: Final = re.compile(b"(?:" + _ONE.pattern + b"){1,20000}+", re.DOTALL)
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


class TooManyParts(Exception):
    """A value holds more than `MAX_PARTS` parts."""


class Decoded(NamedTuple):
    """A frame with the value in it taken out, which is `UNSET` if there was none, or one larger than was asked for.

    `length` is how many bytes the value had on the wire. Nothing of these bytes is held: a thread may keep what it
    returned for a while, and a large frame would be in memory for longer than its value is made.
    """

    frame: wire.FromGuest
    value: JSON | UnsetType = UNSET
    length: int = 0


def decode_frame(taken: list[bytes], max_value_bytes: int) -> Decoded:
    """Decode a frame that a guest sent, and the value in it. The body is taken out of `taken`, so that nobody holds it.

    Raises `wire.WireError` if it is no frame, or its value no JSON value, and `TooManyParts`.
    """
    frame = wire.from_guest(taken.pop())
    if isinstance(frame, wire.Call):
        value, length = _bounded(frame.arguments, max_value_bytes)
        return Decoded(wire.Call(frame.id, frame.name, _NOTHING), value, length)
    if isinstance(frame, wire.Done) and frame.value is not UNSET:
        value, length = _bounded(frame.value, max_value_bytes)
        return Decoded(wire.Done(_NOTHING), value, length)
    return Decoded(frame)


_NOTHING: Final = Raw(b"")


def _bounded(raw: Raw, most: int) -> tuple[JSON | UnsetType, int]:
    length = len(memoryview(raw))
    return (UNSET if length > most else decode(raw)), length


def decode(data: Raw) -> JSON:
    """Decode a guest's value into a checked, frozen one.

    Raises `wire.WireError` if it is no JSON value, and `TooManyParts`.
    """
    raw = bytes(data)
    if len(raw) > MAX_PARTS and count_parts(raw) > MAX_PARTS:  # a part takes a byte at least
        raise TooManyParts
    return wire.decode_untrusted(raw)


def count_parts(data: bytes) -> int:
    """Count the parts of a value in well-formed msgpack; stops a little above `MAX_PARTS`."""
    count = at = 0
    while at < len(data) and count <= MAX_PARTS:
        first = data[at]
        if first in _COUNTED:
            digits, rest = _COUNTED[first]
            count += 1
            at += digits + rest + int.from_bytes(data[at + 1 : at + 1 + digits], "big")
        elif first in _LONG_CONTAINERS:
            count += 1
            at += _LONG_CONTAINERS[first]
        else:
            run = _SHORT_CONTAINERS.match(data, at)
            if run is not None:
                count += run.end() - at
            else:
                run = _RUN.match(data, at)
                if run is None:
                    break  # not well-formed; whoever decodes it will say so
                count += len(_ONE.findall(data, at, run.end()))
            at = run.end()
    return count
