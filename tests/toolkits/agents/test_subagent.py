"""`subagent`: its value and text, what it gets of its caller, its limits, how it fails, stops and goes on."""

from __future__ import annotations

import pytest
import trio

from codemode import Deny, Hooks, Session, Success
from codemode.errors import ProviderError
from codemode.session import Event
from codemode.toolkits import Jobs, PlanMode, agents
from tests.agent.scripted import pairs
from tests.toolkits.agents.model import Model, answer, engine, look, said, use
from tests.toolkits.calling import failure, from_program, shown, value

TASK = {"description": "look around", "prompt": "one: look around"}


def ended(log: list[Event], kind: str) -> list[dict]:
    return [dict(event.data) for event in log if event.type == kind]


def tool_names(body) -> set[str]:
    return {each["name"] for each in body["tools"]}


async def forever():
    await trio.sleep_forever()


# ------------------------------------------------------------------------------------------- the value


async def test_the_value_has_the_run_and_what_the_agent_said_last():
    model = Model(
        one=[answer(said("I look."), use("a", "look", at="sea")), answer(said("Blue "), said("sea."))]
    )
    async with engine(model) as cm:
        outcome = await cm.call("subagent", TASK)
        assert isinstance(outcome, Success), outcome.error
        run = outcome.value["runId"]
        assert outcome.value == {
            "kind": "foreground",
            "runId": run,
            "output": [{"type": "text", "text": "Blue sea."}],
        }
        assert [each.text for each in outcome.content] == ["Blue sea."]
        log = list(cm.session.events())
    assert run.startswith("run_")
    assert ended(log, "agent/start") == [
        {"runId": run, "callId": log[0].data["callId"], "description": "look around", "depth": 1}
    ]
    assert ended(log, "agent/end") == [
        {"runId": run, "callId": log[0].data["callId"], "outcome": "completed", "steps": 2, "tokens": 130}
    ]
    # Its conversation is its own: nothing of it is in the caller's.
    assert [event.type for event in log] == [
        "tool/call",
        "tool/start",
        "agent/start",
        "agent/end",
        "tool/result",
    ]
    assert model.requests[0]["system"].startswith("You are an agent that was started for one task.")
    assert "saw sea" in str(model.requests[1]["messages"])


async def test_a_program_gets_the_same_value():
    model = Model(one=[answer(said("done"))])
    async with engine(model, programs=True) as cm:
        given = await from_program(cm, "subagent", **TASK)
        assert given == {
            "kind": "foreground",
            "runId": given["runId"],
            "output": [{"type": "text", "text": "done"}],
        }


async def test_an_agent_writes_programs_under_the_same_walls():
    program = "return tools.look(at='far') + '!'"
    model = Model(one=[answer(use("a", "run_code", code=program, description="look")), answer(said("done"))])
    async with engine(model, programs=True, mode="code") as cm:
        result = await cm.run("return tools.subagent(description='look', prompt='one')['output'][0]['text']")
        assert result.result == "done"
    assert tool_names(model.requests[0]) == {"run_code"}
    assert "saw far!" in str(model.requests[1]["messages"][-1])


async def test_an_agent_without_a_last_word():
    async with engine(Model(one=[answer()])) as cm:
        outcome = await cm.call("subagent", TASK)
        assert outcome.value["output"] == []
        assert outcome.content[0].text == "(the agent ended without a word)"


async def test_what_is_shown_is_bounded_and_the_value_is_whole():
    long = "x" * 60_000
    async with engine(Model(one=[answer(said(long))])) as cm:
        outcome = await cm.call("subagent", TASK)
        assert outcome.value["output"][0]["text"] == long
        assert outcome.content[0].text == "x" * 50_000 + "\n… [truncated: 10000 more characters]"


# ------------------------------------------------------------------------------------- what it may do


async def test_it_gets_its_callers_tools_and_never_more():
    model = Model(one=[answer(said("done"))] * 4)
    async with engine(model, deny=["workflow"]) as cm:
        narrow = cm.scope(deny=["write", "ralph"])
        await value(narrow, "subagent", **TASK)
        await value(narrow, "subagent", **TASK, tools=["look"])
        await value(cm, "subagent", **TASK, read_only=True)
        jobs = {"job_output", "job_list", "job_kill"}
        assert tool_names(model.requests[0]) == {"look", "subagent", *jobs}
        assert tool_names(model.requests[1]) == {"look"}
        assert tool_names(model.requests[2]) == {"look", "job_output", "job_list"}
        error = await failure(narrow, "subagent", **TASK, tools=["look", "write"])
        assert error.code == "INVALID_ARGUMENTS"
        assert error.message.startswith("invalid tools: there is no 'write'; there are: job_kill")
        assert len(model.requests) == 3


