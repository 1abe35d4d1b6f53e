"""What a schema says beside its type, in words: its description, and the bounds that Python's types cannot state."""

from __future__ import annotations

from typing import Any

from codemode.sdk.schema_merge import Schema, flat
from codemode.sdk.spelling import one_line
from codemode.values import JSON

__all__ = ["note"]

_LIMITS = (
    ("minimum", ">= {}"),
    ("exclusiveMinimum", "> {}"),
    ("maximum", "<= {}"),
    ("exclusiveMaximum", "< {}"),
    ("multipleOf", "a multiple of {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("pattern", "matches {}"),
    ("format", "format {}"),
)


def note(schema: JSON, root: Schema, *, constraints: bool) -> str:
    """Return on one line what a schema says beside the type: its description, and the bounds of an argument."""
    if not isinstance(schema, dict):
        return ""
    parts: list[str] = []
    own = schema if schema.keys() & {"description"} or "$ref" not in schema else flat(schema, root)
    description = own.get("description")
    if isinstance(description, str) and description.strip():
        parts.append(one_line(description))
    if constraints:
        whole: dict[str, Any] = flat(schema, root)
        limits = [
            text.format(one_line(str(whole[key])[:80]))
            for key, text in _LIMITS
            if key in whole and not isinstance(whole[key], bool | dict | list)
        ]
        if limits:
            parts.append(f"({', '.join(limits)})" if parts else ", ".join(limits))
    return " ".join(parts)
