"""What is done to a JSON Schema that was made from types, so that those who are told of it find what they look for.

Models and editors look for a description at the thing itself: `Annotated[int, Meta(description=…)] | None` describes
one member of a union; what is meant is all of it. Providers and MCP want the schema of arguments to be an object at
its root, and no reference to one.
"""

from __future__ import annotations

from typing import Any

__all__ = ["describe_unions", "with_object_at_root"]


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
