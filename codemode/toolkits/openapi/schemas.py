"""The schemas of a document as JSON Schema 2020-12 that stands on its own: pure, without I/O of its own.

What is referred to moves into `$defs`, once, so that schemas that hold themselves stay finite. OpenAPI 3.0's own
words (`nullable`, `exclusiveMinimum: true`) are translated; notes that enforce nothing are left out. Formats that a
validator knows are kept.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from codemode.toolkits.openapi.document import Node, Unusable

__all__ = ["SchemaBuilder", "is_binary"]

_KEPT = frozenset(
    "title description default deprecated enum const type pattern multipleOf maximum minimum exclusiveMaximum "
    "exclusiveMinimum maxLength minLength maxItems minItems uniqueItems maxContains minContains maxProperties "
    "minProperties required dependentRequired contentEncoding contentMediaType".split()
)
_ONE = frozenset(
    "additionalProperties contains else if items not propertyNames then unevaluatedItems unevaluatedProperties".split()
)
_MANY = frozenset("allOf anyOf oneOf prefixItems".split())
_MAPS = frozenset("dependentSchemas patternProperties properties".split())
_REFUSED = frozenset("$dynamicRef $recursiveRef".split())
_FORMATS = frozenset(
    "date date-time time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference iri iri-reference "
    "uuid regex json-pointer relative-json-pointer uri-template".split()
)
_COMBINED = ("allOf", "anyOf", "oneOf", "enum", "const", "not", "$ref")


class SchemaBuilder:
    """Builds the schemas of one operation in one direction: what is `readOnly` is no part of a request, what is
    `writeOnly` none of a response. `definitions` are what they refer to, for the root of the schema.
    """

    def __init__(self, *, is_30: bool, is_request: bool) -> None:
        self._is_30 = is_30
        self._hidden = "readOnly" if is_request else "writeOnly"
        self._names: dict[str, str] = {}
        self.definitions: dict[str, Any] = {}

    def rooted(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema with the definitions that it needs."""
        return {**schema, "$defs": self.definitions} if self.definitions else schema

    def build(self, node: Node) -> Any:
        """Return a schema that refers to `definitions` only. Raises `Unusable` for what cannot be enforced."""
        raw = node.raw
        if isinstance(raw, bool):
            return raw
        if not isinstance(raw, dict):
            raise Unusable(f"a schema is an object, not {raw!r:.60}")
        if refused := _REFUSED & raw.keys():
            raise Unusable(f"its schema has {min(refused)}, which cannot be followed")
        if isinstance(raw.get("$ref"), str):
            reference = {"$ref": f"#/$defs/{self._definition(node.target(raw['$ref']))}"}
            if self._is_30:
                return reference  # what stands beside it is passed over, in that version
            return {**self._members(node), **reference}
        return self._nullable(self._members(node), raw) if self._is_30 else self._members(node)

    def _definition(self, target: Node) -> str:
        name = self._names.get(target.uri)
        if name is None:
            last = unquote(target.uri.rpartition("/")[2].rpartition("#")[2])
            base = name = re.sub(r"\W", "_", last) or "schema"
            number = 2
            while name in self.definitions:
                name, number = f"{base}_{number}", number + 1
            self._names[target.uri] = name
            self.definitions[name] = True  # its place, for references back to it from inside
            self.definitions[name] = self.build(target)
        return name

    def _members(self, node: Node) -> dict[str, Any]:
        raw: dict[str, Any] = node.raw
        built: dict[str, Any] = {}
        for key, item in raw.items():
            if key in _ONE and isinstance(item, dict | bool):
                built[key] = self.build(node.at(item))
            elif key in _MANY and isinstance(item, list):
                built[key] = [self.build(node.at(each)) for each in item]
            elif key in _MAPS and isinstance(item, dict):
                built[key] = {
                    name: self.build(node.at(each))
                    for name, each in item.items()
                    if not self._is_hidden(node, each)
                }
            elif key in _KEPT or (key == "format" and item in _FORMATS):
                built[key] = item
        if isinstance(raw.get("properties"), dict) and isinstance(raw.get("required"), list):
            hidden = {name for name, each in raw["properties"].items() if self._is_hidden(node, each)}
            built["required"] = [name for name in raw["required"] if name not in hidden]
        if self._is_30:
            _bounds_of_30(built)
        return built

    def _is_hidden(self, node: Node, schema: Any) -> bool:
        found = node.at(schema).followed().raw
        return isinstance(found, dict) and found.get(self._hidden) is True

    @staticmethod
    def _nullable(built: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
        if raw.get("nullable") is not True:
            return built
        if isinstance(built.get("type"), str) and not any(key in built for key in _COMBINED):
            return {**built, "type": [built["type"], "null"]}
        return {"anyOf": [built, {"type": "null"}]}


def _bounds_of_30(built: dict[str, Any]) -> None:
    for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(built.get(exclusive), bool) and built.pop(exclusive) and inclusive in built:
            built[exclusive] = built.pop(inclusive)


def is_binary(node: Node) -> bool:
    """Return whether a schema stands for bytes, which are base64 in the arguments of a call."""
    raw = node.followed().raw
    if not isinstance(raw, dict):
        return False
    if raw.get("format") == "binary":
        return True
    media = raw.get("contentMediaType")
    return (
        isinstance(media, str)
        and "contentEncoding" not in raw
        and not media.startswith(("text/", "application/json"))
    )
