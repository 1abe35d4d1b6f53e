"""Schemas: what a tool takes and returns, declared by Python types or by JSON Schema.

Two kinds, one face. `ParameterSchema` turns a call's frozen arguments into what the body receives;
`OutputSchema` turns what the body returned into a frozen JSON value. Both check, both say where a value
does not fit, and both can be written out as JSON Schema. A schema that could not be enforced is refused
when it is made (`ToolDefinitionError`), never passed over when a call comes.

Typed schemas are enforced by msgspec, raw ones by jsonschema-rs, offline.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import decimal
import difflib
import inspect
import re
import typing
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from codemode.errors import ToolArgumentsError, ToolDefinitionError, ToolOutputError
from codemode.schema_shape import describe_unions, with_choices, with_object_at_root, written_annotation
from codemode.values import JSON, FrozenDict, FrozenList, InvalidValue, check, freeze, thaw

if typing.TYPE_CHECKING:
    import jsonschema_rs

__all__ = [
    "KEYWORDS",
    "OutputSchema",
    "ParameterSchema",
    "RawOutput",
    "RawParameters",
    "TypedOutput",
    "TypedParameters",
]


class ParameterSchema(Protocol):
    """What a tool takes: always an object."""

    @property
    def json_schema(self) -> dict[str, JSON]:
        """A fresh JSON Schema; changing it changes nothing here."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names in declaration order, for positional arguments."""
        ...

    @property
    def first_is_object(self) -> bool:
        """Whether the first parameter may itself be an object."""
        ...

    @property
    def signature(self) -> str:
        """The parameters as Python would write them, for error messages: `(path: str, *, blank: bool = True)`."""
        ...

    def accept(self, arguments: JSON) -> dict[str, Any]:
        """Return the arguments as the body receives them. Raises `ToolArgumentsError`."""
        ...


class OutputSchema(Protocol):
    """What a tool returns: any JSON value that fits."""

    @property
    def json_schema(self) -> dict[str, JSON]:
        """A fresh JSON Schema; changing it changes nothing here."""
        ...

    def accept(self, returned: object) -> JSON:
        """Return the frozen canonical value. Raises `ToolOutputError`."""
        ...


# ------------------------------------------------------------------------------ declared by types


class TypedParameters:
    """The parameters of a Python function, from its annotations.

    `skip` names parameters that the caller injects and that are no part of the schema.
    Raises `ToolDefinitionError` for `*args`, `**kwargs`, a missing annotation, or a type that msgspec
    cannot describe.
    """

    def __init__(self, function: Callable[..., object], skip: frozenset[str] = frozenset()) -> None:
        hints = _hints(function)
        plain_hints = typing.get_type_hints(function)  # without `Annotated`, which says nothing to a caller
        fields: list[tuple[str, Any, Any]] = []
        names: list[str] = []
        shown: list[inspect.Parameter] = []
        for parameter in inspect.signature(function).parameters.values():
            name = parameter.name
            if name in skip:
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise ToolDefinitionError(
                    f"parameter {parameter} cannot be described to a model; name each parameter"
                )
            if name not in hints:
                raise ToolDefinitionError(f"parameter {name!r} has no type annotation; write {name}: str, …")
            field = msgspec.field(name=name, **_default(parameter))
            _check_keys(msgspec.inspect.type_info(hints[name]), f"parameter {name!r}")
            _check_default(parameter, hints[name])
            # The struct's own names are numbered, so that a parameter may be called anything.
            fields.append((f"p{len(fields)}", hints[name], field))
            names.append(name)
            shown.append(parameter.replace(annotation=_Shown(plain_hints[name])))
        self._names = tuple(names)
        self._struct = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
        self._schema = with_object_at_root(_json_schema(self._struct, "its parameters"))
        self._schema.pop("title", None)
        self._signature = str(inspect.Signature(shown))
        self._first_is_object = bool(names) and _may_be_object(msgspec.inspect.type_info(hints[names[0]]))

    @property
    def json_schema(self) -> dict[str, JSON]:
        return copy.deepcopy(self._schema)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def first_is_object(self) -> bool:
        return self._first_is_object

    @property
    def signature(self) -> str:
        return self._signature

    def accept(self, arguments: JSON) -> dict[str, Any]:
        try:
            record = msgspec.convert(arguments, self._struct, strict=True)
        except msgspec.ValidationError as error:
            text = self._misnamed(arguments) or with_choices(_readable(error), self._schema)
            raise ToolArgumentsError(text, (text,)) from None
        return {name: getattr(record, f"p{index}") for index, name in enumerate(self._names)}

    def _misnamed(self, arguments: JSON) -> str | None:
        """Say which argument there is no parameter for: the commonest mistake, and msgspec names it last."""
        for given in arguments if isinstance(arguments, dict) else ():
            if given not in self._names:
                near = difflib.get_close_matches(given, self._names, 1)
                return f"there is no parameter {given!r}" + (f"; did you mean {near[0]!r}?" if near else "")
        return None


