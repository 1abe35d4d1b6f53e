"""The loop: turns, steps, calls, retries, bounds; all of it in the session, requests from the session alone."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode import Accept, CodeMode, Hooks, Session, as_json, tool
from codemode.agent import Agent, Retry, Watcher
from codemode.conversation import to_message
from codemode.conversation.streams import Piece
from codemode.errors import IncompleteStateError, PairingError, ProviderError, SessionError
from tests.agent.scripted import (
    Cut,
    NoSandbox,
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
from tests.conversation.support import received


def texts(body: Json, index: int) -> list[str]:
    """The texts of the results in one message of a request."""
    return [
        "".join(part["text"] for part in block["content"])
        for block in body["messages"][index]["content"]
        if block["type"] == "tool_result"
    ]


def kinds(cm: CodeMode) -> list[str]:
    return [event.type for event in cm.session.events()]


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


async def test_parallel_calls_overlap_and_their_results_go_back_in_the_models_order():
    ended: list[int] = []
    together = trio.Event()

    @tool(render=as_json, parallel=True)
    async def wait(n: int) -> int:
        """The later ones end first."""
        running.append(n)
        if len(running) == 3:
            together.set()
        await together.wait()
        for _ in range(10 * (3 - n)):
            await trio.lowlevel.checkpoint()
        ended.append(n)
        return n

    running: list[int] = []
    model = Scripted([answer(*[use(f"t{n}", "wait", n=n) for n in range(3)]), answer(said("done"))])
    async with CodeMode([wait], mode="native", sandbox=NoSandbox()) as cm:
        await agent(cm, model).run("go")
        log = list(cm.session.events())
    assert sorted(running) == [0, 1, 2]
    assert ended == [2, 1, 0]
    assert texts(model.requests[1], 2) == ["0", "1", "2"]
    assert [event.data["callId"] for event in log if event.type == "tool/call"] == ["t0", "t1", "t2"]
    assert [event.data["callId"] for event in log if event.type == "tool/result"] == ["t2", "t1", "t0"]


async def test_an_exclusive_call_runs_alone():
    running = 0
    most: list[int] = []

    @tool(render=as_json)
    async def alone(n: int) -> int:
        """Never beside another one."""
        nonlocal running
        running += 1
        most.append(running)
        await trio.testing.wait_all_tasks_blocked()
        running -= 1
        return n

    model = Scripted([answer(*[use(f"t{n}", "alone", n=n) for n in range(3)]), answer(said("done"))])
    async with CodeMode([alone], mode="native", sandbox=NoSandbox()) as cm:
        await agent(cm, model).run("go")
    assert most == [1, 1, 1]


async def test_calls_that_wait_for_approval_are_asked_together_and_a_denial_is_a_result():
    asked: list[list[str]] = []

    def approver(requests: Any) -> list[str]:
        asked.append([each.call.id for each in requests])
        return ["allow-once", "deny"]

    calls = [use("a", "order", item="pear", count=2), use("b", "order", item="gold", count=1)]
    model = Scripted([answer(*calls), answer(said("Ordered the pears."))])
    async with engine(approver=approver) as cm:
        result = await agent(cm, model).run("Order pears and gold.")
    assert asked == [["a", "b"]]
    assert texts(model.requests[1], 2)[0] == "ordered 2 of pear"
    assert "was not approved" in texts(model.requests[1], 2)[1]
    assert result.reason == "completed"


async def test_contexts_of_outcomes_come_after_all_results_in_the_order_of_the_calls():
    def remark(call: Any, outcome: Any) -> Accept:
        return Accept(contexts=(f"remark on {call.id}", ""))

    second = trio.Event()

    @tool(render=as_json, parallel=True)
    async def wait(n: int) -> int:
        """The first one ends last."""
        if n == 1:
            await second.wait()
        else:
            second.set()
        return n

    model = Scripted([answer(use("a", "wait", n=1), use("b", "wait", n=2)), answer(said("ok"))])
    hooks = Hooks(post_execute=(remark,))
    async with CodeMode([wait], mode="native", sandbox=NoSandbox(), hooks=hooks) as cm:
        await agent(cm, model).run("go")
        log = list(cm.session.events())
    content = model.requests[1]["messages"][2]["content"]
    assert [block["type"] for block in content] == ["tool_result", "tool_result", "text", "text"]
    assert [block["text"] for block in content[2:]] == ["remark on a", "remark on b"]
    contexts = [event.data["message"] for event in log if event.type == "user/message"][1:]
    assert [(each["source"], each["callId"]) for each in contexts] == [("context", "b"), ("context", "a")]
    check_log(log, model.requests)


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
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one.run, "go")
                await began.wait()
                scope.cancel()
        await one.run("and?")
    content = model.requests[1]["messages"][2]["content"]
    assert [block["type"] for block in content] == ["tool_result", "tool_result", "text", "text"]
    assert [block["text"] for block in content[2:]] == ["remark on a", "and?"]


async def test_in_mode_code_the_model_sees_run_code_and_the_signatures_and_its_programs_run():
    program = (
        "counts = [tools.stock(item=i) for i in ('apple', 'plum')]\nprint('looking')\nreturn sum(counts)"
    )
    script = [
        answer(said("I write a program."), use("p", "run_code", code=program, description="count")),
        answer(use("q", "stock", item="apple")),
        answer(said("15.")),
    ]
    printed: list[tuple[str, str]] = []

    class Seen(Watcher):
        def printed(self, call_id: str, text: str) -> None:
            printed.append((call_id, text))

    model = Scripted(script)
    async with CodeMode([stock, order], mode="code") as cm:
        result = await agent(cm, model, watcher=Seen()).run("How many in all?")
        log = list(cm.session.events())
    assert result.text == "15."
    assert [each["name"] for each in model.requests[0]["tools"]] == ["run_code"]
    assert 'def stock(item: str = "apple") -> int' in model.requests[0]["tools"][0]["description"]
    assert texts(model.requests[1], 2) == ["looking\n15"]
    assert "only run_code can be called directly" in texts(model.requests[2], 4)[0]
    assert printed == [("p", "looking\n")]
    assert [event.data["name"] for event in log if event.type == "tool/code-dispatch"] == ["stock", "stock"]
    check_requests(model.requests, script)
    check_log(log, model.requests)


# --------------------------------------------------------------------------------------- interruptions


@pytest.mark.parametrize("after", range(len(events(answer(said("Hi"), use("a"))))))
async def test_a_dropped_stream_leaves_nothing_and_the_same_request_is_sent_again(after: int):
    whole = answer(said("Hi"), use("a"))
    model = Scripted([Cut(whole, after), whole, answer(said("done"))])
    dropped: list[str] = []

    class Seen(Watcher):
        def dropped(self, error: Exception, wait_seconds: float) -> None:
            dropped.append(str(error))

    async with engine() as cm:
        result = await agent(cm, model, watcher=Seen()).run("go")
        log = list(cm.session.events())
    assert result.reason == "completed"
    assert model.requests[0] == model.requests[1]
    assert dropped == ["the stream broke off: cut"]
    assert committed(log) == [whole["content"], [said("done")]]
    retry = next(event for event in log if event.type == "step/retry")
    assert (retry.data["attempt"], retry.data["reason"]) == (1, "the stream broke off: cut")
    check_log(log, model.requests)


async def test_after_all_attempts_the_turn_ends_as_an_error_and_the_message_stays():
    model = Scripted([Cut(answer(said("x")), 3)] * 3)
    async with engine() as cm:
        one = Agent(cm, model, retry=Retry(attempts=3, first_seconds=0))
        result = await one.run("go")
        assert (result.reason, result.error, result.error_code) == (
            "error",
            "the stream broke off: cut",
            "STREAM_FAILED",
        )
        assert len(model.requests) == 3
        assert one.is_waited_for
        model.script = [answer(said("There."))]
        assert (await one.go_on()).text == "There."
        assert not one.is_waited_for
        assert model.requests[3]["messages"] == model.requests[0]["messages"]
        pairs(cm.session.events())


async def test_what_would_fail_again_is_not_tried_again():
    model = Scripted([ProviderError("no such model", retryable=False, status=404)])
    async with engine() as cm:
        result = await agent(cm, model).run("go")
    assert (result.reason, result.error_code, len(model.requests)) == ("error", "PROVIDER_FAILED", 1)


async def test_waits_grow_and_follow_the_provider(autojump_clock: trio.testing.MockClock):
    busy = ProviderError("busy", retryable=True)
    model = Scripted(
        [busy, busy, ProviderError("busy", retryable=True, retry_after=60.0), answer(said("ok"))]
    )
    async with engine() as cm:
        began = trio.current_time()
        result = await Agent(cm, model, retry=Retry(first_seconds=2, max_seconds=100)).run("go")
        took = trio.current_time() - began
        waits = [event.data["waitSeconds"] for event in cm.session.events(types="step/retry")]
    assert result.reason == "completed"
    assert 1 <= waits[0] <= 2 <= waits[1] <= 4
    assert waits[2] == 60
    assert took == pytest.approx(sum(waits))


async def test_an_answer_that_uses_an_id_twice_is_dropped():
    model = Scripted([answer(use("a"), use("a")), answer(use("a")), answer(said("ok"))])
    async with engine() as cm:
        result = await agent(cm, model).run("go")
        assert committed(cm.session.events()) == [[use("a")], [said("ok")]]
    assert result.reason == "completed"


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
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one.run, "first")
                await began.wait()
                scope.cancel()
        assert scope.cancelled_caught
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
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one.run, "go")
                await began.wait()
                scope.cancel()
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
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one.run, "go")
                await asked.wait()
                scope.cancel()
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
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one.run, "go")
                await began.wait()
                scope.cancel()
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


# ------------------------------------------------------------------------------------------- bounds


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


async def test_blocks_can_be_said_and_nothing_cannot():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    model = Scripted([answer(said("A picture."))])
    async with engine() as cm:
        one = agent(cm, model)
        await one.run([said("Look:"), picture])
        assert model.requests[0]["messages"][0]["content"] == [said("Look:"), picture]
        before = cm.session.next_seq
        for nothing in ("", [], [said("")]):
            with pytest.raises(ValueError, match="there is nothing to say"):
                await one.run(nothing)
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


# ------------------------------------------------------------------------ crashes and random conversations


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