async def test_allowed_tools_are_those_of_the_list_that_the_caller_has():
    model = Model(one=[answer(said("done"))])
    async with engine(model, allow=["look", "write", "absent"]) as cm:
        await value(cm.scope(deny=["write"]), "subagent", **TASK)
    assert tool_names(model.requests[0]) == {"look"}


async def test_hooks_of_its_caller_hold_for_it():
    model = Model(one=[answer(use("a", "look")), answer(said("done"))])
    hooks = Hooks(pre_execute=(lambda call: Deny("not today") if call.name == "look" else None,))
    async with engine(model) as cm:
        await value(cm.scope(hooks=hooks), "subagent", **TASK)
    assert "not today" in str(model.requests[1]["messages"][-1])


async def test_its_calls_are_put_before_the_same_approver():
    model = Model(
        one=[answer(use("a", "write", what="w")), answer(use("b", "write", what="x")), answer(said("done"))]
    )
    asked = []

    def approver(requests):
        asked.extend((each.tool.name, dict(each.arguments)) for each in requests)
        return "allow-for-run" if len(asked) == 1 else "deny"

    async with engine(model, approver=approver) as cm:
        await value(cm, "subagent", **TASK)
    assert asked == [("write", {"what": "w"}), ("write", {"what": "x"})]
    assert "wrote w" in str(model.requests[1]["messages"][-1])
    assert "was not approved" in str(model.requests[2]["messages"][-1])


async def test_what_was_allowed_for_a_run_does_not_hold_in_another_conversation_with_the_same_call_id():
    model = Model(one=[answer(use("same", "write", what="inner")), answer(said("done"))])
    asked = []

    def approver(requests):
        asked.extend(each.arguments["what"] for each in requests)
        return "allow-for-run"

    async with engine(model, approver=approver, programs=True) as cm:
        from codemode.direct import ModelCall

        code = "tools.write(what='outer')\ntools.subagent(description='d', prompt='one')\ntools.write(what='again')"
        call = ModelCall(id="same", name="run_code", arguments={"code": code, "description": "d"})
        (outcome,) = await cm.call_all([call])
        assert isinstance(outcome, Success), outcome.error
    assert asked == ["outer", "inner"]


async def test_in_plan_mode_only_agents_that_change_nothing_are_started():
    model = Model(one=[answer(said("done"))])
    plan = PlanMode(None)
    async with engine(model) as cm:
        scope = cm.scope(plan.tools, hooks=plan.hooks)
        plan.enter(cm.session)
        assert (await failure(scope, "subagent", **TASK)).code == "DENIED"
        readers = cm.scope(agents(model, jobs=Jobs(), read_only=True), hooks=plan.hooks)
        assert (await value(readers, "subagent", **TASK))["output"][0]["text"] == "done"
    assert tool_names(model.requests[0]) == {
        "look",
        "job_output",
        "job_list",
        "subagent",
        "workflow",
        "ralph",
    }


# ------------------------------------------------------------------------------------------ overlapping


@pytest.mark.parametrize(("read_only", "together"), [(True, 3), (False, 1)])
async def test_agents_overlap_only_when_they_change_nothing(read_only, together):
    model = Model(together=together, one=[answer(said("a")), answer(said("b")), answer(said("c"))])
    async with engine(model, programs=True) as cm:
        result = await cm.run(
            "import asyncio\n"
            "given = await asyncio.gather(*(tools.subagent(description='d', prompt='one', "
            f"read_only={read_only}) for _ in range(3)))\n"
            "return sorted(each['output'][0]['text'] for each in given)"
        )
        assert result.error is None, result.error
        assert result.result == ["a", "b", "c"]
    assert model.most_open == together


# ------------------------------------------------------------------------------------------- background


