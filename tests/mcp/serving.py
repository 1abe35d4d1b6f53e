"""A server of programs in this process, and clients of it over streams in memory."""

from contextlib import asynccontextmanager

import anyio
import trio
from mcp import Client
from mcp.shared.message import SessionMessage
from trio.testing import memory_stream_pair

from codemode import CodeMode, as_json, tool
from codemode.mcp.lines import read_messages, write_messages
from codemode.mcp.server import ProgramServer
from codemode.mcp.server.stdio import serve_streams


class Bench:
    """Tools that say what happens to them: `slow` goes on until it is cancelled, or `release` is set."""

    def __init__(self):
        self.running = 0
        self.most = 0
        self.cancelled = 0
        self.release = trio.Event()

    @property
    def tools(self):
        @tool(render=as_json, parallel=True)
        async def slow() -> str:
            """Go on until released."""
            self.running += 1
            self.most = max(self.most, self.running)
            try:
                await self.release.wait()
            except trio.Cancelled:
                self.cancelled += 1
                raise
            finally:
                self.running -= 1
            return "released"

        @tool(render=as_json, parallel=True, read_only=True)
        async def double(n: int) -> int:
            """Twice a number."""
            return 2 * n

        return [slow, double]


@asynccontextmanager
async def program_server(bench, *, mode="code", max_runs=10, registry=None, **options):
    async with CodeMode(registry or bench.tools, mode=mode, **options) as engine:
        server = ProgramServer(engine, max_runs=max_runs)
        async with server.watching():
            yield server, engine


@asynccontextmanager
async def connected(server):
    """A pair of streams to the server, as a pipe would be; leaving it is a client that vanishes."""
    ours, theirs = memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_streams, server, theirs, theirs)
        yield ours
        await ours.aclose()
        with trio.fail_after(10):
            while len(nursery.child_tasks):
                await trio.sleep(0.01)


@asynccontextmanager
async def _transport(stream):
    incoming, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, requests = anyio.create_memory_object_stream[SessionMessage](0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(read_messages, stream, incoming)
        nursery.start_soon(write_messages, requests, stream)
        yield messages, outgoing
        nursery.cancel_scope.cancel()
    for each in (incoming, messages, outgoing, requests):
        each.close()


@asynccontextmanager
async def client_of(server, mode="auto", **options):
    """The SDK's own client of the server; `mode` is `legacy` (with a handshake) or `auto` (without)."""
    async with connected(server) as stream:
        async with Client(_transport(stream), mode=mode, **options) as client:
            yield client


async def until(condition):
    with trio.fail_after(20):
        while not condition():
            await trio.sleep(0.01)
