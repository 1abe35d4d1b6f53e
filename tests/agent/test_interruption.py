"""Turns that are cancelled or fail in the middle: every call has its result, and the conversation goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from codemode import Accept, CodeMode, Hooks, Session, as_json, tool
from codemode.conversation.streams import Piece
from codemode.errors import SessionError
from tests.agent.scripted import (
    NoSandbox,
    Scripted,
    agent,
    cancelled_after,
    check_requests,
    committed,
    engine,
    pairs,
    stock,
    texts,
)
from tests.conversation.checker import problems
from tests.conversation.scripts import (
    answer,
    said,
    use,
)


async def test_a_context_of_a_call_that_had_ended_survives_a_cancellation_of_the_others():
    began = trio.Event()

    def remark(call: Any, outcome: Any) -> Accept:
        return Accept(contexts=(f"remark on {call.id}",))

    @tool(render=as_json)
    async def hang() -> int:
        """Never ends."""
        began.set()
        await trio.sleep_forever()
        return 1

    model = Scripted([answer(use("a"), use("b", "hang")), answer(said("ok"))])
    hooks = Hooks(post_execute=(remark,))
    async with CodeMode([hang, stock], mode="native", sandbox=NoSandbox(), hooks=hooks) as cm:
        one = agent(cm, model)
        await cancelled_after(began, one, "go")
        await one.run("and?")
    content = model.requests[1]["messages"][2]["content"]
    assert [block["type"] for block in content] == ["tool_result", "tool_result", "text", "text"]
    assert [block["text"] for block in content[2:]] == ["remark on a", "and?"]


async def test_cancelled_while_the_model_answers_the_partial_turn_is_dropped_and_the_conversation_goes_on():
    began = trio.Event()

    class Stalls(Scripted):
        async def respond(self, request: Any, show: Any) -> Any:
            if len(self.requests) == 0:
                self.requests.append(None)
                show(Piece("text", "Let me"))
                began.set()
                await trio.sleep_forever()
            return await super().respond(request, show)

    model = Stalls([answer(said("Yes?"))])
    async with engine() as cm:
        one = agent(cm, model)
        await cancelled_after(began, one, "first")
        log = list(cm.session.events())
        assert [event.type for event in log[-2:]] == ["step/end", "turn/end"]
        assert log[-1].data["reason"] == "aborted"
        assert committed(log) == []
        result = await one.run("second")
        assert result.text == "Yes?"
        assert model.requests[1]["messages"] == [{"role": "user", "content": [said("first"), said("second")]}]
        pairs(cm.session.events())


async def test_cancelled_while_tools_run_every_call_has_its_result():
    began = trio.Event()

    @tool(render=as_json)
    async def hang(n: int) -> int:
        """Never ends."""
        began.set()
        await trio.sleep_forever()
        return n

    model = Scripted([answer(use("a"), use("b", "hang", n=1), use("c")), answer(said("Stopped."))])
    async with CodeMode([hang, stock], mode="native", sandbox=NoSandbox()) as cm:
        one = agent(cm, model)
        await cancelled_after(began, one, "go")
        log = list(cm.session.events())
        pairs(log)
        assert log[-1].data["reason"] == "aborted"
        codes = {
            event.data["callId"]: event.data.get("error", {}).get("code")
            for event in log
            if event.type == "tool/result"
        }
        assert codes == {"a": None, "b": "ABORTED", "c": "ABORTED_BEFORE_DISPATCH"}
        assert (await one.run("and?")).text == "Stopped."
    assert texts(model.requests[1], 2) == [
        "3",
        "Error: tool call aborted",
        "Error: tool call aborted before it was dispatched",
    ]
    check_requests(model.requests, [answer(use("a"), use("b", "hang", n=1), use("c"))])


async def test_cancelled_while_somebody_is_asked_nothing_is_done():
    asked = trio.Event()

    async def approver(requests: Any) -> str:
        asked.set()
        await trio.sleep_forever()
        return "allow-once"

    call = use("b", "order", item="pear", count=1)
    model = Scripted([answer(use("a"), call, use("c")), answer(said("Stopped."))])
    async with engine(approver=approver) as cm:
        one = agent(cm, model)
        await cancelled_after(asked, one, "go")
        log = list(cm.session.events())
        pairs(log)
        assert [event.data["callId"] for event in log if event.type == "tool/start"] == ["a"]
        assert (await one.run("and?")).text == "Stopped."
    told = texts(model.requests[1], 2)
    assert told[0] == "3"
    assert told[1:] == ["Error: tool call aborted before it was dispatched"] * 2


async def test_a_tool_that_does_not_stop_holds_nobody_and_is_said_to_go_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("codemode.direct.GRACE_SECONDS", 0.05)
    monkeypatch.setattr("codemode.tools.bodies.GRACE_SECONDS", 0.2)
    began, end = trio.Event(), trio.Event()

    @tool(render=as_json, parallel=True)
    async def stubborn() -> int:
        """Goes on whatever happens."""
        began.set()
        with trio.CancelScope(shield=True):
            await end.wait()
        return 1

    model = Scripted([answer(use("a", "stubborn"), use("b")), answer(said("ok"))])
    async with CodeMode([stubborn, stock], mode="native", sandbox=NoSandbox()) as cm:
        one = agent(cm, model)
        await cancelled_after(began, one, "go")
        log = list(cm.session.events())
        pairs(log)
        end.set()
        assert (await one.run("and?")).text == "ok"
        pairs(cm.session.events())
    assert "tool call aborted" in texts(model.requests[1], 2)[0]


async def test_a_session_that_cannot_be_written_ends_the_turn_and_nothing_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    called_: list[str] = []

    @tool(render=as_json)
    def note(text: str) -> int:
        """Has an effect."""
        called_.append(text)
        return len(called_)

    model = Scripted([answer(use("a", "note", text="x")), answer(said("ok"))])
    async with CodeMode(
        [note], mode="native", sandbox=NoSandbox(), session=str(tmp_path / "a.session")
    ) as cm:
        one = agent(cm, model)
        commit = Session.commit

        async def full(session: Session) -> None:
            if model.requests:  # the disk is full once the model has answered
                await trio.lowlevel.checkpoint()
                raise SessionError("disk full")
            await commit(session)

        with monkeypatch.context() as patched:
            patched.setattr(Session, "commit", full)
            with pytest.raises(SessionError, match="disk full"):
                await one.run("go")
        assert called_ == []
        assert (await one.run("again")).text == "ok"
        pairs(cm.session.events())
    assert problems(model.requests[1]["messages"]) == []
