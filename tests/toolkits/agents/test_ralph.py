"""`ralph`: fresh agents with one objective, until one reports the end; its value, text, bounds and errors."""

from __future__ import annotations

import pytest
import trio

from codemode.errors import ProviderError
from codemode.toolkits import AgentLimits
from tests.toolkits.agents.model import Model, answer, engine, said, task_of, use
from tests.toolkits.agents.test_subagent import ended, forever
from tests.toolkits.calling import failure, from_program, program_failure, value

GOAL = "goal: all is green"


def report(status="continue", **more):
    return {
        "status": status,
        "summary": "did a part",
        "evidence": ["ran it"],
        "nextSteps": ["the rest"],
        "blocker": None,
        **more,
    }


def reports(*all_of_them):
    return [answer(use("a", "structured_output", **each)) for each in all_of_them]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ("complete", "Ralph worker reported completion after 2 rounds."),
        ("blocked", "Ralph worker reported a blocker after 2 rounds."),
    ],
)
async def test_it_ends_when_an_agent_reports_the_end(status, text):
    last = report(status, nextSteps=[], blocker="no key" if status == "blocked" else None)
    model = Model(goal=reports(report(), last))
    async with engine(model) as cm:
        outcome = await cm.call("ralph", {"objective": GOAL})
        assert not outcome.is_error, outcome.error
        assert outcome.value == {
            "runId": outcome.value["runId"],
            "agentsStarted": 2,
            "result": {"status": status, "roundsStarted": 2, "report": last},
        }
        assert outcome.content[0].text.startswith(f'{text}\nFinal report:\n{{\n  "status": "{status}",\n')
        log = list(cm.session.events())
    assert ended(log, "ralph/end")[0]["outcome"] == status
    assert len(ended(log, "agent/start")) == 2
    # Each agent is fresh: it knows the objective and the report of the one before, and nothing else.
    first, second = model.requests
    assert len(second["messages"]) == 1
    assert task_of(first).startswith(f"Objective:\n{GOAL}\n\nYou are agent 1 of at most 10")
    assert "Report of the agent before you" not in task_of(first)
    assert '"summary": "did a part"' in task_of(second)


async def test_a_program_gets_the_same_value():
    async with engine(Model(goal=reports(report("complete"))), programs=True) as cm:
        given = await from_program(cm, "ralph", objective=GOAL)
        assert given == {
            "runId": given["runId"],
            "agentsStarted": 1,
            "result": {"status": "complete", "roundsStarted": 1, "report": report("complete")},
        }


async def test_rounds_are_bounded():
    model = Model(goal=reports(*[report(summary=str(n)) for n in range(9)]))
    async with engine(model, limits=AgentLimits(max_rounds=4)) as cm:
        outcome = await cm.call("ralph", {"objective": GOAL, "maxRounds": 3})
        assert outcome.value["result"] == {
            "status": "budget-limited",
            "roundsStarted": 3,
            "report": report(summary="2"),
        }
        assert outcome.content[0].text.startswith(
            "Ralph reached its 3 rounds limit; the worker reported work remaining.\nFinal report:\n"
        )
        assert (await value(cm, "ralph", objective=GOAL))["agentsStarted"] == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"objective": " "}, "invalid objective: expected a non-empty string"),
        ({"objective": GOAL, "maxRounds": 5}, "invalid maxRounds: at most 4, got 5"),
        ({"objective": GOAL, "maxRounds": 0}, "maxRounds"),
    ],
)
async def test_what_is_refused(arguments, words):
    model = Model()
    async with engine(model, limits=AgentLimits(max_rounds=4)) as cm:
        error = await failure(cm, "ralph", **arguments)
        assert error.code == "INVALID_ARGUMENTS"
        assert words in error.message
    assert model.requests == []


async def test_a_round_that_fails_says_which_and_what_is_known():
    model = Model(goal=[*reports(report(summary="half")), ProviderError("gone"), ProviderError("gone")])
    async with engine(model, programs=True) as cm:
        error = await failure(cm, "ralph", objective=GOAL)
        assert error.code == "AGENT_FAILED"
        assert error.message.startswith(
            "ralph round 2 failed: subagent run failed\nDiagnostic: gone\nReport of round 1:\n"
        )
        assert '"summary": "half"' in error.message
        assert (await program_failure(cm, "ralph", objective=GOAL))[0] == "AGENT_FAILED"


async def test_an_agent_that_will_not_report_fails_its_round():
    model = Model(goal=[answer(said("done")), answer(said("really"))])
    async with engine(model) as cm:
        error = await failure(cm, "ralph", objective=GOAL)
        assert error.code == "AGENT_NO_OUTPUT"
        assert error.message.startswith(
            "ralph round 1 failed: subagent run ended without its structured output"
        )


async def test_all_rounds_share_time_and_tokens():
    model = Model(goal=[*reports(report(summary="half")), forever])
    async with engine(model, limits=AgentLimits(workflow_seconds=0.3)) as cm:
        error = await failure(cm, "ralph", objective=GOAL)
        assert error.code == "AGENT_TIMEOUT"
        assert error.message.startswith("ralph took longer than 0.3 s\nReport of round 1:\n")
    assert model.open == 0
    model = Model(goal=reports(*[report() for _ in range(9)]))
    async with engine(model, limits=AgentLimits(max_total_tokens=100)) as cm:
        error = await failure(cm, "ralph", objective=GOAL)
        assert error.code == "AGENT_BUDGET"
        assert "agents took 130 of the 100 tokens" in error.message


async def test_what_is_shown_is_bounded():
    long = report("complete", summary="x" * 20_000)
    async with engine(Model(goal=reports(long))) as cm:
        outcome = await cm.call("ralph", {"objective": GOAL})
        assert outcome.value["result"]["report"] == long
        shown = outcome.content[0].text
        assert len(shown) == 16_384
        assert shown.endswith("x\n… [truncated]")


async def test_it_is_cancelled_between_and_in_rounds():
    for played in ([forever], [*reports(report()), forever]):
        model = Model(goal=played)
        async with engine(model) as cm:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cm.call, "ralph", {"objective": GOAL})
                while model.scripts["goal"]:
                    await trio.sleep(0.001)
                nursery.cancel_scope.cancel()
            log = list(cm.session.events())
            assert ended(log, "ralph/end")[0]["outcome"] == "aborted"
            assert ended(log, "agent/end")[-1]["outcome"] == "aborted"
            assert log[-1].type == "tool/result"
        assert model.open == 0
