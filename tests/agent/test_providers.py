"""Providers through their real SDKs, against a local server: whole answers or errors, whatever the wire does."""

from __future__ import annotations

import builtins
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from trio.testing import MockClock

from codemode.agent import AnthropicMessages, OpenAIResponses, Provider, Retry
from codemode.agent.provider import read_answer
from codemode.conversation import AssistantTurn, Request, build_request
from codemode.conversation.anthropic_stream import AnthropicStream
from codemode.conversation.streams import Piece
from codemode.errors import ConversationError, ProviderError, StreamError
from tests.agent.server import Play, Recorded, plays, recorded, refused
from tests.conversation.checker import problems
from tests.conversation.scripts import (
    answer,
    events,
    item_call,
    item_reasoning,
    item_text,
    redacted,
    response,
    response_events,
    said,
    stream_bytes,
    thought,
    use,
)
from tests.conversation.support import asked, received, results

WHOLE = answer(thought(), redacted(), said("Zählen…"), use("t1", item="fig"), use("t2"))
RESPONSE = response(item_reasoning(), item_text("Zählen…"), item_call("c1", item="fig"))


@asynccontextmanager
async def anthropic(server: Recorded, **more: Any) -> AsyncIterator[AnthropicMessages]:
    async with AsyncAnthropic(base_url=server.url, api_key="k") as client:
        yield AnthropicMessages("model-1", client=client, **more)


@asynccontextmanager
async def openai(server: Recorded) -> AsyncIterator[OpenAIResponses]:
    async with AsyncOpenAI(base_url=server.url, api_key="k") as client:
        yield OpenAIResponses("model-1", client=client)


def request(provider: Provider, **more: Any) -> Request:
    return build_request([asked()], provider=provider.name, model=provider.model, max_tokens=500, **more)


def ignore(piece: Piece) -> None:
    pass


def content(turn: AssistantTurn) -> str:
    return json.dumps([block.wire for block in turn.content])


async def test_an_answer_arrives_whole_and_is_shown_as_it_comes():
    shown: list[Piece] = []
    tool = {"name": "stock", "description": "How many.", "parameters": {"type": "object", "properties": {}}}
    async with recorded(plays(WHOLE)) as server, anthropic(server) as provider:
        turn = await provider.respond(
            request(provider, system="Be brief.", tools=provider.define([tool]), options={"temperature": 0}),
            shown.append,
        )
    assert content(turn) == json.dumps(WHOLE["content"])
    assert "".join(piece.text for piece in shown if piece.kind == "text") == "Zählen…"
    assert [piece.text for piece in shown if piece.kind == "call"] == ["stock", "stock"]
    assert server.paths == ["/v1/messages"]
    assert server.requests == [
        {
            "model": "model-1",
            "max_tokens": 500,
            "stream": True,
            "messages": [{"role": "user", "content": [said("How many?")]}],
            "system": "Be brief.",
            "tools": [
                {
                    "name": "stock",
                    "description": "How many.",
                    "input_schema": {"type": "object", "properties": {}},
                }
            ],
            "temperature": 0,
        }
    ]


async def test_what_goes_back_over_the_wire_is_byte_for_byte_what_came():
    odd = answer(
        thought("a — b", "s/+=", x_new={"keep": [1, 2.5, -0.0, 10**25]}), redacted(x=[None]), use("t1")
    )
    async with recorded(plays(odd, answer(said("3.")))) as server, anthropic(server) as provider:
        first = await provider.respond(request(provider), ignore)
        turns = [asked(), first, results("t1")]
        again = build_request(turns, provider="anthropic", model="model-1", max_tokens=500)
        await provider.respond(again, ignore)
    assert json.dumps(server.requests[1]["messages"][1]["content"]) == json.dumps(odd["content"])
    assert problems(server.requests[1]["messages"], [odd["content"]]) == []


@pytest.mark.parametrize("chunked", [True, False])
async def test_a_connection_cut_at_any_byte_gives_no_turn(chunked: bool):
    small = [
        {k: v for k, v in each.items() if k != "usage"} for each in events(answer(use("t", n=1)), ping=False)
    ]
    small[0]["message"] = {"id": "m", "content": []}
    body = stream_bytes(small)
    cuts = range(0, len(body) - 1, 1 if chunked else 4)
    async with (
        recorded([Play(body, cut=at, chunked=chunked) for at in cuts]) as server,
        anthropic(server) as provider,
    ):
        asking = request(provider)
        for _ in cuts:
            with pytest.raises(StreamError) as caught:
                await provider.respond(asking, ignore)
            assert caught.value.retryable
        assert server.script == []


