"""Programs for clients of the protocol, over a pair of streams."""

import json
from functools import partial

import pytest
import trio
from mcp.shared.exceptions import MCPError
from mcp_types import ToolListChangedNotification

from codemode import Image, Limits, Registry, as_json, tool
from codemode.mcp.server import app, report

from .serving import Bench, client_of, connected, program_server, until

BOTH = pytest.mark.parametrize("mode", ["legacy", "auto"])


def program(code, description="try"):
    return {"code": code, "description": description}


@BOTH
async def test_run_code_is_offered_with_schemas_and_the_signatures_of_the_tools(mode):
    async with program_server(Bench()) as (server, _), client_of(server, mode) as client:
        (offered,) = (await client.list_tools()).tools
        assert offered.name == "run_code"
        assert offered.input_schema["required"] == ["code", "description"]
        assert "async def double(n: int) -> int:" in offered.description
        (resource,) = (await client.list_resources()).resources
        text = (await client.read_resource(resource.uri)).contents[0].text
        assert text == (
            'async def double(n: int) -> int:\n    """Twice a number."""\n\n'
            'async def slow() -> str:\n    """Go on until released."""\n'
        )
        assert text in offered.description
        with pytest.raises(MCPError, match="there is codemode://signatures"):
            await client.read_resource("codemode://other")


@BOTH
async def test_a_run_gives_text_and_structured_output(mode):
    async with program_server(Bench()) as (server, _), client_of(server, mode) as client:
        result = await client.call_tool(
            "run_code", program("print('a')\nreturn [tools.double(4), None, 2**70]")
        )
        assert result.is_error is False
        assert result.structured_content == {"logs": ["a"], "result": [8, None, 2**70]}
        assert [block.text for block in result.content] == [
            "a\n[\n  8,\n  null,\n  1180591620717411303424\n]"
        ]
        result = await client.call_tool("run_code", program("pass"))
        assert result.structured_content == {"logs": []}


@BOTH
async def test_a_run_that_fails_is_an_error_with_its_kind_and_what_was_printed(mode):
    async with program_server(Bench()) as (server, _), client_of(server, mode) as client:
        result = await client.call_tool("run_code", program("print('before')\n1 / 0"))
        assert result.is_error is True
        assert result.structured_content["logs"] == ["before"]
        assert result.structured_content["error"]["kind"] == "exception"
        assert "line 2" in result.content[0].text
        assert "Printed before:\nbefore" in result.content[0].text


async def test_wrong_arguments_are_an_error_that_says_which():
    async with program_server(Bench()) as (server, _), client_of(server) as client:
        for arguments, says in (
            ({"code": "1"}, "description"),
            ({**program("1"), "extra": 1}, "there is no parameter 'extra'"),
            (program(5), "expected str, got int at code"),
            (program("1", " "), "description is empty"),
            ({}, "code"),
        ):
            result = await client.call_tool("run_code", arguments)
            assert result.is_error is True
            assert says in result.content[0].text
            assert result.structured_content["error"]["kind"] == "refused"


async def test_a_hidden_tool_that_is_called_says_where_it_can_be_called():
    async with program_server(Bench()) as (server, _), client_of(server) as client:
        result = await client.call_tool("double", {"n": 4})
        assert result.is_error is True
        assert "call tools.double(…) inside a run_code program instead" in result.content[0].text


async def test_tools_can_be_offered_beside_run_code():
    @tool(render=lambda arguments, value: [Image("aGk=", "image/png")])
    async def picture() -> dict[str, int]:
        """A picture."""
        return {"width": 1}

    async with (
        program_server(Bench(), mode="both", registry=[picture]) as (server, _),
        client_of(server) as client,
    ):
        offered = {each.name: each for each in (await client.list_tools()).tools}
        assert set(offered) == {"picture", "run_code"}
        assert offered["picture"].output_schema["type"] == "object"
        result = await client.call_tool("picture", {})
        assert result.structured_content == {"width": 1}
        assert (result.content[0].type, result.content[0].data) == ("image", "aGk=")


