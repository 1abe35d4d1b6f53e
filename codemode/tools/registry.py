"""Which tools there are. Registering checks names; what a tool is was checked when it was made."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator

from codemode.errors import ToolDefinitionError, UnknownToolError
from codemode.tools.definition import Tool

__all__ = ["RUN_CODE", "Registry"]

RUN_CODE = "run_code"
"""The name of the tool that runs programs; no other tool can have it."""


class Registry:
    """The tools that can be called, by name. Changes take effect for the next look-up."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for each in tools:
            self.register(each)

    def register(self, tool: Tool) -> Callable[[], None]:
        """Add a tool; return the function that removes it again.

        Raises `ToolDefinitionError` for anything that is no tool, a reserved name, or a name in use.
        """
        if not isinstance(tool, Tool):
            hint = "; decorate the function with @tool(render=…)" if callable(tool) else ""
            raise ToolDefinitionError(f"{tool!r} is not a Tool{hint}")
        if tool.name == RUN_CODE:
            raise ToolDefinitionError(
                f"tool {RUN_CODE!r}: this name is taken by the tool that runs programs; choose another"
            )
        if tool.name in self._tools:
            raise ToolDefinitionError(
                f"tool {tool.name!r} is registered already; remove that one first, or give this one another name"
            )
        self._tools[tool.name] = tool

        def remove() -> None:
            if self._tools.get(tool.name) is tool:
                del self._tools[tool.name]

        return remove

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self._tools.get(name)

    def require(self, name: str) -> Tool:
        """Return the tool of that name. Raises `UnknownToolError` with the nearest names."""
        tool = self._tools.get(name)
        if tool is None:
            near = difflib.get_close_matches(name, self._tools, 3)
            if near:
                hint = f"; did you mean {' or '.join(map(repr, near))}?"
            elif self._tools:
                hint = f"; there are: {', '.join(sorted(self._tools)[:20])}"
            else:
                hint = "; no tools are registered"
            raise UnknownToolError(f"unknown tool {name!r}{hint}")
        return tool

    def __iter__(self) -> Iterator[Tool]:
        """All tools, by name."""
        return iter([self._tools[name] for name in sorted(self._tools)])

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools
