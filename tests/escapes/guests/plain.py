"""A guest without a language wall: payloads are plain Python with every builtin, in a guest confined like any other.

It stands in for `codemode.guest.program`. Beside the builtins there are `echo`, top-level `await`, and the kernel
itself: `raw_syscall(number, *arguments) -> (result, errno)` and `NR`, name to number.

What a payload may import matters. In the cage there are no files, so a module that is not loaded cannot be had; to be
contained for that alone proves little. So `raw` payloads find everything loaded that they could wish for, ctypes and
subprocess included, and it is the kernel that has to stop them. `code` payloads find the library of programs, but not
the few modules in `LACKING`, which the engine has loaded for itself: importing one is what it is in any fresh
interpreter, the wish to read a file. `LACKING` is set by whoever loads this.
"""

from __future__ import annotations

import ast
import ctypes
import importlib
import inspect
import sys
from typing import Any

_PRELOADED = """
    _ctypes _posixsubprocess _socket _thread array asyncio concurrent.futures ctypes.util fcntl gc inspect io mmap
    msgspec multiprocessing.connection multiprocessing.shared_memory os posix pty resource select selectors shutil
    signal socket struct subprocess sys syslog tempfile threading time traceback types weakref zlib
    """.split()
LACKING: tuple[str, ...] = ()

NR: dict[str, int] = {}
_names: dict[str, Any] = {}


def prepare(*packages: object) -> None:
    from codemode.guest.confine import kernel
    from codemode.guest.confine.table import TABLE
    from codemode.guest.library import tables
    from codemode.guest.running import channel, loop, tools  # noqa: F401  (loaded before the fork)

    for name in (*_PRELOADED, *tables.LIBRARY):
        importlib.import_module(name)
    NR.update((row.name, getattr(row, kernel.MACHINE)) for row in TABLE)
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long

    def raw_syscall(number: int, *arguments: Any) -> tuple[int, int]:
        ctypes.set_errno(0)
        padded = [
            ctypes.c_long(value) if isinstance(value, int) else value
            for value in (*arguments, 0, 0, 0, 0, 0, 0)[:6]
        ]
        return syscall(ctypes.c_long(number), *padded), ctypes.get_errno()

    _names.update(__name__="__main__", raw_syscall=raw_syscall, NR=NR)


def warm_up() -> None:
    pass


def serve(fd: int) -> None:
    import msgspec

    from codemode import values, wire
    from codemode.guest.running.channel import Channel, Output
    from codemode.guest.running.loop import Loop
    from codemode.guest.running.tools import Calls

    channel = Channel(fd)
    program = channel.receive()
    assert isinstance(program, wire.Program)
    sys.stdout = sys.stderr = _Log(Output(channel, program.limits.log_bytes))  # type: ignore[assignment]
    calls = Calls(channel, program.limits.result_bytes)
    (echo,) = program.tools
    for name in list(sys.modules):
        if name.partition(".")[0] in LACKING:
            del sys.modules[name]
    end: wire.Done | wire.Failed = wire.Done()
    try:
        code = compile(program.source, "<payload>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        if code.co_flags & inspect.CO_COROUTINE:
            loop = Loop(channel, calls)
            _names["echo"] = lambda **arguments: loop.call(echo, arguments)
            loop.run_main(eval(code, _names))
        else:
            _names["echo"] = lambda **arguments: calls.wait(echo, arguments)
            exec(code, _names)
        if "result" in _names:
            values.check(_names["result"], root="result")
            end = wire.Done(msgspec.Raw(wire.encode_value(_names["result"])))
    except MemoryError:
        _names.clear()
        end = wire.Failed("memory-limit", "out of memory")
    except values.InvalidValue as error:
        end = wire.Failed("invalid-output", str(error)[:200])
    except BaseException as error:
        end = wire.Failed("exception", type(error).__name__)
    channel.send(end)


class _Log:
    """Standard output and error."""

    def __init__(self, output: Any) -> None:
        self.write = output.write

    def flush(self) -> None:
        pass
