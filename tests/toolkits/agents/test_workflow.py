"""`workflow`: a program that starts agents; its value, its bounds, its errors, its journal."""

from __future__ import annotations

import pytest
import trio

from codemode import Limits, Session
from codemode.errors import ProviderError
from codemode.toolkits import AgentLimits
from tests.agent.scripted import pairs
from tests.toolkits.agents.model import Model, answer, engine, said, use
from tests.toolkits.agents.test_subagent import ended, tool_names
from tests.toolkits.calling import failure, from_program, program_failure, value

META = {"name": "survey", "description": "look at places"}

SURVEY = """
import asyncio
places = (await tools.arguments())["places"]
said = await asyncio.gather(*(agents.run(prompt=f"one: {each}", read_only=True) for each in places))
return {"said": sorted(said), "saw": await tools.look(at="here")}
"""


async def test_the_value_is_what_the_program_returns_with_how_many_agents_it_started():
    model = Model(together=3, one=[answer(said("a")), answer(said("b")), answer(said("c"))])
    async with engine(model, programs=True) as cm:
        outcome = await cm.call(
            "workflow", {"script": SURVEY, "meta": META, "args": {"places": ["x", "y", "z"]}}
        )
        assert not outcome.is_error, outcome.error
        run = outcome.value["runId"]
        assert outcome.value == {
            "runId": run,
            "agentsStarted": 3,
            "result": {"said": ["a", "b", "c"], "saw": "saw here"},
        }
        assert outcome.content[0].text == (
            'workflow "survey" completed (3 agents).\nReturn value:\n'
            '{\n  "said": [\n    "a",\n    "b",\n    "c"\n  ],\n  "saw": "saw here"\n}'
        )
        log = list(cm.session.events())
        (start,), (end,) = ended(log, "workflow/start"), ended(log, "workflow/end")
        call = log[0].data["callId"]
        assert start == {"runId": run, "callId": call, **META}
        assert end == {"runId": run, "callId": call, "outcome": "ok", "agentsStarted": 3}
    assert model.most_open == 3
    tasks = sorted(body["messages"][0]["content"][0]["text"] for body in model.requests)
    assert tasks == ["one: x", "one: y", "one: z"]


async def test_a_program_gets_the_same_value_and_one_agent_is_one():
    model = Model(one=[answer(said("a")), answer(said("a"))])
    script = "agents.run(prompt='one')"
    async with engine(model, programs=True) as cm:
        nested = await from_program(cm, "workflow", script=script, meta=META)
        assert nested == {"runId": nested["runId"], "agentsStarted": 1, "result": "a"}
        outcome = await cm.call("workflow", {"script": script, "meta": META})
        assert outcome.content[0].text == 'workflow "survey" completed (1 agent).\nReturn value:\n"a"'


async def test_agents_are_an_object_beside_the_tools_and_the_same_as_a_tool():
    model = Model(one=[answer(said("a")), answer(said("b"))])
    script = """
first = [agents.left()["agents"], tools.agent(prompt="one"), agents.run("one"), agents.left()["agents"]]
try:
    agents.rnu("one")
except AttributeError as error:
    return [*first, str(error), tools.describe("agent").split("(")[0]]
"""
    async with engine(model, programs=True, limits=AgentLimits(max_agents=5)) as cm:
        given = await value(cm, "workflow", script=script, meta=META)
        assert given["agentsStarted"] == 2
        assert given["result"] == [5, "a", "b", 3, "agents has no 'rnu'; it has: left, run", "# agents.run"]
        outside = await cm.run("agents.run('one')")
        assert "name 'agents' is not defined" in outside.error.message


async def test_a_program_that_calls_something_else_agents_has_that():
    async with engine(Model(), programs=True) as cm:
        given = await value(cm, "workflow", script="agents = [1, 2]\nlen(agents)", meta=META)
        assert given["result"] == 2


async def test_what_is_left_of_the_tokens_is_known_to_the_program():
    model = Model(one=[answer(said("a"))])
    script = "before = agents.left()['tokens']\nagents.run('one')\nreturn [before, agents.left()['tokens'] < before]"
    async with engine(model, programs=True, limits=AgentLimits(max_total_tokens=900)) as cm:
        given = await value(cm, "workflow", script=script, meta=META)
        assert given["result"] == [900, True]


async def test_a_workflow_without_agents_and_result():
    async with engine(Model(), programs=True) as cm:
        given = await value(
            cm, "workflow", script="pass", meta={**META, "more": 1, "phases": [{"title": "t"}]}
        )
        assert given == {"runId": given["runId"], "agentsStarted": 0, "result": None}


