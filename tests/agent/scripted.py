"""A model without a wire: plays answers through the real stream, cuts them, and keeps the requests it got."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import trio

from codemode import CodeMode, Session, ToolError, as_json, as_text, tool
from codemode.agent import Agent, History
from codemode.agent.loop import request_over
from codemode.conversation import AssistantTurn, Request
from codemode.conversation.anthropic_stream import AnthropicStream
from codemode.conversation.anthropic_wire import NAME, request_body
from codemode.errors import ProviderError, StreamError
from codemode.sdk.definitions import for_anthropic
from codemode.session import Event
from tests.conversation.checker import problems
from tests.conversation.scripts import Json, events

STOCK = {"apple": 3, "pear": 0, "plum": 12}


@tool(render=as_json, parallel=True)
async def stock(item: str = "apple") -> int:
    """How many of an item are in stock."""
    await trio.lowlevel.checkpoint()
    if item not in STOCK:
        raise ToolError(f"no item {item!r}", code="UNKNOWN_ITEM")
    return STOCK[item]


@tool(render=as_text, approval="it orders, and orders cost")
def order(item: str, count: int) -> str:
    """Order some of an item."""
    return f"ordered {count} of {item}"


@dataclass
class Cut:
    """An answer that breaks off after some of its events."""

    message: Json
    after: int


class Scripted:
    """A provider. `script` holds whole messages, `Cut`s, and errors to raise."""

    name = NAME
    model = "model-1"

    def __init__(self, script: Iterable[Json | Cut | Exception]) -> None:
        self.script = list(script)
        self.requests: list[Any] = []

    def define(self, described: Any) -> list[Json]:
        return for_anthropic(described)

    async def respond(self, request: Request, show: Any) -> AssistantTurn:
        self.requests.append(json.loads(json.dumps(request_body(request))))
        await trio.lowlevel.checkpoint()
        if not self.script:
            raise ProviderError("the script is at its end")
        played = self.script.pop(0)
        if isinstance(played, Exception):
            raise played
        stream = AnthropicStream()
        message = played.message if isinstance(played, Cut) else played
        for number, event in enumerate(events(message)):
            if isinstance(played, Cut) and number >= played.after:
                raise StreamError("the stream broke off: cut")
            for piece in stream.feed(event):
                show(piece)
        return stream.turn()


class NoSandbox:
    """Stands where programs would run, for conversations that run none."""

    async def run(self, *args: Any) -> Any:
        raise AssertionError("no program runs here")


def engine(session: Session | str | None = None, **more: Any) -> CodeMode:
    return CodeMode([stock, order], session=session, mode="native", sandbox=NoSandbox(), **more)


def committed(log: Iterable[Event]) -> list[list[Json]]:
    """The contents of the answers that a log holds, as they were stored."""
    answers = (event.data["message"] for event in log if event.type == "assistant/message")
    return [json.loads(json.dumps(message["content"])) for message in answers if message["content"]]


def check_requests(requests: list[Any], answers: list[Json]) -> None:
    """Every request is valid by the independent judge, and carries what had been received by then."""
    for body in requests:
        count = sum(message["role"] == "assistant" for message in body["messages"])
        assert problems(body["messages"], [each["content"] for each in answers[:count]]) == []


def check_log(log: list[Event], requests: list[Any], *, since: int = 0) -> None:
    """Every request can be made again from the log alone, as it stood when its step began."""
    history = History()
    made: list[Any] = []
    for event in log:
        if event.type == "step/start" and event.seq >= since:
            made.append(None)
        history.see(event)
        if made and made[-1] is None and event.type in ("step/start", "request/header"):
            follows = log[event.seq + 1].type if event.seq + 1 < len(log) else ""
            if follows != "request/header" and history.header is not None:
                made[-1] = json.loads(json.dumps(request_body(request_over(history.header, history))))
        if event.type == "step/retry" and event.seq >= since:
            made.append(made[-1])
    assert made == [{name: value for name, value in body.items() if name != "stream"} for body in requests]


def pairs(log: Iterable[Event]) -> None:
    """Every start has exactly one end, and calls exactly one result."""
    open_: dict[Any, int] = {}
    ends = {"turn/end": "turn/start", "step/end": "step/start", "tool/result": "tool/call"}
    keys = {"turn/start": "turn", "turn/end": "turn", "step/start": "step", "step/end": "step"}
    for event in log:
        key = event.data.get(keys.get(event.type, "callId"))
        if event.type in ends.values():
            open_[event.type, key] = open_.get((event.type, key), 0) + 1
        elif event.type in ends:
            open_[ends[event.type], key] = open_.get((ends[event.type], key), 0) - 1
            assert open_[ends[event.type], key] == 0, event
    assert not any(open_.values()), open_


def agent(cm: CodeMode, model: Scripted, **more: Any) -> Agent:
    from codemode.agent import Retry

    return Agent(cm, model, retry=Retry(first_seconds=0.0), **more)


async def cancelled_after(began: trio.Event, one: Agent, message: str) -> None:
    """Let a turn come to where `began` is set, and cancel it there; it passes the cancellation on."""
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.run, message)
            await began.wait()
            scope.cancel()
    assert scope.cancelled_caught


def texts(body: Json, index: int) -> list[str]:
    """The texts of the results in one message of a request."""
    return [
        "".join(part["text"] for part in block["content"])
        for block in body["messages"][index]["content"]
        if block["type"] == "tool_result"
    ]


def kinds(cm: CodeMode) -> list[str]:
    return [event.type for event in cm.session.events()]
