"""Whether a request is valid, judged from its body alone, by what is asked of one and by nothing of ours.

It imports nothing of `codemode`. The rules: every call of an assistant turn is answered by exactly one result with
its id in the very next user turn, and all in that one; no result is for another call; thinking and redacted
blocks are, byte for byte and at their place, what was received; and no received block is missing or made up.

And what the API itself refuses, though it sends it: blank text; of a failed call, what is no text, or nothing;
a turn that is thinking alone. Such a text, or such a turn as a whole, has to be missing.
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
        if any(is_blank(block) for block in content):
            found.append(f"message {index} has a blank text")
        if message["role"] == "assistant" and content and not comes_back(content):
            found.append(f"message {index} says nothing")
        for block in content:
            given = block.get("content") if block["type"] == "tool_result" else None
            if given is not None and any(is_blank(part) for part in given):
                found.append(f"message {index} has a result with a blank text")
            if block.get("is_error") and {part["type"] for part in given or []} != {"text"}:
                found.append(f"message {index} has a failed result that is no text")
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
        if [json.dumps(each) for each in sent] != [json.dumps(each) for each in coming_back(received)]:
            found.append("what goes back of the model's turns is not what was received")
    return found


def is_input(item: dict[str, Any]) -> bool:
    return item["type"].endswith("_output") or item.get("role") == "user"


def is_blank(block: dict[str, Any]) -> bool:
    return block["type"] == "text" and not block["text"].strip()


def comes_back(content: list[dict[str, Any]]) -> bool:
    """Whether a turn of the model with this content is sent again."""
    return not all(is_blank(b) or b["type"] in ("thinking", "redacted_thinking") for b in content)


def coming_back(received: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """What is sent again of turns of the model."""
    return [[block for block in each if not is_blank(block)] for each in received if comes_back(each)]


def response_problems(items: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the `input` of a Responses API request, for the same rules."""
    found: list[str] = []
    open_calls: list[str] = []
    for item, after in zip(items, [*items[1:], {"type": "nothing"}], strict=True):
        if item["type"] == "reasoning" and (after["type"] == "nothing" or is_input(after)):
            found.append(f"reasoning {item['id']} comes back without what follows it")
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
