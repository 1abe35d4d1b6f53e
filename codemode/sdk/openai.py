"""`run_code` in an application on the OpenAI SDK, for the Responses API and for Chat Completions.

    response = await client.responses.create(..., tools=openai.tools(cm), input=items)
    answers = await openai.results(cm, response)     # [] when the model is done

    completion = await client.chat.completions.create(..., tools=openai.chat_tools(cm), messages=messages)
    answers = await openai.chat_results(cm, completion.choices[0].message)

Nothing here sends anything: client, model and input are the application's. The SDK itself is needed for its types
alone (extra `openai`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from codemode.content import Image, text_of
from codemode.sdk.answering import AskedCall, Engine, arguments_of
from codemode.sdk.definitions import for_openai_chat, for_openai_responses
from codemode.tools.call import Outcome

if TYPE_CHECKING:
    from openai.types.chat import (
        ChatCompletionMessage,
        ChatCompletionToolMessageParam,
        ChatCompletionToolParam,
    )
    from openai.types.responses import Response, ResponseInputItemParam, ToolParam

__all__ = ["chat_results", "chat_tools", "results", "tools"]


def tools(engine: Engine) -> list[ToolParam]:
    """Return what the `tools` of a Responses request are."""
    return cast("list[ToolParam]", for_openai_responses(engine.describe()))


def chat_tools(engine: Engine) -> list[ChatCompletionToolParam]:
    """Return what the `tools` of a Chat Completions request are."""
    return cast("list[ChatCompletionToolParam]", for_openai_chat(engine.describe()))


async def results(engine: Engine, response: Response) -> list[ResponseInputItemParam]:
    """Carry out the calls of a response and return the items that answer them; empty without calls.

    A call that fails is an answer too. Cancellation ends the calls and is passed on. Raises `SessionError`.
    """
    asked = [
        AskedCall(item.call_id, item.name, arguments_of(item.arguments))
        for item in response.output
        if item.type == "function_call"
    ]
    outcomes = await engine.call_all(asked) if asked else []
    return [_output(call.id, outcome) for call, outcome in zip(asked, outcomes, strict=True)]


async def chat_results(
    engine: Engine, message: ChatCompletionMessage
) -> list[ChatCompletionToolMessageParam]:
    """Carry out the calls of a message and return the messages that answer them; see `results`. Chat Completions
    has no pictures in such messages; they are named."""
    asked = [
        AskedCall(call.id, call.function.name, arguments_of(call.function.arguments))
        for call in message.tool_calls or ()
        if call.type == "function"
    ]
    outcomes = await engine.call_all(asked) if asked else []
    return [
        {"role": "tool", "tool_call_id": call.id, "content": text_of(outcome.content)}
        for call, outcome in zip(asked, outcomes, strict=True)
    ]


def _output(call_id: str, outcome: Outcome) -> ResponseInputItemParam:
    shown: Any = text_of(outcome.content)
    if any(isinstance(block, Image) for block in outcome.content):
        shown = [
            {
                "type": "input_image",
                "image_url": f"data:{block.media_type};base64,{block.data}",
                "detail": "auto",
            }
            if isinstance(block, Image)
            else {"type": "input_text", "text": block.text}
            for block in outcome.content
        ]
    return {"type": "function_call_output", "call_id": call_id, "output": shown}