class _Shown:
    """An annotation as a caller reads it: without the modules that its types are in."""

    _DOTTED = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?:[^\W\d]\w*\.)+([^\W\d]\w*)""")

    def __init__(self, annotation: Any) -> None:
        self._text = self._DOTTED.sub(lambda found: found[1] or found[2], written_annotation(annotation))

    def __repr__(self) -> str:
        return self._text


class TypedOutput:
    """The value of a Python function, from its return annotation. `None` is a type: the value `null`."""

    def __init__(self, annotation: Any) -> None:
        self._type = annotation
        self._schema = _json_schema(annotation, "its return annotation")
        info = msgspec.inspect.type_info(annotation)
        _check_keys(info, "its return annotation")
        declared = frozenset(_leaf_kinds(info, set()))
        self._is_plain = declared <= _PLAIN_KINDS
        self._is_any = isinstance(info, msgspec.inspect.AnyType)
        # msgspec writes a set as an array wherever it meets one; under `Any` nobody declared that.
        self._refuses_sets = not self._is_plain and "Any" in declared and not declared & {"Set", "FrozenSet"}
        # Of the types that msgspec writes as text, only declared ones become text; the others are refused.
        self._refused = tuple(kind for info_kind, kind in _TEXT_KINDS if info_kind not in declared)

    @property
    def json_schema(self) -> dict[str, JSON]:
        return copy.deepcopy(self._schema)

    def accept(self, returned: object) -> JSON:
        try:
            if self._refuses_sets and _holds_set(returned):
                raise ToolOutputError(
                    "value holds a set, which is not a JSON value; use sorted(x) or list(x)"
                )
            if not self._is_plain:
                returned = msgspec.to_builtins(returned, builtin_types=self._refused)
            value = freeze(returned, root="value")
            if not self._is_any:
                msgspec.convert(value, self._type, strict=True)
        except msgspec.ValidationError as error:
            raise ToolOutputError(_readable(error)) from None
        except (InvalidValue, TypeError, ValueError, RecursionError) as error:
            raise ToolOutputError(str(error)) from None
        return value


_PLAIN_KINDS = frozenset(
    {"Any", "None", "Bool", "Int", "Float", "Str", "List", "Dict", "TypedDict", "Literal", "Union"}
)
_TEXT_KINDS: tuple[tuple[str, type], ...] = (
    ("Bytes", bytes),
    ("ByteArray", bytearray),
    ("MemoryView", memoryview),
    ("Decimal", decimal.Decimal),
    ("UUID", uuid.UUID),
    ("DateTime", datetime.datetime),
    ("Date", datetime.date),
    ("Time", datetime.time),
    ("TimeDelta", datetime.timedelta),
)


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise ToolDefinitionError(f"its annotations cannot be resolved: {error}") from None


def _check_default(parameter: inspect.Parameter, annotation: Any) -> None:
    if parameter.default is parameter.empty:
        return
    try:
        msgspec.convert(msgspec.to_builtins(parameter.default), annotation, strict=True)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        hint = f"; write {parameter.name}: … | None" if parameter.default is None else ""
        raise ToolDefinitionError(
            f"parameter {parameter.name!r} has a default that does not fit its type: {_readable(error)}{hint}"
        ) from None


def _default(parameter: inspect.Parameter) -> dict[str, Any]:
    value = parameter.default
    if value is parameter.empty:
        return {}
    if isinstance(value, list | dict | set | bytearray):
        return {"default_factory": lambda: copy.deepcopy(value)}
    return {"default": value}


def _json_schema(annotation: Any, what: str) -> dict[str, JSON]:
    try:
        schema = msgspec.json.schema(annotation)
        describe_unions(schema)
        check(schema)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise ToolDefinitionError(f"{what} cannot be described as JSON: {reason}") from None
    if set(schema) == {"$ref", "$defs"} and len(schema["$defs"]) == 1:
        (flat,) = schema["$defs"].values()
        if "$ref" not in repr(flat):
            schema = flat  # the common case, without the detour
    return schema


def _children(info: Any) -> list[Any]:
    found: list[Any] = []
    for name in getattr(info, "__struct_fields__", ()):
        value = getattr(info, name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, msgspec.inspect.Type):
                found.append(item)
            elif isinstance(item, msgspec.inspect.Field):
                found.append(item.type)
    return found


def _check_keys(info: Any, what: str, seen: set[int] | None = None) -> None:
    """Refuse dicts whose keys are no strings: no JSON value could be one."""
    seen = set() if seen is None else seen
    if id(info) in seen:
        return
    seen.add(id(info))
    if isinstance(info, msgspec.inspect.DictType):
        key = type(info.key_type).__name__.removesuffix("Type")
        if key not in ("Any", "Str", "Enum", "Literal"):
            raise ToolDefinitionError(
                f"{what} has dict keys of type {key.lower()}; JSON keys are strings: dict[str, …]"
            )
    for child in _children(info):
        _check_keys(child, what, seen)


def _leaf_kinds(info: Any, seen: set[int]) -> set[str]:
    """Return the kinds of types in a tree of them, as msgspec names them ("DateTime", "Struct", …)."""
    if id(info) in seen:
        return set()
    seen.add(id(info))
    kinds = {type(info).__name__.removesuffix("Type")}
    for child in _children(info):
        kinds |= _leaf_kinds(child, seen)
    return kinds


def _holds_set(value: object) -> bool:
    if isinstance(value, set | frozenset):
        return True
    if isinstance(value, dict):
        return any(map(_holds_set, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_set, value))
    if isinstance(value, msgspec.Struct):
        return any(_holds_set(getattr(value, name)) for name in value.__struct_fields__)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return any(_holds_set(getattr(value, field.name, None)) for field in dataclasses.fields(value))
    return False


def _may_be_object(info: Any) -> bool:
    kind = type(info).__name__.removesuffix("Type")
    if kind == "Union":
        return any(_may_be_object(member) for member in info.types)
    return kind in ("Any", "Dict", "TypedDict", "Struct", "Dataclass", "Custom", "Raw")


def _readable(error: Exception) -> str:
    """msgspec's text without its mark-up: "expected int, got str at rows[3].count"."""
    text = str(error).replace("`", "")
    text = text.replace(" - at key in $.", " for a key of ").replace(" - at key in $", " for a key")
    text = text.replace(" - at $.", " at ").replace(" - at $", " at ")
    return text[:1].lower() + text[1:]


