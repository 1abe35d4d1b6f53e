"""Other servers' tools as tools here, over a server that misbehaves on request."""

import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from codemode import CodeMode, Image, Text, ToolDefinitionError, as_json, text, tool
from codemode.mcp import McpError, mcp_tools

ODD = Path(__file__).parent / "servers" / "odd.py"


def entry(place, *behaviours, **own):
    journal = str(place / "journal")
    return {"command": sys.executable, "args": ["-S", str(ODD), journal, *behaviours], "codemode": own}


def received(place):
    return [json.loads(line) for line in (place / "journal").read_text().splitlines()]


@asynccontextmanager
async def odd(place, *behaviours, hooks=None, approver=None, **own):
    async with mcp_tools({"mcpServers": {"odd": entry(place, *behaviours, **own)}}) as tools:
        async with CodeMode(tools, approver=approver, hooks=hooks) as engine:
            yield engine, tools


async def run(engine, program):
    result = await engine.run(program)
    assert result.error is None, result.error
    return result.result


async def failed(engine, name, **arguments):
    outcome = await engine.call(name, arguments)
    assert outcome.is_error, outcome
    return outcome.error


async def until(condition):
    with trio.fail_after(20):
        while not condition():
            await trio.sleep(0.01)


async def test_a_value_is_the_protocols_content_and_structured_content(tmp_path):
    async with odd(tmp_path) as (engine, _):
        value = await run(engine, "return tools.odd_echo({'a': [1, None, 2**70, -0.0]})")
        assert value == {
            "content": [{"type": "text", "text": '{"a": [1, null, 1180591620717411303424, -0.0]}'}],
            "structuredContent": {"value": {"a": [1, None, 2**70, -0.0]}},
        }
        assert (
            await run(engine, "return type(tools.odd_echo(None)['structuredContent']['value']).__name__")
            == "NoneType"
        )


async def test_a_value_without_structured_content_has_none(tmp_path):
    async with odd(tmp_path) as (engine, _):
        value = await run(engine, "return tools.odd_read_it()")
        assert value == {"content": [{"type": "text", "text": "read-it"}]}


async def test_a_value_is_frozen(tmp_path):
    async with odd(tmp_path) as (engine, _):
        result = await engine.run("tools.odd_read_it()['content'].append(1)")
        assert result.error.kind == "exception"
        assert "cannot be changed" in result.error.message


async def test_an_output_schema_is_enforced(tmp_path):
    async with odd(tmp_path) as (engine, _):
        assert await run(engine, "return tools.odd_typed(n=3)['structuredContent']['n']") == 3
        wrong = await failed(engine, "odd_typed", n="three")
        assert wrong.code == "INVALID_OUTPUT"
        assert "value.structuredContent.n" in wrong.message
        missing = await failed(engine, "odd_typed")
        assert "structuredContent" in missing.message


async def test_content_blocks_are_kept_as_they_came_whatever_they_are(tmp_path):
    blocks = [
        {"type": "hologram", "x": 1},
        5,
        {"type": "text"},
        {"type": "text", "text": "t", "_meta": {"a": 1}},
    ]
    async with odd(tmp_path) as (engine, _):
        outcome = await engine.call("odd_answer", {"result": {"content": blocks}})
        assert outcome.value == {"content": blocks}
        assert outcome.content == (
            text(
                "[a content block of type 'hologram'; programs get it as it is]\n"
                "[a content block that is no object]\nt"
            ),
        )


async def test_a_direct_call_shows_images_and_a_program_gets_their_data(tmp_path):
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    async with odd(tmp_path) as (engine, _):
        outcome = await engine.call("odd_answer", {"result": {"content": [image]}})
        assert outcome.content == (Image("aGk=", "image/png"),)
        program = f"return tools.odd_answer(result={{'content': [{image!r}]}})['content'][0]['data']"
        data = await run(engine, program)
        assert data == "aGk="


