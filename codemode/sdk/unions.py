"""Unions of Python types as text: each member once, literals together, `None` at the end."""

from __future__ import annotations

from codemode.sdk.spelling import literal
from codemode.values import JSON

__all__ = ["literals", "union"]

_MAX_MEMBERS = 32  # of a union of types; what differs in more ways than that is `Any`


def union(members: list[str]) -> str:
    """Return the union of written types, which may be unions themselves."""
    found: dict[str, None] = {}
    named: dict[str, None] = {}
    for member in members:
        for part in _split(member):
            if part.startswith("Literal["):
                named.setdefault(part[8:-1])
            else:
                found.setdefault(part)
    if "Any" in found:
        return "Any"
    found.pop("Never", None)
    if "float" in found:
        found.pop("int", None)
    is_nullable = "None" in found
    found.pop("None", None)
    parts = ([f"Literal[{', '.join(named)}]"] if named else []) + list(found)
    if len(parts) > _MAX_MEMBERS:
        return "Any"
    return " | ".join(parts + (["None"] if is_nullable else [])) or "Never"


def _split(union: str) -> list[str]:
    """The members of a written union; bars inside brackets or quotes are no separators."""
    parts: list[str] = []
    depth = start = at = 0
    quoted = False
    while at < len(union):
        letter = union[at]
        if quoted:
            if letter == "\\":
                at += 1
            elif letter == '"':
                quoted = False
        elif letter == '"':
            quoted = True
        elif letter in "[]":
            depth += 1 if letter == "[" else -1
        elif letter == "|" and depth == 0:
            parts.append(union[start:at].strip())
            start = at + 1
        at += 1
    return [*parts, union[start:].strip()]


def literals(members: list[JSON]) -> str:
    """Return the type of whatever is one of some values."""
    named: list[str] = []
    others: list[str] = []
    for member in members:
        if isinstance(member, float):
            others.append("float")
        elif isinstance(member, list):
            others.append("list[Any]")
        elif isinstance(member, dict):
            others.append("dict[str, Any]")
        elif member is None:
            others.append("None")
        else:
            written = literal(member)
            if written is None:
                others.append("str" if isinstance(member, str) else "int")
            else:
                named.append(written)
    written = ", ".join(dict.fromkeys(named))
    return union(([f"Literal[{written}]"] if named else []) + others or ["Never"])
