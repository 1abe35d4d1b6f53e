"""An operation of a document as this toolkit calls it: names, arguments, body, responses. Data, and no requests.

The objects are read through the models of `openapi_pydantic`, one operation at a time, so that one that is wrong is
an error of its own. Schemas are taken as they stand, for `schemas`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct
from openapi_pydantic.v3 import v3_0, v3_1
from pydantic import ValidationError

from codemode.toolkits.openapi.document import Document, Node, Unusable
from codemode.toolkits.openapi.schemas import SchemaBuilder, is_binary
from codemode.toolkits.openapi.styles import DEFAULT_STYLES, STYLES

__all__ = ["METHODS", "Body", "BodyPart", "Operation", "Parameter", "listed", "read_operation"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_NEVER_PARAMETERS = frozenset(
    {"accept", "content-type", "authorization"}
)  # OpenAPI 3.1.0, Parameter Object, `name`


class Parameter(Struct, frozen=True, kw_only=True):
    """One parameter: `argument` is its name in calls. `as_json`: it is written as JSON text, whatever its style."""

    argument: str
    name: str
    place: Literal["path", "query", "header", "cookie"]
    style: str
    explode: bool
    required: bool
    as_json: bool = False
    allow_reserved: bool = False


class BodyPart(Struct, frozen=True, kw_only=True):
    """How a property of a form is sent. `media_type` None: as its value says."""

    is_binary: bool = False
    media_type: str | None = None
    style: str | None = None
    explode: bool = True


class Body(Struct, frozen=True, kw_only=True):
    """The body of a request, given as the argument `argument`."""

    argument: str
    kind: Literal["json", "form", "multipart", "text", "binary"]
    media_type: str
    parts: dict[str, BodyPart] = {}


class Operation(Struct, frozen=True, kw_only=True):
    """What a call needs to know. `output` is the JSON Schema of the value; `servers` those of its own, if any."""

    method: str
    path: str
    description: str
    parameters: tuple[Parameter, ...]
    body: Body | None
    arguments: dict[str, Any]
    output: dict[str, Any]
    servers: tuple[str, ...]


def listed(document: Document) -> Iterator[tuple[str, str, Node, Node]]:
    """Yield method, path, path item and operation of all there are. Path items that cannot be read yield `{}`."""
    paths = document.raw.get("paths")
    for path, raw in (paths if isinstance(paths, dict) else {}).items():
        if path.startswith("x-"):
            continue
        try:
            item = document.root.at(raw).followed()
        except Unusable:
            item = document.root.at(raw)
        if not isinstance(item.raw, dict):
            continue
        for method in METHODS:
            if method in item.raw:
                yield method, path, item, item.at(item.raw[method])
        if "$ref" in item.raw:  # it was not found: said once, by the path
            yield "get", path, item, item


def read_operation(
    document: Document, method: str, path: str, item: Node, node: Node, given_headers: Collection[str]
) -> Operation:
    """Return the operation. `given_headers` (lower-case) are sent by the toolkit and are no arguments.

    Raises `Unusable`, saying what is wrong with it.
    """
    models = v3_0 if document.is_30 else v3_1
    if not isinstance(node.raw, dict):
        raise Unusable(f"an operation is an object, not {node.raw!r:.60}")
    if "$ref" in node.raw:
        node.followed()
    for field in ("responses", "callbacks"):
        if field in node.raw and not isinstance(node.raw[field], dict):
            raise Unusable(f"its {field} is no object")
    request = SchemaBuilder(is_30=document.is_30, is_request=True)
    found = _parameters(models, item, node, given_headers)
    if not path.startswith("/"):
        raise Unusable("its path does not start with /")
    in_path = {name for (place, name) in found if place == "path"}
    wanted = set(re.findall(r"\{([^{}]*)\}", path))
    if wanted != in_path:
        odd = ", ".join(sorted(wanted ^ in_path))
        raise Unusable(f"its path and its path parameters do not agree: {odd}")
    parameters: list[Parameter] = []
    properties: dict[str, Any] = {}
    names = _argument_names(found)
    for key, (model, parameter_node) in found.items():
        parameter, schema = _parameter(names[key], model, parameter_node, request)
        parameters.append(parameter)
        properties[parameter.argument] = schema
    required = [each.argument for each in parameters if each.required]
    body = None
    if node.raw.get("requestBody") is not None:
        argument = "body" if "body" not in properties else "request_body"
        body, schema, is_required = _body(models, argument, node.at(node.raw["requestBody"]), request)
        properties[argument] = schema
        if is_required:
            required.append(argument)
    arguments = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return Operation(
        method=method.upper(),
        path=path,
        description=_description(node.raw, item.raw, method, path),
        parameters=tuple(parameters),
        body=body,
        arguments=request.rooted(arguments),
        output=_output(models, document, method, node),
        servers=tuple(
            str(server["url"])
            for server in node.raw.get("servers") or item.raw.get("servers") or ()
            if isinstance(server, dict) and "url" in server
        ),
    )


def _description(raw: Mapping[str, Any], item: Mapping[str, Any], method: str, path: str) -> str:
    said = [raw.get("summary") or item.get("summary"), raw.get("description") or item.get("description")]
    texts = list(dict.fromkeys(text.strip() for text in said if isinstance(text, str) and text.strip()))
    if raw.get("deprecated") is True:
        texts.insert(0, "Deprecated.")
    return "\n\n".join(texts) or f"{method.upper()} {path}"


# ---------------------------------------------------------------------------------------- parameters


def _parameters(
    models: Any, item: Node, node: Node, given_headers: Collection[str]
) -> dict[tuple[str, str], tuple[Any, Node]]:
    """The parameters by place and name; those of the operation before those of its path."""
    found: dict[tuple[str, str], tuple[Any, Node]] = {}
    for owner in (item, node):
        given = owner.raw.get("parameters") or []
        if not isinstance(given, list):
            raise Unusable("its parameters are no list")
        for raw in given:
            parameter = owner.at(raw).followed()
            model = _checked(models.Parameter, parameter.raw, "a parameter")
            place = model.param_in.value
            if place == "header" and model.name.lower() in _NEVER_PARAMETERS | set(given_headers):
                continue
            found[place, model.name] = model, parameter
    return found


def _argument_names(found: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The names of arguments: the parameters' own, with `_` for what no name may hold, and the place where two meet."""
    names: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    for place, name in sorted(found, key=lambda key: ("path", "query", "header", "cookie").index(key[0])):
        clean = re.sub(r"\W", "_", name).strip("_") if not name.isidentifier() else name
        if not clean.isidentifier():
            clean = f"_{clean}"
        for argument in (clean, f"{clean}_{place}", f"{place}:{name}"):
            if argument not in taken:
                break
        taken.add(argument)
        names[place, name] = argument
    return names


def _parameter(
    argument: str, model: Any, node: Node, request: SchemaBuilder
) -> tuple[Parameter, dict[str, Any]]:
    place = model.param_in.value
    style = model.style or DEFAULT_STYLES[place]
    if style not in STYLES[place]:
        raise Unusable(f"parameter {model.name!r} has style {style!r}, which is none for a {place}")
    raw = node.raw
    content = raw.get("content")
    as_json = isinstance(content, dict) and bool(content)
    if as_json:
        if len(content) != 1 or not all(map(_is_json, content)):
            raise Unusable(f"the content of parameter {model.name!r} is not JSON")
        (media,) = content.values()
        schema = media.get("schema", {}) if isinstance(media, dict) else {}
    elif "schema" in raw:
        schema = raw["schema"]
    else:
        raise Unusable(f"parameter {model.name!r} has no schema")
    built = request.build(node.at(schema))
    parameter = Parameter(
        argument=argument,
        name=model.name,
        place=place,
        style=style,
        explode=model.explode if model.explode is not None else style in ("form", "deepObject"),
        required=place == "path" or model.required is True,
        as_json=as_json,
        allow_reserved=raw.get("allowReserved") is True,
    )
    return parameter, _noted(built, model.description)


def _noted(schema: Any, description: str | None) -> Any:
    if not description or schema is False:
        return schema
    return {**({} if schema is True else schema), "description": description}


# ---------------------------------------------------------------------------------------------- body


def _body(
    models: Any, argument: str, node: Node, request: SchemaBuilder
) -> tuple[Body, dict[str, Any], bool]:
    node = node.followed()
    model = _checked(models.RequestBody, node.raw, "its requestBody")
    content: dict[str, Any] = node.raw.get("content") or {}
    if not content:
        raise Unusable("its requestBody has no content")
    media_type = min(content, key=lambda name: _BODY_ORDER.index(_body_kind(name)))
    kind = _body_kind(media_type)
    media = content[media_type] or {}
    schema = node.at(media.get("schema", {}))
    if kind == "text":
        return (
            Body(argument=argument, kind=kind, media_type=media_type),
            {"type": "string"},
            bool(model.required),
        )
    if kind == "binary":
        sent = "application/octet-stream" if "*" in media_type else media_type
        return Body(argument=argument, kind=kind, media_type=sent), _base64(""), bool(model.required)
    parts: dict[str, BodyPart] = {}
    if kind in ("form", "multipart"):
        parts = _parts(models, schema, media.get("encoding") or {})
        if any(part.is_binary for part in parts.values()) and kind == "form":
            raise Unusable("a form that is urlencoded cannot hold bytes")
    sent = "application/json" if kind == "json" and "*" in media_type else media_type
    built = request.build(schema)
    binary = [name for name, part in parts.items() if part.is_binary]
    description = model.description
    if binary:
        description = f"{description or ''} (in base64: {', '.join(binary)})".strip()
    return (
        Body(argument=argument, kind=kind, media_type=sent, parts=parts),
        _noted(built, description),
        bool(model.required),
    )


