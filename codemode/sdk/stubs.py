"""The tools of a run as stubs for editors and checkers: the module `codemode_tools`, and what joins it to builtins.

Unlike the signatures that a model reads, a stub is written for one style of program, accepts every argument that
the engine may accept, and types `tools["name"]` too. `sandbox_stubs` has the parts that do not depend on tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from codemode.schemas import TypedOutput
from codemode.sdk.language import language
from codemode.sdk.parameters import Parameters, parameters_of
from codemode.sdk.schema_types import WORDS, Types
from codemode.sdk.signatures import is_attribute
from codemode.sdk.spelling import camel, docstring, quote
from codemode.tools.definition import Tool

__all__ = ["MODULE", "Stub", "Style", "builtins_stub", "tools_stub"]

MODULE = "codemode_tools"
"""The name of the stub module with the types of the tools. No program can import it at run time."""

Style: TypeAlias = Literal["sync", "async"]
"""Whether a call gives its value, or something to await: what a program with an `await` in it is."""

_HEAD = '''\
"""The types of the tools of a run. There is no such module at run time; `tools` is there without an import."""

from asyncio import Future
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Never, NotRequired, TypeVar, overload
from typing_extensions import TypedDict

_T = TypeVar("_T")
'''

_PENDING = '''\
class {prefix}Pending(Future[_T]):
    """A call that has been made: await it for its value."""
'''

_BUILTINS = '''\
"""The names that every program has besides Python's own, and what cannot be used of those."""

from typing import Any as _Any
from typing import NoReturn as _NoReturn

from typing_extensions import deprecated as _deprecated

from codemode_tools import Tools as _Tools

class ToolCallError(Exception):
    """A tool call failed. `tool_name` is which, `message` why, `code` the tool's own code for it, or None."""

    tool_name: str
    message: str
    code: str | None
    type: str | None
    @property
    def toolName(self) -> str: ...
    def __init__(
        self, message: str = "", tool_name: str = "", code: str | None = None, type: str | None = None
    ) -> None: ...

