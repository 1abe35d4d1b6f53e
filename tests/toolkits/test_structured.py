from __future__ import annotations

import pytest

from codemode import Block, CodeMode, Hooks, Limits, ToolDefinitionError, as_json, tool
from codemode.agent import Agent
from codemode.toolkits import StructuredOutput
from tests.agent.scripted import Scripted
from tests.conversation.scripts import answer, said, use
from tests.toolkits.calling import failure, shown, value

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}, "why": {"type": "array", "items": {"type": "string"}}},
    "required": ["answer"],
    "additionalProperties": False,
}


@tool(render=as_json)
async def other() -> int:
    return 1


def engine(output, **options):
    return CodeMode([other, *output.tools], hooks=options.pop("hooks", Hooks()) | output.hooks, **options)


async def test_a_direct_call_records_the_value_and_ends_everything_else():
    output = StructuredOutput(SCHEMA)
    async with engine(output) as cm:
        assert await value(cm, "other") == 1
        outcome = await cm.call("structured_output", {"answer": 42, "why": ["counted"]})
        assert outcome.value == {"recorded": True}
        assert outcome.content[0].text == "Structured output recorded."
        assert output.is_recorded
        assert output.value == {"answer": 42, "why": ["counted"]}
        output.value["why"].append("x")
        assert output.value["why"] == ["counted"]
        error = await failure(cm, "other")
        assert error.code == "DENIED"
        assert "structured output is recorded" in error.message
        assert (await cm.run("return 1")).error.kind == "refused"
        assert (await failure(cm, "structured_output", answer=1)).code == "ALREADY_RECORDED"
        assert output.value["answer"] == 42


async def test_a_program_records_it_when_the_program_succeeds():
    output = StructuredOutput(SCHEMA)
    async with engine(output) as cm:
        result = await cm.run("done = tools.structured_output(answer=7)\nreturn [done, tools.other()]")
        assert result.result == [{"recorded": True}, 1]
        assert output.value == {"answer": 7}


@pytest.mark.parametrize(
    "after",
    ["1 / 0", "while True: pass", "return object()", "tools.structured_output(answer=2)"],
)
async def test_what_fails_around_it_drops_the_value_and_it_can_be_given_again(after):
    output = StructuredOutput(SCHEMA)
    async with engine(output, limits=Limits(cpu_seconds=1)) as cm:
        result = await cm.run(f"tools.structured_output(answer=1)\n{after}")
        assert result.error is not None
        assert not output.is_recorded
        with pytest.raises(LookupError):
            _ = output.value
        assert await value(cm, "structured_output", answer=2) == {"recorded": True}
        assert output.value == {"answer": 2}


async def test_a_corrected_program_that_reuses_the_call_records_its_value():
    output = StructuredOutput(SCHEMA)
    async with engine(output) as cm:
        failed = await cm.run("tools.structured_output(answer=5)\n1 / 0", remember=True)
        assert not output.is_recorded
        done = await cm.run("return tools.structured_output(answer=5)", reuse=failed)
        assert done.result == {"recorded": True}
        assert output.value == {"answer": 5}


async def test_once_also_within_one_program():
    output = StructuredOutput(SCHEMA)
    async with engine(output) as cm:
        result = await cm.run(
            """
tools.structured_output(answer=1)
try:
    tools.structured_output(answer=2)
except ToolCallError as error:
    return error.code
"""
        )
        assert result.result == "ALREADY_RECORDED"
        assert output.value == {"answer": 1}


async def test_a_hook_that_blocks_the_call_drops_the_value():
    output = StructuredOutput(SCHEMA)
    blocks = [True]

    def judge(call, outcome):
        return (
            Block(feedback="not good enough") if call.name == "structured_output" and blocks.pop() else None
        )

    async with engine(output, hooks=Hooks(post_execute=(judge,))) as cm:
        assert await shown(cm, "structured_output", answer=1) == "not good enough"
        assert not output.is_recorded
        blocks.append(False)
        assert await value(cm, "structured_output", answer=2) == {"recorded": True}
    assert output.value == {"answer": 2}


async def test_a_hook_that_blocks_the_run_drops_the_value():
    output = StructuredOutput(SCHEMA)

    def judge(call, outcome):
        return Block(feedback="no") if call.name == "run_code" else None

    async with engine(output, hooks=Hooks(post_execute=(judge,))) as cm:
        await cm.run("tools.structured_output(answer=1)")
        assert not output.is_recorded


async def test_it_ends_the_turn_of_a_model_when_everything_around_it_has_succeeded():
    output = StructuredOutput(SCHEMA)
    model = Scripted(
        [
            answer(use("a", "structured_output", answer="many")),
            answer(use("b", "structured_output", answer=3), use("c", "other")),
            answer(said("never asked for")),
        ]
    )
    async with CodeMode([other, *output.tools], hooks=output.hooks, sandbox=object(), mode="native") as cm:
        result = await Agent(cm, model, is_done=lambda: output.is_recorded).run("How many?")
        results = [event.data for event in cm.session.events(types={"tool/result"})]
    assert (result.reason, result.steps, len(model.requests)) == ("completed", 2, 2)
    assert output.value == {"answer": 3}
    assert [each["isError"] for each in results] == [True, False, True]
    assert results[2]["error"] == {"name": "Error", "code": "DENIED"}


async def test_the_schema_is_the_callers_and_is_enforced():
    output = StructuredOutput(SCHEMA)
    async with engine(output) as cm:
        described = {each["name"]: each for each in cm.describe()}["structured_output"]
        assert described["parameters"] == SCHEMA
        for wrong in ({}, {"answer": "42"}, {"answer": 1, "more": 2}):
            error = await failure(cm, "structured_output", **wrong)
            assert error.code == "INVALID_ARGUMENTS"
        assert "answer" in error.message or "more" in error.message
        assert not output.is_recorded
    with pytest.raises(ToolDefinitionError, match="object"):
        StructuredOutput({"type": "array"})
    with pytest.raises(ToolDefinitionError, match="requried"):
        StructuredOutput({"type": "object", "requried": ["a"]})