async def test_the_same_over_the_other_api():
    body = stream_bytes(response_events(response(item_call("c1", n=1))))
    cuts = range(0, len(body) - 1, 7)
    async with recorded([Play(body, cut=at) for at in cuts]) as server, openai(server) as provider:
        asking = request(provider)
        for _ in cuts:
            with pytest.raises(StreamError):
                await provider.respond(asking, ignore)
        assert server.script == []


async def test_pieces_of_any_size_and_what_is_played_twice_give_the_same_turn():
    body = stream_bytes(events(WHOLE))
    script = [*[Play(body, size=size) for size in (1, 2, 3, 100)], Play(body * 2), Play(body, chunked=False)]
    async with recorded(script) as server, anthropic(server) as provider:
        turns = [await provider.respond(request(provider), ignore) for _ in script]
    assert {content(turn) for turn in turns} == {json.dumps(WHOLE["content"])}


async def test_an_answer_that_stalls_is_given_up_after_its_time():
    body = stream_bytes(events(WHOLE))
    async with (
        recorded([Play(body, hold_at=200)]) as server,
        anthropic(server, idle_seconds=0.05) as provider,
    ):
        with pytest.raises(StreamError, match="the stream broke off") as caught:
            await provider.respond(request(provider), ignore)
        assert caught.value.retryable


@pytest.mark.parametrize("sign", [b'data: {"type": "ping"}\n\n', b": still here\n\n"])
async def test_signs_of_life_alone_are_not_waited_on_for_ever(sign: bytes, autojump_clock: MockClock):
    right = events(WHOLE)

    async def chunks(goes_on: bool) -> AsyncIterator[bytes]:
        yield stream_bytes(right[:3])
        for _ in range(19):
            await trio.sleep(60)
            yield sign
        yield stream_bytes(right[3:4])
        while True:
            await trio.sleep(60)
            yield stream_bytes(right[4:]) if goes_on else sign

    turn = await read_answer(chunks(True), AnthropicStream(), ignore, 120)
    assert content(turn) == json.dumps(WHOLE["content"])
    began = trio.current_time()
    with pytest.raises(StreamError, match="nothing but signs of life came for 1200 s") as caught:
        await read_answer(chunks(False), AnthropicStream(), ignore, 120)
    assert caught.value.retryable
    assert trio.current_time() - began == pytest.approx(1200 + 19 * 60)


async def test_an_answer_that_is_delayed_is_waited_for():
    body = stream_bytes(events(WHOLE))
    async with recorded([Play(body, hold_at=200)]) as server, anthropic(server) as provider:
        async with trio.open_nursery() as nursery:
            got: list[AssistantTurn] = []

            async def ask() -> None:
                got.append(await provider.respond(request(provider), ignore))

            nursery.start_soon(ask)
            await server.holding.wait()
            assert got == []
            server.go.set()
    assert content(got[0]) == json.dumps(WHOLE["content"])


async def test_a_body_that_goes_on_after_the_message_holds_nobody_and_spoils_nothing():
    body = stream_bytes(events(WHOLE))
    script = [
        Play(body + b": more", hold_at=len(body)),
        Play(body + b"data: {", cut=len(body) + 3),
        *plays(WHOLE),
    ]
    async with recorded(script) as server, anthropic(server) as provider:
        for _ in script:
            assert content(await provider.respond(request(provider), ignore)) == json.dumps(WHOLE["content"])


async def test_cancelling_leaves_nothing_and_the_next_answer_comes():
    async with recorded([Play(stream_bytes(events(WHOLE)), hold_at=200), *plays(WHOLE)]) as server:
        async with anthropic(server) as provider:
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(provider.respond, request(provider), ignore)
                    await server.holding.wait()
                    scope.cancel()
            assert scope.cancelled_caught
            assert content(await provider.respond(request(provider), ignore)) == json.dumps(WHOLE["content"])


