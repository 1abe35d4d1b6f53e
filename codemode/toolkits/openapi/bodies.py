"""Bodies: what a call's argument is as the body of a request, and what a response's body is as a value. Pure."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from codemode import ToolError
from codemode.toolkits.openapi.operations import Body, BodyPart, is_text
from codemode.toolkits.openapi.styles import primitive, query_pairs

__all__ = ["EncodedBody", "encoded", "value_of"]

EncodedBody = tuple[dict[str, str], bytes | None, list[tuple[str, tuple[str | None, bytes, str | None]]]]
"""Headers, content, and the parts of a multipart body, as httpx takes them."""


def encoded(body: Body, value: Any) -> EncodedBody:
    """Return a body as it is sent. Raises `ToolError` for base64 that is none, or a form that is no object."""
    headers = {"Content-Type": body.media_type}
    if body.kind == "json":
        return headers, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), []
    if body.kind == "text":
        return {"Content-Type": f"{body.media_type}; charset=utf-8"}, str(value).encode(), []
    if body.kind == "binary":
        return headers, _bytes(body.argument, value), []
    if not isinstance(value, dict):
        raise ToolError(f"{body.argument} is a form: give an object of its fields", code="INVALID_ARGUMENTS")
    if body.kind == "form":
        pairs = [
            pair
            for name, each in value.items()
            for pair in _fields(name, each, body.parts.get(name, BodyPart()))
        ]
        return headers, "&".join(pairs).encode(), []
    parts = [
        part for name, each in value.items() for part in _parts(name, each, body.parts.get(name, BodyPart()))
    ]
    return {}, None, parts


def _fields(name: str, value: Any, part: BodyPart) -> list[str]:
    if part.style is None and (isinstance(value, dict) or part.media_type == "application/json"):
        value = json.dumps(value, ensure_ascii=False)
    return list(query_pairs(name, value, part.style or "form", part.explode))


def _parts(name: str, value: Any, part: BodyPart) -> list[tuple[str, tuple[str | None, bytes, str | None]]]:
    if value is None:
        return []
    if isinstance(value, list) and part.media_type != "application/json":
        return [each for item in value for each in _parts(name, item, part)]
    if part.is_binary:
        return [(name, (name, _bytes(name, value), part.media_type or "application/octet-stream"))]
    if isinstance(value, dict | list):
        return [
            (
                name,
                (None, json.dumps(value, ensure_ascii=False).encode(), part.media_type or "application/json"),
            )
        ]
    return [(name, (None, primitive(value).encode(), part.media_type))]


def _bytes(name: str, value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise ToolError(
            f"{name} holds bytes: give them as text in base64", code="INVALID_ARGUMENTS"
        ) from None


def value_of(media_type: str, charset: str | None, body: bytes) -> Any:
    """Return what a response holds: JSON's value, text, base64 of anything else, None for nothing.

    Raises `ToolError` for what says that it is JSON or text and is not.
    """
    if not body:
        return None
    if media_type.endswith("+json") or media_type in ("application/json", "text/json"):
        try:
            return json.loads(body, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise ToolError(
                f"the response says that it is JSON and is not: {error}", code="INVALID_RESPONSE"
            ) from None
    if is_text(media_type):
        try:
            return body.decode(charset or "utf-8")
        except (LookupError, UnicodeDecodeError) as error:
            raise ToolError(f"the response's text cannot be read: {error}", code="INVALID_RESPONSE") from None
    return base64.b64encode(body).decode()


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
