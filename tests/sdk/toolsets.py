"""Tools for the tests of what models and editors read: every feature of schemas, awkward names, hostile texts."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from hypothesis import strategies as st

from codemode import Output, Tool, as_json, tool
from codemode.values import JSON

__all__ = ["HOSTILE", "many", "raw", "schemas", "texts", "typed"]


def raw(
    name: str,
    properties: dict[str, JSON] | None = None,
    *,
    description: str = "",
    output: dict[str, JSON] | None = None,
    **rest: Any,
) -> Tool:
    """A tool that gives its arguments back."""

    async def execute(arguments: dict[str, Any], call: object) -> object:
        return arguments

    parameters = {"type": "object", "properties": properties or {}, **rest}
    return Tool(name, description, parameters, Output({} if output is None else output, as_json), execute)


class Kind(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Place(TypedDict):
    path: str
    line: NotRequired[int]


class Branch(msgspec.Struct):
    """Refers to itself."""

    name: str
    children: list[Branch] = []
    parent: Branch | None = None


class Cat(msgspec.Struct, tag="cat"):
    lives: int


class Dog(msgspec.Struct, tag="dog"):
    name: str


@dataclasses.dataclass
class Window:
    since: datetime.datetime
    until: datetime.datetime | None = None


@tool(render=as_json, parallel=True)
async def find(
    pattern: Annotated[str, msgspec.Meta(description="a regular expression", min_length=1)],
    path: str = ".",
    *,
    kind: Literal["file", "dir", None] = None,
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100,
    ratio: float = 0.5,
    names: list[str] = [],
    near: tuple[int, int] = (0, 0),
) -> list[Place]:
    """Find files. Gives their places.

    The pattern is matched against the whole path.
    """
    return []


@tool(render=as_json)
async def grow(branch: Branch, size: Kind = Kind.SMALL, window: Window | None = None) -> Branch | None:
    """Grow a branch."""
    return None


@tool(render=as_json)
async def pets(owner: str) -> list[Cat | Dog]:
    """All pets of an owner."""
    return []


@tool(render=as_json)
async def table(rows: dict[str, list[int]], options: dict[str, int | str] = {}) -> dict[str, float]:
    """Sums."""
    return {}


@tool(render=as_json)
async def nothing() -> None:
    pass


def typed() -> list[Tool]:
    """Tools from Python functions, and one for each feature of JSON Schema."""
    node: JSON = {
        "type": "object",
        "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}},
        "required": ["value"],
    }
    return [
        find,
        grow,
        pets,
        table,
        nothing,
        raw("linked", {"node": {"$ref": "#/$defs/Node"}}, output={"$ref": "#/$defs/Node", "$defs": {"Node": node}}, **{"$defs": {"Node": node}}),
        raw("root-reference", output={"type": "object", "properties": {"self": {"$ref": "#"}, "up": {"type": "array", "items": {"$ref": "#"}}}}),
        raw("lists_of_itself", output={"$ref": "#/$defs/T", "$defs": {"T": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/T"}}]}}}),
        raw("all_of", {"x": {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "integer"}}}]}}),
        raw("one_of", {"x": {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"k": {"const": 1}}}, {"type": "null"}]}}, required=["x"]),
        raw("any_of_required", {"a": {"type": "string"}, "b": {"type": "string"}}, anyOf=[{"required": ["a"]}, {"required": ["b"]}]),
        raw("root_union", None, oneOf=[{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "integer"}}}]),
        raw("enums", {"x": {"enum": ["a", "b|c", "d]", 'e"', 1, True, None, 2.5, [1], {"a": 1}]}, "big": {"enum": [10**60, 5]}}),
        raw("nullable", {"x": {"type": ["string", "null"], "default": None}}, output={"type": ["array", "null"], "items": {"type": "number"}}),
        raw("patterns", {"x": {"type": "object", "patternProperties": {"^n": {"type": "integer"}}, "additionalProperties": False}}),
        raw("open_values", output={"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": {"type": "string"}}),
        raw("tuples", {"x": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False}}),
        raw("old_tuples", {"y": {"type": "array", "items": [{"type": "boolean"}]}}, **{"$schema": "http://json-schema.org/draft-07/schema#"}),
        raw("closed", {"x": {"type": "integer", "default": 3}}, additionalProperties=False),
        raw("more_arguments", {"x": {"type": "integer"}, "more": {"type": "string"}}, additionalProperties={"type": "boolean"}),
        raw("no_types", {"x": {}, "y": True, "z": False, "w": {"properties": {"q": {"type": "string"}}}}),
        raw("late_required", {"a": {"type": "integer", "default": 1}, "b": {"type": "string"}, "c": {"type": "integer"}}, required=["b"]),
        raw("defaults", {
            "a": {"type": "string", "default": 'q"\\\n'}, "b": {"type": "integer", "default": "no integer"}, "c": {"type": "array", "default": [1]},
            "d": {"type": "number", "default": 1}, "e": {"type": "boolean", "default": True}, "f": {"enum": ["on", "off"], "default": "on"},
            "g": {"type": "string", "default": "x" * 500}, "h": {"default": 1e300}, "i": {"type": "integer", "default": 10**60},
        }),
        raw("from_and_class", {"from": {"type": "string"}, "class": {"type": "integer", "default": 2}, "self": {"type": "string"}, "tool": {}, "args": {}, "name": {}}),
        raw("both_spellings", {"from": {"type": "string"}, "from_": {"type": "string"}}),
        raw("odd_fields", {"a-b": {"type": "string"}, "x y": {}, "": {}, "_hidden": {}, "__mangled": {}, "ﬁ": {}, "1st": {}, '"]\n': {}}, required=["a-b"],
            output={"type": "object", "properties": {"class": {"type": "string"}, "a-b": {"type": "array", "items": {"type": "object", "properties": {"$ref": {"type": "string"}}}}}}),
        raw("first_is_object", {"x": {"type": "object", "properties": {"a": {"type": "integer"}}}, "y": {"type": "integer"}}),
        raw("shared_one", output={"type": "object", "title": "Issue", "properties": {"id": {"type": "integer"}}}),
        raw("shared_two", output={"type": "array", "items": {"type": "object", "title": "Issue", "properties": {"id": {"type": "integer"}}}}),
        raw("same_title", output={"type": "object", "title": "Issue", "properties": {"other": {"type": "string"}}}),
        raw("taken_title", output={"type": "object", "title": "Any", "properties": {"dict": {"type": "object", "title": "TypedDict", "properties": {"a": {}}}}}),
    ]  # fmt: skip


NAMES = [
    "a-b", "a.b", "a_b", "class", "print", "list", "str", "dict", "int", "Any", "Literal", "TypedDict", "Place", "search", "describe",
    "_hidden", "__init__", "__class__", "mro", "format", "obj", "keys", "get_loop", "f_locals", "await", "match", "type", "None", "self", "tools",
    "größe", "名前", "ªx", "ﬁsh", "x y", '"]) -> int: ...', "a'b", "1st", "\\", "#", "*", "ToolCallError", "Tools", "ns/tool:v1", "𝒳", "😀",
]  # fmt: skip
"""Names of tools that are no identifiers, that are keywords, or that mean something else."""

HOSTILE = [
    '"""\nimport os\nos.system("x")\n"""',
    'ends with a quote"',
    'ends with a backslash\\',
    "\\\"\\\"\\\"",
    "''' and \"\"\" and \"\"\"\"\"",
    "right \u202e to left \u2066 isolated",
    "```\nfenced\n```\n````",
    "\x00\x1b[31m\x07\x9b\u2028\u2029\x85\x0c\ufeff\u200b",
    "\U000e0041\U000e0042 tags",
    "tab\tin\ttext\r\nlines\rmore",
    "# comment\n    ...\nasync def other() -> int: ...",
    "{braces} %s $x \\N{BELL} \\u0041 \\x",
    "   \n  \n",
    "é ü 名 😀 👩‍👩‍👧",
    "x" * 5000,
    '"',
    '""',
    '"' * 9,
    "\\" * 7,
]  # fmt: skip


def many(count: int) -> list[Tool]:
    """Tools as a large service has them."""
    nouns = "issue branch commit user team file page alert invoice order".split()
    verbs = "list get create update delete search close merge assign export".split()
    found = []
    for number in range(count):
        noun, verb = nouns[number % 10], verbs[number // 10 % 10]
        found.append(
            raw(
                f"{verb}_{noun}_{number}",
                {
                    f"{noun}_id": {"type": "integer", "description": f"the number of the {noun}"},
                    "state": {"enum": ["open", "closed"], "default": "open"},
                    "labels": {"type": "array", "items": {"type": "string"}},
                    "page": {"type": "integer", "minimum": 1, "default": 1},
                },
                description=f"{verb.capitalize()} one {noun} of system {number}. It needs the right to do so.",
                required=[f"{noun}_id"],
                output={
                    "type": "object",
                    "properties": {
                        "id": {"type": "integer"},
                        f"{noun}_name": {"type": "string"},
                        "author": {
                            "type": "object",
                            "title": "Author",
                            "properties": {"login": {"type": "string"}, "id": {"type": "integer"}},
                        },
                    },
                },
            )
        )
    return found


# ------------------------------------------------------------------------------- generated schemas

texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40)).map(
    lambda text: text.encode("utf-8", "replace").decode()
)
_names = st.one_of(
    st.sampled_from(["a", "b", "from", "self", "a-b", "_x", "__y", "Any", "str", "", "größe"]), texts
)
_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10**45), st.floats(allow_nan=False, allow_infinity=False), texts
)
_KINDS = ["string", "integer", "number", "boolean", "null", "array", "object"]
_FORMS = ["any", "type", "types", "enum", "const", "reference", "limits"]
_NESTED = ["object", "items", "prefixItems", "anyOf", "oneOf", "allOf", "others", "patterns", "not"]


def _schema(draw: st.DrawFn, depth: int, form: str | None = None) -> dict[str, JSON]:
    form = form or draw(st.sampled_from(_FORMS if depth > 2 else _FORMS + _NESTED))
    schema: dict[str, JSON] = {}
    if form == "type":
        schema["type"] = draw(st.sampled_from(_KINDS))
    elif form == "types":
        schema["type"] = draw(st.lists(st.sampled_from(_KINDS), min_size=1, unique=True))
    elif form == "enum":
        schema["enum"] = draw(st.lists(_scalars, min_size=1, max_size=4))
    elif form == "const":
        schema["const"] = draw(_scalars)
    elif form == "reference":
        schema["$ref"] = draw(st.sampled_from(["#", "#/$defs/A", "#/$defs/B"]))
    elif form == "limits":
        schema.update({"type": "integer", "minimum": 1, "maximum": 9})
    elif form == "object":
        names = draw(st.lists(_names, min_size=1, max_size=3, unique=True))
        schema["type"] = "object"
        schema["properties"] = {name: _schema(draw, depth + 1) for name in names}
        schema["required"] = names[: draw(st.integers(0, 3))]
        if draw(st.booleans()):
            schema["additionalProperties"] = draw(st.booleans())
    elif form == "items":
        schema.update({"type": "array", "items": _schema(draw, depth + 1)})
    elif form in ("prefixItems", "anyOf", "oneOf", "allOf"):
        schema[form] = [_schema(draw, depth + 1) for _ in range(draw(st.integers(1, 3)))]
    elif form == "others":
        schema.update({"type": "object", "additionalProperties": _schema(draw, depth + 1)})
    elif form == "patterns":
        schema["patternProperties"] = {"^x": _schema(draw, depth + 1)}
    elif form == "not":
        schema["not"] = _schema(draw, depth + 1)
    for key, values in (("description", texts), ("title", _names), ("default", _scalars)):
        if draw(st.integers(0, 3)) == 0:
            schema[key] = draw(values)
    return schema


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, JSON]:
    """Schemas of objects, with definitions that refer to each other and to the whole."""
    root = _schema(draw, 0, "object")
    return {**root, "$defs": {"A": _schema(draw, 1), "B": _schema(draw, 1, "object")}}
