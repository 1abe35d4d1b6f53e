"""A tool as a server lists it becomes a tool here: its name, its schemas, what its annotations mean. Pure.

What can be enforced of a schema is; a note or a format that no validator knows is left out of what is enforced, not
out of what is shown. Parameters whose schema cannot be enforced at all are checked by the server alone; such an
output schema counts as any JSON.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from codemode.errors import ToolArgumentsError, ToolDefinitionError
from codemode.mcp.client.config import ServerConfig
from codemode.mcp.client.results import render_protocol, render_unwrapped
from codemode.rendering import cut_middle
from codemode.schemas import KEYWORDS, OutputSchema, ParameterSchema, RawOutput, RawParameters
from codemode.tools.definition import Execute, Output, Tool
from codemode.values import JSON, InvalidValue, freeze, thaw

__all__ = ["make_tool", "tool_names"]

_MAX_DESCRIPTION_BYTES = 16 * 1024
_BLOCKS = 'Blocks: {"type": "text", "text": …}, {"type": "image", "data": base64, "mimeType": …}, …'
_CONTENT: dict[str, JSON] = {"type": "array", "items": {}, "description": _BLOCKS}


def tool_names(prefix: str, raw_names: Iterable[str]) -> dict[str, str]:
    """Return the names here of a server's tools: the prefix, and the name with `_` for what no name may hold.

    Where two would get the same name, the one that is spelt so keeps it, and the others keep their own spelling
    (`tools["github_get-issue"]`).
    """
    clean = {name: re.sub(r"\W", "_", name) for name in raw_names}
    count = Counter(clean.values())
    names = {}
    for raw, own in clean.items():
        if count[own] > 1:
            own = raw
        names[raw] = f"{prefix}_{own}" if prefix else own
    return names


def make_tool(config: ServerConfig, name: str, listed: Mapping[str, Any], execute: Execute) -> Tool:
    """Return the tool that calls `execute`. Raises `ToolDefinitionError` for what cannot be one."""
    raw_name = listed["name"]
    annotations = listed.get("annotations")
    hints = annotations if isinstance(annotations, dict) else {}
    description = listed.get("description") or listed.get("title") or hints.get("title") or ""
    return Tool(
        name,
        cut_middle(str(description), _MAX_DESCRIPTION_BYTES),
        _parameters(listed.get("inputSchema")),
        _output(config, listed.get("outputSchema")),
        execute,
        parallel=hints.get("readOnlyHint") is True,
        read_only=hints.get("readOnlyHint") is True,
        approval=_approval(config, raw_name, hints),
    )


def _approval(config: ServerConfig, name: str, hints: Mapping[str, Any]) -> str | None:
    if config.approval == "never" or name in config.approved:
        return None
    if config.approval == "always":
        return f"every call of MCP server {config.name!r} needs approval"
    if hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True:
        return f"MCP server {config.name!r} marks {name!r} as destructive"
    return None


def _parameters(schema: JSON) -> ParameterSchema:
    if schema is None:
        schema = {"type": "object"}
    if not isinstance(schema, dict):
        raise ToolDefinitionError(f"its inputSchema is no object, but {schema!r:.80}")
    for candidate in (schema, _relaxed(schema)):
        try:
            return _ShownParameters(schema, RawParameters(candidate))
        except ToolDefinitionError as error:
            problem = error
    if schema.get("type", "object") != "object":
        raise problem
    return _ShownParameters(schema, None)


class _ShownParameters:
    """Parameters that are shown as the server lists them, and checked as far as they can be."""

    def __init__(self, schema: dict[str, JSON], checked: RawParameters | None) -> None:
        try:
            plain: dict[str, JSON] = thaw(freeze(schema, root="inputSchema"))
        except InvalidValue as error:
            raise ToolDefinitionError(f"its inputSchema is no JSON: {error}") from None
        # Whoever reads a schema may rely on its being one.
        self._schema = plain if checked is not None or _is_schema(plain) else _outline(plain)
        self._checked = checked
        self._names = tuple(self._schema.get("properties", {}))

    @property
    def json_schema(self) -> dict[str, JSON]:
        return copy.deepcopy(self._schema)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def first_is_object(self) -> bool:
        return True if self._checked is None else self._checked.first_is_object

    @property
    def signature(self) -> str:
        if self._checked is not None:
            return self._checked.signature
        return f"({', '.join(f'{name}: Any' for name in self._names)})"

    def accept(self, arguments: JSON) -> dict[str, Any]:
        if self._checked is not None:
            return self._checked.accept(arguments)
        if not isinstance(arguments, dict):
            raise ToolArgumentsError("expected an object of named arguments")
        return arguments


def _is_schema(schema: JSON) -> bool:
    """Whether this is a JSON Schema at all. What version it says it is does not matter, and nobody is asked for it."""
    import jsonschema_rs  # takes a while to load

    try:
        return bool(jsonschema_rs.meta.is_valid(_without_versions(schema)))
    except (ValueError, TypeError, jsonschema_rs.ReferencingError):
        return False


def _without_versions(schema: JSON) -> JSON:
    if isinstance(schema, dict):
        return {key: _without_versions(item) for key, item in schema.items() if key != "$schema"}
    return [_without_versions(item) for item in schema] if isinstance(schema, list) else schema


def _outline(schema: dict[str, JSON]) -> dict[str, JSON]:
    """What can be read of a schema that is none: the names of the parameters, and what is said of each."""
    properties = schema.get("properties")
    outline: dict[str, JSON] = {}
    for name, each in properties.items() if isinstance(properties, dict) else ():
        said = each.get("description") if isinstance(each, dict) else None
        outline[name] = {"description": said} if isinstance(said, str) else {}
    return {"type": "object", "properties": outline}


def _output(config: ServerConfig, schema: JSON) -> Output:
    wrapped = config.values == "protocol"
    render = render_protocol if wrapped else render_unwrapped
    return Output(_output_schema(schema, wrapped), render)


def _output_schema(schema: JSON, wrapped: bool) -> OutputSchema:
    if isinstance(schema, dict) and schema:
        for candidate in (schema, _relaxed(schema)):
            try:
                return RawOutput(_envelope(candidate, required=True) if wrapped else candidate)
            except ToolDefinitionError:
                continue
    return RawOutput(_envelope({}, required=False) if wrapped else {})


def _envelope(schema: dict[str, JSON], *, required: bool) -> dict[str, JSON]:
    """The schema of `{content, structuredContent?}`; definitions move to the root, and references follow them."""
    inner = dict(schema)
    outer: dict[str, JSON] = {"type": "object"}
    if "$id" not in inner:  # one that has an id is a document of its own, whose references start there
        for key in ("$schema", "$defs", "definitions"):
            if key in inner:
                outer[key] = _rebased(inner.pop(key))
        inner = _rebased(inner)
    outer["properties"] = {"content": _CONTENT, "structuredContent": inner}
    outer["required"] = ["content", "structuredContent"] if required else ["content"]
    outer["additionalProperties"] = False
    return outer


def _rebased(schema: JSON) -> JSON:
    if isinstance(schema, dict):
        return {
            key: _moved(item) if key == "$ref" and isinstance(item, str) else _rebased(item)
            for key, item in schema.items()
        }
    return [_rebased(item) for item in schema] if isinstance(schema, list) else schema


def _moved(reference: str) -> str:
    if not reference.startswith("#") or reference.startswith(("#/$defs/", "#/definitions/")):
        return reference
    if reference != "#" and not reference.startswith("#/"):
        return reference  # an anchor, which stays where it is
    return f"#/properties/structuredContent{reference[1:]}"


_FORMATS_ARE_NOTES = frozenset({"format", "contentEncoding", "contentMediaType"})
_MAPS = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


def _relaxed(schema: JSON) -> Any:
    """A schema without keywords and formats that no validator here knows. They are notes by JSON Schema's own rules."""
    if isinstance(schema, list):
        return [_relaxed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, JSON] = {}
    for key, item in schema.items():
        if key not in KEYWORDS or key in _FORMATS_ARE_NOTES:
            continue
        if key in _MAPS and isinstance(item, dict):
            kept[key] = {name: _relaxed(child) for name, child in item.items()}
        elif key in ("const", "default", "enum", "examples"):
            kept[key] = item
        else:
            kept[key] = _relaxed(item)
    return kept
