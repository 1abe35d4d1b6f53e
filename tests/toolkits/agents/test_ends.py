"""Agents end with whoever started them: cancelled at every moment, killed with the host, closed with the engine."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from codemode import CodeMode, Scope, Session, as_text, tool
from codemode.agent import Agent
from codemode.toolkits import AgentLimits, agents
from tests.agent.scripted import NoSandbox, pairs
from tests.toolkits.agents.model import Model, answer, engine, look, said, use
from tests.toolkits.agents.test_subagent import ended, forever
from tests.toolkits.engine import descriptors, eventually

PROJECT = Path(__file__).parents[3]


def sessions(place: Path) -> list[list]:
    logs = []
    for path in sorted(place.glob("*.sqlite")):
        with Session.read(path) as reader:
            logs.append(list(reader.events()))
    return logs


def has_begun(path: Path) -> bool:
    """Whether the beginning of an agent is durable: it may stay unwritten for a tenth of a second."""
    with Session.read(path) as reader:
        return any(event.type == "agent/start" for event in reader.events())


@pytest.mark.parametrize("steps", range(0, 60, 3))
async def test_cancelled_after_any_number_of_steps_every_log_is_whole_and_nothing_goes_on(tmp_path, steps):
    """Agents two deep; the call is cancelled after a number of turns of trio's loop."""
    model = Model(
        one=[
            answer(said("I ask."), use("a", "subagent", description="d", prompt="two")),
            answer(said("1")),
        ],
        two=[answer(use("a", "look")), answer(said("2"))],
    )
    async with engine(model, session=str(tmp_path / "s")) as cm:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cm.call, "subagent", {"description": "d", "prompt": "one"})
            for _ in range(steps):
                await trio.sleep(0.001 if steps % 2 else 0)
            nursery.cancel_scope.cancel()
        assert model.open == 0
        log = list(cm.session.events())
        pairs(log)
        assert len(ended(log, "agent/start")) == len(ended(log, "agent/end"))
    for each in sessions(tmp_path / "s.agents"):
        pairs(each)
        assert len(ended(each, "agent/start")) == len(ended(each, "agent/end"))


async def test_a_tool_that_an_agent_is_in_is_stopped_with_it():
    begun, stopped = trio.Event(), trio.Event()

    @tool(render=as_text)
    async def slow() -> str:
        """Take long."""
        begun.set()
        try:
            await trio.sleep_forever()
        finally:
            stopped.set()
        return ""

    model = Model(one=[answer(use("a", "slow"))])
    async with engine(model, more=[slow]) as cm:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cm.call, "subagent", {"description": "d", "prompt": "one"})
            await begun.wait()
            nursery.cancel_scope.cancel()
        assert stopped.is_set()
        assert ended(list(cm.session.events()), "agent/end")[0]["outcome"] == "aborted"


async def test_a_program_that_gives_up_on_an_agent_ends_it():
    model = Model(one=[forever])
    program = (
        "import asyncio\ntry:\n    await asyncio.wait_for(tools.subagent(description='d', prompt='one'), 0.2)\n"
        "except TimeoutError:\n    return 'gave up'"
    )
    async with engine(model, programs=True) as cm:
        result = await cm.run(program)
        assert result.result == "gave up", result.error
        assert ended(list(cm.session.events()), "agent/end")[0]["outcome"] == "aborted"
    assert model.open == 0


async def test_a_workflow_is_cancelled_with_its_agents_and_its_guest(tmp_path):
    model = Model(together=2, one=[forever, forever])
    script = (
        "import asyncio\nawait asyncio.gather(*(agents.run(prompt='one', read_only=True) for _ in range(2)))"
    )
    async with engine(model, programs=True, session=str(tmp_path / "s")) as cm:
        await cm.run("1")
        before = descriptors()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(
                cm.call, "workflow", {"script": script, "meta": {"name": "n", "description": "d"}}
            )
            while len(model.requests) < 2:
                await trio.sleep(0.001)
            nursery.cancel_scope.cancel()
        assert model.open == 0
        assert (await cm.run("return 2")).result == 2
        assert abs(descriptors() - before) <= 4  # a spare guest more or less
        assert ended(list(cm.session.events()), "workflow/end")[0]["outcome"] == "aborted"
    logs = sessions(tmp_path / "s.agents")
    assert len(logs) == 3
    for log in logs:
        pairs(log)


async def test_many_agents_leave_no_scope_and_no_budget_behind():
    model = Model(one=[answer(said("a")) for _ in range(30)])
    tools = agents(model, limits=AgentLimits(max_agents=1))
    async with CodeMode([look, *tools], sandbox=NoSandbox()) as cm:
        before = descriptors()
        gc.collect()
        scopes = sum(isinstance(each, Scope) for each in gc.get_objects())
        for _ in range(30):
            outcome = await cm.call("subagent", {"description": "d", "prompt": "one"})
            assert not outcome.is_error
        assert descriptors() == before
        gc.collect()
        assert sum(isinstance(each, Scope) for each in gc.get_objects()) == scopes


async def test_an_agent_starts_agents_as_a_model_does():
    """The outermost agent too is a loop of the same kind, over the engine itself."""
    model = Model(
        zero=[answer(use("a", "subagent", description="d", prompt="one")), answer(said("I was told."))],
        one=[answer(said("a secret"))],
    )
    async with engine(model) as cm:
        result = await Agent(cm, model).run("zero")
        assert (result.reason, result.text) == ("completed", "I was told.")
        pairs(list(cm.session.events()))
    assert "a secret" in str(model.asked_for("zero")[1]["messages"][-1])
    assert len(model.asked_for("one")[0]["messages"]) == 1


async def test_killed_in_the_middle_the_caller_says_so_and_the_agents_session_is_closed_when_opened(tmp_path):
    path = tmp_path / "s"
    command = [sys.executable, "-m", "tests.toolkits.agents.host", str(path)]
    host = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=PROJECT, env={**os.environ})
    try:
        assert host.stdout is not None
        assert await trio.to_thread.run_sync(host.stdout.readline) == b"hanging\n"
        assert await eventually(lambda: has_begun(path))
    finally:
        host.kill()
        host.wait()
        host.stdout.close()
    async with Session.open(path) as session:
        log = list(session.events())
        assert session.recovered
    pairs(log)
    (start,) = ended(log, "agent/start")
    assert ended(log, "agent/end") == []
    async with Session.open(start["session"]) as session:
        inner = list(session.events())
        assert session.recovered
    pairs(inner)
    assert [event.type for event in inner].count("assistant/message") == 1
    assert "saw here" in str([event.data for event in inner if event.type == "tool/result"])