@pytest.mark.parametrize(
    ("returned", "content"),
    [
        ("len(images)", (Text("50"),)),
        (
            "images[7]['content'][0]",
            (Text("[picture 1, image/png, shown below]"), Image("aGk=", "image/png")),
        ),
        (
            "images[7]",
            (
                Text('{\n  "content": [\n    "[picture 1, image/png, shown below]"\n  ]\n}'),
                Image("aGk=", "image/png"),
            ),
        ),
    ],
)
async def test_of_fifty_images_only_what_the_program_returns_is_shown(tmp_path, returned, content):
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    async with odd(tmp_path) as (engine, _):
        program = f"""
images = [tools.odd_answer(result={{"content": [{image!r}]}}) for _ in range(50)]
return {returned}
"""
        outcome = await engine.call("run_code", {"code": program, "description": "look"})
        assert outcome.content == content


async def test_more_pictures_than_a_model_takes_in_are_named(tmp_path):
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    async with odd(tmp_path) as (engine, _):
        outcome = await engine.call("run_code", {"code": f"return [{image!r}] * 25", "description": "look"})
        assert len([block for block in outcome.content if isinstance(block, Image)]) == 20
        assert "[picture 21, image/png, not shown: more than 20 pictures]" in outcome.content[0].text
        assert outcome.value["result"] == [image] * 25


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"content": [{"type": "text", "text": '[{"id": 1}]'}]}, [{"id": 1}]),
        ({"content": [{"type": "text", "text": "plain"}]}, "plain"),
        ({"content": [{"type": "text", "text": "NaN"}]}, "NaN"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"content": [{"type": "text", "text": "x"}], "structuredContent": {"y": 2}}, {"y": 2}),
        ({"content": []}, None),
        ({"content": [{"type": "image", "data": "", "mimeType": "image/png"}]},) * 2,
    ],
)
async def test_unwrapped_values_are_structured_content_or_parsed_text_or_text(tmp_path, result, value):
    if isinstance(value, dict) and "content" in value:
        value = value["content"]
    async with odd(tmp_path, values="unwrapped") as (engine, _):
        assert await run(engine, f"return tools.odd_answer(result={result!r})") == value


async def test_an_unwrapped_value_has_the_servers_own_output_schema(tmp_path):
    async with odd(tmp_path, values="unwrapped") as (engine, tools):
        assert await run(engine, "return tools.odd_typed(n=3)") == {"n": 3}
        assert tools.require("odd_typed").output.schema.json_schema["required"] == ["n"]
        assert (await failed(engine, "odd_typed", n="x")).code == "INVALID_OUTPUT"


async def test_a_result_that_says_error_raises_with_its_text(tmp_path):
    program = """
try:
    tools.odd_answer(result={"content": [{"type": "text", "text": "quota 0 left"}], "isError": True})
except ToolCallError as error:
    return [error.message, error.code]
"""
    async with odd(tmp_path) as (engine, _):
        assert await run(engine, program) == ["quota 0 left", "MCP_TOOL_FAILED"]


async def test_an_error_of_the_protocol_raises_with_its_message(tmp_path):
    async with odd(tmp_path) as (engine, _):
        line = '{"jsonrpc": "2.0", "id": ID, "error": {"code": -32602, "message": "no such page"}}'
        error = await failed(engine, "odd_raw", line=line)
        assert (error.code, error.message) == ("MCP_REFUSED", "MCP server 'odd' refused 'raw': no such page")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"\\ud800"}]}}',
            "no valid JSON-RPC",
        ),
        ('{"jsonrpc":"2.0","id":ID,"result":' + "[" * 3000 + "]" * 3000 + "}", "no valid JSON-RPC"),
        ('{"jsonrpc":"2.0","id":ID,"result":[1]}', "no valid JSON-RPC"),
        ('{"jsonrpc":"2.0","id":ID,"result":{"content":"text"}}', "no list of content blocks"),
        ('{"jsonrpc":"2.0","id":ID,"result":{"content":[{"n":NaN}]}}', "nan is not a JSON number"),
        (
            '{"jsonrpc":"2.0","id":ID,"result":{"resultType":"input_required","inputRequests":{}}}',
            "input_required",
        ),
        ('{"result":{"content":[{"n":1' + "0" * 5000 + '}]},"jsonrpc":"2.0","id":ID}', ""),
        ("this is no answer", "no valid JSON-RPC"),
    ],
)
async def test_an_answer_that_is_none_fails_its_call_and_the_next_one_works(tmp_path, line, says):
    async with odd(tmp_path) as (engine, _):
        error = await failed(engine, "odd_raw", line=line)
        assert says in error.message
        assert await run(engine, "return tools.odd_read_it()['content'][0]['text']") == "read-it"
        assert len([m for m in received(tmp_path) if m["method"] == "initialize"]) == 1


