"""How a tool's parameters are written in a signature, and when one dict is the only way to write them.

A parameter keeps its exact name; one that is a keyword of Python is written with an underscore behind it, which a
call takes back. Where a name cannot be written at all, or the schema is more than a list of properties, a call
takes one dict of all arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from codemode.schemas import TypedParameters
from codemode.sdk.schema_merge import branches, flat
from codemode.sdk.schema_notes import note
from codemode.sdk.schema_types import Types
from codemode.sdk.spelling import is_name, literal
from codemode.tools.definition import Tool
from codemode.values import JSON

__all__ = ["Parameter", "Parameters", "parameters_of"]


class Parameter(NamedTuple):
    """`name` is the schema's, `spelled` how a signature writes it, `default` what is written after `=`, or None for a
    required one; `...` stands for a default that is not told."""

    name: str
    spelled: str
    type: str
    default: str | None
    note: str


class Parameters(NamedTuple):
    """What a call takes: `each` parameter by name, or, where `whole` is a type, one dict of that type.

    `others` is the type of arguments beside the named ones, None where there can be none.
    """

    each: Sequence[Parameter]
    whole: str | None
    others: str | None

    def text(self, first: str = "") -> str:
        """Return the list of parameters as Python writes it, in brackets, after a `first` one."""
        parts = [first] if first else []
        if self.whole is not None:
            optional = " = ..." if not any(each.default is None for each in self.each) else ""
            return f"({', '.join([*parts, f'arguments: {self.whole}{optional}', '/'])})"
        is_optional = keywords_only = False
        for each in self.each:
            if each.default is None and is_optional and not keywords_only:
                parts.append("*")
                keywords_only = True
            is_optional = is_optional or each.default is not None
            parts.append(
                f"{each.spelled}: {each.type}" + ("" if each.default is None else f" = {each.default}")
            )
        if self.others is not None:
            parts.append(f"**{self.free_name('more')}: {self.others}")
        return f"({', '.join(parts)})"

    def free_name(self, wanted: str) -> str:
        """Return a name that no parameter has."""
        while any(each.spelled == wanted for each in self.each):
            wanted += "_"
        return wanted


def parameters_of(tool: Tool, types: Types, *, lenient: bool = False) -> Parameters:
    """Return the parameters of a tool, their classes added to `types`.

    With `lenient`, arguments that a JSON Schema does not exclude may be there; otherwise only those it speaks of.
    """
    closed = isinstance(tool.parameters, TypedParameters)
    root = tool.parameters.json_schema
    schema = flat(root, root)
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = schema.get("required", [])
    each = [
        _parameter(name, item, name in required, root, types, tool.name, closed)
        for name, item in properties.items()
    ]
    spelled = [parameter.spelled for parameter in each]
    is_plain = (
        branches({key: schema[key] for key in ("anyOf", "oneOf") if key in schema} | {"type": "object"}, root)
        is None
    )
    others = _others(schema, root, types, tool.name, closed, lenient)
    if is_plain and all(map(is_name, spelled)) and len(set(spelled)) == len(spelled):
        return Parameters(each, None, others)
    if tool.parameters.first_is_object and not is_plain:
        return Parameters([], None, "Any")  # one dict would be taken for the first parameter
    return Parameters(each, types.argument(schema, root, f"{tool.name} arguments", closed=closed), others)


def _parameter(
    name: str, schema: JSON, required: bool, root: dict[str, JSON], types: Types, tool: str, closed: bool
) -> Parameter:
    written = types.argument(schema, root, f"{tool} {name}", closed=closed)
    spelled = name if is_name(name) or not is_name(f"{name}_") else f"{name}_"
    default = None if required else _default(schema, written)
    return Parameter(name, spelled, written, default, note(schema, root, constraints=True))


def _default(schema: JSON, written: str) -> str:
    """The default as Python writes it, where it is short and of the type that is written; otherwise `...`."""
    if not isinstance(schema, dict) or "default" not in schema:
        return "..."
    value = schema["default"]
    text = literal(value)
    if text is None or len(text) > 60:
        return "..."
    words = written.replace("[", " ").replace("]", " ").replace(",", " ").split()
    if isinstance(value, str):
        kind = "str"
    elif value is None:
        kind = "None"
    else:
        kind = type(value).__name__
    if "Any" in words or kind in written.split(" | ") or (kind == "int" and "float" in written.split(" | ")):
        return text
    return text if "Literal" in words and f"{text}" in _members(written) else "..."


def _members(written: str) -> list[str]:
    return [part for part in written.replace("Literal[", ", ").replace("]", ", ").split(", ") if part]


def _others(
    schema: dict[str, JSON], root: dict[str, JSON], types: Types, tool: str, closed: bool, lenient: bool
) -> str | None:
    rest = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
    if "patternProperties" in schema:
        return "Any"
    if rest is None:
        return "Any" if lenient and not closed else None
    return None if rest is False else types.argument(rest, root, f"{tool} entry", closed=closed)
