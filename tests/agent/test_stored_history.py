"""A conversation that is taken up from a session: what is not whole there is named, and never guessed."""

from __future__ import annotations

import json
from pathlib import Path

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
        assert one.problem.violations == ("the call 'a' of turn 1 has no result in the turn after it",)
        result = await one.run("hm")
        assert (result.reason, result.error_code) == ("error", "UNPAIRED_CALLS")
        assert model.requests == []


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
