"""Programs over HTTP: the door, clients that vanish, and a server of programs as a server of tools."""

import json
from contextlib import asynccontextmanager
from functools import partial

import httpx2
import pytest
import trio
from mcp import Client

from codemode import CodeMode
from codemode.mcp import McpError, mcp_tools
from codemode.mcp.server import TokenRequired, open_socket, serve_http
from codemode.mcp.server.http import is_loopback

from .serving import Bench, program_server, until

BOTH = pytest.mark.parametrize("mode", ["legacy", "auto"])
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@asynccontextmanager
async def served(bench, *, token=None, port=0, **options):
    """Serve on loopback; leaving it is a server that goes away. Gives the URL and the engine."""
    async with program_server(bench, **options) as (server, engine), trio.open_nursery() as nursery:
        serve = partial(serve_http, server, open_socket("127.0.0.1", port), host="127.0.0.1", token=token)
        yield await nursery.start(serve), engine
        nursery.cancel_scope.cancel()


async def post(url, body, **headers):
    async with httpx2.AsyncClient() as client:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await client.post(url, content=content, headers={**HEADERS, **headers})


def call(code):
    arguments = {"code": code, "description": "try"}
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "run_code", "arguments": arguments},
    }


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


@BOTH
async def test_two_clients_at_once_each_get_their_own_lines_and_results(mode):
    async with served(Bench()) as (url, _):
        results = {}

        async def one(number):
            logs = []

            async def on_log(params):
                logs.append(params.data)

            async with Client(url, mode=mode, logging_callback=on_log, log_level="info") as client:
                code = f"print('from {number}')\nreturn tools.double({number})"
                result = await client.call_tool("run_code", {"code": code, "description": "d"})
                await until(lambda: logs)
                results[number] = (result.structured_content["result"], logs)

        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(one, number)
        assert results == {number: (2 * number, [f"from {number}"]) for number in range(4)}


@BOTH
async def test_cancelling_kills_the_run(mode):
    bench = Bench()
    async with served(bench) as (url, _), Client(url, mode=mode) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "run_code", {"code": "tools.slow()", "description": "d"})
            await until(lambda: bench.running)
            nursery.cancel_scope.cancel()
        await until(lambda: bench.cancelled == 1)


@BOTH
async def test_a_client_that_vanishes_takes_its_run_with_it(mode):
    bench = Bench()
    async with served(bench) as (url, engine):
        headers = {}
        if mode == "legacy":
            headers["mcp-session-id"] = (await post(url, INITIALIZE)).headers["mcp-session-id"]
            await post(url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers)
        body = call("print('x')\ntools.slow()")
        if mode == "auto":
            headers |= {
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": "run_code",
            }
            body["params"]["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(post, url, body, **headers))
            await until(lambda: bench.running)
            nursery.cancel_scope.cancel()  # the connection is closed, and nothing is said
        await until(lambda: bench.cancelled == 1)
        await until(
            lambda: [e.data["outcome"] for e in engine.session.events() if e.type == "run/end"] == ["abort"]
        )


async def test_a_token_is_asked_for_on_every_request():
    async with served(Bench(), token="sesame") as (url, _):
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "sesame"}):
            answer = await post(url, INITIALIZE, **headers)
            assert answer.status_code == 401
            assert "Bearer TOKEN" in answer.text
            assert answer.headers["www-authenticate"] == "Bearer"
        assert (await post(url, INITIALIZE, authorization="Bearer sesame")).status_code == 200


async def test_an_empty_token_is_none():
    async with served(Bench(), token="") as (url, _):
        assert (await post(url, INITIALIZE)).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": "127.0.0.1:1"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"content-type": "text/plain"}, 400),
    ],
)
async def test_a_page_in_a_browser_is_turned_away(headers, status):
    async with served(Bench()) as (url, _):
        assert (await post(url, INITIALIZE, **headers)).status_code == status


async def test_other_paths_and_bodies_too_large_and_junk_are_refused_and_it_serves_on():
    async with served(Bench()) as (url, _):
        assert (await post(url + "/x", INITIALIZE)).status_code == 404
        assert (await post(url, b"{" * 5_000_000)).status_code == 413
        for junk in (b"", b"{", b"[]", b"5", b"\xff", b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'):
            assert 400 <= (await post(url, junk)).status_code < 500
        assert (await post(url, call("1"), **{"mcp-session-id": "none"})).status_code in (400, 404)
        async with Client(url) as client:
            result = await client.call_tool("run_code", {"code": "return 7", "description": "d"})
            assert result.structured_content == {"logs": [], "result": 7}


def test_what_reaches_this_machine_alone():
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"]))
    assert not any(
        map(is_loopback, ["0.0.0.0", "::", "192.168.1.1", "example.org", "", "localhost.evil.example"])
    )


async def test_an_address_that_others_can_reach_needs_a_token():
    async with program_server(Bench()) as (server, _):
        with pytest.raises(TokenRequired, match="give a token"):
            await serve_http(server, open_socket("127.0.0.1", 0), host="0.0.0.0")


@pytest.mark.parametrize("with_token", [False, True])
async def test_its_tools_are_tools_of_another_engine(with_token):
    token = "sesame" if with_token else None
    async with served(Bench(), mode="both", token=token) as (url, _):
        headers = {"Authorization": "Bearer ${TOKEN}"} if with_token else {}
        config = {"mcpServers": {"far": {"type": "http", "url": url, "headers": headers}}}
        async with mcp_tools(config, environment={"TOKEN": "sesame"}) as tools, CodeMode(tools) as engine:
            assert tools.require("far_double").parallel is True
            program = """
inner = "return tools.double(n=4)"
return tools.far_run_code(code=inner, description="inside")["structuredContent"], tools.far_double(n=2)
"""
            result = await engine.run(program)
            assert result.result == [{"logs": [], "result": 8}, {"content": [{"type": "text", "text": "4"}]}]


async def test_a_server_that_refuses_the_token_says_so():
    async with served(Bench(), token="sesame") as (url, _):
        with pytest.raises(McpError, match=r"HTTP 401; check the headers in its entry"):
            async with mcp_tools({"mcpServers": {"far": {"url": url}}}):
                raise AssertionError


async def test_a_server_that_nobody_runs_says_so():
    listener = open_socket("127.0.0.1", 0)
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(McpError, match="cannot connect"):
        async with mcp_tools({"mcpServers": {"far": {"url": f"http://127.0.0.1:{port}/mcp"}}}):
            raise AssertionError


async def test_a_server_that_went_away_is_connected_to_again():
    async with served(Bench(), mode="both") as (url, _):
        port = int(url.split(":")[2].split("/")[0])
    bench = Bench()
    async with trio.open_nursery() as nursery:
        first = trio.CancelScope()

        async def serve_first(task_status):
            with first:
                async with served(Bench(), mode="both", port=port):
                    task_status.started()
                    await trio.sleep_forever()

        await nursery.start(serve_first)
        async with mcp_tools({"mcpServers": {"far": {"url": url}}}) as tools, CodeMode(tools) as engine:
            assert (await engine.call("far_double", {"n": 2})).value["content"][0]["text"] == "4"
            first.cancel()
            await trio.sleep(0.2)
            async with served(bench, mode="both", port=port):
                with trio.fail_after(20):
                    while (await engine.call("far_double", {"n": 3})).is_error:
                        await trio.sleep(0.1)
                assert (await engine.call("far_double", {"n": 3})).value["content"][0]["text"] == "6"
