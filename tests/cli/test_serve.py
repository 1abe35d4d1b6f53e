"""`codemode serve` and `--mcp`, as a client program and a shell see them."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import trio
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult

PROJECT = Path(__file__).parents[2]
ODD = PROJECT / "tests" / "mcp" / "servers" / "odd.py"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PROJECT)}
TOOLS = """
from codemode import as_json, tool

@tool(render=as_json)
def shout(word: str) -> str:
    print("this must not reach the client")
    print(repr(input()) if False else "nor this", flush=True)
    return word.upper()

@tool(render=as_json, approval="it is final")
async def delete() -> None:
    pass
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "own.py").write_text(TOOLS)
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    odd = {"command": sys.executable, "args": ["-S", str(ODD), str(tmp_path / "journal")]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"odd": odd}}))
    return tmp_path


def command(*arguments):
    return [sys.executable, "-m", "codemode", *arguments]


def run(place, *arguments, **options):
    return subprocess.run(
        command(*arguments),
        cwd=place,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,
        **options,
    )


def parameters(place, *options):
    python, *arguments = command("serve", *options)
    return StdioServerParameters(command=python, args=arguments, cwd=place, env={"PYTHONPATH": str(PROJECT)})


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_program_runs_a_program_with_tools_of_all_kinds(place, mode):
    options = ("--tools", "own:shout", "--mcp", "mcp.json", "--session", "calls.db")
    code = """
print(tools.shout(word="hi"))
return [tools.read("a.txt")["totalLines"], tools.odd_echo(value=1)["structuredContent"]]
"""
    async with Client(parameters(place, *options), mode=mode) as client:
        (offered,) = (await client.list_tools()).tools
        assert "async def shout(word: str) -> str:" in offered.description
        assert "async def odd_echo(" in offered.description
        result = await client.call_tool("run_code", {"code": code, "description": "try"})
        assert result.structured_content == {"logs": ["HI"], "result": [2, {"value": 1}]}
    shown = run(place, "log", "show", "calls.db")
    assert "odd_echo" in shown.stdout


async def test_what_needs_approval_is_denied_unless_it_is_allowed(place):
    call = {"code": "tools.delete()", "description": "try"}
    async with Client(parameters(place, "--tools", "own:delete")) as client:
        result = await client.call_tool("run_code", call)
        assert result.is_error
        assert (
            "it is final: this needs approval, and the client cannot ask its user; use one with the capability "
            "elicitation, or serve with --allow delete" in result.content[0].text
        )
    async with Client(parameters(place, "--tools", "own:delete", "--allow", "delete")) as client:
        assert not (await client.call_tool("run_code", call)).is_error


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_what_needs_approval_is_put_to_the_user_of_a_client_that_can_ask(place, mode):
    shown = []

    async def user(context, form):
        shown.append(form.message)
        return ElicitResult(action="accept", content={"answer": "deny" if len(shown) > 1 else "allow once"})

    call = {"code": "tools.delete()", "description": "try"}
    options = {"mode": mode, "elicitation_callback": user}
    async with Client(parameters(place, "--tools", "own:delete"), **options) as client:
        assert not (await client.call_tool("run_code", call)).is_error
        assert (await client.call_tool("run_code", call)).is_error
    assert shown == ["A call that needs your approval:\n\ndelete {}\n  it is final"] * 2


async def test_a_client_that_is_killed_takes_the_server_and_its_guests_with_it(place):
    process = subprocess.Popen(
        command("serve"), cwd=place, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    handshake = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    call = {"name": "run_code", "arguments": {"code": "print('on')\nwhile True: pass", "description": "d"}}
    for message in (
        {"id": 0, "method": "initialize", "params": handshake},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/call", "params": call},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
    while b'"on"' not in process.stdout.readline():
        pass
    process.stdin.close()
    with trio.fail_after(20):
        assert await trio.to_thread.run_sync(process.wait) == 0
    process.stdout.close()


def test_a_signal_ends_it_in_order(place):
    for number in (signal.SIGTERM, signal.SIGINT):
        process = subprocess.Popen(
            command("serve", "--mcp", "mcp.json"),
            cwd=place,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        process.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
        assert process.returncode == (143 if number == signal.SIGTERM else 130)
        assert "Traceback" not in said


def test_over_http_it_says_where_and_serves_those_who_have_the_token(place):
    process = subprocess.Popen(
        command("serve", "--http", "127.0.0.1:0"),
        cwd=place,
        env={**ENVIRONMENT, "CODEMODE_TOKEN": "sesame"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        url = process.stderr.readline().split()[-1]
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(url, timeout=10)
        config = {"mcpServers": {"far": {"url": url, "headers": {"Authorization": "Bearer sesame"}}}}
        (place / "far.json").write_text(json.dumps(config))
        program = "return tools.far_run_code(code='return 7', description='d')['structuredContent']['result']"
        done = run(place, "run", "-", "--json", "--mcp", "far.json", input=program)
        assert json.loads(done.stdout) == {"logs": [], "result": 7}, done.stderr
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()
    assert process.returncode == 143


def test_run_gives_a_program_the_tools_of_mcp_servers(place):
    done = run(place, "run", "-", "--json", "--mcp", "mcp.json", input="return tools.odd_echo(value=[1])")
    assert json.loads(done.stdout)["result"]["structuredContent"] == {"value": [1]}
    denied = run(place, "run", "-", "--json", "--mcp", "mcp.json", input="tools.odd_wipe()")
    assert denied.returncode == 1
    assert "--allow odd_wipe" in json.loads(denied.stdout)["error"]["message"]
    allowed = run(place, "run", "-", "--mcp", "mcp.json", "--allow", "odd_wipe", input="tools.odd_wipe()")
    assert allowed.returncode == 0, allowed.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["serve", "--http", "8000"], "write HOST:PORT"),
        (["serve", "--http", "localhost:99999"], "write HOST:PORT"),
        (["serve", "--http", "0.0.0.0:0"], "--token TOKEN, or $CODEMODE_TOKEN"),
        (["serve", "--http", "192.0.2.1:80"], "--http 192.0.2.1:80: "),
        (["serve", "--mcp", "none.json"], "cannot read none.json"),
        (["serve", "--allow", "nothing"], "there is no such tool"),
        (["serve", "--max-runs", "0"], "whole number above 0"),
        (["run", "-", "--mcp", "bad.json"], "there is no command 'no-such-command'"),
        (["run", "-", "--mcp", "twice.json"], "there is a tool 'glob' already"),
    ],
)
def test_wrong_usage_says_what_to_do(place, arguments, says):
    (place / "bad.json").write_text('{"mcpServers": {"x": {"command": "no-such-command"}}}')
    server = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    results = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo":
        {"name": "s", "version": "1"}}, "tools/list": {"tools": [{"name": "glob", "inputSchema":
        {"type": "object"}}]}}
    if m.get("method") in results:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": results[m["method"]]}), flush=True)
    elif "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
"""
    twice = {"command": sys.executable, "args": ["-c", server], "codemode": {"prefix": ""}}
    (place / "twice.json").write_text(json.dumps({"mcpServers": {"s": twice}}))
    done = run(place, *arguments, input="")
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_extra_the_command_says_how_to_get_it(place):
    (place / "mcp").mkdir()
    (place / "mcp" / "__init__.py").write_text("raise ImportError('not here')")
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{place}:{PROJECT}"}
    for arguments in (["serve"], ["run", "-", "--mcp", "mcp.json"]):
        done = subprocess.run(
            command(*arguments),
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            input="",
        )
        assert done.returncode == 2
        assert "pip install 'codemode[mcp]'" in done.stderr
