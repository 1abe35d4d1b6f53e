"""The wire between the host and its zygote: which messages there are, and how bytes become messages. No I/O.

One message is one packet of a SEQPACKET socket. `Spawn` carries the guest's end of its channel and `Spawned`
carries a pidfd, both beside the bytes (SCM_RIGHTS). Both ends are our own code: no byte that a guest wrote ever
travels here. The host names a guest by an id of its own, never by a process number, which the kernel reuses.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import Struct

__all__ = [
    "MAX_MESSAGE",
    "OUT_OF_MEMORY",
    "REQUIRED_LAYERS",
    "Boot",
    "Broken",
    "ControlError",
    "Ended",
    "FromHost",
    "FromZygote",
    "GoOn",
    "Kill",
    "Layer",
    "Loading",
    "PackageOrder",
    "Ready",
    "Refused",
    "Spawn",
    "Spawned",
    "from_host",
    "from_zygote",
    "pack",
]

OUT_OF_MEMORY = 72
"""Exit code of a guest that could not even say that its memory was used up; a guest may claim that anyway."""

REQUIRED_LAYERS = ("no new privileges", "one descriptor", "resource limits", "seccomp")
"""The layers without which no guest is made, unless whoever runs programs has accepted that by their names."""

MAX_MESSAGE = 64 * 1024
"""Bytes of the largest message."""


class ControlError(Exception):
    """Bytes that are no message of this wire."""


class Layer(Struct, frozen=True):
    """One layer of the process wall, as its effect showed it on this machine.

    `detail` says what was seen, and for a layer that does not stand what would raise it.
    """

    name: str
    stands: bool
    required: bool
    detail: str


# ------------------------------------------------------------------------------- from host to zygote


class PackageOrder(Struct, frozen=True, array_like=True):
    """A package that programs shall find: the name that they import, and whether its own code is trusted."""

    name: str
    trusted: bool


class Boot(Struct, frozen=True, array_like=True, tag=3):
    """Load the language with these packages, whose files are under `paths`. The first message, once."""

    packages: tuple[PackageOrder, ...] = ()
    paths: tuple[str, ...] = ()


class Spawn(Struct, frozen=True, array_like=True, tag=1):
    """Fork a guest, confined to these limits, that waits for a program on the descriptor sent along."""

    id: int
    memory_bytes: int
    cpu_seconds: float


class Kill(Struct, frozen=True, array_like=True, tag=2):
    """Kill guest `id`; for a host that had no descriptor left to hold the guest's pidfd."""

    id: int


class GoOn(Struct, frozen=True, array_like=True, tag=4):
    """Make guests although these required layers do not stand. It follows `Ready`, or never comes."""

    without: tuple[str, ...]


FromHost: TypeAlias = Boot | Spawn | Kill | GoOn

# ------------------------------------------------------------------------------- from zygote to host


class Ready(Struct, frozen=True, array_like=True, tag=1):
    """The zygote serves, at once if every required layer stands, else when it has been told to go on.

    `resident_bytes` is what a guest has in memory while it waits for a program.
    """

    layers: tuple[Layer, ...]
    resident_bytes: int


class Loading(Struct, frozen=True, array_like=True, tag=6):
    """The zygote begins to load this package; it has loaded those before."""

    name: str


class Broken(Struct, frozen=True, array_like=True, tag=2):
    """The zygote cannot serve, and ends. `package` is the name of the one that it could not load, if that is why."""

    message: str
    package: str = ""


class Spawned(Struct, frozen=True, array_like=True, tag=3):
    """Guest `id` has been forked; its pidfd comes along."""

    id: int


class Refused(Struct, frozen=True, array_like=True, tag=4):
    """Guest `id` could not be forked."""

    id: int
    reason: str


class Ended(Struct, frozen=True, array_like=True, tag=5):
    """Guest `id` has ended and is reaped: the status, seconds and bytes that the kernel gave."""

    id: int
    status: int
    cpu_seconds: float
    max_resident_bytes: int


FromZygote: TypeAlias = Ready | Loading | Broken | Spawned | Refused | Ended

_encoder = msgspec.msgpack.Encoder()
_from_host: msgspec.msgpack.Decoder[FromHost] = msgspec.msgpack.Decoder(FromHost)
_from_zygote: msgspec.msgpack.Decoder[FromZygote] = msgspec.msgpack.Decoder(FromZygote)


def pack(message: FromHost | FromZygote) -> bytes:
    """Return the bytes of one message."""
    return _encoder.encode(message)


def from_host(data: bytes) -> FromHost:
    """Decode what the host sent. Raises `ControlError` for anything else."""
    try:
        return _from_host.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ControlError(f"not a message: {error}") from None


def from_zygote(data: bytes) -> FromZygote:
    """Decode what the zygote sent. Raises `ControlError` for anything else."""
    try:
        return _from_zygote.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ControlError(f"not a message: {error}") from None