@BOTH
async def test_printed_lines_and_ended_calls_arrive_while_the_run_goes_on(mode):
    bench, logs, progress = Bench(), [], []

    async def on_log(params):
        logs.append(params.data)

    async def on_progress(amount, total, message):
        progress.append((amount, message))

    code = "print('one')\nprint('two', end='')\ntools.double(1)\ntools.slow()\nprint(' end')"
    options = {"logging_callback": on_log, "log_level": "info"}
    async with program_server(bench) as (server, _), client_of(server, mode, **options) as client:
        async with trio.open_nursery() as nursery:

            async def call():
                result = await client.call_tool("run_code", program(code), progress_callback=on_progress)
                assert result.structured_content["logs"] == ["one", "two end"]

            nursery.start_soon(call)
            await until(lambda: bench.running and logs and progress)
            assert logs == ["one"]
            assert progress[-1] in (
                (1.0, "1 call, double ended"),
                (1.0, "1 call, double ended, slow running for 0 s"),
            )
            bench.release.set()
        await until(lambda: len(logs) == 2)
        assert logs == ["one", "two end"]
        await until(lambda: progress[-1][0] >= 2)
        amounts = [amount for amount, _ in progress]
        assert amounts == sorted(set(amounts))


async def test_a_client_hears_now_and_then_what_a_long_run_waits_for(monkeypatch):
    monkeypatch.setattr(report, "_HEARTBEAT_SECONDS", 0.02)
    bench, progress = Bench(), []

    async def on_progress(amount, total, message):
        progress.append((amount, message))

    async with program_server(bench) as (server, _), client_of(server) as client:
        async with trio.open_nursery() as nursery:
            code = "import asyncio\nawait asyncio.gather(tools.slow(), tools.slow())"
            call = partial(client.call_tool, progress_callback=on_progress)
            nursery.start_soon(call, "run_code", program(code))
            await until(lambda: bench.running == 2 and len(progress) > 3)
            assert progress[-1] == (
                pytest.approx(0, abs=0.5),
                "0 calls, slow and 1 more running for 0 s",
            )
            bench.release.set()
        await until(lambda: progress[-1] == (2.0, "2 calls, slow ended"))


@pytest.mark.filterwarnings("ignore:The logging capability is deprecated")
async def test_log_messages_below_the_level_that_a_client_set_are_not_sent():
    logs = []

    async def on_log(params):
        logs.append(params.data)

    async with (
        program_server(Bench()) as (server, _),
        client_of(server, "legacy", logging_callback=on_log) as client,
    ):
        await client.set_logging_level("warning")
        await client.call_tool("run_code", program("print('quiet')"))
        await client.set_logging_level("debug")
        await client.call_tool("run_code", program("print('loud')"))
        await until(lambda: logs)
        assert logs == ["loud"]


async def test_a_newer_client_that_asked_for_no_logs_gets_none():
    logs = []

    async def on_log(params):
        logs.append(params.data)

    async with (
        program_server(Bench()) as (server, _),
        client_of(server, "auto", logging_callback=on_log) as client,
    ):
        await client.call_tool("run_code", program("print('a')"))
        await client.list_tools()
        assert logs == []


async def test_a_program_that_prints_many_lines_sends_few_messages_and_loses_none():
    logs = []

    async def on_log(params):
        logs.append(params.data)

    options = {"logging_callback": on_log, "log_level": "info"}
    async with program_server(Bench()) as (server, _), client_of(server, **options) as client:
        await client.call_tool("run_code", program("for n in range(30_000): print(n)"))
        await until(lambda: logs and logs[-1].endswith("29999"))
        assert "\n".join(logs).split("\n") == [str(n) for n in range(30_000)]
        assert len(logs) < 1_000


@BOTH
async def test_cancelling_a_request_kills_its_run(mode):
    bench = Bench()
    async with program_server(bench) as (server, engine), client_of(server, mode) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "run_code", program("tools.slow()"))
            await until(lambda: bench.running)
            nursery.cancel_scope.cancel()
        await until(lambda: bench.cancelled == 1)
        with trio.move_on_after(0.5):
            await client.call_tool("run_code", program("while True: pass"))
        await until(lambda: outcomes(engine) == ["abort", "abort"])
        assert (await client.call_tool("run_code", program("return 1"))).structured_content["result"] == 1


