"""How a parameter's value is written into a path, a query, a header or a cookie: OpenAPI's styles. Pure.

The rules are those of RFC 6570 as OpenAPI 3.1.0 (Parameter Object, Style Values) takes them over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from codemode import ToolError

__all__ = [
    "DEFAULT_STYLES",
    "STYLES",
    "header_text",
    "path_text",
    "primitive",
    "query_pairs",
    "reserved_quote",
]

STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
DEFAULT_STYLES = {place: styles[0] for place, styles in STYLES.items()}

_RESERVED = ":/?@!$'()*,;"  # of `allowReserved`, without what would end or split a query: # [ ] & = +


def primitive(value: Any) -> str:
    """A value as text: a text as it is, anything else as JSON writes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _quote(text: str) -> str:
    return quote(text, safe="")


def reserved_quote(text: str) -> str:
    """Percent-encode as `allowReserved` says."""
    return quote(text, safe=_RESERVED)


def path_text(name: str, value: Any, style: str, explode: bool) -> str:
    """What stands in a path for a parameter. Raises `ToolError` for what would lead to another path."""
    if value is None:
        raise ToolError(f"{name}: a part of the path cannot be null", code="INVALID_ARGUMENTS")
    if value in ("", [], {}, [""]):
        raise ToolError(f"{name}: a part of the path cannot be empty", code="INVALID_ARGUMENTS")
    if style == "label":
        return "." + _joined(value, "." if explode else ",", explode)
    if style == "matrix":
        if explode and isinstance(value, dict):
            return "".join(f";{_quote(key)}={_quote(primitive(each))}" for key, each in value.items())
        if explode and isinstance(value, list):
            return "".join(f";{_quote(name)}={_quote(primitive(each))}" for each in value)
        return f";{_quote(name)}={_joined(value, ',', False)}"
    text = _joined(value, ",", explode)
    if text in (".", ".."):
        raise ToolError(f"{name}={value!r} would lead to another path", code="INVALID_ARGUMENTS")
    return text


def _joined(value: Any, separator: str, explode: bool) -> str:
    if isinstance(value, dict):
        if explode:
            return separator.join(f"{_quote(key)}={_quote(primitive(each))}" for key, each in value.items())
        return separator.join(
            f"{_quote(key)}{separator}{_quote(primitive(each))}" for key, each in value.items()
        )
    if isinstance(value, list):
        return separator.join(_quote(primitive(each)) for each in value)
    return _quote(primitive(value))


def query_pairs(name: str, value: Any, style: str, explode: bool, quoted: Any = _quote) -> Iterator[str]:
    """Yield the `name=value` texts of a query or a form, percent-encoded. None is left out."""
    if value is None:
        return
    if style == "deepObject" and isinstance(value, dict):
        for key, each in value.items():
            deeper = f"{name}[{key}]"
            if isinstance(each, dict):
                yield from query_pairs(deeper, each, style, explode, quoted)
            else:
                yield from query_pairs(deeper, each, "form", True, quoted)
    elif isinstance(value, dict):
        if explode:
            for key, each in value.items():
                if each is not None:
                    yield f"{_quote(key)}={quoted(primitive(each))}"
        else:
            parts = [quoted(primitive(part)) for pair in value.items() for part in pair]
            yield f"{_quote(name)}={_delimiter(style).join(parts)}"
    elif isinstance(value, list):
        if explode:
            for each in value:
                yield f"{_quote(name)}={quoted(primitive(each))}"
        else:
            yield f"{_quote(name)}={_delimiter(style).join(quoted(primitive(each)) for each in value)}"
    else:
        yield f"{_quote(name)}={quoted(primitive(value))}"


def _delimiter(style: str) -> str:
    return {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(style, ",")


def header_text(name: str, value: Any, explode: bool) -> str:
    """The value of a header. Raises `ToolError` for what no header can hold."""
    if isinstance(value, dict):
        between = "=" if explode else ","
        text = ",".join(f"{key}{between}{primitive(each)}" for key, each in value.items())
    elif isinstance(value, list):
        text = ",".join(map(primitive, value))
    else:
        text = primitive(value)
    if re.search(r"[^\t\x20-\x7e]", text):
        raise ToolError(
            f"{name}: a header holds printable ASCII characters only, on one line", code="INVALID_ARGUMENTS"
        )
    return text.strip()
