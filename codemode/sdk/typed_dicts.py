"""TypedDict classes as text: as a class statement, or as a call where a field's name does not fit into one."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import NamedTuple

from codemode.sdk.spelling import comment, quote

__all__ = ["Class", "Field", "as_call", "as_class"]


class Field(NamedTuple):
    """One field: its type as text, and what is to be known of it besides."""

    name: str
    type: str
    required: bool
    note: str


class Class(NamedTuple):
    """One class; an open one may have more than its fields."""

    name: str
    fields: list[Field]
    is_open: bool


def as_class(made: Class, lenient: bool, notes: bool) -> str:
    """Return a class statement. `lenient` says in it that the class is open; `notes` puts comments behind fields."""
    lines = [f"class {made.name}(TypedDict{', extra_items=Any' if lenient and made.is_open else ''}):"]
    for field in made.fields:
        written = field.type if field.required else f"NotRequired[{field.type}]"
        lines.append(f"    {field.name}: {written}{_noted(field, notes)}")
    return "\n".join(lines)


def as_call(made: Class, below: Set[str], notes: bool) -> str:
    """Return a call of `TypedDict`, which takes any name of a field; `below` are classes that follow in the text."""
    lines = [f'{made.name} = TypedDict("{made.name}", {{']
    for field in made.fields:
        written = field.type if field.required else f"NotRequired[{field.type}]"
        if below & set(re.findall(r"\w+", written)):  # a class that is not there yet is named in a text
            written = f"'{written}'" if "'" not in written and "\\" not in written else "Any"
        lines.append(f"    {quote(field.name)}: {written},{_noted(field, notes)}")
    return "\n".join([*lines, "})"])


def _noted(field: Field, notes: bool) -> str:
    return f"  {comment(field.note)}" if notes and field.note else ""
