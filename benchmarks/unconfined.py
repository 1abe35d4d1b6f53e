"""A process that is made ready as a guest is, but behind no wall, so that what it does can be counted and sampled.

It imports the guest's rooms as a zygote does and gets one channel after another, with a program in each; this process
plays the host: it answers every call of `increment`. Nothing of the wall, and no fork, is in what it shows.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

import codemode
from codemode import wire

__all__ = ["Unconfined", "unconfined"]

PACKAGE = str(Path(codemode.__file__).parent)
_SECONDS = 60.0

_READY = """
import json, os, socket, sys
package, benchmarks, channel = sys.argv[1], sys.argv[2], int(sys.argv[3])
codemode = sys.modules["codemode"] = type(sys)("codemode")
codemode.__path__ = [package]
sys.path.append(benchmarks)
from codemode.guest import program
program.prepare()
control = socket.socket(fileno=channel)

def channels():
    while True:
        said, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not said:
            return
        yield descriptors[0]

def tell(value):
    data = json.dumps(value).encode()
    control.sendall(len(data).to_bytes(8, "little") + data)
"""
"""The first lines of its script. What follows serves each of `channels()` and `tell`s what it saw."""


class Unconfined:
    """The process, seen from here."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    def run(self, source: str, expected: object) -> None:
        """Have a program run, and answer its calls. Raises `AssertionError` if it does not give `expected`."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.settimeout(_SECONDS)
            socket.send_fds(self._control, [b"x"], [theirs.fileno()])
            theirs.close()
            tool = wire.ToolName("increment", ("n",), False, "increment(n: int) -> int")
            ours.sendall(
                wire.pack(wire.Program(source, (tool,), wire.GuestLimits(1 << 16, 1 << 16, 1 << 12)))
            )
            got = _play(ours)
        if got != expected:
            raise AssertionError(f"the program gave {got!r} where {expected!r} was due")

    def end(self) -> None:
        """Say that no program comes any more."""
        self._control.shutdown(socket.SHUT_WR)

    def told(self) -> Any:
        """Return the next thing that it tells."""
        size = int.from_bytes(self._receive(8), "little")
        return json.loads(self._receive(size))

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._control.recv(size - len(data))
            if not piece:
                raise AssertionError("the process that plays the guest is gone")
            data += piece
        return data


@contextmanager
def unconfined(serving: str) -> Iterator[Unconfined]:
    """Start the process; `serving` are the lines of Python that serve `channels()`."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        here = str(Path(__file__).parent / "work")
        command = [sys.executable, "-P", "-c", _READY + serving, PACKAGE, here, str(theirs.fileno())]
        child = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        ours.settimeout(_SECONDS)
        try:
            yield Unconfined(ours)
        finally:
            ours.close()
            child.wait(_SECONDS)


def _play(channel: socket.socket) -> object:
    reader = wire.FrameReader(1 << 20)
    while data := channel.recv(1 << 16):
        for body in reader.feed(data):
            frame = wire.from_guest(body)
            if isinstance(frame, wire.Call):
                value = msgspec.msgpack.decode(frame.arguments)["n"] + 1
                channel.sendall(wire.pack(wire.Value(frame.id, msgspec.Raw(wire.encode_value(value)))))
            elif isinstance(frame, wire.Done):
                return wire.decode_untrusted(frame.value)
            else:
                raise TypeError(f"the program ended otherwise: {frame}")
    raise AssertionError("the process that plays the guest is gone")
