"""The wire between host and guest: which frames there are, and how bytes become frames. No I/O.

A frame is a 4-byte little-endian length and that many bytes of msgpack, one of the structures below.
The values inside (arguments, results) stay undecoded bytes until the side that wants them has checked
their size. msgpack has no integer beyond 64 bits; such a one travels as extension 1, two's complement,
little-endian.

Two rules hold here. The host decodes only into these structures, so that junk becomes a `WireError` and
nothing else. Nothing in this file trusts a length before it has been compared with a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from codemode.values import JSON, FrozenDict, FrozenList, InvalidValue, adopt, freeze

__all__ = [
    "Call",
    "Cancel",
    "Document",
    "Done",
    "Failed",
    "Fault",
    "FrameReader",
    "FromGuest",
    "FromHost",
    "GuestLimits",
    "Log",
    "Program",
    "ToolName",
    "Value",
    "WireError",
    "decode_document",
    "decode_frozen",
    "decode_untrusted",
    "encode_document",
    "encode_value",
    "from_guest",
    "from_host",
    "pack",
]

PREFIX = 4
_BIG_INTEGER = 1


class WireError(Exception):
    """Bytes that are no frame of this wire."""


# ------------------------------------------------------------------------------- from host to guest


class GuestLimits(Struct, frozen=True, array_like=True):
    """The bounds that a guest keeps by itself, in bytes; the host measures again."""

    log_bytes: int
    result_bytes: int
    error_bytes: int


class ToolName(Struct, frozen=True, array_like=True):
    """One function of the program's `tools`.

    `parameters` are the names in the schema's order, for positional arguments; `first_is_object` says
    that the first parameter may itself be a dict; `signature` is shown when a call does not fit; `document`
    is an encoded `Document`, or empty. `method` is `OBJECT.METHOD` for one that is called so too, or empty.
    """

    name: str
    parameters: tuple[str, ...]
    first_is_object: bool
    signature: str
    document: bytes = b""
    method: str = ""


class Document(Struct, frozen=True, array_like=True):
    """What a program can find out about one of its tools: how it is called, what it does, and its whole text."""

    call: str
    summary: str
    text: str


class Program(Struct, frozen=True, array_like=True, tag=1):
    """What a guest runs: sent once, first."""

    source: str
    tools: tuple[ToolName, ...]
    limits: GuestLimits


class Value(Struct, frozen=True, array_like=True, tag=2):
    """The answer to call `id`: a value, encoded by `encode_value`."""

    id: int
    value: Raw


class Fault(Struct, frozen=True, array_like=True, tag=3):
    """The answer to call `id`: it failed. `raised` is the class of what the tool raised, if it is one of its own."""

    id: int
    message: str
    code: str | None
    raised: str | None = None


FromHost: TypeAlias = Program | Value | Fault

# ------------------------------------------------------------------------------- from guest to host
# These are maps, not arrays: an absent field is absent, and an unknown one is refused.


class Call(Struct, frozen=True, forbid_unknown_fields=True, tag=1):
    """A program calls a tool. `id` counts from 1 in a run; `arguments` is an encoded object."""

    id: int
    name: str
    arguments: Raw


class Cancel(Struct, frozen=True, forbid_unknown_fields=True, tag=2):
    """The program no longer waits for call `id` (its task was cancelled or timed out)."""

    id: int


class Log(Struct, frozen=True, forbid_unknown_fields=True, tag=3):
    """Text that the program printed, newlines included, in order."""

    text: str


class Done(Struct, frozen=True, forbid_unknown_fields=True, tag=4):
    """The program ended well. `value` is absent when it returned nothing."""

    value: Raw | UnsetType = UNSET


class Failed(Struct, frozen=True, forbid_unknown_fields=True, tag=5):
    """The program did not end well: one of the kinds that a guest can know, and the text for its reader."""

    kind: str
    message: str


FromGuest: TypeAlias = Call | Cancel | Log | Done | Failed

# -------------------------------------------------------------------------------------- the codec

_encoder = msgspec.msgpack.Encoder()
_from_guest = msgspec.msgpack.Decoder(FromGuest)
_document = msgspec.msgpack.Decoder(Document)
_from_host = msgspec.msgpack.Decoder(FromHost)


def encode_document(document: Document) -> bytes:
    """Return the bytes that `ToolName.document` carries, unread until a program asks."""
    return _encoder.encode(document)


def decode_document(data: bytes) -> Document:
    """Decode what `encode_document` made."""
    return _document.decode(data)


def pack(frame: Struct) -> bytes:
    """Return the bytes of one frame, prefix included."""
    body = _encoder.encode(frame)
    return len(body).to_bytes(PREFIX, "little") + body


def from_guest(body: bytes) -> FromGuest:
    """Decode the body of a frame that a guest sent. Raises `WireError` for anything else."""
    try:
        return _from_guest.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise WireError(f"not a frame: {error}") from None


def from_host(body: bytes) -> FromHost:
    """Decode the body of a frame that the host sent. Raises `WireError` for anything else."""
    try:
        return _from_host.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise WireError(f"not a frame: {error}") from None


class FrameReader:
    """Cuts a byte stream into frame bodies. `max_bytes` bounds one body."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take received bytes; yield each body that is complete now. Raises `WireError` for an oversized one."""
        buffer = self._buffer
        buffer += data
        start = 0
        try:
            while len(buffer) - start >= PREFIX:
                size = int.from_bytes(buffer[start : start + PREFIX], "little")
                if size > self.max_bytes:
                    raise WireError(f"a frame of {size} bytes, over the {self.max_bytes} allowed")
                end = start + PREFIX + size
                if len(buffer) < end:
                    break
                body = bytes(buffer[start + PREFIX : end])
                start = end
                yield body
        finally:
            del buffer[:start]

    @property
    def pending(self) -> int:
        """Bytes received that are not yet a whole frame."""
        return len(self._buffer)


# ------------------------------------------------------------------------------------ the values


def encode_value(value: JSON) -> bytes:
    """Encode a value that `values.check` or `values.freeze` has accepted."""
    try:
        return _encoder.encode(value)
    except OverflowError:
        return _encoder.encode(_tag_integers(value))


def decode_untrusted(data: bytes | Raw) -> JSON:
    """Decode a value that a guest sent into a checked, frozen one. Raises `WireError` if it is no JSON value."""
    try:
        return freeze(_value_decoder.decode(data))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, InvalidValue) as error:
        raise WireError(f"not a value: {error}") from None


def decode_frozen(data: bytes | Raw) -> JSON:
    """Decode a value that the host sent, frozen."""
    return adopt(_value_decoder.decode(data))


def _tag_integers(value: JSON) -> Any:
    kind = type(value)
    if kind is int and not -(1 << 63) <= value < (1 << 64):
        size = value.bit_length() // 8 + 1
        return msgspec.msgpack.Ext(_BIG_INTEGER, value.to_bytes(size, "little", signed=True))
    if kind is dict or kind is FrozenDict:
        return {key: _tag_integers(item) for key, item in value.items()}
    if kind is list or kind is tuple or kind is FrozenList:
        return [_tag_integers(item) for item in value]
    return value


def _untag(code: int, data: memoryview) -> int:
    if code != _BIG_INTEGER:
        raise msgspec.ValidationError(f"extension {code} is none of this wire's")
    return int.from_bytes(data, "little", signed=True)


_value_decoder = msgspec.msgpack.Decoder(ext_hook=_untag)
