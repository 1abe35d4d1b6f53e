"""Types as the checker writes them in its messages: which kinds of JSON value they hold, and what they exclude."""

from __future__ import annotations

import ast

__all__ = ["PREFIX", "excludes", "kind", "members"]

PREFIX = "ToolType_"
"""Of the names of the stubs' classes; no program has such names of its own."""


def excludes(expected: str, found: str) -> bool:
    """Whether no value of the one type can be one of the other."""
    wanted, given = [kind(each) for each in members(expected)], [kind(each) for each in members(found)]
    if None in wanted or None in given:
        return False
    numbers = {"int", "float", "bool"}
    for each in given:
        if each in wanted or (each in numbers and numbers & set(wanted)):
            literals = _literals(expected)
            if each == "str" and literals and _literals(found) and not literals & _literals(found):
                continue
            return False
    return True


def kind(member: str) -> str | None:
    if member.startswith("Literal["):
        first = member[len("Literal[") :]
        if first[0] in "\"'":
            return "str"
        if first.startswith(("True", "False")):
            return "bool"
        return "int" if first[0] in "-0123456789" else None
    if member in ("str", "int", "float", "bool", "None"):
        return member
    if member == "LiteralString":
        return "str"
    head = member.partition("[")[0]
    if head in ("list", "tuple", "Sequence"):
        return "array"
    return "object" if head in ("dict", "Mapping") or head.startswith(PREFIX) else None


def members(union: str) -> list[str]:
    """The members of a union; each literal is one of its own."""
    found: list[str] = []
    for member in _split(union, "|"):
        if member.startswith("Literal[") and member.endswith("]"):
            found += [f"Literal[{each}]" for each in _split(member[len("Literal[") : -1], ",")]
        else:
            found.append(member)
    return found


def _split(union: str, separator: str) -> list[str]:
    parts, depth, start, quote, at = [], 0, 0, "", 0
    while at < len(union):
        letter = union[at]
        if quote:
            if letter == "\\":
                at += 1
            elif letter == quote:
                quote = ""
        elif letter in "\"'":
            quote = letter
        elif letter in "[(":
            depth += 1
        elif letter in "])":
            depth -= 1
        elif letter == separator and depth == 0:
            parts.append(union[start:at].strip())
            start = at + 1
        at += 1
    return [*parts, union[start:].strip()]


def _literals(union: str) -> set[str]:
    """The texts of a union of text literals; empty where there is another text type in it."""
    found: set[str] = set()
    for member in members(union):
        if member in ("str", "LiteralString"):
            return set()
        if member.startswith("Literal["):
            try:
                value = ast.literal_eval(f"[{member[8:-1]}]")
            except (SyntaxError, ValueError):
                return set()
            found |= {each for each in value if isinstance(each, str)}
    return found
