"""Answers that break off or are refused: dropped, and asked for again, or not."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from codemode.agent import Agent, Retry, Watcher
from codemode.errors import ProviderError
from tests.agent.scripted import (
    Cut,
    Scripted,
    agent,
    check_log,
    committed,
    engine,
    pairs,
)
from tests.conversation.scripts import (
    answer,
    events,
    said,
    use,
)


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
    calls = [event for event in log if event.type == "tool/call"]
    assert [event.data["callId"] for event in calls] == ["a"]  # nothing that came before the cut was acted on
    assert calls[0].seq > next(event.seq for event in log if event.type == "assistant/message")
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


async def test_a_provider_that_asks_for_too_long_a_wait_is_not_waited_for():
    model = Scripted([ProviderError("come back tomorrow", retryable=True, retry_after=86_400.0)])
    async with engine() as cm:
        result = await agent(cm, model).run("go")
        assert list(cm.session.events(types="step/retry")) == []
    assert (result.reason, result.error, len(model.requests)) == ("error", "come back tomorrow", 1)


async def test_an_answer_that_uses_an_id_twice_is_dropped():
    model = Scripted([answer(use("a"), use("a")), answer(use("a")), answer(said("ok"))])
    async with engine() as cm:
        result = await agent(cm, model).run("go")
        assert committed(cm.session.events()) == [[use("a")], [said("ok")]]
    assert result.reason == "completed"
