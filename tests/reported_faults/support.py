"""The tools that the reported faults need, and how their programs are run: through the public face."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import trio

from codemode import (
    CodeMode,
    ToolError,
    as_json,
    text,
    tool,
)


class Detail(msgspec.Struct):
    """A value with parts."""

    id: int
    ratio: float
    tags: list[str]


@tool(render=as_json, parallel=True)
async def echo(
    value: int | str | float | bool | None | list | dict = None,
) -> int | str | float | bool | None | list | dict:
    """Give back what came."""
    return value


@tool(render=as_json)
async def call(name: str) -> str:
    """Answer, unless the name is boom."""
    if name == "boom":
        raise ToolError("it broke")
    return name


@tool(render=as_json)
def bad_sync() -> int:
    """Fail in a thread."""
    raise RuntimeError("sync: quota 0 left")


@tool(render=as_json)
async def bad_async() -> int:
    """Fail in the loop."""
    raise RuntimeError("async: quota 0 left")


@tool(render=as_json)
async def user(id: Annotated[str, msgspec.Meta(min_length=1)]) -> str:
    """A user's name."""
    return f"user {id}"


@tool(render=as_json, parallel=True)
async def slow(seconds: float = 0.1) -> float:
    """Take a while."""
    await trio.sleep(seconds)
    return seconds


@tool(render=as_json)
async def fetch(url: str, limit: int = 3) -> str:
    """Fetch."""
    return f"{url}:{limit}"


@tool(render=lambda arguments, value: [text("a long text for people")])
async def detail() -> Detail:
    """Something with parts and a text for people."""
    return Detail(7, 0.5, ["x"])


@tool(render=as_json)
async def kind_of(x: str | None) -> str:
    """Which type came."""
    return type(x).__name__


@tool(render=as_json)
async def load(name: str) -> list[int]:
    """Rows, if there are any."""
    raise ToolError(f"no table {name!r}", code="NOT_FOUND")


TOOLS = [echo, call, bad_sync, bad_async, user, slow, fetch, detail, kind_of, load]


async def value(cm: CodeMode, source: str) -> Any:
    """Run a program that is to end well and return its result."""
    result = await cm.run(source)
    assert result.error is None, result.text
    return result.result


async def failure(cm: CodeMode, source: str, kind: str = "exception") -> str:
    """Run a program that is to fail in this way and return the message."""
    result = await cm.run(source)
    assert result.error is not None, result.text
    assert result.error.kind == kind, result.text
    return result.error.message