async def test_a_long_result_is_cut_where_it_is_shown():
    async with engine(Model(), programs=True) as cm:
        outcome = await cm.call("workflow", {"script": "return 'x' * 60_000", "meta": META})
        assert len(outcome.value["result"]) == 60_000
        assert outcome.content[0].text.endswith("x\n… [truncated: 10002 more characters]")
        assert len(outcome.content[0].text) < 50_200


SCHEMA = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


async def test_an_agent_gives_a_value_of_a_schema():
    model = Model(one=[answer(use("a", "structured_output", count=3))])
    async with engine(model, programs=True) as cm:
        given = await value(
            cm, "workflow", script=f"agents.run(prompt='one', schema={SCHEMA})['count'] + 1", meta=META
        )
        assert given["result"] == 4
    assert "structured_output" in tool_names(model.requests[0])
    assert len(model.requests) == 1


async def test_values_of_tasks_within_tasks_are_not_mixed():
    inner = f"agents.run(prompt='two', schema={SCHEMA})"
    model = Model(
        one=[
            answer(use("same", "workflow", script=inner, meta=META)),
            answer(use("b", "structured_output", count=1)),
        ],
        two=[answer(use("same", "structured_output", count=2))],
    )
    async with engine(model, programs=True) as cm:
        given = await value(cm, "workflow", script=f"agents.run(prompt='one', schema={SCHEMA})", meta=META)
        assert given["result"] == {"count": 1}
    assert '"count": 2' in str(model.asked_for("one")[1]["messages"][-1])


async def test_an_agent_cannot_end_the_task_of_whoever_started_it():
    model = Model(
        one=[
            answer(use("a", "subagent", description="d", prompt="two")),
            answer(use("b", "structured_output", count=1)),
        ],
        two=[answer(use("a", "structured_output", count=2)), answer(said("I cannot"))],
    )
    async with engine(model, programs=True) as cm:
        given = await value(cm, "workflow", script=f"agents.run(prompt='one', schema={SCHEMA})", meta=META)
        assert given["result"] == {"count": 1}
    assert "structured_output" not in tool_names(model.asked_for("two")[0])


async def test_one_that_forgets_its_value_is_reminded_once():
    script = f"""
given = []
for _ in range(2):
    try:
        given.append(agents.run(prompt='one', schema={SCHEMA}))
    except ToolCallError as error:
        given.append([error.code, error.message])
return given
"""
    model = Model(
        one=[
            answer(said("three")),
            answer(use("a", "structured_output", count=3)),
            answer(said("three")),
            answer(said("three, I said")),
        ]
    )
    async with engine(model, programs=True) as cm:
        given = (await value(cm, "workflow", script=script, meta=META))["result"]
    assert given[0] == {"count": 3}
    assert given[1] == [
        "AGENT_NO_OUTPUT",
        "subagent run ended without its structured output\nPartial output before the run ended:\n"
        "three\nthree, I said",
    ]
    assert "Call it now" in str(model.requests[1]["messages"][-1])


async def test_what_goes_wrong_with_an_agent_can_be_caught():
    script = """
codes = []
for prompt, more in [("one", {}), (" ", {}), ("one", {"tools": ["absent"]}), ("one", {"schema": {"type": "array"}})]:
    try:
        agents.run(prompt=prompt, **more)
    except ToolCallError as error:
        codes.append(error.code)
return codes
"""
    async with engine(Model(one=[ProviderError("no")]), programs=True) as cm:
        given = await value(cm, "workflow", script=script, meta=META)
        assert given["result"] == [
            "AGENT_FAILED",
            "INVALID_ARGUMENTS",
            "INVALID_ARGUMENTS",
            "INVALID_ARGUMENTS",
        ]
        assert given["agentsStarted"] == 1


async def test_a_program_that_fails():
    async with engine(Model(), programs=True) as cm:
        error = await failure(cm, "workflow", script="print('so far')\n1 / 0", meta=META)
        assert error.code == "WORKFLOW_FAILED"
        assert error.message.startswith("workflow run failed: exception: ")
        assert "ZeroDivisionError" in error.message
        assert "1 / 0" in error.message
        assert error.message.endswith("\nPrinted before:\nso far")
        assert (await program_failure(cm, "workflow", script="1 / 0", meta=META))[0] == "WORKFLOW_FAILED"
        error = await failure(cm, "workflow", script="def (", meta=META)
        assert "SyntaxError" in error.message
        assert {each["outcome"] for each in ended(list(cm.session.events()), "workflow/end")} == {"exception"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"script": "  ", "meta": META}, "INVALID_ARGUMENTS", "invalid script"),
        (
            {"script": "1", "meta": {"name": " ", "description": ""}},
            "META_INVALID",
            "invalid meta: name is empty; description is empty",
        ),
        ({"script": "1", "meta": {"name": "n"}}, "INVALID_ARGUMENTS", "description"),
    ],
)
async def test_what_is_refused_before_it_starts(arguments, code, words):
    async with engine(Model()) as cm:
        error = await failure(cm, "workflow", **arguments)
        assert error.code == code
        assert words in error.message


