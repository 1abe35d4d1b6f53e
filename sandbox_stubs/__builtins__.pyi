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

@_deprecated("not available here: files are reached through the tools")
def open(*args: _Any, **named: _Any) -> _NoReturn: ...

@_deprecated("not available here: nobody is there to answer; pass the data in, or call a tool")
def input(*args: _Any, **named: _Any) -> _NoReturn: ...

@_deprecated("not available here: write the code itself; a dict of functions chooses between pieces of it")
def exec(*args: _Any, **named: _Any) -> _NoReturn: ...

@_deprecated("not available here: write the code itself")
def compile(*args: _Any, **named: _Any) -> _NoReturn: ...

@_deprecated("not available here: keep such names in a dict of your own")
def globals(*args: _Any, **named: _Any) -> _NoReturn: ...

@_deprecated("not available here: keep such names in a dict of your own")
def locals(*args: _Any, **named: _Any) -> _NoReturn: ...

@_deprecated("not available here: print what you want to see")
def breakpoint(*args: _Any, **named: _Any) -> _NoReturn: ...

@_deprecated("not available here: print what you want to see, or use dir(x)")
def help(*args: _Any, **named: _Any) -> _NoReturn: ...

@_deprecated("not available here: slice the bytes or bytearray itself")
class memoryview:
    def __init__(self, *args: _Any) -> None: ...
