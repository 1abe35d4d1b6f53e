"""The tools of a run as Python that a model reads: TypedDicts for objects, one `async def` for each tool.

The text is a stub of a module `tools`: it can be parsed and type-checked as it stands, is the same for the same tools
on every Python, and holds nothing that a description could break out of. What cannot be written as a function, since
its name is no identifier, means something else in the text, or is a method of another object than `tools`, stands in
it as a comment with the exact name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from codemode.schemas import TypedOutput
from codemode.sdk.language import language
from codemode.sdk.parameters import Parameters, parameters_of
from codemode.sdk.schema_types import IN_TYPES, Types
from codemode.sdk.spelling import docstring, is_name, one_line, quote, summary
from codemode.tools.definition import Tool

__all__ = ["Documented", "access", "document", "is_attribute", "signatures"]

_IMPORTABLE = ("Any", "Literal", "Never", "NotRequired", "TypedDict")


class Documented(NamedTuple):
    """What a program finds out about one tool: how it is called on one line, in a few words what it does, and the
    whole text with the classes that it uses."""

    call: str
    summary: str
    text: str


def signatures(tools: Iterable[Tool]) -> str:
    """Return the text for these tools, sorted by name; the empty text for none."""
    chosen = sorted(tools, key=lambda each: each.name)
    if not chosen:
        return ""
    types = Types([each.name for each in chosen])
    functions = [_function(each, types) for each in chosen]
    written = "\n".join([*types.text(notes=False), *(each.head for each in functions)])
    words = set(re.findall(r"\w+", written))
    imported = ", ".join(name for name in _IMPORTABLE if name in words)
    head = [f"from typing import {imported}"] if imported else []
    return "\n\n".join([*head, *types.text(), *(each.text for each in functions)]) + "\n"


def document(tool: Tool) -> Documented:
    """Return what `tools.search` and `tools.describe` say of a tool."""
    types = Types([tool.name])
    made = _function(tool, types)
    return Documented(made.call, summary(tool.description), "\n\n".join([*types.text(), made.text]))


def is_attribute(name: str) -> bool:
    """Return whether a tool of that name can be reached as `tools.name`; all can as `tools["name"]`."""
    return is_name(name) and name not in language().denied and name not in language().guarded


def access(tool: Tool) -> str:
    """Return what a program writes to reach a tool."""
    if tool.method is not None:
        return tool.method
    return f"tools.{tool.name}" if is_attribute(tool.name) else f"tools[{quote(tool.name)}]"


class _Function(NamedTuple):
    call: str
    head: str  # the first line of the text, which has all of its types
    text: str


def _function(tool: Tool, types: Types) -> _Function:
    parameters = parameters_of(tool, types)
    output = tool.output.schema
    root = output.json_schema
    returned = types.value(root, root, f"{tool.name} value", closed=isinstance(output, TypedOutput))
    explained = _explanation(tool, parameters)
    call = f"{access(tool)}{parameters.text()}"
    is_function = tool.method is None and is_attribute(tool.name)
    if is_function and tool.name not in IN_TYPES | {"TypedDict"}:
        head = f"async def {tool.name}{parameters.text()} -> {returned}:"
        text = f"{head}\n{docstring(explained, '    ')}" if explained else f"{head} ..."
    else:
        head = f"# {call} -> {returned}"
        text = "\n".join([head, *(f"#     {one_line(line)}".rstrip() for line in explained.splitlines())])
    return _Function(call, head, text)


def _explanation(tool: Tool, parameters: Parameters) -> str:
    """The description, and what is to be known of each parameter that the class of a dict does not say already."""
    lines = (
        []
        if parameters.whole is not None
        else [f"{each.spelled}: {each.note}" for each in parameters.each if each.note]
    )
    description = tool.description.strip()
    return "\n".join(([description] if description else []) + lines)
