"""A server that is a process: started, spoken to over its standard streams, ended with all that it started.

What it writes to standard error is kept, the last few lines of it, for the error message when it dies; it never
reaches the terminal of whoever runs this program. Nothing here knows what the messages mean.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
from collections.abc import AsyncIterator

import anyio
import trio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from codemode.mcp.client.config import Stdio
from codemode.mcp.lines import read_messages, write_messages

__all__ = ["ServerProcess", "Streams", "open_process"]

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_STOP_SECONDS = 2.0
"""How long a server may take to end by itself when its input is closed, and again after SIGTERM. The protocol names
the order (close, wait, SIGTERM, wait, SIGKILL) and no times."""

_REMAINING_SECONDS = 0.5
"""How long after a server's own end its children may still hold its output open."""

_UNWANTED = frozenset({"notifications/message"})
"""Notifications that nobody here reads; a server that logs much costs little that way."""

_LAST_WORDS = 2_000  # bytes of standard error that are kept

_log = logging.getLogger("codemode.mcp")


class ServerProcess:
    """A running server: its streams, and what is known of its end."""

    def __init__(self, name: str, process: trio.Process, streams: Streams) -> None:
        self.streams = streams
        self._name = name
        self._process = process
        self._words = b""
        self.was_stopped = False
        """Whether it had to be told to end."""

    def end(self) -> str:
        """Say how the process ended, with its last words, as far as that is known."""
        code = self._process.returncode
        how = "it closed its output"
        if code is not None and not self.was_stopped:
            how = f"it ended by signal {-code}" if code < 0 else f"it ended with exit code {code}"
        return how + self.last_words()

    def last_words(self) -> str:
        """What it last wrote to standard error, to be put behind a sentence; empty for nothing."""
        words = _printable(self._words.decode("utf-8", "replace")).strip()
        return f"; it last wrote: {words}" if words else ""

    async def listen_to_errors(self) -> None:
        """Read standard error to its end, and keep the last of it."""
        assert self._process.stderr is not None
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while data := await self._process.stderr.receive_some(8192):
                self._words = (self._words + data)[-_LAST_WORDS:]
                if _log.isEnabledFor(logging.DEBUG):
                    _log.debug("MCP server %r: %s", self._name, _printable(data.decode("utf-8", "replace")))


@contextlib.asynccontextmanager
async def open_process(name: str, config: Stdio) -> AsyncIterator[ServerProcess]:
    """Start a server; its process and all of its children are gone when this is left, however it is left.

    Raises OSError when it cannot be started.
    """
    process = await trio.lowlevel.open_process(
        [config.command, *config.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=config.cwd,
        env={**get_default_environment(), **config.env},
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    incoming, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, requests = anyio.create_memory_object_stream[SessionMessage](0)
    server = ServerProcess(name, process, (messages, outgoing))
    reading = trio.CancelScope()
    heard = trio.Event()

    async def read() -> None:
        assert process.stdout is not None
        with reading:
            await read_messages(process.stdout, incoming, unwanted=_UNWANTED)
        heard.set()

    async def watch() -> None:
        """When the process has ended, what its children still hold open is no conversation any more."""
        await process.wait()
        with trio.move_on_after(_REMAINING_SECONDS):
            await heard.wait()
        reading.cancel()
        incoming.close()

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            nursery.start_soon(write_messages, requests, process.stdin)
            nursery.start_soon(server.listen_to_errors)
            nursery.start_soon(watch)
            try:
                yield server
            finally:
                with trio.CancelScope(shield=True):
                    server.was_stopped = await _stop(process)
                nursery.cancel_scope.cancel()
    finally:
        for stream in (incoming, messages, outgoing, requests):
            stream.close()


async def _stop(process: trio.Process) -> bool:
    """Close its input, then ask it, then its whole group, to end; bounded. Return whether it had to be asked."""
    assert process.stdin is not None
    with contextlib.suppress(trio.BrokenResourceError, trio.BusyResourceError):
        await process.stdin.aclose()
    was_asked = False
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            was_asked = True
            _signal_group(process, number)
        with trio.move_on_after(_STOP_SECONDS):
            await process.wait()
        if process.returncode is not None:
            break
    _signal_group(process, signal.SIGKILL)  # what it started does not outlive it
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        with contextlib.suppress(trio.BrokenResourceError, trio.BusyResourceError):
            await stream.aclose()
    return was_asked


def _signal_group(process: trio.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)
