"""The host's end of a zygote: how it is started, asked for guests, listened to, and ended.

The zygote is exec'd with an empty environment, so that no secret of the host is in the memory that guests are
forked from. It gets the directories of the few packages it needs and imports of `codemode` only the files it asks
for. Everything that comes back is `codemode.control`'s messages; nothing of a guest's own words passes here.
"""

from __future__ import annotations

import array
import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Collection, Sequence

import trio

from codemode import control, launch
from codemode.control import Layer
from codemode.errors import SandboxUnavailable
from codemode.sandbox.guest import Guest, Pair
from codemode.sandbox.packages import Package, boot

__all__ = ["Zygote"]

BOOT_SECONDS = 30.0
"""How long a zygote may take to be ready; a usual one takes a tenth of a second."""

_END_SECONDS = 5.0
"""How long a zygote may take to end after it was told to; then it is killed."""

BOOTSTRAP = launch.BOOTSTRAP


class Zygote:
    """A running zygote. Made by `start`; `attend` is to run as long as it is used."""

    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket) -> None:
        self._process = process
        self._channel = channel
        self._ids = itertools.count(1)
        self._guests: dict[int, Guest] = {}
        self._unsent: deque[tuple[bytes, socket.socket | None]] = deque()
        self._loading = ""
        self.layers: tuple[Layer, ...] = ()
        self.resident_bytes = 0
        self.alive = True

    @property
    def pid(self) -> int:
        """The process number of the outer process."""
        return self._process.pid

    @classmethod
    async def start(cls, packages: Sequence[Package] = (), accept_missing: Collection[str] = ()) -> Zygote:
        """Start one that has loaded these packages, and wait until it serves.

        It serves without required layers only if they are named in `accept_missing`.

        Raises `SandboxUnavailable`, saying what is missing, when it cannot. Cancellation ends the zygote and is
        passed on. Must be called from the thread that lives as long as the zygote shall: the kernel ends it with
        that thread.
        """
        if sys.platform != "linux":
            raise SandboxUnavailable(
                f"programs can be confined on Linux only so far, and this is {sys.platform}; "
                "run codemode in a Linux container or virtual machine"
            )
        order = boot(packages)
        try:
            started = launch.take(BOOTSTRAP, control.pack(order))
        except OSError as error:
            raise SandboxUnavailable(
                f"the process that confines programs could not be started: {error}"
            ) from error
        except ModuleNotFoundError as error:
            raise SandboxUnavailable(f"{error}; install codemode with its dependencies") from error
        diagnostics = started.diagnostics
        zygote = cls(started.process, started.channel)
        try:
            with trio.move_on_after(BOOT_SECONDS):
                await zygote._be_ready(diagnostics, accept_missing)
                return zygote
            if zygote._loading:
                raise SandboxUnavailable(
                    f"the package {zygote._loading!r} had not been loaded {BOOT_SECONDS:g} s after the start; what "
                    "takes so long when it is imported must be made when it is first needed"
                )
            raise SandboxUnavailable(
                f"the process that confines programs was not ready after {BOOT_SECONDS:g} s"
                + _said(diagnostics)
            )
        except BaseException:
            await zygote.end()
            raise
        finally:
            os.close(diagnostics)

    async def _be_ready(self, diagnostics: int, accept_missing: Collection[str]) -> None:
        message = await self._hear_one()
        while isinstance(message, control.Loading):
            self._loading = message.name
            message = await self._hear_one()
        if isinstance(message, control.Ready):
            missing = [layer for layer in message.layers if layer.required and not layer.stands]
            unaccepted = [layer for layer in missing if layer.name not in accept_missing]
            if unaccepted:
                raise SandboxUnavailable(_unconfined(unaccepted), message.layers)
            if missing:
                self._send(control.GoOn(tuple(layer.name for layer in missing)))
            self.layers = message.layers
            self.resident_bytes = message.resident_bytes
            return
        await self._gone(_END_SECONDS)
        if isinstance(message, control.Broken) and message.package:
            raise SandboxUnavailable(message.message)
        if message is None and self._loading:
            raise SandboxUnavailable(
                f"the package {self._loading!r} cannot be given to programs: loading it ended the process "
                f"({_status(self._process.returncode)}){_said(diagnostics)}"
            )
        said = message.message if isinstance(message, control.Broken) else _said(diagnostics)
        raise SandboxUnavailable(f"the process that confines programs could not start\n{said.strip()}")

    async def _hear_one(self) -> control.FromZygote | None:
        await trio.lowlevel.wait_readable(self._channel)
        try:
            try:
                data = self._channel.recv(control.MAX_MESSAGE)
            except (
                ConnectionResetError
            ):  # it ended before it had read what it was told; what it said is still there
                data = self._channel.recv(control.MAX_MESSAGE)
            return control.from_zygote(data) if data else None
        except (ConnectionResetError, BlockingIOError):
            return None
        except (OSError, control.ControlError) as error:
            raise SandboxUnavailable(f"the process that confines programs broke: {error}") from error

    # ------------------------------------------------------------------------------------ guests

    def spawn(self, pair: Pair) -> Guest:
        """Ask for a guest with these limits. Returns at once; the channel can be used at once.

        Raises OSError when this process has no descriptors left.
        """
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        guest = Guest(next(self._ids), pair, ours)
        if not self.alive:
            theirs.close()
            guest.depart()
            return guest
        self._guests[guest.id] = guest
        self._send(control.Spawn(guest.id, *pair), theirs)
        return guest

    def _send(self, message: control.FromHost, passed: socket.socket | None = None) -> None:
        self._unsent.append((control.pack(message), passed))
        self._flush()

    def _flush(self) -> None:
        while self._unsent:
            data, passed = self._unsent[0]
            ancillary = []
            if passed is not None:
                ancillary.append((socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [passed.fileno()])))
            try:
                self._channel.sendmsg([data], ancillary)
            except BlockingIOError:
                return  # it is behind; each of its answers brings us here again
            except OSError:
                pass  # it is gone; `attend` notices, and ends the guests that were asked for
            self._unsent.popleft()
            if passed is not None:
                passed.close()

    async def attend(self) -> None:
        """Listen to the zygote until it is gone; then let go of every guest of it.

        Not to be cancelled: a run that is cancelled together with this still waits for its guest to be reaped, and
        it is here that word of it comes. `end` ends it.
        """
        with trio.CancelScope(shield=True):
            with contextlib.suppress(trio.ClosedResourceError):
                while self._listen():
                    await trio.lowlevel.wait_readable(self._channel)
            await self._lose()

    def _listen(self) -> bool:
        """Take in every message that is there. Returns whether the zygote lives."""
        while True:
            try:
                data, passed, _, _ = self._channel.recvmsg(control.MAX_MESSAGE, socket.CMSG_SPACE(4))
            except BlockingIOError:
                self._flush()
                return True
            except OSError:
                return False
            descriptors = array.array("i")
            for _, _, packed in passed:
                descriptors.frombytes(packed[: len(packed) // 4 * 4])
            if not data:
                return False
            try:
                message = control.from_zygote(data)
            except control.ControlError:
                return False
            self._take(message, descriptors[0] if descriptors else -1)

    def _take(self, message: control.FromZygote, pidfd: int) -> None:
        if isinstance(message, control.Spawned):
            if pidfd >= 0:
                self._guests[message.id].born(pidfd)
            else:  # this process had no descriptor left to receive it
                self._guests[message.id].refused = "this process has no file descriptors left"
                self._send(control.Kill(message.id))
        elif isinstance(message, control.Ended):
            self._guests.pop(message.id).depart(message)
        elif isinstance(message, control.Refused):
            self._guests.pop(message.id).depart(refused=message.reason)

    async def _lose(self) -> None:
        """The zygote is gone: make sure that it and its guests are, then say so."""
        self.alive = False
        guests = list(self._guests.values())
        self._guests.clear()
        with trio.CancelScope(shield=True):
            await self.end()
            for guest in guests:
                guest.kill()
                if guest.pidfd >= 0:
                    with trio.move_on_after(_END_SECONDS):
                        await trio.lowlevel.wait_readable(guest.pidfd)
                guest.depart()

    # ------------------------------------------------------------------------------------ the end

    async def end(self) -> None:
        """End the zygote and every guest of it, and wait until it is reaped. Cancellation waits for that."""
        self.alive = False
        with trio.CancelScope(shield=True):
            if self._channel.fileno() >= 0:
                trio.lowlevel.notify_closing(self._channel)
                self._channel.close()
            for _, passed in self._unsent:
                if passed is not None:
                    passed.close()
            self._unsent.clear()
            await self._gone(_END_SECONDS)

    async def _gone(self, seconds: float) -> None:
        """Wait for the process to end; kill it after `seconds`."""
        if self._process.returncode is not None:
            return
        try:
            pidfd = os.pidfd_open(self._process.pid)
        except OSError:
            self._process.kill()
            self._process.wait()
            return
        try:
            with trio.move_on_after(seconds) as scope:
                await trio.lowlevel.wait_readable(pidfd)
            if scope.cancelled_caught:
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                await trio.lowlevel.wait_readable(pidfd)
            self._process.wait()
        finally:
            os.close(pidfd)


def _unconfined(missing: Sequence[Layer]) -> str:
    names = ", ".join(repr(layer.name) for layer in missing)
    return (
        "programs cannot be confined on this machine: "
        + "; ".join(f"no {layer.name}: {layer.detail}" for layer in missing)
        + ". `codemode doctor` says what would raise it; programs that you trust as much as your own code can run "
        f"without it by accept_missing={{{names}}} (codemode run --accept-missing)"
    )


def _status(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _said(diagnostics: int) -> str:
    """What the zygote wrote before it was ready, the end of it."""
    try:
        text = os.read(diagnostics, 65536).decode(errors="replace").strip()
    except BlockingIOError:
        text = ""
    return "\n" + text[-4000:] if text else " (it said nothing)"
