"""An HTTP server that answers wrongly: each call fails in words, and the next one works."""

import gzip
import json
from contextlib import asynccontextmanager
from functools import partial

import httpx2
import pytest
import trio

from codemode import CodeMode
from codemode.mcp import mcp_tools
from codemode.mcp.client.config import Http
from codemode.mcp.client.http import HttpServer

INFO = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "wrong", "version": "1"}}
TOOLS = [{"name": "t", "inputSchema": {"type": "object", "properties": {"how": {"type": "string"}}}}]


class Wrong:
    """A server of HTTP/1.1 in a few lines; each request has a connection of its own."""

    def __init__(self):
        self.sessions = 0
        self.calls = []
        self.valid = "none"
        self.encodings = set()

    async def serve(self, stream):
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                data = await stream.receive_some(65536)
                if not data:
                    return
                head += data
            head, _, body = head.partition(b"\r\n\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            while len(body) < int(fields.get(b"content-length", b"0")):
                body += await stream.receive_some(65536)
            with trio.move_on_after(20):
                try:
                    await self.answer(stream, head.split()[0], fields, json.loads(body or "{}"))
                except trio.BrokenResourceError:
                    return

    async def answer(self, stream, method, fields, message):
        called = message.get("method")
        self.encodings.add(fields[b"accept-encoding"])
        if method != b"POST":
            await self.send(stream, b"", status="405 No")
        elif called == "initialize":
            self.sessions += 1
            self.valid = f"s{self.sessions}"
            await self.reply(stream, message, {"result": INFO}, session=self.valid)
        elif called == "tools/list":
            await self.reply(stream, message, {"result": {"tools": TOOLS}})
        elif called == "tools/call":
            how = message["params"]["arguments"]["how"]
            self.calls.append(how)
            if fields[b"mcp-session-id"].decode() != self.valid:
                await self.send(stream, b"", status="404 Gone")
            else:
                await getattr(self, how)(stream, message)
        elif "id" in message:
            await self.reply(stream, message, {"error": {"code": -32601, "message": "no"}})
        else:
            await self.send(stream, b"", status="202 Accepted")

    async def send(self, stream, body, status="200 OK", kind="application/json", more=""):
        head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n{more}"
        head += f"content-length: {len(body)}\r\n\r\n"
        await stream.send_all(head.encode() + body)

    async def reply(self, stream, message, rest, session=None):
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **rest}).encode()
        await self.send(stream, body, more=f"mcp-session-id: {session}\r\n" if session else "")

    async def fine(self, stream, message):
        await self.reply(stream, message, {"result": {"content": [{"type": "text", "text": "fine"}]}})

    async def large(self, stream, message):
        await stream.send_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
        )
        for _ in range(100):
            await stream.send_all(b"[" * 1_000_000)

    async def large_event(self, stream, message):
        await stream.send_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: "
        )
        for _ in range(100):
            await stream.send_all(b"x" * 1_000_000)

    async def packed(self, stream, message):
        assert self.encodings == {b"identity"}  # nobody has asked for it
        body = gzip.compress(b" " * 10_000_000)
        assert len(body) < 20_000
        await self.send(stream, body, more="content-encoding: gzip\r\n")

    async def never(self, stream, message):
        await trio.sleep_forever()

    async def half(self, stream, message):
        await stream.send_all(
            b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"js'
        )

    async def half_event(self, stream, message):
        await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {")

    async def hang_up(self, stream, message):
        return

    async def broken(self, stream, message):
        await self.send(stream, b"oops", status="500 Broken", kind="text/plain")

    async def denied(self, stream, message):
        await self.send(stream, b"", status="401 Who")

    async def page(self, stream, message):
        await self.send(stream, b"<html>", kind="text/html")

    async def elsewhere(self, stream, message):
        await self.send(stream, b"", status="307 There", more="location: http://127.0.0.1:1/evil\r\n")

    async def no_json(self, stream, message):
        await self.send(stream, b"{nothing")

    async def forgotten(self, stream, message):
        self.valid = "none"
        await self.send(stream, b"", status="404 Gone")


@asynccontextmanager
async def wrong(**own):
    server = Wrong()
    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, host="127.0.0.1"), server.serve, 0)
        url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/mcp"
        config = {"mcpServers": {"far": {"url": url, "codemode": {"values": "unwrapped", **own}}}}
        async with mcp_tools(config) as tools, CodeMode(tools) as engine:
            yield server, engine
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("how", "code", "says"),
    [
        ("large", "INVALID_OUTPUT", "more than 33,554,432 bytes"),
        ("large_event", "MCP_CONNECTION_LOST", "exceed"),
        ("packed", "INVALID_OUTPUT", "is compressed"),
        ("never", "TOOL_TIMEOUT", "no answer and no sign of progress"),
        ("half", "MCP_CONNECTION_LOST", "not known"),
        ("half_event", "MCP_CONNECTION_LOST", "not known"),
        ("hang_up", "MCP_CONNECTION_LOST", "not known"),
        ("broken", "MCP_REFUSED", "HTTP 500"),
        ("denied", "MCP_REFUSED", "check the headers"),
        ("page", "MCP_REFUSED", "text/html"),
        ("elsewhere", "MCP_REFUSED", "not followed"),
        ("no_json", "INVALID_OUTPUT", "cannot be used"),
        ("forgotten", "MCP_UNAVAILABLE", "call it again"),
    ],
)
async def test_a_wrong_answer_fails_its_call_and_the_next_one_works(how, code, says):
    async with wrong(timeout=0.5 if how == "never" else 20) as (server, engine):
        outcome = await engine.call("far_t", {"how": how})
        assert outcome.is_error
        assert outcome.error.code == code, outcome.error.message
        assert says in outcome.error.message
        assert server.calls == [how]
        assert (await engine.call("far_t", {"how": "fine"})).value == "fine"
        assert server.sessions <= 2