@pytest.mark.parametrize("name", ["odd_noise", "odd_flood"])
async def test_a_server_that_writes_something_else_meanwhile_is_still_heard(tmp_path, name):
    async with odd(tmp_path) as (engine, _):
        outcome = await engine.call(name, {})
        # Something that is no message may have been the answer to whatever waits: then that fails, and says so.
        if outcome.is_error:
            assert "no valid JSON-RPC message" in outcome.error.message
        assert await run(engine, "return tools.odd_read_it()['content'][0]['text']") == "read-it"


async def test_an_answer_of_100_megabytes_costs_its_own_call_and_no_memory(tmp_path):
    async with odd(tmp_path) as (engine, _):
        before = max_resident()
        error = await failed(engine, "odd_big", size=100_000_000)
        assert "the most that is taken in is 33,554,432" in error.message
        assert max_resident() - before < 100_000_000
        assert await run(engine, "return tools.odd_read_it()['content'][0]['text']") == "read-it"


def max_resident():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


async def test_an_answer_of_some_megabytes_arrives_whole(tmp_path):
    async with odd(tmp_path) as (engine, _):
        assert (
            await run(engine, "return len(tools.odd_big(size=5_000_000)['content'][0]['text'])") == 5_000_000
        )


async def test_a_second_answer_and_a_late_one_are_dropped(tmp_path):
    async with odd(tmp_path, timeout=0.2) as (engine, _):
        assert (await engine.call("odd_twice", {})).value["content"][0]["text"] == "first"
        assert (await failed(engine, "odd_late")).code == "TOOL_TIMEOUT"
        assert (await engine.call("odd_read-it".replace("-", "_"), {})).value["content"][0][
            "text"
        ] == "read-it"
        assert (await engine.call("odd_pid", {})).value["content"][0]["text"].isdigit()


async def test_a_call_that_is_never_answered_times_out_and_the_server_is_told(tmp_path):
    async with odd(tmp_path, timeout=0.2) as (engine, _):
        error = await failed(engine, "odd_never")
        assert error.code == "TOOL_TIMEOUT"
        assert "no answer and no sign of progress within 0.2 s" in error.message
        await until(lambda: any(m["method"] == "notifications/cancelled" for m in received(tmp_path)))


async def test_signs_of_progress_prolong_a_call(tmp_path):
    async with odd(tmp_path, timeout=0.7) as (engine, _):
        assert (await engine.call("odd_progress", {})).value["content"][0]["text"] == "done"


async def test_cancelling_a_run_is_told_to_the_server(tmp_path):
    async with odd(tmp_path) as (engine, _):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(engine.run, "tools.odd_never()")
            await until(lambda: any(m.get("params", {}).get("name") == "never" for m in received(tmp_path)))
            nursery.cancel_scope.cancel()
        sent = received(tmp_path)
        call = next(m for m in sent if m.get("params", {}).get("name") == "never")
        await until(lambda: received(tmp_path)[-1]["method"] == "notifications/cancelled")
        assert received(tmp_path)[-1]["params"]["requestId"] == call["id"]


async def test_a_server_that_dies_fails_the_call_is_started_again_and_nothing_is_sent_twice(tmp_path):
    async with odd(tmp_path) as (engine, tools):
        first = (await engine.call("odd_pid", {})).value["content"][0]["text"]
        error = await failed(engine, "odd_die")
        assert error.code == "MCP_CONNECTION_LOST"
        assert "whether the call took effect is not known" in error.message
        second = (await engine.call("odd_pid", {})).value["content"][0]["text"]
        assert first != second
        assert tools.servers["odd"].problem == ""
        assert [m["params"]["name"] for m in received(tmp_path) if m["method"] == "tools/call"].count(
            "die"
        ) == 1


