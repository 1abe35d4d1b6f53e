"""Servers and a client that others have written, from npm, where they are installed.

    npm install --prefix .npm @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem \
        @modelcontextprotocol/server-memory @modelcontextprotocol/inspector

puts them where these tests look, `.npm` in the project; `CODEMODE_NPM` names another place.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codemode import CodeMode, Image
from codemode.mcp import mcp_tools

PROJECT = Path(__file__).parents[2]
PROGRAMS = Path(os.environ.get("CODEMODE_NPM", PROJECT / ".npm")) / "node_modules" / ".bin"
NEEDED = ["mcp-server-everything", "mcp-server-filesystem", "mcp-server-memory", "mcp-inspector"]
MISSING = [
    name for name in ["node", *NEEDED] if shutil.which(name, path=f"{PROGRAMS}:{os.environ['PATH']}") is None
]

pytestmark = pytest.mark.skipif(
    bool(MISSING),
    reason=f"not installed: {', '.join(MISSING)}; the opening of this file says how to install them",
)


def servers(place):
    return {
        "mcpServers": {
            "everything": {"command": str(PROGRAMS / "mcp-server-everything")},
            "fs": {"command": str(PROGRAMS / "mcp-server-filesystem"), "args": [str(place)]},
            "memory": {
                "command": str(PROGRAMS / "mcp-server-memory"),
                "env": {"MEMORY_FILE_PATH": str(place / "memory.json")},
                "codemode": {"values": "unwrapped"},
            },
        }
    }


async def run(engine, program):
    result = await engine.run(program)
    assert result.error is None, result.error
    return result.result


async def test_servers_of_others_work_as_tools(tmp_path):
    (tmp_path / "a.txt").write_text("hello\n")
    async with mcp_tools(servers(tmp_path)) as tools:
        assert [each.problems for each in tools.servers.values()] == [(), (), ()]
        async with CodeMode(tools, approver=lambda requests: "allow-once") as engine:
            assert await run(engine, "return tools.everything_get_sum(a=2, b=3)") == {
                "content": [{"type": "text", "text": "The sum of 2 and 3 is 5."}]
            }
            weather = (
                "return tools.everything_get_structured_content(location='Chicago')['structuredContent']"
            )
            assert set(await run(engine, weather)) == {"temperature", "conditions", "humidity"}
            picture = await engine.call("everything_get_tiny_image", {})
            assert [type(block) for block in picture.content][1] is Image
            read = f"return tools.fs_read_text_file(path={str(tmp_path / 'a.txt')!r})['structuredContent']"
            assert await run(engine, read) == {"content": "hello\n"}
            outside = await engine.run("tools.fs_read_text_file(path='/etc/passwd')")
            assert "Access denied" in outside.error.message
            many = f"""
import asyncio
found = await asyncio.gather(*[tools.fs_get_file_info(path={str(tmp_path / "a.txt")!r}) for _ in range(50)])
return len(found)
"""
            assert await run(engine, many) == 50
            graph = """
tools.memory_create_entities(entities=[{"name": "A", "entityType": "t", "observations": ["o"]}])
return tools.memory_read_graph()
"""
            found = await run(engine, graph)
            assert found["entities"] == [{"name": "A", "entityType": "t", "observations": ["o"]}]


def inspect(place, *arguments):
    done = subprocess.run(
        [str(PROGRAMS / "mcp-inspector"), "--cli", *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_inspector_lists_and_calls_over_standard_streams(tmp_path):
    serve = [sys.executable, "-m", "codemode", "serve"]
    (offered,) = inspect(tmp_path, *serve, "--method", "tools/list")["tools"]
    assert offered["name"] == "run_code"
    call = ["--method", "tools/call", "--tool-name", "run_code", "--tool-arg"]
    result = inspect(tmp_path, *serve, *call, "code=print('hi'); return 7", "description=try")
    assert result["structuredContent"] == {"logs": ["hi"], "result": 7}


@pytest.mark.parametrize("token", ["", "sesame"])
def test_the_inspector_calls_over_http(tmp_path, token):
    serve = [sys.executable, "-m", "codemode", "serve", "--http", "127.0.0.1:0"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "CODEMODE_TOKEN": token}
    process = subprocess.Popen(serve, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        url = process.stderr.readline().split()[-1]
        call = ["--method", "tools/call", "--tool-name", "run_code", "--tool-arg"]
        shown = ["--header", f"Authorization: Bearer {token}"] if token else []
        result = inspect(tmp_path, url, *call, "code=return 7", "description=try", *shown)
        assert result["structuredContent"] == {"logs": [], "result": 7}
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()
