"""Applications of a few lines on the providers' SDKs, against a local server that plays recorded answers."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest

from codemode import CodeMode, Image, as_json, tool
from codemode.sdk.definitions import for_anthropic, for_mcp, for_openai_chat, for_openai_responses
from tests.agent.server import Play, recorded
from tests.sdk.applications import anthropic_app, openai_app

PROGRAM = "total = sum(tools.stock(item=i) for i in ('apple', 'plum'))\nprint('asked')\nreturn total"
CALL = {"code": PROGRAM, "description": "add the stock up"}


@tool(render=as_json, parallel=True)
async def stock(item: str) -> int:
    """How many of an item are in stock."""
    return {"apple": 3, "plum": 12}[item]


@tool(render=lambda arguments, value: [Image(data="aGk=", media_type="image/png")])
async def picture() -> str:
    """A picture."""
    return "hi"


def answer(body: Any) -> Play:
    return Play(json.dumps(body).encode(), headers={"content-type": "application/json"})


def claude(*content: Any, stop: str = "tool_use") -> Play:
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "usage": usage}
    return answer({**head, "content": list(content), "stop_reason": stop, "stop_sequence": None})


def response(*output: Any) -> Play:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt", "status": "completed"}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return answer({**head, **rest, "output": list(output)})


def completion(message: Any) -> Play:
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": None, **message},
    }
    return answer(
        {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt", "choices": [choice]}
    )


def function_call(number: int, name: str, arguments: str) -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name, "arguments": arguments}  # fmt: skip


async def test_an_application_on_the_anthropic_sdk_runs_programs() -> None:
    script = [
        claude({"type": "text", "text": "Let me see."}, {"type": "tool_use", "id": "toolu_1", "name": "run_code", "input": CALL}),
        claude({"type": "tool_use", "id": "toolu_2", "name": "run_code", "input": {**CALL, "code": "tools.stok()"}},
               {"type": "tool_use", "id": "toolu_3", "name": "picture", "input": {}}),
        claude({"type": "text", "text": "There are 15."}, stop="end_turn"),
    ]  # fmt: skip
    async with recorded(script) as server, CodeMode([stock, picture]) as cm:
        async with anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0) as client:
            assert await anthropic_app.ask(cm, client, "How many?") == "There are 15."
        first, second, third = server.requests
        names = [each["name"] for each in first["tools"]]
        assert names == ["picture", "stock", "run_code"]
        assert "async def stock(item: str) -> int:" in first["tools"][2]["description"]
        assert second["messages"][2]["content"] == [
            {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": False, "content": [{"type": "text", "text": "asked\n15"}]}
        ]  # fmt: skip
        failed, shown = third["messages"][4]["content"]
        assert failed["tool_use_id"] == "toolu_2"
        assert failed["is_error"] is True
        assert "did you mean 'stock'?" in failed["content"][0]["text"]
        assert shown["content"] == [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
        ]


async def test_an_application_on_the_responses_api_runs_programs() -> None:
    said = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}
    script = [
        response(function_call(1, "run_code", json.dumps(CALL)), function_call(2, "picture", "{}")),
        response(function_call(3, "run_code", '{"code": "cut o')),
        response({**said, "content": [{"type": "output_text", "text": "There are 15.", "annotations": []}]}),
    ]
    async with recorded(script) as server, CodeMode([stock, picture]) as cm:
        async with openai.AsyncOpenAI(api_key="k", base_url=server.url, max_retries=0) as client:
            assert await openai_app.ask(cm, client, "How many?") == "There are 15."
        first, second, third = server.requests
        (run_code,) = [each for each in first["tools"] if each["name"] == "run_code"]
        assert run_code["type"] == "function"
        assert run_code["strict"] is True
        assert run_code["parameters"]["additionalProperties"] is False
        assert sorted(run_code["parameters"]["required"]) == ["code", "description"]
        assert second["input"][3] == {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": "asked\n15",
        }
        assert second["input"][4]["output"] == [
            {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"}
        ]
        assert "the arguments of a call are an object" in third["input"][-1]["output"]


async def test_an_application_on_chat_completions_runs_programs() -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "run_code", "arguments": json.dumps(CALL)},
    }
    script = [completion({"tool_calls": [call]}), completion({"content": "There are 15."})]
    async with recorded(script) as server, CodeMode([stock], mode="code") as cm:
        async with openai.AsyncOpenAI(api_key="k", base_url=server.url, max_retries=0) as client:
            assert await openai_app.ask_chat(cm, client, "How many?") == "There are 15."
        first, second = server.requests
        assert [each["function"]["name"] for each in first["tools"]] == ["run_code"]
        assert second["messages"][-1] == {"role": "tool", "tool_call_id": "call_1", "content": "asked\n15"}


async def test_a_scope_is_an_engine_too() -> None:
    script = [claude({"type": "text", "text": "none"}, stop="end_turn")]
    async with recorded(script) as server, CodeMode([stock, picture]) as cm:
        async with anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0) as client:
            await anthropic_app.ask(cm.scope(mode="code", deny=["picture"]), client, "x")
        (run_code,) = server.requests[0]["tools"]
        assert "picture" not in run_code["description"]


@pytest.mark.parametrize("form", [for_anthropic, for_openai_responses, for_openai_chat, for_mcp])
async def test_a_definition_holds_what_is_described(form: Any) -> None:
    async with CodeMode([stock]) as cm:
        described = cm.describe()
        for each, made in zip(described, form(described), strict=True):
            inner = made.get("function", made)
            assert inner["name"] == each["name"]
            assert inner["description"] == each["description"]
            schema = inner.get("input_schema") or inner.get("inputSchema") or inner["parameters"]
            assert schema["properties"] == each["parameters"]["properties"]
            json.dumps(made)
