"""An OpenAPI document: read from a file, a URL or a dict, and its references looked up. It knows no operations.

References inside the document and into files beneath its directory are followed; those to other addresses only if
that was allowed. A reference that cannot be followed is an error of what refers to it, not of the document.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import httpx
import yaml  # type: ignore[import-untyped]
from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource, Unresolvable
from referencing.typing import URI

from codemode import ToolDefinitionError

__all__ = ["MAX_DOCUMENT_BYTES", "Document", "Node", "Unusable"]

MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
_FETCH_SECONDS = 30.0
_MAX_REFERENCES = 64  # that lead to one another before something else is found


class Unusable(Exception):
    """A part of a document that cannot be used; the message says why."""


class Node:
    """A place in a document: what is written there, and where references in it start from."""

    __slots__ = ("raw", "resolver", "uri")

    def __init__(self, raw: Any, resolver: Any, uri: str) -> None:
        self.raw = raw
        self.resolver = resolver  # of `referencing`, whose type is generic in what it holds
        self.uri = uri

    def at(self, raw: Any) -> Node:
        """The same place, for a part of it."""
        return Node(raw, self.resolver, self.uri)

    def followed(self) -> Node:
        """What a reference object refers to in the end, or this very node. Raises `Unusable`."""
        node = self
        for _ in range(_MAX_REFERENCES):
            if not isinstance(node.raw, Mapping) or not isinstance(node.raw.get("$ref"), str):
                return node
            node = node.target(node.raw["$ref"])
        raise Unusable(f"the reference {self.raw['$ref']!r} leads in a circle")

    def target(self, reference: str) -> Node:
        """What one reference refers to. `uri` is its whole address. Raises `Unusable`."""
        try:
            found = self.resolver.lookup(reference)
        except (Unresolvable, ValueError, LookupError) as error:
            why = _why(error)
            raise Unusable(f"the reference {reference!r} leads nowhere{why and f': {why}'}") from None
        base = urljoin(self.uri, reference)
        return Node(found.contents, found.resolver, base)


def _why(error: BaseException | None) -> str:
    """What kept a reference from being followed, beneath what the library says of it; empty for nothing."""
    while error is not None and not isinstance(error, Unusable):
        error = error.__cause__ or error.__context__
    return "" if error is None else str(error)


class Document:
    """A whole document, with its version and where it is from. Raises `ToolDefinitionError` if it cannot be read."""

    def __init__(
        self, source: str | os.PathLike[str] | Mapping[str, Any], *, remote_references: bool = False
    ) -> None:
        self._remote = remote_references
        self._directory: Path | None = None
        self.url: str | None = None
        if isinstance(source, Mapping):
            self.uri, raw = "", _plain(source)
        elif isinstance(source, str) and re.match(r"https?://", source):
            self.url = self.uri = source
            raw = _parsed(_fetched(source), source)
        else:
            path = Path(source).resolve()
            self._directory = path.parent
            self.uri = path.as_uri()
            raw = _parsed(_read(path), str(path))
        if not isinstance(raw, dict):
            raise ToolDefinitionError(
                f"the document is no OpenAPI document: it must be an object, not {type(raw).__name__}"
            )
        version = str(raw.get("openapi", ""))
        if not re.match(r"3\.[01]\.", version):
            found = f"'swagger: {raw['swagger']}'" if "swagger" in raw else repr(version or None)
            raise ToolDefinitionError(
                f"the document's version is {found}; OpenAPI 3.0 and 3.1 can be read, convert others first"
            )
        self.is_30 = version.startswith("3.0")
        self.raw: dict[str, Any] = raw
        registry: Registry[Any] = Registry(retrieve=self._retrieve)  # type: ignore[call-arg]  # an attrs alias
        registry = registry.with_resource(self.uri, Resource.opaque(raw))
        self.root = Node(raw, registry.resolver(self.uri), self.uri)

    def _retrieve(self, uri: URI) -> Resource[Any]:
        parts = urlsplit(uri)
        try:
            if parts.scheme == "file" and self._directory is not None:
                path = Path(unquote(parts.path)).resolve()
                if not path.is_relative_to(self._directory):
                    raise Unusable(f"{path} is not beneath the directory of the document")
                return Resource.opaque(_parsed(_read(path), str(path)))
            if parts.scheme in ("http", "https"):
                if not self._remote:
                    raise Unusable("it leads to another address, and remote_references=True was not said")
                return Resource.opaque(_parsed(_fetched(uri), uri))
            raise Unusable("there is nothing of that name here")
        except (Unusable, ToolDefinitionError) as error:
            raise NoSuchResource(uri) from Unusable(str(error))


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        raise ToolDefinitionError(f"the document cannot be read: {error}") from None
    return _bounded(data, str(path))


def _fetched(url: str) -> bytes:
    data = bytearray()
    try:
        with httpx.stream("GET", url, timeout=_FETCH_SECONDS, follow_redirects=False) as response:
            if response.status_code != 200:
                raise ToolDefinitionError(f"{url} answered with status {response.status_code}, not 200")
            for piece in response.iter_bytes():
                data += piece
                if len(data) > MAX_DOCUMENT_BYTES:
                    break
    except httpx.HTTPError as error:
        raise ToolDefinitionError(f"{url} cannot be fetched: {type(error).__name__}: {error}") from None
    return _bounded(bytes(data), url)


def _bounded(data: bytes, where: str) -> bytes:
    if len(data) > MAX_DOCUMENT_BYTES:
        raise ToolDefinitionError(f"{where} is larger than {MAX_DOCUMENT_BYTES:,} bytes")
    return data


def _parsed(data: bytes, where: str) -> Any:
    try:
        text = data.decode("utf-8-sig")
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return _plain(yaml.load(text, Loader=_Loader))
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise ToolDefinitionError(f"{where} is neither JSON nor YAML: {reason}") from None


def _plain(value: Any, depth: int = 0) -> Any:
    """The value with keys that are texts: YAML reads the key of a status as a number."""
    if depth > 200:
        raise ToolDefinitionError("the document is nested more than 200 deep")
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else json.dumps(key): _plain(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    return value


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # the library has no types
    """YAML's safe loader with the scalars of YAML 1.2, as OpenAPI says: `no` is a text, and so is a date."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":bool"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
