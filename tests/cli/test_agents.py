"""`--toolkit agents`: with a chat they share its model, with a run the environment names one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import trio

from codemode import Session
from tests.agent.server import Recorded, plays, recorded
from tests.cli.test_chat import chat, environment
from tests.conversation.scripts import answer, said, use

PROGRAM = "return tools.subagent(description='look', prompt='Look.')['output'][0]['text']"


async def run(server: Recorded | None, place: Path, *options: str, **more: str) -> Any:
    return await trio.run_process(
        [sys.executable, "-m", "codemode", "run", "-", "--json", *options],
        cwd=place,
        env={**environment(server), **more},
        stdin=PROGRAM.encode(),
        capture_stdout=True,
        capture_stderr=True,
        check=False,
        start_new_session=True,
    )


async def test_in_a_chat_agents_have_its_model_and_its_tools(tmp_path: Path):
    (tmp_path / "a.txt").write_text("one\n")
    script = [
        answer(use("p", "run_code", code=PROGRAM, description="ask")),
        answer(said("It has "), said("one line.")),
        answer(said("One, I am told.")),
    ]
    async with recorded(plays(*script)) as server:
        options = ("--model", "m1", "--toolkit", "agents", "--toolkit", "shell", "--session", "c.db")
        done = await chat(server, tmp_path, "How long is a.txt?\n", *options)
    assert done.stderr == b""
    assert done.stdout.decode().splitlines()[-3:] == ["run_code ok", "  It has one line.", "One, I am told."]
    first, second, _ = server.requests
    assert [first["model"], second["model"]] == ["m1", "m1"]
    assert second["messages"] == [{"role": "user", "content": [said("Look.")]}]
    for name in ("def subagent(", "def workflow(", "def ralph(", "def job_output(", "def read("):
        assert name in second["tools"][0]["description"]
    (kept,) = (tmp_path / "c.db.agents").glob("*.sqlite")
    with Session.read(kept) as reader:
        assert [event.data["reason"] for event in reader.events(types="turn/end")] == ["completed"]


async def test_a_program_names_the_model_in_the_environment(tmp_path: Path):
    async with recorded(plays(answer(said("Done.")))) as server:
        done = await run(server, tmp_path, "--toolkit", "agents", CODEMODE_AGENT_MODEL="anthropic:m2")
    assert json.loads(done.stdout) == {"logs": [], "result": "Done."}, done.stderr
    assert server.requests[0]["model"] == "m2"


async def test_without_a_model_it_says_how_to_name_one(tmp_path: Path):
    for given, said_so in [("", "is not set"), ("gpt", "='gpt'"), ("anthropic:", "='anthropic:'")]:
        done = await run(None, tmp_path, "--toolkit", "agents", CODEMODE_AGENT_MODEL=given)
        assert done.returncode == 2
        error = json.loads(done.stdout)["error"]["message"]
        assert "--toolkit agents: agents need a model, and CODEMODE_AGENT_MODEL" in error
        assert said_so in error
        assert "set it to PROVIDER:MODEL, the provider being anthropic or openai" in error