tools: _Tools
'''


class Stub(NamedTuple):
    """The text of the module, whose the callables in it are (`{"Tools.read": "read"}`), the fields of its classes, and
    the classes of the objects beside `tools` (`{"agents": "AgentsObject"}`)."""

    text: str
    callables: dict[str, str]
    fields: dict[str, list[str]]
    objects: dict[str, str]


def builtins_stub(objects: Mapping[str, str] = {}, *, unavailable: bool = True) -> str:
    """Return `__builtins__.pyi`, which checkers add to Python's builtins; with or without what cannot be used.

    `objects` are those beside `tools`, as `tools_stub` gives them.
    """
    lines = [_BUILTINS]
    for name, kind in objects.items():
        lines.append(f"from {MODULE} import {kind} as _{kind}\n{name}: _{kind}\n")
    for name, advice in language().unavailable.items() if unavailable else ():
        lines.append(f"@_deprecated({quote(f'not available here: {advice}')})")
        kind = "class memoryview:\n    def __init__(self, *args: _Any) -> None: ..."
        made = kind if name == "memoryview" else f"def {name}(*args: _Any, **named: _Any) -> _NoReturn: ..."
        lines.append(f"{made}\n")
    return "\n".join(lines)


def tools_stub(tools: Iterable[Tool], style: Style = "sync", *, prefix: str = "") -> Stub:
    """Return the stub of the module `codemode_tools`. The names of its classes begin with `prefix`."""
    chosen = sorted(tools, key=lambda each: each.name)
    types = Types([each.name for each in chosen], lenient=True, prefix=prefix)
    plain: list[str] = []
    apart: list[str] = []  # classes of tools that cannot be methods
    shadowing: list[str] = []
    items: list[str] = []
    callables: dict[str, str] = {}
    objects: dict[str, str] = {}
    methods: dict[str, list[str]] = {}
    for each in chosen:
        if each.method is not None:
            owner, _, method = each.method.partition(".")
            if owner not in objects:
                objects[owner] = types.new_name(f"object {owner}", f"{camel(owner) or 'Odd'} object")
            methods.setdefault(owner, []).append(_method(each, method, types, style, prefix))
            callables[f"{objects[owner]}.{method}"] = each.name
        if is_attribute(each.name) and each.name not in WORDS:
            plain.append(_method(each, each.name, types, style, prefix))
            callables[f"{prefix}Tools.{each.name}"] = each.name
            continue
        name = types.new_name(f"tool {each.name}", f"{camel(each.name) or 'Odd'} tool")
        method = _method(each, "__call__", types, style, prefix)
        apart.append(f"class {name}:\n{method}")
        callables[f"{name}.__call__"] = each.name
        if is_attribute(each.name):
            shadowing.append(f"    {each.name}: {name}")
        items.append(f"    def __getitem__(self, name: Literal[{quote(each.name)}], /) -> {name}: ...")
    given = {each.name for each in chosen}
    text = "\n".join(
        [
            _HEAD,
            _PENDING.format(prefix=prefix),
            *(f"{each}\n" for each in types.text()),
            *(f"{each}\n" for each in apart),
            *("\n".join([f"class {objects[owner]}:", *written, ""]) for owner, written in methods.items()),
            _any_tool(style, prefix),
            # In a class of its own: in the body of `Tools`, a name such as `str` would no longer be the type.
            "class _Shadowing:\n" + ("\n".join(shadowing) or "    pass") + "\n",
            f"class {prefix}Tools(_Shadowing):\n{_access(items)}\n{_helpers(given)}",
            *plain,
            f"\nTools = {prefix}Tools" if prefix else "",
            "",
        ]
    )
    return Stub(text, callables, types.fields(), objects)


def _any_tool(style: Style, prefix: str) -> str:
    returned = "Any" if style == "sync" else f"{prefix}Pending[Any]"
    return f"class AnyTool:\n    def __call__(self, *args: Any, **named: Any) -> {returned}: ...\n"


def _access(items: list[str]) -> str:
    general = "    def __getitem__(self, name: str, /) -> AnyTool: ..."
    overloads = [f"    @overload\n{each}" for each in [*items, general]] if items else [general]
    return "\n".join(
        [
            *overloads,
            "    def __contains__(self, name: object, /) -> bool: ...",
            "    def __iter__(self) -> Iterator[str]: ...",
            "    def __len__(self) -> int: ...",
        ]
    )


def _helpers(given: set[str]) -> str:
    lines = []
    for name, signature, text in (
        ("search", "(self, words: str, limit: int = 10) -> list[dict[str, str]]", "Find tools by words."),
        ("describe", "(self, name: str) -> str", "The signature of a tool with its types, as text."),
    ):
        lines += [
            f'    def {spelled}{signature}:\n        """{text}"""'
            for spelled in (name, f"{name}_")
            if spelled not in given
        ]
    return "\n".join(lines)


def _method(tool: Tool, name: str, types: Types, style: Style, prefix: str) -> str:
    parameters = parameters_of(tool, types, lenient=True)
    output = tool.output.schema
    root = output.json_schema
    returned = types.value(root, root, f"{tool.name} value", closed=isinstance(output, TypedOutput))
    if style == "async":
        returned = f"{prefix}Pending[{returned}]"
    head = f"    def {name}{_written(parameters)} -> {returned}:"
    lines = [tool.description.strip()] if tool.description.strip() else []
    lines += [f"{each.spelled}: {each.note}" for each in parameters.each if each.note]
    return f"{head}\n{docstring(chr(10).join(lines), '        ')}" if lines else f"{head} ..."


def _written(parameters: Parameters) -> str:
    first = f"{parameters.free_name('self')}, /"
    if parameters.whole is None:
        return parameters.text(first)
    return f"(self, arguments: {parameters.whole} = ..., /, *others: Any, **named: Any)"
