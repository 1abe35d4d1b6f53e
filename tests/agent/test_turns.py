"""Turns and steps: from what a user says to the model's last word, one at a time, all of it in the session."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import trio

from codemode.agent import Agent
from tests.agent.scripted import (
    Scripted,
    agent,
    check_log,
    check_requests,
    committed,
    engine,
    pairs,
    texts,
)
from tests.conversation.checker import problems
from tests.conversation.scripts import (
    answer,
    said,
    thought,
    use,
)


async def test_a_turn_goes_on_until_the_model_has_its_last_word():
    script = [
        answer(thought(), said("Let me look."), use("a", item="apple"), use("b", item="fig")),
        answer(use("c", item="plum")),
        answer(said("3 apples, 12 plums, no figs.")),
    ]
    async with engine() as cm:
        model = Scripted(script)
        result = await agent(cm, model, system="Be brief.").run("What is there?")
        log = list(cm.session.events())
    assert (result.reason, result.text, result.steps) == ("completed", "3 apples, 12 plums, no figs.", 3)
    assert result.tokens == 3 * (25 + 40)
    assert texts(model.requests[1], 2) == ["3", "Error: no item 'fig'"]
    assert model.requests[1]["messages"][2]["content"][1]["is_error"] is True
    assert model.requests[2]["messages"][4]["content"] == [
        {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "12"}]}
    ]
    assert model.requests[0]["system"] == "Be brief."
    assert [each["name"] for each in model.requests[0]["tools"]] == ["order", "stock"]
    check_requests(model.requests, script)
    check_log(log, model.requests)
    pairs(log)
    assert [event.type for event in log if event.type.startswith(("turn", "step", "request"))] == [
        "turn/start",
        "step/start",
        "request/header",
        "step/end",
        "step/start",
        "step/end",
        "step/start",
        "step/end",
        "turn/end",
    ]
    assert log[-1].data == {"turn": 0, "reason": "completed", "detail": {"steps": 3, "tokens": 195}}
    assert {event.data["turn"] for event in log if event.type.startswith("tool/r")} == {0}
    assert [event.data["step"] for event in log if event.type == "tool/result"] == [0, 0, 1]


@pytest.mark.parametrize(
    ("stop", "reason"), [("refusal", "refusal"), ("model_context_window_exceeded", "context-full")]
)
async def test_other_ends_have_their_own_reason(stop: str, reason: str):
    async with engine() as cm:
        result = await agent(cm, Scripted([answer(said("x"), stop=stop)])).run("go")
    assert result.reason == reason


async def test_a_paused_turn_is_sent_back_and_goes_on():
    paused = answer(
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, stop="pause_turn"
    )
    model = Scripted([paused, answer(said("Found."))])
    async with engine() as cm:
        result = await agent(cm, model).run("search")
    assert result.text == "Found."
    assert [message["role"] for message in model.requests[1]["messages"]] == ["user", "assistant"]


async def test_blocks_can_be_said_and_nothing_cannot():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    model = Scripted([answer(said("A picture."))])
    async with engine() as cm:
        one = agent(cm, model)
        await one.run([said("Look:"), picture])
        assert model.requests[0]["messages"][0]["content"] == [said("Look:"), picture]
        before = cm.session.next_seq
        for nothing in ("", " \n", [], [said("")], [picture, said(" ")]):
            with pytest.raises(ValueError, match="there is nothing to say"):
                await one.run(nothing)
        with pytest.raises(ValueError, match="results of calls are not said"):
            await one.run([{"type": "tool_result", "tool_use_id": "a", "content": []}])
        assert cm.session.next_seq == before
    for name in ("max_tokens", "max_steps", "max_total_tokens", "keep_exchanges"):
        async with engine() as cm:
            with pytest.raises(ValueError, match=f"{name}=0: must be at least 1"):
                Agent(cm, model, **{name: 0})


async def test_one_turn_at_a_time():
    held, go = trio.Event(), trio.Event()

    class Held(Scripted):
        async def respond(self, request: Any, show: Any) -> Any:
            held.set()
            await go.wait()
            return await super().respond(request, show)

    async with engine() as cm:
        one = agent(cm, Held([answer(said("ok"))]))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.run, "first")
            await held.wait()
            with pytest.raises(RuntimeError, match="one at a time"):
                await one.run("second")
            with pytest.raises(RuntimeError, match="cannot be left out"):
                one.forget()
            go.set()
        assert not one.is_waited_for


async def test_an_agent_that_is_gone_listens_no_more():
    async with engine() as cm:
        one = agent(cm, Scripted([answer(said("ok"))]))
        await one.run("go")
        assert len(cm.session._observers) == 1
        del one
        gc.collect()
        assert cm.session._observers == ()


async def test_a_turn_that_says_nothing_is_over_and_spoils_no_later_one():
    silent = answer(thought(), said(""))
    model = Scripted([answer(said(" "), use("a")), silent, answer(said("Yes?"))])
    async with engine() as cm:
        one = agent(cm, model)
        result = await one.run("go")
        assert (result.reason, result.text) == ("completed", "")
        assert not one.is_waited_for
        assert (await one.run("hm?")).text == "Yes?"
        assert committed(cm.session.events())[1] == silent["content"]
    messages = model.requests[2]["messages"]
    assert problems(messages, [[said(" "), use("a")], silent["content"]]) == []
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[2]["content"][1] == said("hm?")