def outcomes(engine):
    return [event.data["outcome"] for event in engine.session.events() if event.type == "run/end"]


async def test_a_client_that_vanishes_takes_its_runs_with_it():
    bench = Bench()
    async with program_server(bench) as (server, engine):
        async with connected(server) as stream:
            await handshake(stream)
            for number in range(3):
                await send(
                    stream,
                    number + 1,
                    "tools/call",
                    {"name": "run_code", "arguments": program("tools.slow()")},
                )
            await until(lambda: bench.running == 3)
        assert bench.running == 0
        assert outcomes(engine) == ["abort"] * 3


async def test_a_client_that_closes_its_end_at_any_moment_leaves_nothing_running():
    bench = Bench()
    line = message(
        1, "tools/call", {"name": "run_code", "arguments": program("print('x' * 99)\ntools.slow()")}
    )
    async with program_server(bench) as (server, engine):
        for cut in range(0, len(line) + 40, 16):
            async with connected(server) as stream:
                await handshake(stream)
                await stream.send_all(line[:cut])
                for _ in range(cut % 7):
                    await trio.sleep(0)
        assert bench.running == 0
        starts = [event for event in engine.session.events() if event.type == "run/start"]
        assert len(starts) == len(outcomes(engine))


async def test_a_client_that_does_not_read_delays_no_other():
    bench = Bench()
    async with program_server(bench) as (server, _):
        async with connected(server) as stuck, client_of(server) as client:
            await handshake(stuck)
            arguments = program("for n in range(100_000): print(n)\nreturn 'x' * 1_000_000")
            await send(stuck, 1, "tools/call", {"name": "run_code", "arguments": arguments})
            for _ in range(3):
                result = await client.call_tool("run_code", program("return tools.double(2)"))
                assert result.structured_content["result"] == 4


async def test_twenty_runs_at_once_wait_for_their_turn_and_all_end():
    bench, results = Bench(), []
    async with program_server(bench, max_runs=4) as (server, _):
        async with client_of(server) as one, client_of(server, "legacy") as two:

            async def call(client, number):
                result = await client.call_tool(
                    "run_code", program(f"tools.slow()\nreturn tools.double({number})")
                )
                results.append(result.structured_content["result"])

            async with trio.open_nursery() as nursery:
                for number in range(20):
                    nursery.start_soon(call, one if number % 2 else two, number)
                await until(lambda: bench.running == 4)
                bench.release.set()
            assert sorted(results) == [2 * number for number in range(20)]
            assert bench.most == 4


async def test_more_calls_than_can_wait_are_refused(monkeypatch):
    monkeypatch.setattr(app, "_MAX_WAITING", 2)
    bench = Bench()
    async with program_server(bench, max_runs=1) as (server, _), client_of(server) as client:
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(client.call_tool, "run_code", program("tools.slow()"))
            await until(lambda: bench.running == 1 and server._turns.statistics().tasks_waiting == 2)
            result = await client.call_tool("run_code", program("1"))
            assert result.is_error
            assert "2 calls are waiting already" in result.content[0].text
            bench.release.set()


JUNK = [
    b"\n\n \n",
    b"hello\n",
    b"{}\n",
    b"[]\n",
    b"null\n",
    b"\xff\xfe\x00\n",
    b'{"jsonrpc":"2.0"}\n',
    b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":7,"method":5}\n',
    b'{"jsonrpc":"2.0","id":8,"method":"no/such"}\n',
    b'{"jsonrpc":"2.0","id":9,"method":"tools/call"}\n',
    b'{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":5}}\n',
    b'{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"run_code","arguments":[]}}\n',
    b'{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"\\u0000","arguments":{}}}\n',
    b'{"jsonrpc":"2.0","id":13,"result":{}}\n',
    b'{"jsonrpc":"2.0","id":14,"error":{"code":1,"message":"m"}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled"}\n',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{},"progress":"x"}}\n',
    b'{"jsonrpc":"2.0","id":15,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}\n',
    b'{"jsonrpc":"2.0","id":16,"method":"logging/setLevel","params":{"level":"shout"}}\n',
    b'{"a":' * 2000 + b"1" + b"}" * 2000 + b"\n",
    b'{"jsonrpc":"2.0","id":17,"method":"ping","params":{"x":"' + b"y" * 1_000_000 + b'"}}\n',
    b'{"jsonrpc":"2.0","id":18,"method":"ping","params":{"x":"\\ud800"}}\n',
]


