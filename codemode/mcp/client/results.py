"""What a server answers to a call: its value for a program, its content for a model. Pure.

The value of a call is `{content, structuredContent?}` with the protocol's blocks as they came, or, for a server whose
values are unwrapped, the structured content, else a single text parsed as JSON, else the text.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any

from codemode.content import Content, Image, Text, text_of
from codemode.errors import ToolError, ToolOutputError
from codemode.mcp.client.config import Values
from codemode.rendering import cut_middle, json_text
from codemode.values import JSON

__all__ = ["FAILED", "render_protocol", "render_unwrapped", "value_of"]

FAILED = "MCP_TOOL_FAILED"
"""Code of a call that the server itself called an error (`isError`)."""

_IMAGE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_MAX_ERROR_BYTES = 16 * 1024


def value_of(result: Mapping[str, Any], values: Values) -> JSON:
    """Return the value of one answer to `tools/call`, not yet checked against any schema.

    Raises `ToolError` for an answer that says `isError`, `ToolOutputError` for one that is no answer.
    """
    content = result.get("content")
    if content is None:
        # The answer of before the first stable protocol, and one with structured content alone.
        content = [_text_block(json_text(result["toolResult"]))] if "toolResult" in result else []
    if not isinstance(content, list):
        raise ToolOutputError(f"the server's answer has no list of content blocks, but {content!r:.80}")
    if result.get("isError"):
        shown = text_of(_projected(content)) or "the server says that the call failed, and not why"
        raise ToolError(cut_middle(shown, _MAX_ERROR_BYTES), code=FAILED)
    structured = result.get("structuredContent")
    if values == "protocol":
        return (
            {"content": content}
            if structured is None
            else {"content": content, "structuredContent": structured}
        )
    return _unwrapped(content) if structured is None else structured


def _unwrapped(content: Sequence[JSON]) -> JSON:
    texts = [each["text"] for each in content if _is_text(each)]
    if len(texts) < len(content):
        return list(content)
    if len(texts) == 1:
        try:
            return json.loads(texts[0], parse_constant=_no_number)
        except (ValueError, RecursionError):
            return texts[0]
    return "\n".join(texts) if texts else None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def render_protocol(arguments: object, value: JSON) -> Content:
    """Show a value of the form `{content, structuredContent?}`: its blocks, else its structured content."""
    shown = _projected(value["content"])
    if shown:
        return shown
    if "structuredContent" in value:
        return (Text(json_text(value["structuredContent"])),)
    return (Text("(the tool returned no content)"),)


def render_unwrapped(arguments: object, value: JSON) -> Content:
    """Show an unwrapped value: text as it is, content blocks as blocks, anything else as JSON."""
    if isinstance(value, str):
        return (Text(value),)
    if isinstance(value, list) and value and all(isinstance(each, dict) and "type" in each for each in value):
        return _projected(value)
    return (Text(json_text(value)),)


def _projected(content: Sequence[JSON]) -> Content:
    """Content blocks of the protocol as those of a conversation; neighbouring texts become one."""
    blocks: list[Text | Image] = []
    for each in content:
        block = _block(each)
        if isinstance(block, Text) and not block.text:
            continue
        if isinstance(block, Text) and blocks and isinstance(blocks[-1], Text):
            blocks[-1] = Text(f"{blocks[-1].text}\n{block.text}")
        else:
            blocks.append(block)
    return tuple(blocks)


def _block(block: JSON) -> Text | Image:
    if not isinstance(block, dict):
        return Text("[a content block that is no object]")
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        return Text(text if isinstance(text, str) else "")
    if kind == "image":
        return _image(block.get("data"), block.get("mimeType"), "an image")
    if kind == "audio":
        return Text(f"[audio, {_named(block.get('mimeType'))}; programs get its data]")
    if kind == "resource_link":
        name, uri = block.get("title") or block.get("name"), block.get("uri")
        return Text(
            f"Resource: {name} ({uri})" if name and uri else "[a link to a resource without its name]"
        )
    if kind == "resource":
        return _resource(block.get("resource"))
    return Text(f"[a content block of type {kind!r:.60}; programs get it as it is]")


def _resource(resource: JSON) -> Text | Image:
    if not isinstance(resource, dict):
        return Text("[a resource without content]")
    uri, text, blob = resource.get("uri"), resource.get("text"), resource.get("blob")
    if isinstance(text, str):
        return Text(f"Resource {uri}:\n{text}")
    if isinstance(blob, str) and resource.get("mimeType") in _IMAGE_TYPES:
        return _image(blob, resource.get("mimeType"), f"resource {uri}")
    return Text(f"[resource {uri}, {_named(resource.get('mimeType'))}; programs get its data]")


def _image(data: JSON, media_type: JSON, what: str) -> Text | Image:
    if media_type not in _IMAGE_TYPES:
        return Text(f"[{what}, {_named(media_type)}, cannot be shown; programs get its data]")
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, TypeError, ValueError):
        return Text(f"[{what}, {media_type}, whose data is no base64]")
    return Image(data, str(media_type))


def _named(media_type: JSON) -> str:
    return str(media_type)[:100] if media_type else "of unknown type"


def _is_text(block: JSON) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)


def _text_block(text: str) -> dict[str, JSON]:
    return {"type": "text", "text": text}
