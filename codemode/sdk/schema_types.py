"""From JSON Schema to Python types: `list[Row]`, `Literal["a", "b"]`, and the TypedDict classes that they name.

One `Types` collects the classes of one text, so that equal schemas of several tools share a class and no two classes
share a name. What has no Python type is widened to `Any`.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from codemode.sdk.schema_merge import ANNOTATIONS, Schema, branches, flat, kinds, resolve
from codemode.sdk.schema_notes import note
from codemode.sdk.spelling import LONGEST, camel, is_name
from codemode.sdk.typed_dicts import Class, Field, as_call, as_class
from codemode.sdk.unions import literals, union
from codemode.values import JSON

__all__ = ["IN_TYPES", "WORDS", "Types"]

IN_TYPES = frozenset("Any Literal Mapping Never NotRequired Sequence bool dict float int list str".split())
"""Names that stand in types: what is called so, where they are read, would take their place."""

WORDS = IN_TYPES | frozenset(
    "AnyTool Future Iterator Pending Tools ToolCallError TypeVar TypedDict Union object overload tools type".split()
)
"""Names that the texts use for themselves; no class gets one of them."""

_NO_SHAPE = frozenset("$defs $comment $id $schema default definitions description examples".split())
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_MAX_DEPTH = 12
_MAX_SCHEMAS = 2_000  # that are read for one argument or value: unions of references multiply


class Types:
    """The classes of one text. `taken` are names that no class may have.

    With `lenient`, types of arguments take everything that a program may well pass: any sequence for an array, any
    mapping for an object; that is for checkers, where the exact form is for readers. Names begin with `prefix`.
    """

    def __init__(self, taken: Collection[str] = (), *, lenient: bool = False, prefix: str = "") -> None:
        self._taken = {*WORDS, *taken}
        self._lenient = lenient
        self._prefix = prefix
        self._names: dict[str, str] = {}  # a schema, written out: the name of its class
        self._classes: dict[str, Class] = {}

    def argument(self, schema: JSON, root: Schema, name: str, *, closed: bool) -> str:
        """Return the type of an argument. `name` is for a class without a title; `closed` says that an object
        has no keys but those it declares, unless it says so itself."""
        return _Reading(self, root, closed, self._lenient, True).type_of(schema, name, 0)

    def value(self, schema: JSON, root: Schema, name: str, *, closed: bool) -> str:
        """Return the type of a value; see `argument`."""
        return _Reading(self, root, closed, self._lenient, False).type_of(schema, name, 0)

    def fields(self) -> dict[str, list[str]]:
        """Return the names of each class's fields."""
        return {made.name: [field.name for field in made.fields] for made in self._classes.values()}

    def text(self, *, notes: bool = True) -> list[str]:
        """Return the classes, each as one string of lines, those that others use first."""
        shadowing = IN_TYPES | self._classes.keys()
        written: list[str] = []
        above: set[str] = set()
        for made in self._classes.values():
            # In the body of a class, a field that is called like a type would take its place.
            if all(is_name(each.name) and each.name not in shadowing for each in made.fields):
                written.append(as_class(made, self._lenient, notes))
            else:
                written.append(as_call(made, self._classes.keys() - above, notes))
            above.add(made.name)
        return written

    def known(self, key: str) -> str | None:
        """Return the name of the class for a schema, if it has one."""
        return self._names.get(key)

    def new_name(self, key: str, wanted: str) -> str:
        """Give the class for a schema a name."""
        stem = self._prefix + (camel(wanted) or "Value")
        name, number = stem, 2
        while name in self._taken or not is_name(name):
            name, number = f"{stem}{number}", number + 1
        self._taken.add(name)
        self._names[key] = name
        return name

    def add(self, made: Class) -> None:
        self._classes[made.name] = made


