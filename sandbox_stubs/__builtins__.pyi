"""The names that every program has besides Python's own, for editors and type checkers."""

from collections.abc import Iterator
from typing import Any

class ToolCallError(Exception):
    """A tool call failed. `str(error)` is the message."""

    tool_name: str
    message: str
    code: str | None

class _Tool:
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...

class _Tools:
    """The tools of this run, by attribute or by name: `tools.read(path)`, `tools["my-tool"](x=1)`."""

    def __getattr__(self, name: str, /) -> _Tool: ...
    def __getitem__(self, name: str, /) -> _Tool: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

tools: _Tools
