"""Tools of many kinds for measurements: every feature of JSON Schema, names that are no identifiers, hostile text.

Each tool's number is in its names and texts, so that no two share a class by chance. Nothing here is ever called.
"""

from __future__ import annotations

from typing import Any

from codemode import Output, Tool, as_json
from codemode.values import JSON

__all__ = ["FEATURES", "toolset"]

_NOUNS = ("issue", "branch", "commit", "user", "team", "file", "page", "alert", "invoice", "order")
_HOSTILE = '"""\nimport os\n\u202e# \\" {x} ```'


def _object(properties: dict[str, JSON], *required: str, **rest: JSON) -> dict[str, JSON]:
    return {"type": "object", "properties": properties, "required": list(required), **rest}


def _plain(noun: str, number: int) -> tuple[dict[str, JSON], dict[str, JSON]]:
    """A tool as services have most of them: an identifier, an enum, a list, a page; an object comes back."""
    parameters = _object(
        {
            f"{noun}_id": {"type": "integer", "description": f"the number of the {noun}"},
            "state": {"enum": ["open", "closed"], "default": "open"},
            "labels": {"type": "array", "items": {"type": "string"}},
            "page": {"type": "integer", "minimum": 1, "default": 1},
        },
        f"{noun}_id",
    )
    author = _object({"login": {"type": "string"}}, "login", title="Author")
    value = _object({"id": {"type": "integer"}, f"{noun}_name": {"type": "string"}, "author": author}, "id")
    return parameters, value


def _linked(noun: str, number: int) -> tuple[dict[str, JSON], dict[str, JSON]]:
    node = _object({noun: {"type": "integer"}, "next": {"$ref": f"#/$defs/Node{number}"}}, noun)
    root: dict[str, JSON] = {"$defs": {f"Node{number}": node}}
    return (
        {**_object({"node": {"$ref": f"#/$defs/Node{number}"}}), **root},
        {"$ref": f"#/$defs/Node{number}", **root},
    )


def _unions(noun: str, number: int) -> tuple[dict[str, JSON], dict[str, JSON]]:
    tagged: list[JSON] = [
        _object({"kind": {"const": f"{noun}-{number}-{each}"}, each: {"type": "string"}}, "kind", each)
        for each in ("made", "gone")
    ]
    return (
        _object({"which": {"oneOf": tagged}, noun: {"type": ["string", "integer", "null"], "default": None}}),
        {"type": "array", "items": {"anyOf": [*tagged, {"type": "null"}]}},
    )


def _merged(noun: str, number: int) -> tuple[dict[str, JSON], dict[str, JSON]]:
    parts: list[JSON] = [
        _object({f"{noun}_{number}": {"type": "string"}}, f"{noun}_{number}"),
        {"properties": {"at": {"type": "string", "format": "date-time"}}},
    ]
    return _object({"x": {"allOf": parts}}, anyOf=[{"required": ["x"]}]), {"allOf": parts}


def _lists(noun: str, number: int) -> tuple[dict[str, JSON], dict[str, JSON]]:
    pair: dict[str, JSON] = {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"type": "string"}],
        "items": False,
    }
    return (
        _object({"pair": pair, "names": {"type": "array", "items": {"type": "string"}, "maxItems": number}}),
        {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
    )


def _maps(noun: str, number: int) -> tuple[dict[str, JSON], dict[str, JSON]]:
    return (
        _object({"by": {"type": "object", "additionalProperties": {"type": ["integer", "string"]}}}),
        _object(
            {noun: {"type": "object", "patternProperties": {"^n": {"type": "integer"}}}},
            additionalProperties={"type": "string"},
        ),
    )


def _defaults(noun: str, number: int) -> tuple[dict[str, JSON], dict[str, JSON]]:
    return (
        _object(
            {
                "text": {"type": "string", "default": 'q"\\\n', "minLength": 1, "pattern": "^[a-z]+$"},
                "share": {"type": "number", "default": 0.5, "exclusiveMaximum": 1},
                "on": {"type": "boolean", "default": True},
                "many": {"type": "array", "default": [number]},
                "mixed": {"enum": ["a", "b|c", 1, True, None, 2.5]},
            }
        ),
        {"type": ["array", "null"], "items": {"type": "boolean"}},
    )


def _awkward(noun: str, number: int) -> tuple[dict[str, JSON], dict[str, JSON]]:
    return (
        _object(
            {
                "from": {"type": "string"},
                "class": {"type": "integer", "default": number},
                "self": {},
                "größe": True,
            },
            "from",
        ),
        _object({"a-b": {"type": "string"}, "class": {"type": "string"}, f"{noun} {number}": {}}),
    )


def _hostile(noun: str, number: int) -> tuple[dict[str, JSON], dict[str, JSON]]:
    return (
        _object(
            {noun: {"type": "string", "description": f"{_HOSTILE} {number}"}, '"]\n': {"type": "string"}}
        ),
        _object({noun: {"type": "string", "description": _HOSTILE}}, title=f"{noun}{number}{_HOSTILE}"),
    )


FEATURES = {
    "change": _plain,
    "read": _plain,
    "link": _linked,
    "match": _unions,
    "merge": _merged,
    "list": _lists,
    "map": _maps,
    "set-up": _defaults,
    "class": _awkward,
    "say": _hostile,
}
"""What a tool's schemas hold, by the first word of its name. Two in ten are plain, eight have features."""


async def _nothing(arguments: dict[str, Any], call: object) -> object:
    return None


def toolset(count: int) -> list[Tool]:
    """Return that many tools: all features in turn, and the same tools for the same count."""
    tools = []
    features = list(FEATURES.items())
    for number in range(count):
        verb, schemas = features[number % len(features)]
        noun = _NOUNS[number // len(features) % len(_NOUNS)]
        parameters, value = schemas(noun, number)
        text = f"{verb.capitalize()} one {noun} of system {number}. It needs the right to do so."
        description = f"{text}\n{_HOSTILE}" if schemas is _hostile else text
        tools.append(
            Tool(f"{verb}_{noun}_{number}", description, parameters, Output(value, as_json), _nothing)
        )
    return tools