# ------------------------------------------------------------------------- declared by JSON Schema


class RawParameters:
    """Parameters that arrive as JSON Schema. The root has to describe an object."""

    def __init__(self, schema: Mapping[str, JSON]) -> None:
        self._schema = _plain_schema(schema, "parameters")
        if self._schema.get("type", "object") != "object":
            raise ToolDefinitionError(
                f"parameters.type is {self._schema['type']!r}; the arguments of a call are an object: "
                'write {"type": "object", "properties": …}'
            )
        self._validator = _validator(self._schema, "parameters")
        properties = self._schema.get("properties", {})
        self._names = tuple(properties)
        first = properties[self._names[0]] if self._names else False
        self._first_is_object = first is True or (
            isinstance(first, dict) and ("type" not in first or "object" in _as_list(first["type"]))
        )

    @property
    def json_schema(self) -> dict[str, JSON]:
        return copy.deepcopy(self._schema)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def first_is_object(self) -> bool:
        return self._first_is_object

    @property
    def signature(self) -> str:
        properties = self._schema.get("properties", {})
        required = self._schema.get("required", [])
        parts = [
            f"{name}: {_type_text(properties[name])}{'' if name in required else ' = …'}"
            for name in self._names
        ]
        return f"({', '.join(parts)})"

    def accept(self, arguments: JSON) -> dict[str, Any]:
        if not isinstance(arguments, dict):
            raise ToolArgumentsError("expected an object of named arguments")
        violations = _violations(self._validator, arguments, "")
        if violations:
            raise ToolArgumentsError("; ".join(violations), violations)
        return arguments