class _Reading:
    """Reads the schemas below one root."""

    def __init__(self, types: Types, root: Schema, closed: bool, lenient: bool, argument: bool) -> None:
        self._types = types
        self._root = root
        self._closed = closed
        self._lenient = lenient
        self._wide = lenient and argument
        self._argument = argument
        self._followed: list[str] = []
        self._left = _MAX_SCHEMAS

    def type_of(self, schema: JSON, name: str, depth: int) -> str:
        if schema is False:
            return "Never"
        self._left -= 1
        if not isinstance(schema, dict) or depth > _MAX_DEPTH or self._left < 0:
            return "Any"
        reference = schema.get("$ref")
        if isinstance(reference, str):
            last = reference.rpartition("/")[2]
            target = resolve(reference, self._root)
            if isinstance(target, dict) and "$ref" not in target:
                name = str(target.get("title") or (last if last not in ("", "#") else name))
            whole = flat({key: item for key, item in schema.items() if key not in ANNOTATIONS}, self._root)
            if reference in self._followed:  # it leads back to itself, which only a class can do
                known = self._types.known(self._class_key(whole)) if whole.get("properties") else None
                return self._class_type(known) if known else "Any"
            self._followed.append(reference)
            try:
                return self._flat_type(whole, name, depth)
            finally:
                self._followed.pop()
        return self._flat_type(flat(schema, self._root), name, depth)

    def _flat_type(self, schema: Schema, name: str, depth: int) -> str:
        if "const" in schema:
            return literals([schema["const"]])
        if isinstance(schema.get("enum"), list):
            return literals(schema["enum"])
        members = branches(schema, self._root)
        if members is not None:
            named = [self._branch_name(member, name, at) for at, member in enumerate(members, 1)]
            return union([self.type_of(member, named[at], depth + 1) for at, member in enumerate(members)])
        said = kinds(schema)
        if len(said) == 7:
            return "Any"
        return union([self._kind(kind, schema, name, depth) for kind in said])

    def _branch_name(self, member: Schema, name: str, number: int) -> str:
        is_plain = "$ref" in member or next(iter(kinds(member))) in _SCALARS
        return name if is_plain else f"{name}{number}"

    def _kind(self, kind: str, schema: Schema, name: str, depth: int) -> str:
        if kind in _SCALARS:
            return _SCALARS[kind]
        if kind == "array":
            item = self._item(schema, name, depth)
            return f"{'Sequence' if self._wide else 'list'}[{item}]"
        if kind == "object":
            return self._object(schema, name, depth)
        return "Any"

    def _item(self, schema: Schema, name: str, depth: int) -> str:
        first = schema.get("prefixItems")
        rest = schema.get("items", schema.get("additionalItems", True) if first else True)
        if isinstance(rest, list):  # the older way to write `prefixItems`
            first, rest = rest, schema.get("additionalItems", True)
        if not isinstance(first, list):
            return self.type_of(rest, _singular(name), depth + 1)
        found = [self.type_of(item, f"{name}{at}", depth + 1) for at, item in enumerate(first, 1)]
        if rest is not False and len(first) != schema.get("maxItems"):
            found.append(self.type_of(rest, _singular(name), depth + 1))
        return union(found or ["Any"])

    def _object(self, schema: Schema, name: str, depth: int) -> str:
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties and max(map(len, properties)) <= LONGEST:
            return self._class_type(self._class(schema, properties, name, depth))
        others = self._others(schema, name, depth)
        return f"{'Mapping' if self._wide else 'dict'}[str, {'Any' if others == 'Never' else others}]"

    def _others(self, schema: Schema, name: str, depth: int) -> str:
        found = [
            self.type_of(item, f"{name}Entry", depth + 1)
            for item in (schema.get("patternProperties") or {}).values()
        ]
        rest = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
        if rest is not False:
            found.append(self.type_of(rest, f"{name}Entry", depth + 1))
        return union(found or ["Never"])

    def _class_key(self, schema: Schema) -> str:
        shape = {key: item for key, item in schema.items() if key not in _NO_SHAPE}
        text = json.dumps(shape, sort_keys=True)
        if '"$ref"' in text:
            text += json.dumps(_reachable(shape, self._root, {}), sort_keys=True)
        return f"{self._wide}{self._closed}{text}"

    def _class(self, schema: Schema, properties: dict[str, JSON], name: str, depth: int) -> str:
        key = self._class_key(schema)
        known = self._types.known(key)
        if known is not None:
            return known
        title = schema.get("title")
        wanted = title if isinstance(title, str) and camel(title) else name
        made = self._types.new_name(key, wanted)
        required = schema.get("required", [])
        fields = [
            Field(
                field,
                self.type_of(item, f"{made} {field}", depth + 1),
                field in required,
                note(item, self._root, constraints=self._argument),
            )
            for field, item in properties.items()
        ]
        is_open = schema.get("additionalProperties", schema.get("unevaluatedProperties", not self._closed))
        self._types.add(Class(made, fields, is_open is not False or "patternProperties" in schema))
        return made

    def _class_type(self, name: str) -> str:
        return f"{name} | Mapping[str, Any]" if self._wide else name


def _reachable(schema: JSON, root: Schema, found: dict[str, JSON]) -> dict[str, JSON]:
    """What the references in a schema lead to, and those in there, by reference."""
    if isinstance(schema, list):
        for item in schema:
            _reachable(item, root, found)
    elif isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in found:
            found[reference] = resolve(reference, root)
            _reachable(found[reference], root, found)
        for item in schema.values():
            _reachable(item, root, found)
    return found


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else f"{name} item"
