"""A model for several agents at once: which answers one gets depends on the task that it was given."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import trio

from codemode import CodeMode, Session, Tool, ToolError, as_json, as_text, tool
from codemode.conversation import AssistantTurn, Request
from codemode.conversation.anthropic_stream import AnthropicStream
from codemode.conversation.anthropic_wire import NAME, request_body
from codemode.errors import ProviderError
from codemode.sdk.definitions import for_anthropic
from codemode.toolkits import agents
from tests.agent.scripted import NoSandbox
from tests.conversation.scripts import Json, answer, events, said, use

__all__ = ["Model", "answer", "engine", "look", "said", "task_of", "use", "write"]


@tool(render=as_json, parallel=True, read_only=True)
async def look(at: str = "here") -> str:
    """Look at something."""
    await trio.lowlevel.checkpoint()
    if at == "nowhere":
        raise ToolError("there is nothing", code="NOTHING")
    return f"saw {at}"


@tool(render=as_text, approval="it writes")
async def write(what: str) -> str:
    """Write something."""
    await trio.lowlevel.checkpoint()
    return f"wrote {what}"


def task_of(body: Json) -> str:
    """What the agent whose request this is was first told."""
    return str(body["messages"][0]["content"][0]["text"])


class Model:
    """A provider. `scripts` holds answers, errors to raise, and functions to await, by a part of the task.

    With `together`, the first answers are given when so many have been asked for at once.
    """

    name = NAME
    model = "model-1"

    def __init__(self, *, together: int = 1, **scripts: list[Any]) -> None:
        self._together = together
        self._are_together = trio.Event()
        self.scripts = scripts
        self.requests: list[Json] = []
        self.open = 0
        self.most_open = 0
        self.asked = trio.Event()

    def define(self, described: Any) -> list[Json]:
        return for_anthropic(described)

    def asked_for(self, word: str) -> list[Json]:
        return [body for body in self.requests if word in task_of(body)]

    async def respond(self, request: Request, show: Any) -> AssistantTurn:
        body = json.loads(json.dumps(request_body(request)))
        self.requests.append(body)
        self.asked.set()
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        if self.open >= self._together:
            self._are_together.set()
        try:
            await self._are_together.wait()
            return await self._play(body)
        finally:
            self.open -= 1

    async def _play(self, body: Json) -> AssistantTurn:
        await trio.lowlevel.checkpoint()
        (word,) = [each for each in self.scripts if each in task_of(body)]
        if not self.scripts[word]:
            raise ProviderError(f"the script of {word} is at its end")
        played = self.scripts[word].pop(0)
        if callable(played):
            played = await played()
        if isinstance(played, Exception):
            raise played
        stream = AnthropicStream()
        for event in events(played):
            stream.feed(event)
        return stream.turn()


def engine(
    model: Model,
    *,
    session: Session | str | None = None,
    programs: bool = False,
    more: list[Tool] | None = None,
    approver: Callable[..., Any] | None = None,
    mode: Any = "native",
    **options: Any,
) -> CodeMode:
    return CodeMode(
        [look, write, *(more or []), *agents(model, **options)],
        session=session,
        mode="both" if programs and mode == "native" else mode,
        approver=approver,
        sandbox=None if programs else NoSandbox(),
    )