async def test_a_server_that_is_killed_while_a_run_is_on_is_there_again_for_it(tmp_path):
    program = """
import asyncio
pid = int((await tools.odd_pid())["content"][0]["text"])
await tools.kill(pid=pid)
return int((await tools.odd_pid())["content"][0]["text"]) != pid
"""

    @tool(render=as_json)
    async def kill(pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        await trio.sleep(0.1)

    async with mcp_tools({"mcpServers": {"odd": entry(tmp_path)}}) as tools:
        async with CodeMode(tools.scope([kill])) as engine:
            assert await run(engine, program) is True


async def test_a_change_of_the_list_reaches_programs_and_leaves_other_tools_as_they_are(tmp_path):
    async with odd(tmp_path) as (engine, tools):
        kept = tools.require("odd_echo")
        await run(engine, "tools.odd_grow()")
        await until(lambda: "odd_grown16" in tools)
        assert "odd_twice" not in tools
        assert tools.require("odd_echo") is kept
        assert await run(engine, "return tools.odd_grown16()['content'][0]['text']") == "grown16"
        listings = [m for m in received(tmp_path) if m["method"] == "tools/list"]
        assert len(listings) < 10  # of fifty notifications


async def test_a_tool_that_is_gone_fails_a_run_that_still_calls_it(tmp_path):
    program = """
import asyncio
await tools.odd_grow()
for _ in range(200):
    try:
        await tools.odd_twice()
    except ToolCallError as error:
        return error.message
    await asyncio.sleep(0.02)
"""
    async with odd(tmp_path) as (engine, _):
        assert "unknown tool 'odd_twice'" in await run(engine, program)


async def test_a_list_in_pages_is_read_whole(tmp_path):
    async with odd(tmp_path, "pages") as (_, tools):
        assert len(tools.servers["odd"].tools) == 16


async def test_wrong_tools_are_left_out_by_name_and_the_others_work(tmp_path):
    async with odd(tmp_path, "wrong") as (engine, tools):
        problems = "\n".join(tools.servers["odd"].problems)
        for name in ("no-schema", "text-schema", "array-schema"):
            assert f"tool {name!r} is left out" in problems
        assert "a tool has no name" in problems
        assert "'echo' is listed twice" in problems
        assert "odd_no_schema" not in tools
        assert await run(engine, "return tools.odd_echo(1)['structuredContent']") == {"value": 1}
        # A schema that cannot be enforced is left to the server, and an output schema counts as any JSON.
        assert await run(engine, "return tools.odd_remote(a=1)['content'][0]['text']") == "remote"
        assert await run(engine, "return tools.odd_format(a=300)['content'][0]['text']") == "format"
        assert await run(engine, "return tools.odd_bad_output()['content'][0]['text']") == "bad-output"
        assert (await failed(engine, "odd_format", a="x")).code == "INVALID_ARGUMENTS"


async def test_read_only_tools_may_overlap_and_destructive_ones_need_approval(tmp_path):
    async with odd(tmp_path) as (engine, tools):
        assert tools.require("odd_read_it").parallel is True
        assert tools.require("odd_echo").parallel is False
        error = await failed(engine, "odd_wipe")
        assert error.code == "DENIED"
        assert "MCP server 'odd' marks 'wipe' as destructive" in error.message
    async with odd(tmp_path, approver=lambda requests: "allow-once") as (engine, _):
        assert not (await engine.call("odd_wipe", {})).is_error
    async with odd(tmp_path, approval="never") as (engine, _):
        assert not (await engine.call("odd_wipe", {})).is_error
    async with odd(tmp_path, approval="always") as (engine, _):
        assert (await failed(engine, "odd_read_it")).code == "DENIED"


async def test_a_server_that_dies_when_asked_for_the_newer_protocol_gets_the_older_one(tmp_path):
    async with odd(tmp_path, "touchy") as (engine, tools):
        assert await run(engine, "return tools.odd_read_it()['content'][0]['text']") == "read-it"
        assert tools.servers["odd"].instructions == "Be kind."


async def test_a_server_that_cannot_start_says_why_with_its_last_words(tmp_path):
    with pytest.raises(
        McpError, match=r"'odd' cannot be used: .*exit code 3; it last wrote: no licence found"
    ):
        async with mcp_tools({"mcpServers": {"odd": entry(tmp_path, "exit")}}):
            raise AssertionError
    with pytest.raises(McpError, match=r"there is no command 'no-such-command-here'"):
        async with mcp_tools({"mcpServers": {"odd": {"command": "no-such-command-here"}}}):
            raise AssertionError


async def test_a_server_that_never_gets_ready_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("codemode.mcp.client.connection.START_SECONDS", 0.5)
    with pytest.raises(McpError, match="did not get ready within 0.5 s"):
        async with mcp_tools({"mcpServers": {"odd": entry(tmp_path, "silent")}}):
            raise AssertionError


async def test_an_optional_server_that_is_not_there_hurts_no_other(tmp_path):
    servers = {"odd": entry(tmp_path), "gone": {"command": "no-such-command", "codemode": {"optional": True}}}
    async with mcp_tools({"mcpServers": servers}) as tools:
        assert tools.servers["gone"].problem == "there is no command 'no-such-command'"
        async with CodeMode(tools) as engine:
            assert await run(engine, "return tools.odd_read_it()['content'][0]['text']") == "read-it"


async def test_two_servers_with_the_same_tools_are_told_apart_by_prefix(tmp_path):
    servers = {"my-one": entry(tmp_path), "2nd": entry(tmp_path)}
    async with mcp_tools({"mcpServers": servers}) as tools:
        assert {"my_one_echo", "mcp_2nd_echo"} <= {each.name for each in tools}


async def test_two_tools_of_one_name_are_an_error_that_names_both_servers(tmp_path):
    servers = {"one": entry(tmp_path, prefix=""), "two": entry(tmp_path, prefix="")}
    with pytest.raises(McpError) as caught:
        async with mcp_tools({"mcpServers": servers}):
            raise AssertionError
    assert "the name 'echo' is taken by server" in str(caught.value)
    assert '"codemode": {"prefix": …}' in str(caught.value)


async def test_an_own_tool_goes_over_a_servers_and_a_second_one_is_refused(tmp_path):
    @tool(render=as_json)
    async def odd_echo(value: int) -> int:
        return value

    async with mcp_tools({"mcpServers": {"odd": entry(tmp_path)}}) as tools:
        with pytest.raises(ToolDefinitionError, match="'odd_echo' is registered already"):
            tools.register(odd_echo)
        async with CodeMode(tools.scope([odd_echo])) as engine:
            assert await run(engine, "return tools.odd_echo(1)") == 1


async def test_leaving_ends_the_server_also_one_that_will_not(tmp_path, monkeypatch):
    monkeypatch.setattr("codemode.mcp.client.process._STOP_SECONDS", 0.3)
    for behaviour in ("", "stubborn"):
        async with odd(tmp_path, behaviour) as (engine, _):
            pid = int((await engine.call("odd_pid", {})).value["content"][0]["text"])
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_an_error_of_the_user_passes_unwrapped(tmp_path):
    with pytest.raises(ZeroDivisionError):
        async with mcp_tools({"mcpServers": {"odd": entry(tmp_path)}}):
            raise ZeroDivisionError


async def test_cancelling_at_any_time_leaves_no_process(tmp_path):
    for delay in (0, 0.01, 0.05, 0.1, 0.2):
        with trio.move_on_after(delay):
            async with mcp_tools({"mcpServers": {"odd": entry(tmp_path)}}):
                await trio.sleep_forever()
    assert str(tmp_path) not in all_command_lines()


def all_command_lines():
    found = ""
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += each.read_text().replace("\0", " ")
        except OSError:
            continue
    return found


async def test_only_a_few_variables_are_inherited(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "hidden")
    show = "import os, sys; sys.stderr.write('|'.join(sorted(os.environ)) + os.environ['GIVEN'])"
    config = {"command": sys.executable, "args": ["-S", "-c", show], "env": {"GIVEN": "${SECRET_KEY}!"}}
    with pytest.raises(McpError) as caught:
        async with mcp_tools({"mcpServers": {"odd": config}}):
            raise AssertionError
    assert "SECRET_KEY" not in str(caught.value)
    assert "hidden!" in str(caught.value)
