"""Answers of a model as the events and bytes of a stream: what a recorded server plays. No server is here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

SIGNATURE = "EqQBCkYIBRgCKkDx+/=="
CIPHER = "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP"


def answer(*content: Json, stop: str | None = None, id: str = "msg_01", **more: Any) -> Json:
    """A whole message of the Messages API, as it stands when it is complete."""
    if stop is None:
        stop = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    usage = {"input_tokens": 25, "output_tokens": 40, "service_tier": "standard"}
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": "model-1",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }


def said(text: str, **more: Any) -> Json:
    return {"type": "text", "text": text, **more}


def thought(text: str = "Let me see…", signature: str = SIGNATURE, **more: Any) -> Json:
    return {"type": "thinking", "thinking": text, "signature": signature, **more}


def redacted(data: str = CIPHER, **more: Any) -> Json:
    return {"type": "redacted_thinking", "data": data, **more}


def use(id: str, name: str = "stock", **input: Any) -> Json:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def events(message: Json, size: int = 7, *, ping: bool = True) -> list[Json]:
    """The events that stream a message, text in pieces of `size` characters."""
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    found: list[Json] = [{"type": "message_start", "message": start}]
    if ping:
        found.append({"type": "ping"})
    for index, block in enumerate(message["content"]):
        begun, deltas = _parts(block, size)
        found.append({"type": "content_block_start", "index": index, "content_block": begun})
        found += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        found.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    usage = {"output_tokens": message["usage"]["output_tokens"]}
    found.append({"type": "message_delta", "delta": end, "usage": usage})
    found.append({"type": "message_stop"})
    return found


def _parts(block: Json, size: int) -> tuple[Json, list[Json]]:
    kind = block["type"]
    if kind == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in cut(block["text"], size)]
        deltas += [{"type": "citations_delta", "citation": each} for each in block.get("citations") or []]
        return {**block, "text": "", **({"citations": []} if "citations" in block else {})}, deltas
    if kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in cut(block["thinking"], size)]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {**block, "thinking": "", "signature": ""}, deltas
    if kind in ("tool_use", "server_tool_use"):
        text = json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *cut(text, size)]]
        return {**block, "input": {}}, deltas
    return block, []


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def stream_bytes(given: Iterable[Json]) -> bytes:
    """Events as a server sends them."""
    return b"".join(
        f"event: {each['type']}\ndata: {json.dumps(each, ensure_ascii=False)}\n\n".encode() for each in given
    )


# ------------------------------------------------------------------------------------------ OpenAI


def response(*output: Json, status: str = "completed", **more: Any) -> Json:
    usage = {"input_tokens": 25, "output_tokens": 40, "total_tokens": 65}
    return {
        "id": "resp_01",
        "object": "response",
        "status": status,
        "output": list(output),
        "usage": usage,
        **more,
    }


def item_text(text: str, id: str = "msg_01") -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": id, "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def item_reasoning(id: str = "rs_01", cipher: str = CIPHER) -> Json:
    return {"id": id, "type": "reasoning", "summary": [], "encrypted_content": cipher}


def item_call(id: str, name: str = "stock", arguments: str | None = None, **input: Any) -> Json:
    text = json.dumps(input) if arguments is None else arguments
    return {
        "id": f"fc_{id}",
        "type": "function_call",
        "status": "completed",
        "call_id": id,
        "name": name,
        "arguments": text,
    }


def response_events(whole: Json, size: int = 7) -> list[Json]:
    """The events that stream a response of the Responses API."""
    begun = {**whole, "output": [], "status": "in_progress", "usage": None}
    found: list[Json] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        added = {**item, "status": "in_progress", "content": [], "arguments": ""}
        found.append({"type": "response.output_item.added", "output_index": index, "item": added})
        if item["type"] == "message":
            kind = "response.output_text.delta"
            pieces = cut(item["content"][0]["text"], size)
            found += [{"type": kind, "output_index": index, "delta": piece} for piece in pieces]
        if item["type"] == "function_call":
            kind = "response.function_call_arguments.delta"
            pieces = cut(item["arguments"], size)
            found += [{"type": kind, "output_index": index, "delta": piece} for piece in pieces]
        found.append({"type": "response.output_item.done", "output_index": index, "item": item})
    kind = "response.completed" if whole["status"] == "completed" else "response.incomplete"
    found.append({"type": kind, "response": whole})
    return [{**each, "sequence_number": number} for number, each in enumerate(found)]


# -------------------------------------------------------------------------------- random answers

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
FILLED = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(str.strip)
BLANK = st.sampled_from(["", " ", "\n\n"])
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
UNKNOWN_FIELDS = st.dictionaries(st.sampled_from(["x_new", "caller", "cache"]), JSON_VALUES, max_size=2)


def blocks(id: st.SearchStrategy[str]) -> st.SearchStrategy[Json]:
    """Any block of an answer; calls take their ids from `id`."""
    texts = st.builds(lambda text, more: said(text, **more), FILLED | BLANK, UNKNOWN_FIELDS)
    cited = st.builds(
        lambda text, cites: said(text, citations=cites),
        FILLED,
        st.lists(st.dictionaries(TEXT, JSON_VALUES, max_size=2), max_size=2),
    )
    thoughts = st.builds(lambda t, s, more: thought(t, s, **more), TEXT, FILLED, UNKNOWN_FIELDS)
    hidden = st.builds(lambda data, more: redacted(data, **more), FILLED, UNKNOWN_FIELDS)
    inputs = st.dictionaries(TEXT, JSON_VALUES, max_size=3)
    uses = st.builds(
        lambda id, input, more: {"type": "tool_use", "id": id, "name": "stock", "input": input, **more},
        id,
        inputs,
        UNKNOWN_FIELDS,
    )
    server = st.builds(
        lambda input: {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": input}, inputs
    )
    other = st.builds(
        lambda kind, more: {"type": kind, **more},
        st.sampled_from(["web_search_tool_result", "container_upload", "a_type_of_tomorrow"]),
        st.dictionaries(st.sampled_from(["content", "tool_use_id", "encrypted"]), JSON_VALUES, max_size=3),
    )
    return st.one_of(texts, cited, thoughts, hidden, uses, server, other)


@st.composite
def answers(draw: st.DrawFn, prefix: str = "toolu") -> Json:
    """A complete answer with blocks of any kind; ids of calls are its own."""
    numbers = range(draw(st.integers(1, 5)))
    content = [draw(blocks(st.just(f"{prefix}_{number}"))) for number in numbers]
    return answer(*content, id=f"msg_{prefix}")


def called(message: Json) -> Sequence[str]:
    return [block["id"] for block in message["content"] if block["type"] == "tool_use"]