@pytest.mark.parametrize(
    ("play", "retryable", "after", "words"),
    [
        (refused(529, "overloaded_error"), True, None, "status 529: .*not now"),
        (refused(500), True, None, "status 500"),
        (refused(429, "rate_limit_error", **{"retry-after": "7"}), True, 7.0, "status 429"),
        (refused(429, **{"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}), True, None, "status 429"),
        (refused(429, **{"retry-after": "inf"}), True, None, "status 429"),
        (refused(429, **{"retry-after": "nan"}), True, None, "status 429"),
        (refused(429, **{"retry-after": "-3"}), True, None, "status 429"),
        (refused(400, "invalid_request_error"), False, None, "status 400: .*not now"),
        (refused(401, "authentication_error"), False, None, "status 401"),
    ],
)
@pytest.mark.parametrize("make", [anthropic, openai])
async def test_a_refusal_says_what_and_whether_to_try_again(
    make: Any, play: Play, retryable: bool, after: float | None, words: str
):
    async with recorded([play]) as server, make(server) as provider:
        with pytest.raises(ProviderError, match=words) as caught:
            await provider.respond(request(provider), ignore)
    assert (caught.value.retryable, caught.value.retry_after) == (retryable, after)
    assert len(server.requests) == 1  # the SDK tries nothing again by itself


async def test_an_error_event_in_the_stream_is_an_error_with_its_own_words():
    body = stream_bytes(
        [*events(WHOLE)[:5], {"type": "error", "error": {"type": "overloaded_error", "message": "Hm"}}]
    )
    async with recorded([Play(body)]) as server, anthropic(server) as provider:
        with pytest.raises(StreamError, match="overloaded_error: Hm"):
            await provider.respond(request(provider), ignore)


@pytest.mark.parametrize("body", [b"<html>busy</html>", b"\xff\xfe\n\n", b"data: \xff\n\n", b"data: {\n\n"])
async def test_what_is_no_stream_is_an_error(body: bytes):
    async with recorded([Play(body)]) as server, anthropic(server) as provider:
        with pytest.raises(StreamError):
            await provider.respond(request(provider), ignore)


async def test_nobody_there_is_an_error_that_may_pass():
    async with recorded([]) as server:
        pass
    for make in (anthropic, openai):
        async with make(server) as provider:
            with pytest.raises(ProviderError, match="cannot be reached") as caught:
                await provider.respond(request(provider), ignore)
            assert caught.value.retryable


async def test_a_missing_key_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Any):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    async with AnthropicMessages("m") as provider:
        with pytest.raises(ProviderError, match=r"(?i)api_?key") as caught:
            await provider.respond(request(provider), ignore)
        assert not caught.value.retryable
    with pytest.raises(ProviderError, match="OPENAI_API_KEY"):
        OpenAIResponses("m")


@pytest.mark.parametrize(("make", "extra"), [(AnthropicMessages, "anthropic"), (OpenAIResponses, "openai")])
def test_a_missing_sdk_says_how_to_install_it(make: Any, extra: str, monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def fails(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == extra:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", fails)
    with pytest.raises(ConversationError, match=rf"pip install 'codemode\[{extra}\]'"):
        make("m")


async def test_the_other_api_gets_items_and_gives_items():
    async with (
        recorded([Play(stream_bytes(response_events(RESPONSE)))] * 2) as server,
        openai(server) as provider,
    ):
        turn = await provider.respond(request(provider), ignore)
        turns = [asked(), turn, results("c1")]
        await provider.respond(build_request(turns, provider="openai", model="m", max_tokens=9), ignore)
    assert content(turn) == json.dumps(RESPONSE["output"])
    assert server.paths == ["/responses"] * 2
    assert json.dumps(server.requests[1]["input"][1:4]) == json.dumps(RESPONSE["output"])
    assert server.requests[1]["input"][4] == {"type": "function_call_output", "call_id": "c1", "output": "3"}


def test_waits_double_up_to_a_bound_and_follow_what_the_provider_asks():
    retry = Retry(first_seconds=1, max_seconds=8)
    for failed, longest in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (10_000, 8)]:
        waits = {retry.wait(failed) for _ in range(20)}
        assert all(longest / 2 <= wait <= longest for wait in waits)
        assert len(waits) > 1
    assert retry.wait(1, retry_after=20) == 20
    assert [retry.is_over(failed) for failed in (1, 4, 5)] == [False, False, True]
    assert [retry.is_over(1, asked) for asked in (600, 601)] == [False, True]
    for wrong in ({"attempts": 0}, {"first_seconds": -1}, {"max_seconds": -1}, {"patience_seconds": -1}):
        with pytest.raises(ValueError, match="at least one attempt"):
            Retry(**wrong)


def test_a_turn_of_another_provider_is_not_sent():
    with pytest.raises(ConversationError, match="cannot be sent to 'openai'"):
        build_request([asked(), received(said("x")), asked()], provider="openai", model="m", max_tokens=9)