async def test_junk_is_answered_or_dropped_and_the_client_is_served_on():
    async with program_server(Bench()) as (server, _), connected(server) as stream:
        await handshake(stream)
        for junk in JUNK:
            await stream.send_all(junk)
        await send(stream, 99, "tools/call", {"name": "run_code", "arguments": program("return 7")})
        answer = await answer_to(stream, 99)
        assert answer["result"]["structuredContent"] == {"logs": [], "result": 7}


async def test_a_message_beyond_the_bound_is_refused_and_the_client_is_served_on(monkeypatch):
    monkeypatch.setattr("codemode.mcp.server.stdio.MAX_MESSAGE_BYTES", 10_000)
    async with program_server(Bench()) as (server, _), connected(server) as stream:
        await handshake(stream)
        await send(stream, 1, "tools/call", {"name": "run_code", "arguments": program("x" * 20_000)})
        await send(stream, 2, "ping", {})
        assert (await answer_to(stream, 2))["result"] == {}


async def test_a_request_id_that_is_used_twice_and_cancels_at_each_moment_leave_the_server_whole():
    bench = Bench()
    async with program_server(bench) as (server, engine), connected(server) as stream:
        await handshake(stream)
        for pause in range(40):
            await send(stream, 5, "tools/call", {"name": "run_code", "arguments": program("tools.double(1)")})
            for _ in range(pause):
                await trio.sleep(0)
            await stream.send_all(message(None, "notifications/cancelled", {"requestId": 5}))
        await send(stream, 6, "tools/call", {"name": "run_code", "arguments": program("return 7")})
        assert (await answer_to(stream, 6))["result"]["structuredContent"]["result"] == 7
        await until(
            lambda: (
                len(outcomes(engine)) == len([e for e in engine.session.events() if e.type == "run/start"])
            )
        )


async def test_clients_are_told_when_the_tools_change():
    registry, told = Registry(Bench().tools), []

    async def on_message(message):
        told.append(type(message))

    @tool(render=as_json)
    async def added() -> int:
        """New."""
        return 1

    async with program_server(Bench(), registry=registry) as (server, _):
        async with client_of(server, "legacy", message_handler=on_message) as old, client_of(server) as new:
            await old.list_tools()
            async with new.listen(tools_list_changed=True) as subscription:
                remove = registry.register(added)
                await until(lambda: ToolListChangedNotification in told)
                with trio.fail_after(5):
                    await subscription.__anext__()
                for client in (old, new):
                    (offered,) = (await client.list_tools()).tools
                    assert "async def added() -> int:" in offered.description
                    assert (
                        await client.call_tool("run_code", program("return tools.added()"))
                    ).structured_content["result"] == 1
                remove()


async def test_limits_hold_for_each_run():
    limits = Limits(wall_seconds=0.5)
    async with program_server(Bench(), limits=limits) as (server, _), client_of(server) as client:
        result = await client.call_tool("run_code", program("tools.slow()"))
        assert result.structured_content["error"]["kind"] == "timeout"


def message(id_, method, params):
    body = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(body if id_ is None else {**body, "id": id_}).encode() + b"\n"


async def send(stream, id_, method, params):
    await stream.send_all(message(id_, method, params))


async def handshake(stream):
    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    await send(stream, 0, "initialize", client)
    await answer_to(stream, 0)
    await send(stream, None, "notifications/initialized", {})


async def answer_to(stream, id_):
    buffer = b""
    with trio.fail_after(20):
        while True:
            buffer += await stream.receive_some(65536)
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                if (answer := json.loads(line)).get("id") == id_:
                    return answer
