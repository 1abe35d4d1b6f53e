"""`openapi`: the operations of a document as tools. What is wrong with one is reported, and the others are made."""

from __future__ import annotations

import logging
import os
import re
import ssl
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from codemode import Call, Image, InvalidValue, Output, Text, Tool, ToolDefinitionError, as_json, as_text
from codemode.toolkits.openapi.calling import ApiLimits, Authenticate, Connection, origin
from codemode.toolkits.openapi.document import Document, Unusable
from codemode.toolkits.openapi.operations import Operation, listed, read_operation

__all__ = ["OpenAPITools", "openapi"]

_GRACE_SECONDS = 5.0
_READING = ("GET", "HEAD")
_log = logging.getLogger("codemode.openapi")


class OpenAPITools(list[Tool]):
    """The tools of a document. `left_out` says why an operation (`"GET /users"`) became none."""

    def __init__(self, tools: Collection[Tool], left_out: Mapping[str, str]) -> None:
        super().__init__(tools)
        self.left_out = dict(left_out)


def openapi(
    document: str | os.PathLike[str] | Mapping[str, Any],
    base_url: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    authenticate: Authenticate | None = None,
    prefix: str = "",
    allow: Collection[str] = (),
    only: Callable[[str, str], bool] | None = None,
    limits: ApiLimits | None = None,
    remote_references: bool = False,
    ssl_context: ssl.SSLContext | None = None,
) -> OpenAPITools:
    """Return a tool for each operation of an OpenAPI document.

    `document` is a file, a URL or a dict; reading it blocks, up to 30 seconds for a URL. `base_url` is the server
    (None: the document's first). `headers` go with every request, and `authenticate(request)` may change each as it
    is sent; neither is seen in arguments or in the log. `prefix` comes before the tools' names. Calls that are not GET
    or HEAD need approval, but for the tools named in `allow` (`"*"` for all). `only(method, path)` says which
    operations are wanted. References to other addresses are followed with `remote_references`.

    Raises `ToolDefinitionError` when the document cannot be read, no server is known, or `allow` names no tool.
    """
    read = Document(document, remote_references=remote_references)
    base = _base_url(read, base_url, has_secrets=bool(headers) or authenticate is not None)
    given = {name.lower(): value for name, value in (headers or {}).items()}
    connection = Connection(
        base,
        headers=headers or {},
        authenticate=authenticate,
        limits=limits or ApiLimits(),
        ssl_context=ssl_context,
    )
    left_out: dict[str, str] = {}
    found: dict[str, tuple[str, Operation, str]] = {}
    for method, path, item, node in listed(read):
        if only is not None and not only(method.upper(), path):
            continue
        label = f"{method.upper()} {path}"
        try:
            operation = read_operation(read, method, path, item, node, given)
            found[label] = (
                _raw_name(node.raw, method, path),
                operation,
                _server(read, base, operation, base_url),
            )
        except (Unusable, InvalidValue) as error:
            left_out[label] = str(error)
        except (ToolDefinitionError, TypeError, AttributeError, KeyError, RecursionError) as error:
            left_out[label] = f"it is not as OpenAPI says: {type(error).__name__}: {error}"
    names = _names(prefix, {label: raw for label, (raw, _, _) in found.items()}, left_out)
    tools: list[Tool] = []
    for label, name in names.items():
        _, operation, server = found[label]
        try:
            tools.append(_tool(name, operation, server, connection, allow))
        except ToolDefinitionError as error:
            left_out[label] = str(error)
    for label, why in left_out.items():
        _log.warning("%s is no tool: %s", label, why)
    unknown = set(allow) - {tool.name for tool in tools} - {"*"}
    if unknown:
        raise ToolDefinitionError(f"allow= names what is no tool here: {', '.join(sorted(unknown))}")
    return OpenAPITools(tools, left_out)


def _tool(
    name: str, operation: Operation, server: str, connection: Connection, allow: Collection[str]
) -> Tool:
    is_reading = operation.method in _READING
    needs_approval = not is_reading and name not in allow and "*" not in allow

    async def execute(arguments: dict[str, Any], call: Call) -> object:
        return await connection.call(operation, server, arguments)

    return Tool(
        name,
        operation.description,
        operation.arguments,
        Output(operation.output, _render),
        execute,
        parallel=is_reading,
        read_only=is_reading,
        approval=f"it may change something: {operation.method} {operation.path}" if needs_approval else None,
        timeout=connection.limits.seconds + _GRACE_SECONDS,
        lifespan=connection,
    )


def _render(arguments: object, value: Any) -> tuple[Text | Image, ...]:
    return as_text(arguments, value) if isinstance(value, str) else as_json(arguments, value)


def _raw_name(raw: Mapping[str, Any], method: str, path: str) -> str:
    given = raw.get("operationId")
    if isinstance(given, str) and given.strip():
        return given.strip()
    return "_".join([method, *re.findall(r"\w+", path)])


def _names(prefix: str, raw_names: Mapping[str, str], left_out: dict[str, str]) -> dict[str, str]:
    """The tools' names: the operation's, with `_` for what no Python name may hold.

    Where two would get the same one they keep their own spelling; where that is the same too, the first has it.
    """
    clean = {label: re.sub(r"\W", "_", raw) for label, raw in raw_names.items()}
    count = Counter(clean.values())
    names: dict[str, str] = {}
    owners: dict[str, str] = {}
    for label, raw in raw_names.items():
        own = clean[label] if count[clean[label]] == 1 else raw
        name = f"{prefix}_{own}" if prefix else own
        if name in owners:
            left_out[label] = f"its operationId {raw!r} is that of {owners[name]} too"
            continue
        owners[name] = label
        names[label] = name
    return names


def _base_url(document: Document, given: str | None, *, has_secrets: bool) -> str:
    if given is not None:
        return _checked_url(given, "base_url")
    servers = document.raw.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else {"url": "/"}
    url = _filled(first) if isinstance(first, dict) else "/"
    if document.url is not None:
        url = urljoin(document.url, url)
        if has_secrets and origin(url) != origin(document.url):
            raise ToolDefinitionError(
                f"the document at {document.url} sends requests to {url}, another server; if what authenticates "
                f"them is to go there, say base_url={url!r}"
            )
    if not urlsplit(url).scheme:
        raise ToolDefinitionError("the document names no server with its address; say base_url='https://…'")
    return _checked_url(url, "the document's server")


def _filled(server: Mapping[str, Any]) -> str:
    variables = server.get("variables")
    filled = str(server.get("url", "/"))
    for name, variable in (variables if isinstance(variables, dict) else {}).items():
        if isinstance(variable, dict) and "default" in variable:
            filled = filled.replace("{" + name + "}", str(variable["default"]))
    return filled


def _checked_url(url: str, what: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "{" in url:
        raise ToolDefinitionError(f"{what} is {url!r}, which is no http or https address")
    if parts.query or parts.fragment:
        raise ToolDefinitionError(f"{what} is {url!r}; it ends before any ? or #")
    return url


def _server(document: Document, base: str, operation: Operation, given: str | None) -> str:
    """The server of an operation: the one of all, or its own, if that is the same machine."""
    if not operation.servers:
        return base
    own = urljoin(document.url or base, operation.servers[0])
    if "{" in own or origin(own) != origin(base):
        raise Unusable(f"it is at another server, {own}; make tools of it with base_url={own!r} and only=")
    return base if given is not None else own