class RawOutput:
    """A value that is declared by JSON Schema. `{}` declares any JSON value."""

    def __init__(self, schema: Mapping[str, JSON]) -> None:
        self._schema = _plain_schema(schema, "output")
        self._validator = _validator(self._schema, "output") if self._schema else None

    @property
    def json_schema(self) -> dict[str, JSON]:
        return copy.deepcopy(self._schema)

    def accept(self, returned: object) -> JSON:
        try:
            value = freeze(returned, root="value")
        except (InvalidValue, RecursionError) as error:
            raise ToolOutputError(str(error)) from None
        if self._validator is not None:
            violations = _violations(self._validator, value, "value")
            if violations:
                raise ToolOutputError("; ".join(violations))
        return value


_MAX_VIOLATIONS = 8

_SUBSCHEMA = frozenset(
    "additionalItems additionalProperties contains contentSchema else if items not propertyNames then "
    "unevaluatedItems unevaluatedProperties".split()
)
_SUBSCHEMA_LIST = frozenset("allOf anyOf oneOf prefixItems items".split())
_SUBSCHEMA_MAP = frozenset("$defs definitions dependentSchemas patternProperties properties".split())
_OTHER = frozenset(
    "$anchor $comment $dynamicAnchor $dynamicRef $id $recursiveAnchor $recursiveRef $ref $schema $vocabulary id "
    "const contentEncoding contentMediaType default dependencies dependentRequired deprecated description enum "
    "examples exclusiveMaximum exclusiveMinimum format maxContains maxItems maxLength maxProperties maximum "
    "minContains minItems minLength minProperties minimum multipleOf pattern readOnly required title type "
    "uniqueItems writeOnly".split()
)
KEYWORDS = _SUBSCHEMA | _SUBSCHEMA_LIST | _SUBSCHEMA_MAP | _OTHER
"""The keywords of JSON Schema that mean something to a validator or a reader here."""


def _plain_schema(schema: object, what: str) -> dict[str, JSON]:
    if not isinstance(schema, Mapping):
        raise ToolDefinitionError(
            f"{what} schema is missing; declare a JSON Schema object, {{}} for any JSON value"
        )
    try:
        plain: dict[str, JSON] = thaw(freeze(dict(schema), root=what))
    except InvalidValue as error:
        raise ToolDefinitionError(f"schema is no JSON: {error}") from None
    _check_keywords(plain, what)
    return plain


