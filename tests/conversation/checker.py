"""Whether a request is valid, judged from its body alone, by what is asked of one and by nothing of ours.

It imports nothing of `codemode`. The rules: every call of an assistant turn is answered by exactly one result with
its id in the very next user turn, and all in that one; no result is for another call; thinking and redacted
blocks are, byte for byte and at their place, what was received; and no received block is missing or made up.
"""

from __future__ import annotations

import json
from typing import Any


def problems(messages: list[dict[str, Any]], received: list[list[dict[str, Any]]] | None = None) -> list[str]:
    """What is wrong with the `messages` of a Messages API request; `received` are the contents of the answers
    that were received in this conversation, in order, as they came."""
    found: list[str] = []
    if not messages:
        return ["no messages"]
    if messages[0]["role"] != "user":
        found.append("the first message is not the user's")
    for index, message in enumerate(messages):
        content = message["content"]
        if not content:
            found.append(f"message {index} is empty")
        if index and messages[index - 1]["role"] == message["role"] == "user":
            found.append(f"messages {index - 1} and {index} are both the user's")
        uses = [b["id"] for b in content if b["type"] == "tool_use"] if message["role"] == "assistant" else []
        if len(set(uses)) < len(uses):
            found.append(f"message {index} uses an id twice")
        following = messages[index + 1] if index + 1 < len(messages) else {"role": None, "content": []}
        answered = [b["tool_use_id"] for b in following["content"] if b["type"] == "tool_result"]
        if message["role"] == "assistant":
            if uses and following["role"] != "user":
                found.append(f"message {index} is not followed by a user turn")
            if sorted(answered) != sorted(uses):
                found.append(f"message {index} calls {sorted(uses)}, the next one answers {sorted(answered)}")
            if answered != uses:
                found.append(f"message {index}: results are not in the order of the calls")
        elif any(b["type"] == "tool_result" for b in content):
            if index == 0 or messages[index - 1]["role"] != "assistant":
                found.append(f"message {index} has results that follow no assistant turn")
            kinds = [b["type"] == "tool_result" for b in content]
            if kinds != sorted(kinds, reverse=True):
                found.append(f"message {index}: results do not come first")
    if received is not None:
        sent = [m["content"] for m in messages if m["role"] == "assistant"]
        if [json.dumps(each) for each in sent] != [json.dumps(each) for each in received]:
            found.append("what goes back of the model's turns is not what was received")
    return found


def response_problems(items: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the `input` of a Responses API request, for the same rules."""
    found: list[str] = []
    open_calls: list[str] = []
    for index, item in enumerate(items):
        if item["type"] in ("function_call", "custom_tool_call"):
            open_calls.append(item["call_id"])
        elif item["type"] in ("function_call_output", "custom_tool_call_output"):
            if item["call_id"] not in open_calls:
                found.append(f"item {index} answers {item['call_id']}, which is not open")
            else:
                open_calls.remove(item["call_id"])
        elif item["type"] == "message" and item.get("role") == "user" and open_calls:
            found.append(f"item {index}: the user speaks while {open_calls} are open")
    if open_calls:
        found.append(f"{open_calls} are never answered")
    return found
