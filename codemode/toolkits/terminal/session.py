"""One terminal: a program on a pseudo-terminal of its own, what it shows, and waiting until it has shown it.

Its work is done in one background task of its owner. What the program writes is read as it comes and drawn in a
worker thread; a program that writes faster than that waits, as it would at any terminal.

The pseudo-terminal is opened by `os.openpty`, and the program started by the same supervisor as any command: ptyprocess
would fork in the host, which has threads, and read in calls that block, and nothing above the program would end what
it leaves behind. The screen is pyte's.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import signal
import struct
import termios
from typing import Literal

import trio

from codemode import ToolError
from codemode.toolkits.processes.command import Place, started
from codemode.toolkits.terminal.screen import COLUMNS, ROWS, Screen

__all__ = ["Session", "WaitReason"]

WaitReason = Literal["stdin_read", "inferred_idle", "pattern", "timeout", "session_exit"]

QUIET_SECONDS = 0.1
"""Without output, before a program that waits for input is believed to be done."""
HANDOFF_SECONDS = 0.5
"""Likewise, when there was no output at all since the input."""
IDLE_SECONDS = 3.0
"""Without output, before any program is taken to be idle."""
POLL_SECONDS = 0.05

_DRAIN_SECONDS = 1.0
_INLINE_BYTES = 512  # so little is drawn at once, without a thread
_MAX_WAITING_BYTES = 64 * 1024
_READ_BYTES = 64 * 1024

# Where in the kernel a process sleeps that reads from a terminal, or waits until it can (/proc/PID/wchan).
_READING = (
    "wait_woken",
    "n_tty_read",
    "poll_",
    "do_poll",
    "do_select",
    "do_sys_poll",
    "core_sys",
    "ep_poll",
    "do_epoll",
)


class Session:
    """A terminal. `run` it in the background; `ready` is set when it has been started, or could not be (`error`)."""

    def __init__(self, id: str, type: str, name: str | None) -> None:
        self.id = id
        self.type = type
        self.name = name
        self.screen = Screen()
        self.pid: int | None = None
        self.exit_code: int | None = None
        self.signal: str | None = None
        self.error: ToolError | None = None
        self.ready = trio.Event()
        self.closing = trio.Event()
        self.gone = trio.Event()
        self.is_busy = False
        self.mark = 0  # the line in which the last input was typed
        self.seen = 0  # the line up to which output has been given
        self.seen_written = 0
        self.written = 0  # bytes that the program has written
        self._last_output = -math.inf
        self._waiting = bytearray()  # what it has written that is not drawn yet
        self._changed = trio.lowlevel.ParkingLot()
        self._drawing = trio.Lock()
        self._terminal: trio.lowlevel.FdStream | None = None
        self._slave = -1

    @property
    def has_exited(self) -> bool:
        return self.gone.is_set()

    async def run(self, place: Place, arguments: list[str]) -> None:
        """Start the program, and stay until it has ended or `closing` is set; then nothing of it is left."""
        try:
            with contextlib.ExitStack() as stack:
                master, self._slave = os.openpty()
                stack.callback(os.close, self._slave)
                self._terminal = trio.lowlevel.FdStream(master)
                stack.callback(self._terminal.close)
                os.set_inheritable(self._slave, False)
                termios.tcsetwinsize(self._slave, (ROWS, COLUMNS))
                await self._run(place, arguments)
        except ToolError as error:
            self.error = error
        except OSError as error:
            self.error = ToolError(
                f"no terminal could be opened: {error.strerror or error}", code="TERMINAL_FAILED"
            )
        finally:
            self._terminal = None
            self.gone.set()
            self.ready.set()
            self._changed.unpark_all()

    async def _run(self, place: Place, arguments: list[str]) -> None:
        async with (
            started(place, arguments, terminal=self._slave, TERM="xterm") as command,
            trio.open_nursery() as nursery,
        ):
            self.pid = command.pid
            self.ready.set()
            nursery.start_soon(self._read)
            nursery.start_soon(self._draw)
            nursery.start_soon(self._close, nursery.cancel_scope)
            await command.wait_exit()
            self.exit_code, self.signal = command.exit_code, command.signal
            # What it has written last is still to be read.
            with trio.move_on_after(_DRAIN_SECONDS):
                while self._waiting or self._drawing.locked() or _readable(self._file):
                    await self._changed.park()
            nursery.cancel_scope.cancel()

    async def _close(self, scope: trio.CancelScope) -> None:
        await self.closing.wait()
        scope.cancel()

    # -------------------------------------------------------------------------------- reading

    @property
    def _file(self) -> int:
        assert self._terminal is not None
        return self._terminal.fileno()

    async def _read(self) -> None:
        assert self._terminal is not None
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while data := await self._terminal.receive_some(_READ_BYTES):
                self.written += len(data)
                self._last_output = trio.current_time()
                self._waiting += data
                self._changed.unpark_all()
                while len(self._waiting) > _MAX_WAITING_BYTES:
                    await self._changed.park()

    async def _draw(self) -> None:
        while True:
            while not self._waiting:
                await self._changed.park()
            async with self._drawing:
                data = bytes(self._waiting[:_READ_BYTES])
                del self._waiting[:_READ_BYTES]
                if len(data) <= _INLINE_BYTES:
                    self.screen.feed(data)
                else:
                    await trio.to_thread.run_sync(self.screen.feed, data)
                replies = self.screen.replies
            self._last_output = trio.current_time()
            self._changed.unpark_all()
            if replies and self._terminal is not None:
                with contextlib.suppress(OSError):  # a program that does not read its answers
                    os.write(self._file, replies)

    async def look(self) -> Screen:
        """Return the screen, when nothing is drawing on it; valid until the next checkpoint."""
        async with self._drawing:
            return self.screen

    # --------------------------------------------------------------------------------- typing

    async def type_text(self, text: str) -> None:
        """Type some text; a line break is the return key. Raises `ToolError` TERMINAL_EXITED."""
        data = text.replace("\r\n", "\r").replace("\n", "\r").encode("utf-8", "replace")
        try:
            if self._terminal is None:
                raise trio.ClosedResourceError
            await self._terminal.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise ToolError(
                f"terminal session {self.id!r} has ended; open another one", code="TERMINAL_EXITED"
            ) from None

    async def settled(self, seconds: float, text: str | None, since: int, written: int) -> WaitReason:
        """Return why there is nothing more to wait for: see `WaitReason`.

        With `text` it is waited for, in the lines from number `since` on. `written` is what `self.written` was before
        the input that is answered.
        """
        begun = trio.current_time()
        reading = 0
        with trio.move_on_after(seconds):
            while True:
                seen = self.written
                if text is not None and await self._shows(text, since):
                    return "pattern"
                if self.has_exited:
                    return "session_exit"
                now = trio.current_time()
                quiet = now - max(self._last_output, begun)
                if text is None and not self._waiting and not self._drawing.locked():
                    if quiet >= IDLE_SECONDS:
                        return "inferred_idle"
                    needed = QUIET_SECONDS if self.written > written else HANDOFF_SECONDS
                    # Looked at twice: on a busy machine a program may sleep for a moment in the midst of its work.
                    reading = reading + 1 if quiet >= needed and self._is_reading() else 0
                    if reading == 2:
                        return "stdin_read"
                if text is None or seen == self.written:
                    with trio.move_on_after(POLL_SECONDS):
                        await self._changed.park()
        return "timeout"

    async def _shows(self, text: str, since: int) -> bool:
        screen = await self.look()
        lines = screen.rows() if screen.is_alternate else screen.lines(since)
        return text in "\n".join(lines)

    def _is_reading(self) -> bool:
        """Whether the program in the foreground has read all input, and sleeps until there is more."""
        try:
            if _readable(self._slave):
                return False
            with open(f"/proc/{self.foreground()}/wchan", encoding="ascii", errors="replace") as file:
                return file.read().startswith(_READING)
        except (OSError, ToolError):
            return False

    # -------------------------------------------------------------------------------- signals

    def foreground(self) -> int:
        """Return the process group in the foreground. Raises `ToolError` TERMINAL_EXITED when there is none."""
        with contextlib.suppress(OSError):
            if self._terminal is not None and (group := os.tcgetpgrp(self._file)) > 0:
                return group
        raise ToolError(
            f"terminal session {self.id!r} has no program in the foreground", code="TERMINAL_EXITED"
        )

    def send_signal(self, number: signal.Signals) -> int:
        """Send a signal to the foreground process group; return its number as the terminal's programs see it."""
        group = self.foreground()
        inside = _number_inside(group)
        try:
            os.killpg(group, number)
        except OSError as error:
            raise ToolError(
                f"{number.name} could not be delivered: {error.strerror}", code="TERMINAL_EXITED"
            ) from None
        return inside


def _readable(descriptor: int) -> bool:
    """Whether there is something to read that has not been read."""
    try:
        (count,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))
    except OSError:
        return False
    return bool(count)


def _number_inside(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("NSpid:"):
                    return int(line.split()[-1])
    except (OSError, ValueError):
        pass
    return pid
