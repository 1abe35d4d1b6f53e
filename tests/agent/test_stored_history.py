"""A conversation that is taken up from a session: what is not whole there is named, and never guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codemode import Session
from codemode.conversation import to_message
from codemode.errors import IncompleteStateError, PairingError
from tests.agent.scripted import (
    Scripted,
    agent,
    engine,
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
from tests.conversation.support import received


async def test_a_stored_turn_that_lost_a_block_is_not_gone_on_from(tmp_path: Path):
    async with engine() as cm:
        await agent(cm, Scripted([answer(thought(), use("a")), answer(said("ok"))])).run("go")
        log = list(cm.session.events())
    damaged = json.loads(json.dumps([event.data for event in log]))
    async with Session.open(None) as session:
        for event, data in zip(log, damaged, strict=True):
            if event.type == "assistant/message" and len(data["message"]["content"]) == 2:
                del data["message"]["content"][0]
            session.append(event.type, data)
        async with engine(session) as cm:
            one = agent(cm, Scripted([]))
            assert isinstance(one.problem, IncompleteStateError)
            assert one.problem.missing == ("event 4: content[0] (thinking)",)
            assert not one.is_waited_for
            result = await one.run("and?")
            assert (result.reason, result.error_code) == ("error", "INCOMPLETE_STATE")
            assert one.provider.requests == []  # type: ignore[attr-defined]
            one.forget()
            assert one.problem is None
            one.provider.script = [answer(said("anew"))]  # type: ignore[attr-defined]
            assert (await one.run("anew")).text == "anew"


async def test_a_history_with_calls_that_were_never_answered_is_not_gone_on_from():
    """Another writer left them in the middle; what is at the end is closed, what is before that is not guessed."""
    async with engine() as cm:
        first, second = (to_message(received(use(each), said("x"))) for each in ("a", "b"))
        cm.session.append("user/message", {"message": {"role": "user", "content": "go"}})
        cm.session.append("assistant/message", {"message": first})
        cm.session.append("user/message", {"message": {"role": "user", "content": "and?"}})
        cm.session.append("assistant/message", {"message": second})
        model = Scripted([])
        one = agent(cm, model)
        assert isinstance(one.problem, PairingError)
        assert one.problem.violations == (
            "the call 'a' of turn 1 (event 1) has no result in the turn after it",
        )
        result = await one.run("hm")
        assert (result.reason, result.error_code) == ("error", "UNPAIRED_CALLS")
        assert model.requests == []


async def logged() -> list[Any]:
    """The log of two turns with calls, for somebody to edit."""
    script = [
        answer(thought(), use("a")),
        answer(said("3.")),
        answer(use("b")),
        answer(use("c")),
        answer(said("ok")),
    ]
    async with engine() as cm:
        one = agent(cm, Scripted(script))
        await one.run("go")
        await one.run("again")
        return [(event.type, json.loads(json.dumps(event.data))) for event in cm.session.events()]


def result_of(log: list[Any], call_id: str) -> int:
    return next(
        at for at, (kind, data) in enumerate(log) if kind == "tool/result" and data["callId"] == call_id
    )


def without(log: list[Any]) -> None:
    del log[result_of(log, "a")]


def twice(log: list[Any]) -> None:
    kind, data = log[result_of(log, "a")]
    other = {**data, "content": [{"type": "text", "text": "4"}]}
    log.insert(result_of(log, "a") + 1, (kind, other))


def in_a_later_turn(log: list[Any]) -> None:
    log.insert(result_of(log, "c"), log.pop(result_of(log, "b")))


def of_another_call(log: list[Any]) -> None:
    log[result_of(log, "b")][1]["callId"] = "c"


def with_another_signature(log: list[Any]) -> None:
    message = next(data["message"] for kind, data in log if kind == "assistant/message")
    message["content"][0]["signature"] = "made up"


def answered_twice(log: list[Any]) -> None:
    at = next(at for at, (kind, data) in enumerate(log) if data.get("message", {}).get("stop") == "end")
    log.insert(at, log[at])


def with_an_id_of_before(log: list[Any]) -> None:
    for at, (kind, data) in enumerate(log):
        log[at] = kind, json.loads(json.dumps(data).replace('"id": "b", "name"', '"id": "a", "name"'))
        if data.get("callId") == "b":
            log[at][1]["callId"] = "a"


@pytest.mark.parametrize(
    ("edit", "code", "words"),
    [
        (without, "UNPAIRED_CALLS", "the call 'a' of turn 1 (event 4) has no result in the turn after it"),
        (twice, "UNPAIRED_CALLS", "event 8 is a second result for the call 'a'"),
        (
            in_a_later_turn,
            "UNPAIRED_CALLS",
            "the call 'b' of turn 5 (event 16) has no result in the turn after it",
        ),
        (
            of_another_call,
            "UNPAIRED_CALLS",
            "the call 'b' of turn 5 (event 16) has no result in the turn after it",
        ),
        (with_another_signature, "INCOMPLETE_STATE", "event 4: the blocks as they were received"),
        (
            answered_twice,
            "CONVERSATION_ERROR",
            "turn 3 (event 10) and turn 4 (event 11) are both the model's",
        ),
        (with_an_id_of_before, "INCOMPLETE_STATE", "event 16: content[0] (tool_use b)"),
    ],
)
async def test_a_log_that_was_edited_is_not_gone_on_from_and_what_is_wrong_is_named(
    edit: Any, code: str, words: str
):
    log = await logged()
    edit(log)
    async with Session.open(None) as session, engine(session) as cm:
        for kind, data in log:
            session.append(kind, data)
        model = Scripted([answer(said("anew"))])
        one = agent(cm, model)
        assert one.problem is not None
        assert one.problem.code == code
        assert words in str(one.problem)
        assert not one.is_waited_for
        result = await one.run("and?")
        assert (result.reason, result.error_code) == ("error", code)
        assert model.requests == []
        one.forget()
        assert (await one.run("anew")).text == "anew"


async def test_a_conversation_with_another_provider_is_a_problem_before_anything_is_said():
    class Other(Scripted):
        name = "openai"

    async with engine() as cm:
        await agent(cm, Scripted([answer(said("Hi"))])).run("go")
        one = agent(cm, Other([]))
        assert "turn 1 (event 4) was received from 'anthropic' and cannot be sent to 'openai'" in str(
            one.problem
        )


async def test_what_retention_drops_goes_whole_and_the_rest_goes_on(tmp_path: Path):
    script: list[Json] = []
    for n in range(4):
        script += [answer(thought(), redacted("x" * 2000), use(f"t{n}")), answer(said(f"answer {n}"))]
    model = Scripted(script)
    path = str(tmp_path / "a.session")
    async with engine(path) as cm:
        one = agent(cm, model)
        for n in range(3):
            await one.run(f"question {n}")
        assert await cm.session.trim(max_bytes=9000) > 0
    async with engine(path) as cm:
        one = agent(cm, model)
        assert one.problem is None
        await one.run("question 3")
    messages = model.requests[-1]["messages"]
    kept = sum(message["role"] == "assistant" for message in messages)
    assert 0 < kept < 7
    assert problems(messages, [each["content"] for each in script[7 - kept : 7]]) == []