async def test_a_call_that_goes_wrong_hurts_no_other_that_is_under_way():
    program = """
import asyncio
async def one(how):
    try:
        return await tools.far_t(how=how)
    except ToolCallError as error:
        return error.code
return await asyncio.gather(*[one(how) for how in ("fine", "broken", "fine", "page", "fine")])
"""
    async with wrong() as (_, engine):
        result = await engine.run(program)
        assert result.result == ["fine", "MCP_REFUSED", "fine", "MCP_REFUSED", "fine"]


class Endless(httpx2.AsyncByteStream):
    async def __aiter__(self):
        while True:
            yield b"x" * 2**22


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("mcp", 200, "text/html"),
        ("mcp", 200, "APPLICATION/JSON"),
        ("mcp", 200, ""),
        ("mcp", 401, "text/event-stream"),
        ("token", 200, "text/event-stream"),
    ],
)
async def test_whatever_is_read_whole_has_a_bound(path, status, kind):
    response = httpx2.Response(
        status,
        headers={"content-type": kind},
        stream=Endless(),
        request=httpx2.Request("POST", f"http://127.0.0.1/{path}"),
    )
    await HttpServer(Http(url="http://127.0.0.1/mcp")).look_at(response)
    with trio.fail_after(20), pytest.raises(httpx2.StreamError, match="more than 33,554,432 bytes"):
        async for _ in response.aiter_bytes():
            await trio.lowlevel.checkpoint()


async def test_events_that_are_compressed_are_not_read():
    response = httpx2.Response(
        200,
        headers={"content-type": "text/event-stream", "content-encoding": "GZip"},
        stream=Endless(),
        request=httpx2.Request("POST", "http://127.0.0.1/mcp"),
    )
    await HttpServer(Http(url="http://127.0.0.1/mcp")).look_at(response)
    with pytest.raises(httpx2.StreamError, match="the answer is compressed"):
        await response.aread()
