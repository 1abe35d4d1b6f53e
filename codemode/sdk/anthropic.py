"""`run_code` in an application on the Anthropic SDK: what to offer the model, and what to answer it.

    tools = anthropic.tools(cm)
    message = await client.messages.create(..., tools=tools, messages=messages)
    answers = await anthropic.results(cm, message)   # [] when the model is done

Nothing here sends anything: client, model and messages are the application's. The SDK itself is needed for its types
alone (extra `anthropic`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from codemode.content import Image
from codemode.sdk.answering import AskedCall, Engine
from codemode.sdk.definitions import for_anthropic
from codemode.tools.call import Outcome

if TYPE_CHECKING:
    from anthropic.types import Message, ToolParam, ToolResultBlockParam

__all__ = ["results", "tools"]


def tools(engine: Engine) -> list[ToolParam]:
    """Return what a request's `tools` are: `run_code`, and in the modes that have them the tools themselves."""
    return cast("list[ToolParam]", for_anthropic(engine.describe()))


async def results(engine: Engine, message: Message) -> list[ToolResultBlockParam]:
    """Carry out the calls of an answer and return the content of the user turn that follows; empty without calls.

    A call that fails is an answer too. Cancellation ends the calls and is passed on. Raises `SessionError`.
    """
    asked = [
        AskedCall(block.id, block.name, cast("Any", block.input))
        for block in message.content
        if block.type == "tool_use"
    ]
    outcomes = await engine.call_all(asked) if asked else []
    return [_result(call.id, outcome) for call, outcome in zip(asked, outcomes, strict=True)]


def _result(call_id: str, outcome: Outcome) -> ToolResultBlockParam:
    content: list[Any] = []
    for block in outcome.content:
        if isinstance(block, Image):
            source = {"type": "base64", "media_type": block.media_type, "data": block.data}
            content.append({"type": "image", "source": source})
        elif block.text:  # the API takes no empty text
            content.append({"type": "text", "text": block.text})
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content,
        "is_error": outcome.is_error,
    }
