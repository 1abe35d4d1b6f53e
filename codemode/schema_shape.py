"""What is done to a JSON Schema that was made from types, so that those who are told of it find what they look for.

Models and editors look for a description at the thing itself: `Annotated[int, Meta(description=…)] | None` describes
one member of a union; what is meant is all of it. Providers and MCP want the schema of arguments to be an object at
its root, and no reference to one. And whoever gets a value or a type wrong is to read what would be right.
"""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from typing import Any

__all__ = ["describe_unions", "with_choices", "with_object_at_root", "written_annotation"]


def describe_unions(schema: Any) -> None:
    """Move the description of the one member of a union beside `null` to the union itself. Changes the schema."""
    if isinstance(schema, list):
        for each in schema:
            describe_unions(each)
    elif isinstance(schema, dict):
        for key, each in schema.items():
            if key not in ("default", "enum", "const", "examples"):
                describe_unions(each)
        members = schema.get("anyOf")
        if isinstance(members, list) and "description" not in schema:
            others = [each for each in members if each != {"type": "null"}]
            if len(others) == 1 and len(members) == 2 and "description" in others[0]:
                schema["description"] = others[0].pop("description")


def with_object_at_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with the definition that its root refers to in its place; nothing else may refer to that."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    name = reference.removeprefix("#/$defs/")
    others = {key: each for key, each in schema["$defs"].items() if key != name}
    return {**schema["$defs"][name], "$defs": others}


_ENUM = re.compile(r"invalid enum value .* at ([^`'\"\s]+)$", re.DOTALL)
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_MOST_CHOICES = 20


def with_choices(message: str, schema: dict[str, Any]) -> str:
    """Return what is said of a value that is none of some, with those that it may be, as the schema has them."""
    found = _ENUM.match(message)
    place: Any = schema
    for step in _STEP.finditer(found[1]) if found else ():
        place = _below(place, step[1], schema)
    choices = _plain(place, schema).get("enum", []) if found else []
    if not 0 < len(choices) <= _MOST_CHOICES:
        return message
    return f"{message}; it is one of {', '.join(json.dumps(each, ensure_ascii=False) for each in choices)}"


def _below(place: Any, name: str | None, root: dict[str, Any]) -> Any:
    """The schema of a field, or without a name that of an element."""
    schema = _plain(place, root)
    if name is None:
        items = schema.get("items")
        return items if isinstance(items, dict) else schema.get("additionalProperties")
    return schema.get("properties", {}).get(name)


def _plain(place: Any, root: dict[str, Any]) -> dict[str, Any]:
    """A schema behind its reference, or that of a union with `null`."""
    for _ in range(8):
        if not isinstance(place, dict):
            break
        members = [each for each in place.get("anyOf", []) if each != {"type": "null"}]
        if "$ref" in place:
            place = root.get("$defs", {}).get(str(place["$ref"]).removeprefix("#/$defs/"))
        elif len(members) == 1:
            place = members[0]
        else:
            return place
    return {}


def written_annotation(annotation: Any) -> str:
    """Return a type as Python 3.10 and later write it, `int | None`, whichever way it was given."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Union or origin is types.UnionType:
        return " | ".join(map(written_annotation, parts))
    if origin in (list, dict, set, frozenset, tuple) and parts:
        inside = ("..." if each is ... else written_annotation(each) for each in parts)
        return f"{origin.__name__}[{', '.join(inside)}]"
    return "None" if annotation is types.NoneType else inspect.formatannotation(annotation)
