"""What servers answer, in the one form that the tool returns. Pure.

Servers may answer in several forms (LSP 3.17: Location, Location[], LocationLink[], MarkupContent, MarkedString
and lists of it); what is none of them is LSP_MALFORMED_RESPONSE.
"""

from __future__ import annotations

import os
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from codemode import Text, ToolError, text

__all__ = ["Hover", "Location", "Locations", "Position", "Range", "as_hover", "as_locations", "render"]

MAX_SHOWN_LOCATIONS = 100
MAX_SHOWN_CHARACTERS = 16_000

_Number = Annotated[int, Meta(ge=0)]


class Position(Struct, frozen=True):
    """Zero-based; `character` counts UTF-16 code units, as the protocol does."""

    line: _Number
    character: _Number


class Range(Struct, frozen=True):
    start: Position
    end: Position


class Location(Struct, frozen=True):
    uri: str
    range: Range


class Locations(Struct, frozen=True, tag_field="kind", tag="locations", rename="camel"):
    locations: tuple[Location, ...]
    resolved_workspace_uri: str


class HoverText(Struct, frozen=True, omit_defaults=True):
    contents: str
    range: Range | UnsetType = UNSET


class Hover(Struct, frozen=True, tag_field="kind", tag="hover"):
    hover: HoverText | None


class _Link(Struct, frozen=True, rename="camel"):
    target_uri: str
    target_selection_range: Range


class _Marked(Struct, frozen=True):
    value: str
    language: str = ""


class _RawHover(Struct, frozen=True):
    contents: Any
    range: Range | None = None


def as_locations(answer: Any, workspace_uri: str) -> Locations:
    """Return a server's answer to a question for places. Raises `ToolError` LSP_MALFORMED_RESPONSE."""
    items = answer if isinstance(answer, list) else [] if answer is None else [answer]
    locations: list[Location] = []
    for item in items:
        if isinstance(item, dict) and "targetUri" in item:
            link = _convert(item, _Link)
            locations.append(Location(link.target_uri, link.target_selection_range))
        else:
            locations.append(_convert(item, Location))
    return Locations(tuple(dict.fromkeys(locations)), workspace_uri)


def as_hover(answer: Any) -> Hover:
    """Return a server's answer to a question for a description. Raises `ToolError` LSP_MALFORMED_RESPONSE."""
    if answer is None:
        return Hover(None)
    raw: _RawHover = _convert(answer, _RawHover)
    parts = raw.contents if isinstance(raw.contents, list) else [raw.contents]
    contents = "\n\n".join(part for part in map(_marked, parts) if part)
    if not contents:
        return Hover(None)
    return Hover(HoverText(contents, UNSET if raw.range is None else raw.range))


def _marked(part: Any) -> str:
    if isinstance(part, str):
        return part.strip()
    marked: _Marked = _convert(part, _Marked)
    value = marked.value.strip()
    return f"```{marked.language}\n{value}\n```" if marked.language and value else value


def _convert(value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ToolError(
            f"the language server answered with something else than it may: {error}",
            code="LSP_MALFORMED_RESPONSE",
        ) from None


# ------------------------------------------------------------------------------------- what is shown


def render(arguments: object, value: dict[str, Any]) -> list[Text]:
    """Show places as `path:line:character`, counted from 1, relative to the workspace; or a description."""
    if value["kind"] == "hover":
        hover = value["hover"]
        return [text(_cut(hover["contents"], "hover") if hover else "No hover information.")]
    locations = value["locations"]
    if not locations:
        return [text("No results.")]
    root = _path(value["resolvedWorkspaceUri"]) or ""
    lines = [_line(location, root) for location in locations[:MAX_SHOWN_LOCATIONS]]
    more = len(locations) - MAX_SHOWN_LOCATIONS
    if more > 0:
        plural = "s" if more > 1 else ""
        lines.append(f"… {more} more location{plural} omitted (limit {MAX_SHOWN_LOCATIONS}).")
    return [text(_cut("\n".join(lines), "locations"))]


def _line(location: dict[str, Any], root: str) -> str:
    path = _path(location["uri"])
    if path is None:
        shown = location["uri"]
    else:
        relative = os.path.relpath(path, root)
        shown = path if relative.startswith("..") else relative
    start = location["range"]["start"]
    return f"{shown}:{start['line'] + 1}:{start['character'] + 1}"


def _path(uri: str) -> str | None:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        return None
    return unquote(parts.path)


def _cut(shown: str, what: str) -> str:
    if len(shown) <= MAX_SHOWN_CHARACTERS:
        return shown
    tail = f"\n… {what} truncated (limit {MAX_SHOWN_CHARACTERS} characters)."
    return shown[: MAX_SHOWN_CHARACTERS - len(tail)] + tail