_BODY_ORDER = ("json", "form", "multipart", "text", "binary")


def _body_kind(media_type: str) -> Literal["json", "form", "multipart", "text", "binary"]:
    plain = media_type.partition(";")[0].strip().lower()
    if _is_json(plain) or plain == "*/*":
        return "json"
    if plain == "application/x-www-form-urlencoded":
        return "form"
    if plain == "multipart/form-data":
        return "multipart"
    return "text" if is_text(plain) else "binary"


def _parts(models: Any, schema: Node, encodings: Mapping[str, Any]) -> dict[str, BodyPart]:
    found = schema.followed()
    properties = found.raw.get("properties") if isinstance(found.raw, dict) else None
    parts: dict[str, BodyPart] = {}
    for name, raw in (properties if isinstance(properties, dict) else {}).items():
        encoding = _checked(models.Encoding, encodings.get(name) or {}, f"the encoding of {name!r}")
        inner = found.at(raw).followed()
        items = inner.raw.get("items") if isinstance(inner.raw, dict) else None
        parts[name] = BodyPart(
            is_binary=is_binary(inner) or (isinstance(items, dict) and is_binary(inner.at(items))),
            media_type=encoding.contentType.partition(",")[0].strip() if encoding.contentType else None,
            style=encoding.style,
            explode=encoding.explode
            if encoding.explode is not None
            else (encoding.style or "form") == "form",
        )
    return parts


def _base64(description: str) -> dict[str, Any]:
    return {"type": "string", "description": f"{description} bytes, in base64".strip()}


# ----------------------------------------------------------------------------------------- responses


def _output(models: Any, document: Document, method: str, node: Node) -> dict[str, Any]:
    """The JSON Schema of what a call returns: one of what is declared for success, any JSON if nothing is."""
    if method == "head":
        return {"type": "object", "additionalProperties": {"type": "string"}}
    response_builder = SchemaBuilder(is_30=document.is_30, is_request=False)
    responses: dict[str, Any] = node.raw.get("responses") or {}
    good = {code: each for code, each in responses.items() if str(code).upper().startswith("2")}
    if not good and "default" in responses:
        good = {"default": responses["default"]}
    schemas: list[Any] = []
    for code, raw in good.items():
        response = node.at(raw).followed()
        _checked(models.Response, response.raw, "a response")
        content = response.raw.get("content") or {}
        if not content:  # nothing is declared; these two have no body by HTTP's own rules (RFC 9110, 15.3.5)
            schemas.append({"type": "null"} if code in ("204", "205") else {})
        if any(map(_is_json, content)):  # which is what a request asks for first
            content = {name: media for name, media in content.items() if _is_json(name)}
        for media_type, media in content.items():
            plain = media_type.partition(";")[0].strip().lower()
            schema = media.get("schema") if isinstance(media, dict) else None
            if _is_json(plain):
                schemas.append({} if schema is None else response_builder.build(response.at(schema)))
            elif "*" in plain and not plain.startswith("text/"):
                schemas.append({})
            else:
                schemas.append({"type": "string"} if is_text(plain) else _base64(""))
    distinct = [each for index, each in enumerate(schemas) if each not in schemas[:index]]
    if not distinct or any(each in ({}, True) for each in distinct):
        return {}
    if len(distinct) > 1:
        return response_builder.rooted({"anyOf": distinct})
    if distinct[0] is False:
        raise Unusable("its response can have no value at all")
    return response_builder.rooted(distinct[0])


def _is_json(media_type: str) -> bool:
    plain = media_type.partition(";")[0].strip().lower()
    return plain in ("application/json", "text/json") or plain.endswith("+json")


def is_text(media_type: str) -> bool:
    """Return whether what has this media type is text."""
    return media_type.startswith("text/") or media_type in _TEXTS or media_type.endswith(("+xml", "+yaml"))


_TEXTS = (
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/x-ndjson",
    "application/jsonl",
)


def _checked(model: Any, raw: Any, what: str) -> Any:
    """Return the object as its model reads it; schemas and examples are not its matter."""
    outline = raw
    if isinstance(raw, dict):
        outline = {
            key: item for key, item in raw.items() if key not in ("schema", "example", "examples", "headers")
        }
        if isinstance(raw.get("content"), dict):
            outline["content"] = {key: {} for key in raw["content"]}
    try:
        return model.model_validate(outline)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Unusable(
            f"{what} is not as OpenAPI says: {where + ': ' if where else ''}{first['msg']}"
        ) from None
