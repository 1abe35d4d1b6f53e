"""One command under its supervisor: started, waited for, ended whole.

`supervisor.py` is the other end of the wire. What it sends comes from within the walls and is believed as little as
the command itself: small, typed, and about nothing but how the command ended.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import struct
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import trio
from msgspec import Struct

from codemode import ToolError
from codemode.toolkits.processes.confinement import Confinement

__all__ = ["GRACE_SECONDS", "Command", "Place", "signal_name", "started"]

GRACE_SECONDS = 3.0
"""Between SIGTERM and SIGKILL."""

MARK = "CODEMODE_COMMAND"
"""The variable by which the processes of a command are found when its supervisor was killed."""

_BACKSTOP_SECONDS = 1.0  # after which a supervisor that has not ended is killed itself
_SWEEPS = 20
_MAX_MESSAGE = 4096
_MAX_COMMAND_BYTES = 120_000  # Linux takes 128 KiB in one argument


class Place(Struct, frozen=True):
    """Where a command runs: under which walls, in which directory, with which directory for temporary files.

    `shown` is a directory of the host's that it may read under its own name.
    """

    confinement: Confinement
    cwd: str
    scratch: str
    shown: str


class _Said(Struct, frozen=True, forbid_unknown_fields=True):
    pid: int | None = None
    failed: str | None = None
    exit: int | None = None
    signal: int | None = None


class Command:
    """A command that has been started. When it has exited, `exit_code` or `signal` is set.

    Neither is, when what watched over it was killed. At most one task waits at a time.
    """

    def __init__(self, process: trio.Process, control: trio.socket.SocketType, mark: str) -> None:
        self._process = process
        self._control = control
        self._mark = mark
        self._is_lost = False
        self._supervisor: int | None = None  # its process number here, when that is known
        self._has_exited = False
        self.pid: int | None = None  # as it is within the walls
        self.exit_code: int | None = None
        self.signal: str | None = None

    @property
    def stdout(self) -> trio.lowlevel.FdStream:
        stream = self._process.stdout
        assert isinstance(stream, trio.lowlevel.FdStream)
        return stream

    @property
    def stderr(self) -> trio.lowlevel.FdStream:
        stream = self._process.stderr
        assert isinstance(stream, trio.lowlevel.FdStream)
        return stream

    async def terminate(self) -> None:
        """Ask all of it to end, and kill after `GRACE_SECONDS` what has not. Returns at once."""
        await self._send(b"terminate")

    async def _send(self, message: bytes) -> None:
        with contextlib.suppress(OSError):
            await self._control.send(message)

    async def begin(self) -> None:
        """Return when it runs. Raises `ToolError` when it does not."""
        said = await self._receive()
        if said is None or said.pid is None:
            why = "what should have started it has ended" if said is None else said.failed
            raise ToolError(f"the command could not be started: {why}", code="COMMAND_FAILED")
        self.pid = said.pid

    async def wait_exit(self) -> None:
        """Return when the command itself has ended; what it has started may go on for a moment."""
        if self._has_exited:
            return
        said = await self._receive()
        self._has_exited = True
        if said is None:
            self._is_lost = True
        else:
            self.exit_code = said.exit
            self.signal = None if said.signal is None else signal_name(said.signal)

    async def wait_gone(self) -> None:
        """Return when nothing of it is left."""
        await self._process.wait()
        if self._is_lost:
            await trio.to_thread.run_sync(_sweep, f"{MARK}={self._mark}".encode())

    async def _receive(self) -> _Said | None:
        credentials = struct.Struct("3i")
        try:
            data, extra, _, _ = await self._control.recvmsg(_MAX_MESSAGE, socket.CMSG_SPACE(credentials.size))
            for level, kind, value in extra:
                if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                    self._supervisor = self._supervisor or credentials.unpack(value)[0]
            return msgspec.json.decode(data, type=_Said) if data else None
        except (OSError, msgspec.MsgspecError):
            return None

    async def end(self) -> None:
        """Return when nothing is left of it. Takes no longer than the grace and a little."""
        if self._process.returncode is None:
            await self.terminate()
            with trio.move_on_after(GRACE_SECONDS + _BACKSTOP_SECONDS):
                await self._process.wait()
        if self._process.returncode is None:
            if self._supervisor:
                with contextlib.suppress(OSError):
                    os.kill(self._supervisor, signal.SIGKILL)
            self._process.kill()
            with trio.move_on_after(_BACKSTOP_SECONDS):
                await self._process.wait()
            await trio.to_thread.run_sync(_sweep, f"{MARK}={self._mark}".encode())
        for stream in (self._process.stdout, self._process.stderr):
            if isinstance(stream, trio.lowlevel.FdStream):
                stream.close()


@asynccontextmanager
async def started(
    place: Place,
    arguments: Sequence[str],
    *,
    terminal: int | None = None,
    merge: bool = False,
    **variables: str,
) -> AsyncIterator[Command]:
    """Start a command; when the block is left, nothing of it is left either, however that comes.

    Its streams are pipes, output and errors in one with `merge`; or all three are `terminal`, the descriptor of
    one, which stays the caller's. Leaving takes up to `GRACE_SECONDS` and a little, also when cancelled.
    Raises `ToolError`: COMMAND_FAILED when it cannot be started.
    """
    if any(len(os.fsencode(argument)) > _MAX_COMMAND_BYTES for argument in arguments):
        raise ToolError(
            f"the command is longer than {_MAX_COMMAND_BYTES} bytes; write it to a file and run that",
            code="COMMAND_FAILED",
        )
    mark = secrets.token_hex(8)
    ours, theirs = trio.socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        with theirs:
            process = await _spawn(
                place, arguments, theirs.fileno(), terminal, merge, {**variables, MARK: mark}
            )
        command = Command(process, ours, mark)
        try:
            await command.begin()
            yield command
        finally:
            with trio.CancelScope(shield=True):
                await command.end()


async def _spawn(
    place: Place,
    arguments: Sequence[str],
    control: int,
    terminal: int | None,
    merge: bool,
    variables: dict[str, str],
) -> trio.Process:
    confinement = place.confinement
    kind = "pipes" if terminal is None else "tty"
    try:
        return await trio.lowlevel.open_process(
            [
                *confinement.launcher(place.cwd, place.scratch, place.shown),
                *(str(control), kind, str(GRACE_SECONDS), *arguments),
            ],
            stdin=subprocess.DEVNULL if terminal is None else terminal,
            stdout=subprocess.PIPE if terminal is None else terminal,
            stderr=terminal if terminal is not None else subprocess.STDOUT if merge else subprocess.PIPE,
            cwd=place.cwd,
            env=confinement.variables(place.scratch, **variables),
            pass_fds=(control,),
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"the command could not be started: {error.strerror or error}", code="COMMAND_FAILED"
        ) from error


def _sweep(mark: bytes) -> None:
    """Kill the processes that have this in their environment, as far as it can be read. Blocks."""
    for _ in range(_SWEEPS):
        found = False
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/environ", "rb") as file:
                    is_marked = mark in file.read()
                if is_marked:
                    os.kill(int(name), signal.SIGKILL)
                    found = True
        if not found:
            return


def signal_name(number: int) -> str:
    """Return the name of a signal, `SIGKILL` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