async def test_in_the_background_it_is_a_job_that_is_polled():
    go = trio.Event()

    async def wait():
        await go.wait()
        return answer(said("found it"))

    model = Model(one=[wait])
    async with engine(model, programs=True) as cm:
        outcome = await cm.call("subagent", {**TASK, "run_in_background": True})
        assert outcome.value == {"kind": "background", "jobId": "subagent-1"}
        assert outcome.content[0].text == "started background subagent job subagent-1"
        listed = await value(cm, "job_list")
        assert [(each["kind"], each["label"], each["status"]) for each in listed] == [
            ("subagent", "look around", "running")
        ]
        polled = await from_program(cm, "job_output", job_id="subagent-1")
        assert (polled["text"], polled["job"]["status"]) == ("", "running")
        go.set()
        done = await value(cm, "job_output", job_id="subagent-1", wait=True)
        assert (done["text"], done["job"]["status"]) == ("found it", "completed")
        assert done["job"]["detail"].endswith(", 1 steps, 65 tokens")
        assert (await value(cm, "job_output", job_id="subagent-1"))["text"] == "found it"
        assert "found it\n[status: completed, run run_" in await shown(cm, "job_output", job_id="subagent-1")


async def test_a_background_agent_that_fails_says_why():
    async with engine(Model(one=[ProviderError("no key")])) as cm:
        await value(cm, "subagent", **TASK, run_in_background=True)
        done = await value(cm, "job_output", job_id="subagent-1", wait=True)
        assert done["text"] == "subagent run failed\nDiagnostic: no key"
        assert done["job"]["status"] == "failed"
        assert done["job"]["detail"].startswith("AGENT_FAILED, run run_")


async def test_a_background_agent_is_killed(tmp_path):
    model = Model(one=[forever])
    async with engine(model, session=str(tmp_path / "s")) as cm:
        await value(cm, "subagent", **TASK, run_in_background=True)
        await model.asked.wait()
        await value(cm, "job_kill", job_id="subagent-1")
        done = await value(cm, "job_output", job_id="subagent-1", wait=True)
        assert (done["job"]["status"], done["text"]) == ("killed", "")
        assert model.open == 0
        (end,) = ended(list(cm.session.events()), "agent/end")
        assert end["outcome"] == "aborted"


async def test_background_agents_end_with_the_engine(tmp_path):
    model = Model(one=[forever, forever])
    async with engine(model, session=str(tmp_path / "s")) as cm:
        for _ in range(2):
            await value(cm, "subagent", **TASK, run_in_background=True)
        while model.open < 2:
            await trio.sleep(0.001)
    assert model.open == 0
    files = list((tmp_path / "s.agents").iterdir())
    assert len([each for each in files if each.suffix == ".sqlite"]) == 2
    for each in files:
        if each.suffix == ".sqlite":
            with Session.read(each) as reader:
                log = list(reader.events())
            pairs(log)
            assert log[-1].type == "turn/end"
            assert log[-1].data["reason"] == "aborted"


# -------------------------------------------------------------------------------------------- sessions


async def test_its_conversation_is_a_file_beside_its_callers(tmp_path):
    model = Model(
        one=[answer(use("a", "subagent", description="d", prompt="two")), answer(said("1"))],
        two=[answer(said("2"))],
    )
    async with engine(model, session=str(tmp_path / "s")) as cm:
        run = (await value(cm, "subagent", **TASK))["runId"]
        (start,) = ended(list(cm.session.events()), "agent/start")
    path = tmp_path / "s.agents" / f"{run}.sqlite"
    assert start["session"] == str(path)
    with Session.read(path) as reader:
        log = list(reader.events())
    pairs(log)
    (inner,) = ended(log, "agent/start")
    assert (inner["depth"], inner["session"]) == (2, str(path.with_name(f"{inner['runId']}.sqlite")))
    assert log[-1].data["reason"] == "completed"


async def test_a_directory_for_sessions_can_be_given_and_one_that_cannot_be_made_fails_the_call(tmp_path):
    (tmp_path / "taken").write_text("")
    async with engine(Model(one=[answer(said("1"))]), sessions=tmp_path / "kept") as cm:
        run = (await value(cm, "subagent", **TASK))["runId"]
    assert (tmp_path / "kept" / f"{run}.sqlite").exists()
    model = Model(one=[answer(said("1"))])
    async with engine(model, sessions=tmp_path / "taken") as cm:
        error = await failure(cm, "subagent", **TASK)
        assert "the directory of sessions of agents cannot be made" in error.message
    assert model.requests == []


async def test_outside_of_an_engine_there_are_no_agents():
    from codemode.tools.pipeline import Pipeline
    from codemode.tools.registry import Registry

    outcome = await Pipeline(Registry([look, *agents(Model())])).execute("subagent", TASK, id="1")
    assert outcome.error.code == "NO_SCOPE"
