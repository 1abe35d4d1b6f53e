"""A guest whose language wall has fallen: it stands in for `codemode.guest.program` in tests of the process wall.

A "program" is plain Python, executed with every builtin, in a guest that is confined like any other. It can reach the
channel itself (`send`, `frame`, `log`, `call`, `done`, `failed`) and the kernel (`raw_syscall`). It is loaded into a
zygote by the tests' own first lines (see `conftest.py`); nothing that is shipped knows of it.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

_names: dict[str, Any] = {}


def prepare(*packages: object) -> None:
    import msgspec

    from codemode import wire

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long

    def raw_syscall(number: int, *arguments: Any) -> tuple[int, int]:
        ctypes.set_errno(0)
        padded = [
            ctypes.c_long(value) if isinstance(value, int) else value
            for value in (*arguments, 0, 0, 0, 0, 0, 0)[:6]
        ]
        return syscall(ctypes.c_long(number), *padded), ctypes.get_errno()

    def send(data: bytes) -> None:
        while data:
            data = data[os.write(3, data) :]

    def raw(value: object) -> msgspec.Raw:
        return msgspec.Raw(wire.encode_value(value))

    def answer() -> wire.FromHost:
        size = int.from_bytes(exactly(4), "little")
        return wire.from_host(exactly(size))

    def exactly(size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += os.read(3, size - len(data))
        return data

    _names.update(
        os=os,
        wire=wire,
        msgspec=msgspec,
        raw_syscall=raw_syscall,
        send=send,
        answer=answer,
        frame=lambda frame: send(wire.pack(frame)),
        body=lambda body: send(len(body).to_bytes(4, "little") + body),
        log=lambda text: send(wire.pack(wire.Log(text))),
        call=lambda id, name, arguments: send(wire.pack(wire.Call(id, name, raw(arguments)))),
        done=lambda *value: send(wire.pack(wire.Done(*map(raw, value)))),
        failed=lambda kind, message: send(wire.pack(wire.Failed(kind, message))),
    )


def warm_up() -> None:
    pass


def serve(fd: int) -> None:
    program = _names["answer"]()
    exec(program.source, dict(_names))