# ------------------------------------------------------------------------------------------------ bounds


async def test_it_has_the_walls_of_any_program_and_no_tools_that_its_caller_does_not_have():
    script = """
found = []
for attempt in ("open('/etc/passwd')", "tools.write(what='x')", "tools.subagent(description='d', prompt='one')"):
    try:
        eval(attempt)
    except Exception as error:
        found.append(type(error).__name__)
return found
"""
    async with engine(Model(), programs=True) as cm:
        given = await value(cm.scope(deny=["write"]), "workflow", script=script, meta=META)
        assert len(given["result"]) == 3
        assert "ToolCallError" not in given["result"]


async def test_its_agents_get_its_callers_tools():
    model = Model(one=[answer(said("a"))])
    async with engine(model, programs=True) as cm:
        await value(cm.scope(deny=["write"]), "workflow", script="agents.run(prompt='one')", meta=META)
    names = tool_names(model.requests[0])
    assert {"look", "subagent", "workflow", "ralph", "run_code"} <= names
    assert not {"write", "agent", "arguments"} & names


async def test_agents_are_bounded_in_number_and_depth():
    script = """
codes = []
for _ in range(3):
    try:
        codes.append(agents.run(prompt='one'))
    except ToolCallError as error:
        codes.append(error.code)
return codes
"""
    model = Model(one=[answer(said("a")) for _ in range(3)])
    async with engine(model, programs=True, limits=AgentLimits(max_agents=2)) as cm:
        given = await value(cm, "workflow", script=script, meta=META)
        assert (given["result"], given["agentsStarted"]) == (["a", "a", "AGENT_LIMIT"], 2)
    inner = use("a", "workflow", script="1", meta=META)
    model = Model(one=[answer(inner), answer(said("done"))])
    async with engine(model, programs=True, limits=AgentLimits(max_depth=1)) as cm:
        await value(cm, "workflow", script="agents.run(prompt='one')", meta=META)
    assert "subagent depth 2 exceeds maxDepth 1" in str(model.requests[1]["messages"][-1])


async def test_tokens_are_bounded_over_all_agents_also_while_they_work():
    both = trio.Event()

    async def first():
        await both.wait()
        return answer(use("a", "look"))

    async def second():
        both.set()
        return answer(use("a", "look"))

    model = Model(
        one=[first, *[answer(use(f"c{n}", "look")) for n in range(9)]],
        two=[second, *[answer(use(f"c{n}", "look")) for n in range(9)]],
    )
    script = """
import asyncio
given = await asyncio.gather(
    *(agents.run(prompt=each, read_only=True) for each in ("one", "two")), return_exceptions=True
)
return [each.code for each in given]
"""
    async with engine(model, programs=True, limits=AgentLimits(max_total_tokens=250)) as cm:
        given = await value(cm, "workflow", script=script, meta=META)
        assert given["result"] == ["AGENT_BUDGET", "AGENT_BUDGET"]
    assert 4 <= len(model.requests) <= 5  # 65 tokens each; each agent may be in the middle of one answer


async def test_its_time_is_its_own():
    async with engine(Model(), programs=True, limits=AgentLimits(workflow_seconds=0.3)) as cm:
        error = await failure(cm, "workflow", script="import time\nwhile True: time.sleep(0.05)", meta=META)
        assert error.code == "WORKFLOW_FAILED"
        assert error.message.startswith("workflow run failed: timeout: ")


async def test_other_limits_are_those_of_the_engine():
    async with engine(Model(), programs=True) as cm:
        scope = cm.scope(limits=Limits(result_bytes=1000))
        error = await failure(scope, "workflow", script="return 'x' * 2000", meta=META)
        assert "output-limit" in error.message


# ----------------------------------------------------------------------------------------------- journal


async def test_its_journal_is_a_session_of_its_own(tmp_path):
    model = Model(one=[answer(said("a"))])
    async with engine(model, programs=True, session=str(tmp_path / "s")) as cm:
        given = await value(cm, "workflow", script="tools.look(at='x')\nagents.run(prompt='one')", meta=META)
        (start,) = ended(list(cm.session.events()), "workflow/start")
    path = tmp_path / "s.agents" / f"{given['runId']}.sqlite"
    assert start["session"] == str(path)
    with Session.read(path) as reader:
        log = list(reader.events())
    pairs(log)
    (made,) = ended(log, "agent/start")
    assert (made["depth"], made["description"]) == (1, "one")
    assert (tmp_path / "s.agents" / f"{made['runId']}.sqlite").exists()
    names = [event.data["name"] for event in log if event.type == "tool/code-dispatch"]
    assert names == ["look", "agent"]