def _check_keywords(schema: JSON, path: str) -> None:
    """Refuse what a validator would silently pass over: a misspelt keyword enforces nothing."""
    if not isinstance(schema, dict):
        return
    for key, item in schema.items():
        if key not in KEYWORDS and not key.startswith("x-"):
            near = difflib.get_close_matches(key, KEYWORDS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else "; notes of your own start with x-"
            raise ToolDefinitionError(
                f"{path}.{key} is no keyword of JSON Schema and would not be enforced{hint}"
            )
        if key in _SUBSCHEMA_MAP and isinstance(item, dict):
            for name, child in item.items():
                _check_keywords(child, f"{path}.{key}.{name}")
        elif key in _SUBSCHEMA_LIST and isinstance(item, list):
            for index, child in enumerate(item):
                _check_keywords(child, f"{path}.{key}[{index}]")
        elif key in _SUBSCHEMA:
            _check_keywords(item, f"{path}.{key}")


def _validator(schema: dict[str, JSON], what: str) -> jsonschema_rs.Validator:
    import jsonschema_rs  # only tools that arrive with JSON Schema need it, and it takes a while to load

    try:
        make = jsonschema_rs.validator_cls_for(schema)
        return make(schema, validate_formats=True, ignore_unknown_formats=False, offline=True)
    except (ValueError, TypeError) as error:
        message = getattr(error, "message", None) or str(error).strip().splitlines()[0]
        place = getattr(error, "instance_path", [])
        where = what + "".join(f".{step}" for step in place)
        raise ToolDefinitionError(f"{where} cannot be enforced: {message}") from None


def _violations(validator: jsonschema_rs.Validator, value: JSON, root: str) -> list[str]:
    if validator.is_valid(value):
        return []
    found: list[str] = []
    for error in validator.iter_errors(value):
        if len(found) == _MAX_VIOLATIONS:
            found.append("…")
            break
        path = InvalidValue("", "", tuple(error.instance_path), root).path.removeprefix(".")
        message = error.message if len(error.message) <= 300 else error.message[:300] + "…"
        found.append(f"{path}: {message}" if path else message)
    return found


def _as_list(value: JSON) -> Sequence[JSON]:
    return value if isinstance(value, list) else [value]


_TYPE_NAMES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "array": "list",
    "object": "dict",
}


def _type_text(schema: JSON) -> str:
    if isinstance(schema, dict):
        if "enum" in schema and len(schema["enum"]) <= 8:
            return " | ".join(repr(member) for member in schema["enum"])
        if "type" in schema:
            return " | ".join(_TYPE_NAMES.get(name, str(name)) for name in _as_list(schema["type"]))
    return "Any"


def has_more_parts(value: object, count: int) -> bool:
    """Whether what a tool returned has more than `count` parts: itself, its items, theirs.

    Looks at no more than that many, in containers, structs and dataclasses.
    """
    waiting: list[Any] = [value]
    seen = 0
    while waiting:
        part = waiting.pop()
        kind = type(part)
        seen += 1
        items: Collection[Any] = ()
        if kind is dict or kind is FrozenDict:
            items = part.values()
        elif kind is list or kind is tuple or kind is FrozenList:
            items = part
        elif hasattr(kind, "__struct_fields__"):
            items = [getattr(part, name, None) for name in kind.__struct_fields__]
        elif hasattr(kind, "__dataclass_fields__"):
            items = [getattr(part, name, None) for name in kind.__dataclass_fields__]
        if seen + len(waiting) + len(items) > count:
            return True
        waiting.extend(items)
    return False


def frozen_arguments(arguments: object) -> FrozenDict:
    """Return a call's arguments, detached and frozen. Raises `InvalidValue` unless they are a JSON object."""
    if not isinstance(arguments, dict):
        raise InvalidValue(
            "the arguments of a call are an object of named values", "pass a dict", root="arguments"
        )
    frozen: FrozenDict = freeze(arguments, root="arguments")
    return frozen
