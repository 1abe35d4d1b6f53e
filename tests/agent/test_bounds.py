"""Bounds: of steps, of tokens in an answer and in a turn, and of how much of the past is sent."""

from __future__ import annotations

import pytest

from tests.agent.scripted import (
    Scripted,
    agent,
    check_log,
    check_requests,
    committed,
    engine,
    kinds,
    pairs,
    texts,
)
from tests.conversation.checker import problems
from tests.conversation.scripts import (
    Json,
    answer,
    redacted,
    said,
    thought,
    use,
)


async def test_a_bound_of_steps_ends_the_turn_and_the_conversation_can_go_on():
    model = Scripted([answer(use(f"t{n}")) for n in range(9)])
    async with engine() as cm:
        one = agent(cm, model, max_steps=3)
        result = await one.run("go")
        assert (result.reason, result.steps, len(model.requests)) == ("budget", 3, 3)
        assert result.error == "the turn took 3 steps, the most that a turn may take"
        model.script = [answer(said("Enough."))]
        assert (await one.go_on()).text == "Enough."
        assert problems(model.requests[-1]["messages"]) == []


async def test_a_bound_of_tokens_ends_the_turn():
    model = Scripted([answer(use(f"t{n}")) for n in range(9)])
    async with engine() as cm:
        result = await agent(cm, model, max_total_tokens=100).run("go")
    assert (result.reason, result.steps, result.tokens) == ("budget", 2, 130)


async def test_an_answer_cut_inside_a_call_calls_nothing_and_is_not_kept():
    model = Scripted(
        [answer(said("Now"), use("a", "order", item="x", count=1), stop="max_tokens"), answer(said("ok"))]
    )
    async with engine(approver=lambda requests: "allow-once") as cm:
        one = agent(cm, model)
        result = await one.run("go")
        assert (result.reason, result.error_code) == ("max-tokens", "TRUNCATED_TURN")
        assert committed(cm.session.events()) == []
        assert "tool/call" not in kinds(cm)
        assert (await one.run("shorter")).text == "ok"


async def test_an_answer_cut_in_its_text_is_kept_and_its_calls_are_answered_without_being_made():
    cut = answer(use("a", "order", item="x", count=1), said("And then"), stop="max_tokens")
    model = Scripted([cut, answer(said("ok"))])
    async with engine(approver=lambda requests: "allow-once") as cm:
        one = agent(cm, model)
        result = await one.run("go")
        assert result.reason == "max-tokens"
        assert "tool/start" not in kinds(cm)
        await one.run("on")
        pairs(cm.session.events())
    assert "was not called, for the answer that calls it was cut short" in texts(model.requests[1], 2)[0]
    check_requests(model.requests, [cut])


async def test_exchanges_are_left_out_whole_and_stay_in_the_session():
    script: list[Json] = []
    for n in range(4):
        script += [answer(thought(), redacted(), use(f"t{n}")), answer(said(f"answer {n}"))]
    model = Scripted(script)
    async with engine() as cm:
        one = agent(cm, model, keep_exchanges=2)
        for n in range(4):
            await one.run(f"question {n}")
        log = list(cm.session.events())
    first = model.requests[-1]["messages"][0]["content"]
    assert first == [said("question 2")]
    assert [m["role"] for m in model.requests[-1]["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert problems(model.requests[-1]["messages"], [each["content"] for each in script[4:7]]) == []
    assert len(committed(log)) == 8
    check_log(log, model.requests)


async def test_forgetting_begins_anew():
    model = Scripted([answer(said("1")), answer(said("2"))])
    async with engine() as cm:
        one = agent(cm, model)
        await one.run("first")
        one.forget()
        assert not one.is_waited_for
        await one.run("second")
        with pytest.raises(ValueError, match="cannot be negative"):
            one.forget(-1)
    assert model.requests[1]["messages"] == [{"role": "user", "content": [said("second")]}]
