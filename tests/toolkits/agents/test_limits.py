"""What agents may take, and how they fail: codes and words, to a model and to a program."""

from __future__ import annotations

import pytest

from codemode.errors import ProviderError
from codemode.toolkits import AgentLimits, agents
from tests.toolkits.agents.model import Model, answer, engine, said, use
from tests.toolkits.agents.test_subagent import TASK, forever
from tests.toolkits.calling import failure, program_failure, value

# ----------------------------------------------------------------------------------------------- limits


async def test_the_depth_is_bounded():
    def deeper(word):
        return use("a", "subagent", description="d", prompt=word)

    model = Model(
        one=[answer(deeper("two")), answer(said("1"))],
        two=[answer(deeper("three")), answer(said("2"))],
    )
    async with engine(model, limits=AgentLimits(max_depth=2)) as cm:
        assert (await value(cm, "subagent", **TASK))["output"][0]["text"] == "1"
    told = str(model.asked_for("two")[1]["messages"][-1])
    assert "Error: subagent depth 3 exceeds maxDepth 2; do the task yourself" in told


async def test_steps_are_bounded_and_what_it_said_is_in_the_error():
    model = Model(one=[answer(said("I am on my way."), use(f"c{n}", "look")) for n in range(9)])
    async with engine(model, limits=AgentLimits(max_steps=3), programs=True) as cm:
        error = await failure(cm, "subagent", **TASK)
        assert error.code == "AGENT_BUDGET"
        assert error.message == (
            "subagent run reached its budget before finishing\n"
            "Diagnostic: the turn took 3 steps, the most that a turn may take\n"
            "Partial output before the run ended:\n" + "\n".join(["I am on my way."] * 3)
        )
        assert (await program_failure(cm, "subagent", **TASK))[0] == "AGENT_BUDGET"
        log = list(cm.session.events(types={"agent/end"}))
        assert log[0].data["outcome"] == "AGENT_BUDGET"


async def test_tokens_of_one_agent_are_bounded():
    model = Model(one=[answer(use(f"c{n}", "look")) for n in range(9)])
    async with engine(model, limits=AgentLimits(max_tokens=130)) as cm:
        error = await failure(cm, "subagent", **TASK)
        assert error.code == "AGENT_BUDGET"
        assert "130 tokens of 130" in error.message
    assert len(model.requests) == 2


async def test_what_all_agents_of_one_program_take_is_bounded():
    model = Model(one=[answer(said("a")) for n in range(9)])
    program = (
        "codes = []\nfor n in range(4):\n    try:\n        tools.subagent(description='d', prompt='one')\n"
        "        codes.append('ok')\n    except ToolCallError as error:\n        codes.append(error.code)\n"
        "return codes"
    )
    async with engine(model, limits=AgentLimits(max_agents=2), programs=True) as cm:
        assert (await cm.run(program)).result == ["ok", "ok", "AGENT_LIMIT", "AGENT_LIMIT"]
        assert (await cm.run(program)).result == ["ok", "ok", "AGENT_LIMIT", "AGENT_LIMIT"]
    model = Model(one=[answer(said("a")) for n in range(9)])
    async with engine(model, limits=AgentLimits(max_total_tokens=100), programs=True) as cm:
        assert (await cm.run(program)).result == ["ok", "ok", "AGENT_BUDGET", "AGENT_BUDGET"]


async def test_agents_of_agents_count_for_the_same_bound():
    model = Model(
        one=[answer(use("a", "subagent", description="d", prompt="two")), answer(said("1"))],
    )
    async with engine(model, limits=AgentLimits(max_agents=1)) as cm:
        await value(cm, "subagent", **TASK)
    assert "agent limit reached: 1 agents were started" in str(model.requests[1]["messages"][-1])


async def test_answers_that_are_asked_for_at_once_are_bounded():
    model = Model(together=2, one=[answer(said("a")) for _ in range(5)])
    program = (
        "import asyncio\nmade = (tools.subagent(description='d', prompt='one', read_only=True) for _ in range(5))\n"
        "return len(await asyncio.gather(*made))"
    )
    async with engine(model, limits=AgentLimits(max_requests=2), programs=True) as cm:
        assert (await cm.run(program)).result == 5
    assert model.most_open == 2


async def test_time_is_bounded():
    model = Model(one=[answer(said("So far."), use("a", "look")), forever])
    async with engine(model, limits=AgentLimits(seconds=0.2)) as cm:
        error = await failure(cm, "subagent", **TASK)
        assert error.code == "AGENT_TIMEOUT"
        assert error.message == (
            "subagent run took longer than 0.2 s\nPartial output before the run ended:\nSo far."
        )


@pytest.mark.parametrize("name", ["max_depth", "max_steps", "seconds", "max_agents"])
@pytest.mark.parametrize("wrong", [0, -1, True, "3", float("inf")])
def test_wrong_limits_are_refused(name, wrong):
    with pytest.raises(ValueError, match=f"AgentLimits\\({name}="):
        AgentLimits(**{name: wrong})


def test_a_wrong_mode_and_a_text_for_a_list_are_refused():
    with pytest.raises(ValueError, match="mode='none'"):
        agents(Model(), mode="none")
    with pytest.raises(TypeError, match="not one text"):
        agents(Model(), allow="look")


# --------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("played", "code", "message"),
    [
        (
            ProviderError("no such model"),
            "AGENT_FAILED",
            "subagent run failed\nDiagnostic: no such model",
        ),
        (
            answer(said("half"), stop="max_tokens"),
            "AGENT_MAX_TOKENS",
            "subagent run hit its token limit before finishing\nPartial output before the run ended:\nhalf",
        ),
        (answer(stop="refusal"), "AGENT_REFUSED", "subagent declined the task"),
    ],
)
async def test_how_an_agent_fails(played, code, message):
    async with engine(Model(one=[played, played]), programs=True) as cm:
        error = await failure(cm, "subagent", **TASK)
        assert (error.code, error.message) == (code, message)
        assert await program_failure(cm, "subagent", **TASK) == (code, message)


@pytest.mark.parametrize("field", ["description", "prompt"])
async def test_empty_texts_are_refused(field):
    model = Model()
    async with engine(model) as cm:
        for background in (False, True):
            error = await failure(cm, "subagent", **{**TASK, field: " "}, run_in_background=background)
            assert (error.code, error.message) == (
                "INVALID_ARGUMENTS",
                f"invalid {field}: expected a non-empty string",
            )
