"""Hosts that die anywhere, over a fixed conversation and over random ones: what was committed is whole and goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode import Session
from tests.agent.scripted import (
    Cut,
    Scripted,
    agent,
    check_log,
    check_requests,
    committed,
    engine,
    order,
    pairs,
    stock,
)
from tests.conversation.checker import problems
from tests.conversation.scripts import (
    FILLED,
    Json,
    answer,
    blocks,
    called,
    events,
    redacted,
    said,
    thought,
    use,
)

SCRIPT = [
    answer(
        thought(),
        said("Let me look."),
        use("a", item="apple"),
        use("b", "order", item="pear", count=1),
        use("c"),
    ),
    Cut(answer(said("Half"), use("x")), 5),
    answer(redacted(), use("a", item="fig")),
    answer(said("All done.")),
]


async def play_all() -> list[Any]:
    async with engine(approver=lambda requests: "allow-once") as cm:
        one = agent(cm, Scripted(SCRIPT))
        await one.run("go")
        return list(cm.session.events())


FULL = trio.run(play_all)


@pytest.mark.parametrize("count", range(1, len(FULL) + 1))
async def test_a_crash_after_any_event_leaves_a_conversation_that_goes_on(count: int, tmp_path: Path):
    path = str(tmp_path / "a.session")
    async with Session.open(path) as session:
        session.restore(FULL[:count])
    whole = committed(FULL)
    model = Scripted([answer(said("I go on."))] * 2)
    async with engine(path, approver=lambda requests: "allow-once") as cm:
        one = agent(cm, model)
        log = list(cm.session.events())
        if committed(log)[-1:] == [] and not any(event.type == "user/message" for event in log):
            assert not one.is_waited_for
            result = await one.run("go")
        elif one.is_waited_for:
            result = await one.go_on()
        else:
            result = await one.run("and?")
        assert (result.reason, result.text) == ("completed", "I go on.")
        after = list(cm.session.events())
    pairs(after)
    kept = committed(log)
    assert kept == whole[: len(kept)]
    assert problems(model.requests[0]["messages"], kept) == []
    assert "Half" not in json.dumps([event.data for event in after if event.type == "assistant/message"])
    known = {e.data["callId"]: e.data for e in FULL[:count] if e.type == "tool/result"}
    started: set[str] = set()  # of calls without a result yet; an id may come again
    for event in FULL[:count]:
        if event.type == "tool/start":
            started.add(event.data["callId"])
        elif event.type == "tool/result":
            started.discard(event.data["callId"])
    for event in after[count:]:
        if event.type == "tool/result":
            code = event.data["error"]["code"]
            assert code == ("TOOL_OUTCOME_UNKNOWN" if event.data["callId"] in started else "TOOL_NOT_STARTED")
    sent = {
        block["tool_use_id"]: block["content"][0]["text"]
        for message in model.requests[0]["messages"][:3]
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    for call_id, data in known.items():
        if call_id in ("b", "c"):
            assert sent[call_id] == data["content"][0]["text"]  # an outcome that was known is not lost


@st.composite
def conversations(draw: st.DrawFn) -> list[list[Json | Cut]]:
    """Some turns, each a script: answers of any kind, cut ones among them, the last one without calls."""
    turns: list[list[Json | Cut]] = []
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        script: list[Json | Cut] = []
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            ids = st.just(f"t{number}")
            content = [draw(blocks(st.just(f"t{number}_{n}"))) for n in range(draw(st.integers(0, 3)))]
            call = {**use(draw(ids)), "name": draw(st.sampled_from(["stock", "order", "no_such_tool"]))}
            whole = answer(*content, call, id=f"msg_{number}")
            if draw(st.booleans()):
                script.append(Cut(whole, draw(st.integers(0, len(events(whole)) - 1))))
            script.append(whole)
        script.append(answer(said(draw(FILLED)), id=f"end_{number}"))
        turns.append(script)
    return turns


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conversations(), st.data())
def test_any_conversation_is_kept_as_it_came_and_every_request_of_it_is_valid(
    turns: list[list[Json | Cut]], data: st.DataObject
):
    answers = [each for script in turns for each in script if not isinstance(each, Cut)]

    async def go() -> None:
        requests: list[Any] = []
        async with engine() as cm:
            model = Scripted([])
            one = agent(cm, model)
            for script in turns:
                model.script = list(script)
                result = await one.run("go")
                assert result.reason == "completed", result
                assert model.script == []
            log = list(cm.session.events())
            requests += model.requests
        assert json.dumps(committed(log)) == json.dumps([each["content"] for each in answers])
        check_requests(requests, answers)
        check_log(log, requests)
        pairs(log)
        await crash(log[: data.draw(st.integers(0, len(log)))])

    async def crash(log: list[Any]) -> None:
        """The host dies here; somebody else takes the conversation up, in memory as from a file."""
        from codemode.session.pairs import KEYS, Unfinished
        from codemode.session.recovery import closing_events

        unfinished = Unfinished()
        for event in log:
            unfinished.see(event.seq, event.type, event.data.get(KEYS.get(event.type, "")))
        time = log[-1].time if log else 0
        closing = closing_events(unfinished, lambda seq: log[seq], len(log), time)
        async with Session.open(None) as session:
            session.restore([*log, *closing])
            async with engine(session) as cm:
                model = Scripted([answer(said("on"))])
                one = agent(cm, model)
                result = await (one.go_on() if one.is_waited_for else one.run("hello?"))
                assert (result.reason, result.text) == ("completed", "on")
                assert problems(model.requests[0]["messages"], committed(log)) == []
                pairs(cm.session.events())

    trio.run(go)


def test_what_the_scripts_hold_can_be_called():
    assert called(answer(use("a"), said("x"), use("b"))) == ["a", "b"]
    assert (stock.name, order.name) == ("stock", "order")
