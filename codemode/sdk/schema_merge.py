"""JSON Schema made flat: references followed, `allOf` merged into one, branches joined with what they stand in.

Pure functions over schemas. What cannot be merged is widened, never narrowed: a reader is told of too many values
rather than of too few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from codemode.values import JSON

__all__ = ["ANNOTATIONS", "Schema", "branches", "flat", "kinds", "resolve"]

Schema = dict[str, Any]

ANNOTATIONS = frozenset(
    "$comment $id $schema default deprecated description examples id readOnly title writeOnly".split()
)
"""Keywords that say something about values without telling which are valid."""

_STRUCTURE = frozenset(
    "$ref $dynamicRef $recursiveRef additionalItems additionalProperties allOf anyOf const enum items oneOf "
    "patternProperties prefixItems properties type".split()
)
_KINDS = frozenset("array boolean integer null number object string".split())
_MAX_STEPS = 64


def resolve(reference: str, root: Schema) -> JSON:
    """Return what a local reference (`#/$defs/Row`) leads to, or None: an anchor, another document, nothing."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    found: Any = root
    for step in reference.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        else:
            return None
    return found


def flat(schema: JSON, root: Schema, steps: list[int] | None = None) -> Schema:
    """Return the schema without `$ref` and `allOf` at its top; `{}` for what is no object of keywords.

    Schemas can lead in circles, and double with each round: after `_MAX_STEPS` in all, what is left is left out.
    """
    if not isinstance(schema, dict):
        return {}
    found: Schema = dict(schema)
    steps = [_MAX_STEPS] if steps is None else steps
    while steps[0] > 0 and ("$ref" in found or "allOf" in found):
        steps[0] -= 1
        if "$ref" in found:
            reference = found.pop("$ref")
            target = resolve(reference, root) if isinstance(reference, str) else None
            if not isinstance(target, dict):
                return {key: found[key] for key in found if key in ANNOTATIONS}
            found = merged({**target, **{key: found.pop(key) for key in ANNOTATIONS & found.keys()}}, found)
        else:
            for part in found.pop("allOf"):
                found = merged(found, flat(part, root, steps))
    found.pop("$ref", None)
    found.pop("allOf", None)
    return found


def merged(one: Schema, other: Schema) -> Schema:
    """Return one schema for what fits both."""
    joined = dict(one)
    for key, item in other.items():
        if key not in joined:
            joined[key] = item
        elif key == "properties" and isinstance(item, dict):
            joined[key] = _merged_properties(joined[key], item)
        elif key == "required" and isinstance(item, list):
            joined[key] = list(dict.fromkeys([*joined[key], *item]))
        elif key == "type":
            both = [kind for kind in kinds(one) if kind in kinds(other)]
            if "integer" in (*kinds(one), *kinds(other)) and "number" in (*kinds(one), *kinds(other)):
                both.append("integer")
            joined[key] = both or joined[key]
        elif key == "enum" and isinstance(item, list):
            joined[key] = [member for member in joined[key] if member in item] or joined[key]
        elif key == "additionalProperties":
            joined[key] = False if item is False else joined[key]
        elif key in ("anyOf", "oneOf"):
            # Both unions hold; one of them is the wider answer.
            joined[key] = joined[key] if len(joined[key]) <= len(item) else item
    return joined


def _merged_properties(one: Mapping[str, JSON], other: Mapping[str, JSON]) -> dict[str, JSON]:
    joined: dict[str, JSON] = dict(one)
    for name, schema in other.items():
        if name not in joined or joined[name] == schema or joined[name] is True:
            joined[name] = schema
        elif schema is not True:
            joined[name] = {"allOf": [joined[name], schema]}
    return joined


def branches(schema: Schema, root: Schema) -> list[Schema] | None:
    """Return the members of a union, each joined with what stands beside it; None for what is no union."""
    for key in ("anyOf", "oneOf"):
        members = schema.get(key)
        if isinstance(members, list) and members:
            rest = {other: item for other, item in schema.items() if other != key}
            if not any(isinstance(member, dict) and _STRUCTURE & member.keys() for member in members):
                # Branches that only say what is required, or nothing at all.
                return None if _STRUCTURE & rest.keys() else [{}]
            beside = {other: item for other, item in rest.items() if other not in ANNOTATIONS}
            if not _STRUCTURE & beside.keys():
                return [member if isinstance(member, dict) else {} for member in members]
            return [merged(flat(member, root), beside) for member in members]
    return None


def kinds(schema: Schema) -> Sequence[str]:
    """Return the JSON types that a schema says or implies; all of them where it says nothing."""
    said = schema.get("type")
    if isinstance(said, str):
        return (said,)
    if isinstance(said, list):
        return tuple(kind for kind in said if isinstance(kind, str))
    if "properties" in schema or isinstance(schema.get("additionalProperties"), dict):
        return ("object",)
    if "patternProperties" in schema:
        return ("object",)
    if "prefixItems" in schema or "items" in schema:
        return ("array",)
    return tuple(sorted(_KINDS))
