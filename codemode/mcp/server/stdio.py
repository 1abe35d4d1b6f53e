"""One client over the standard streams of this process.

While it serves, descriptor 0 is the null device and descriptor 1 is standard error, so that what a tool prints or
reads can never be taken for a message. The end of the input is the end of the client, and of what runs for it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import anyio
import trio
from mcp.shared.message import SessionMessage

from codemode.mcp.lines import MAX_MESSAGE_BYTES, read_messages, write_messages
from codemode.mcp.server.app import ProgramServer

__all__ = ["serve_stdio"]

_LAST_WORDS_SECONDS = 2.0  # to write what is already said to a client that closed its end


async def serve_stdio(program_server: ProgramServer) -> None:
    """Serve until the client closes its end. Cancellation ends what runs and is passed on."""
    with _own_streams() as (descriptor_in, descriptor_out):
        async with (
            trio.lowlevel.FdStream(descriptor_in) as source,
            trio.lowlevel.FdStream(descriptor_out) as target,
            program_server.watching(),
        ):
            await serve_streams(program_server, source, target)


async def serve_streams(
    program_server: ProgramServer, source: trio.abc.ReceiveStream, target: trio.abc.SendStream
) -> None:
    """Serve one client over a pair of byte streams, until it closes its end."""
    incoming, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, answers = anyio.create_memory_object_stream[SessionMessage](0)
    written = trio.Event()

    async def write() -> None:
        await write_messages(answers, target)
        written.set()
        # Nobody reads any more: there is nobody to serve.
        serving.cancel()

    with incoming, messages, outgoing, answers:
        async with trio.open_nursery() as nursery:
            serving = trio.CancelScope()
            nursery.start_soon(read_messages, source, incoming, MAX_MESSAGE_BYTES)
            nursery.start_soon(write)
            with serving:
                await program_server.server.run(messages, outgoing, program_server.options)
            outgoing.close()
            with trio.move_on_after(_LAST_WORDS_SECONDS):
                await written.wait()
            nursery.cancel_scope.cancel()


@contextlib.contextmanager
def _own_streams() -> Iterator[tuple[int, int]]:
    """Take the standard input and output for the client alone; give them back at the end."""
    sys.stdout.flush()
    kept = (os.dup(0), os.dup(1))
    used = (os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield used
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)
