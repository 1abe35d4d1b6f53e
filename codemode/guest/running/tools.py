"""`tools`: the functions of a program that lead to the host, and how their arguments are read.

A call becomes a frame; its answer a frozen value or a `ToolCallError`. How one waits for the answer is
the caller's: `Calls` is given to the tools by the program's style, synchronous or asynchronous.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from codemode import values, wire
from codemode.guest.language.names import MARK
from codemode.guest.running.channel import Channel
from codemode.guest.running.discovery import HELPERS, Discovery

__all__ = ["Calls", "Methods", "Tool", "ToolCallError", "Tools", "object_names", "objects", "outcome"]


class ToolCallError(Exception):
    """A tool failed. `tool_name` is which, `message` why, `code` the tool's own code for it, or None.

    `type` is the name of the exception's class where the tool raised one that is no `ToolError`, or None; a report
    of the error shows it in a line of its own, so that the message stays the tool's.
    """

    def __init__(
        self, message: str = "", tool_name: str = "", code: str | None = None, type: str | None = None
    ) -> None:
        super().__init__(message)
        self.type = type
        if type:
            self.add_note(f"(the tool raised {type})")
        self.message = message
        self.tool_name = tool_name
        self.code = code

    @property
    def toolName(self) -> str:
        return self.tool_name


ToolCallError.__module__ = "builtins"  # so that it prints without a module, like Python's own


class Calls:
    """Sends calls and numbers them. `limit` bounds the encoded arguments of one, in bytes."""

    def __init__(self, channel: Channel, limit: int) -> None:
        self.channel = channel
        self._limit = limit
        self._count = 0

    def send(self, tool: wire.ToolName, arguments: dict[str, Any]) -> int:
        """Check and send one call; return its number."""
        values.check(arguments, root="arguments")
        data = wire.encode_value(arguments)
        if len(data) > self._limit:
            raise ValueError(
                f"the arguments of {tool.name} take {len(data):,} bytes, over the limit of {self._limit:,}; "
                "pass less, in several calls"
            )
        self._count += 1
        self.channel.send(wire.Call(self._count, tool.name, msgspec.Raw(data)))
        return self._count

    def wait(self, tool: wire.ToolName, arguments: dict[str, Any]) -> Any:
        """Make one call and wait for its answer: the synchronous style."""
        number = self.send(tool, arguments)
        while True:
            frame = self.channel.receive()
            if not isinstance(frame, wire.Program) and frame.id == number:
                return outcome(tool, frame)


def outcome(tool: wire.ToolName, frame: wire.Value | wire.Fault) -> Any:
    """Return the value of an answer, or raise what it says."""
    if isinstance(frame, wire.Value):
        return wire.decode_frozen(frame.value)
    raise ToolCallError(frame.message, tool.name, frame.code, frame.raised)


class Tool:
    # One function of `tools`. Its docstring is its signature, so the class has none.

    __slots__ = ("__doc__", "__name__", "_call", "_tool")

    def __init__(self, tool: wire.ToolName, call: Callable[[wire.ToolName, dict[str, Any]], Any]) -> None:
        self._tool = tool
        self._call = call
        self.__name__ = tool.name
        self.__doc__ = tool.signature

    # Not even `self` is a name here: a tool may have a parameter that is called so.
    def __call__(*args: Any, **kwargs: Any) -> Any:
        self: Tool = args[0]
        return self._call(self._tool, _arguments(self._tool, args[1:], kwargs))

    def __copy__(self) -> Tool:
        return self

    def __deepcopy__(self, memo: object) -> Tool:
        return self

    def __repr__(self) -> str:
        return f"<tool {self._tool.signature or self._tool.name}>"


Tool.__qualname__ = "tool"
Tool.__module__ = "builtins"


class _Helper:
    # `tools.search` or `tools.describe`: no tool, and no call.

    __slots__ = ("__doc__", "__name__", "_function")

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._function = function
        self.__name__ = name
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<function tools.{self.__name__}>"


_Helper.__qualname__ = "function"
_Helper.__module__ = "builtins"


class Tools:
    """The tools of a run, as attributes and as items; and, as attributes only, the helpers that find them.

    A tool comes before a helper of the same name, which is then reached with an underscore behind it.
    """

    __slots__ = ("_discovery", "_table", "_tools")

    def __init__(
        self, tools: Sequence[wire.ToolName], call: Callable[[wire.ToolName, dict[str, Any]], Any]
    ) -> None:
        self._table = {tool.name: Tool(tool, call) for tool in tools}
        self._tools = tools
        self._discovery: Discovery | None = None

    def __getattr__(self, name: str) -> Tool | _Helper:
        tool = self._table.get(name)
        if tool is None:
            plain = name.removesuffix("_")
            if plain in HELPERS:
                return _Helper(plain, self._search if plain == "search" else self._describe)
            raise _missing("tools", name, _unknown(name, self._table))
        return tool

    def _describe(self, name: str) -> str:
        """Return the signature of a tool with the types that it uses."""
        self[name]
        return self._found().describe(name)

    def _search(self, words: str, limit: int = 10) -> list[dict[str, str]]:
        """Return the tools that fit best, the best first: their names, how they are called, what they do."""
        return self._found().search(words, limit)

    def _found(self) -> Discovery:
        # Made when it is first asked for, which it seldom is.
        if self._discovery is None:
            self._discovery = Discovery(self._tools)
        return self._discovery

    def __getitem__(self, name: str) -> Tool:
        tool = self._table.get(name) if type(name) is str else None
        if tool is None:
            raise KeyError(_unknown(name, self._table))
        return tool

    def __contains__(self, name: object) -> bool:
        return type(name) is str and name in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._table))

    def __len__(self) -> int:
        return len(self._table)

    def __copy__(self) -> Tools:
        return self

    def __deepcopy__(self, memo: object) -> Tools:
        return self

    def __dir__(self) -> list[str]:
        return sorted(self._table)

    def __repr__(self) -> str:
        return f"<tools: {', '.join(self._table) or 'none'}>"


Tools.__qualname__ = "tools"
Tools.__module__ = "builtins"


class Methods:
    """An object beside `tools`, whose methods are tools: `agents.run(...)`."""

    __slots__ = ("_name", "_table")

    def __init__(self, name: str, table: dict[str, Tool]) -> None:
        self._name = name
        self._table = table

    def __getattr__(self, name: str) -> Tool:
        tool = self._table.get(name)
        if tool is None:
            there = ", ".join(sorted(self._table))
            raise _missing(self._name, name, f"{self._name} has no {name!r}; it has: {there}")
        return tool

    def __copy__(self) -> Methods:
        return self

    def __deepcopy__(self, memo: object) -> Methods:
        return self

    def __dir__(self) -> list[str]:
        return sorted(self._table)

    def __repr__(self) -> str:
        return f"<{self._name}: {', '.join(self._table)}>"


Methods.__qualname__ = "object"
Methods.__module__ = "builtins"


def object_names(tools: Sequence[wire.ToolName]) -> set[str]:
    """Return the names of the objects beside `tools`; mostly there are none."""
    return {tool.method.partition(".")[0] for tool in tools if tool.method}


def objects(
    tools: Sequence[wire.ToolName], call: Callable[[wire.ToolName, dict[str, Any]], Any]
) -> dict[str, Methods]:
    """Return the objects beside `tools` that some tools are methods of, by their names."""
    found: dict[str, dict[str, Tool]] = {}
    for tool in tools:
        if tool.method:
            name, _, method = tool.method.partition(".")
            found.setdefault(name, {})[method] = Tool(tool, call)
    return {name: Methods(name, table) for name, table in found.items()}


def _missing(owner: str, name: str, text: str) -> AttributeError:
    """A program that uses a private attribute asks for their mark: that is said as of any other object."""
    if name == MARK:
        text = f"{owner!r} object has no attribute {name!r}"
    return AttributeError(text, name=name)


def _unknown(name: object, table: dict[str, Tool]) -> str:
    if not table:
        return f"there is no tool {name!r}: this run has no tools"
    known = sorted(table)
    near = difflib.get_close_matches(name, known, 1, 0.5) if type(name) is str and len(name) < 100 else []
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    shown = ", ".join(known[:30]) + (f", … {len(known) - 30} more" if len(known) > 30 else "")
    return f"there is no tool {str(name)[:60]!r}{hint} available: {shown}"


# --------------------------------------------------------------------------------------- arguments


def _arguments(tool: wire.ToolName, positional: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Return the object that a call means. Raises TypeError with the signature where it cannot be one."""
    parameters = tool.parameters
    if len(positional) == 1 and not named and _is_arguments(positional[0], tool):
        return dict(positional[0])
    if len(positional) > len(parameters):
        takes = f"{len(parameters)} positional argument{'' if len(parameters) == 1 else 's'}"
        raise TypeError(
            f"{tool.name}() takes at most {takes}, got {len(positional)}; its signature: {tool.signature}"
        )
    for name in [
        name for name in named if name[-1:] == "_" and name not in parameters and name[:-1] in parameters
    ]:
        if name[:-1] in named:
            raise _twice(tool, name[:-1])
        named[name[:-1]] = named.pop(name)
    for name, value in zip(parameters, positional, strict=False):
        if name in named:
            raise _twice(tool, name)
        named[name] = value
    return named


def _is_arguments(value: object, tool: wire.ToolName) -> bool:
    if type(value) is not dict and type(value) is not values.FrozenDict:
        return False
    return not tool.first_is_object or (bool(value) and all(key in tool.parameters for key in value))


def _twice(tool: wire.ToolName, name: str) -> TypeError:
    return TypeError(f"{tool.name}() got the argument {name!r} twice; its signature: {tool.signature}")
