"""What travels between a session of the SDK and a server, seen before the SDK judges it.

The SDK checks an answer as a whole: one wrong tool would cost a whole list, one unknown content block a whole
answer. Here a list is sifted tool by tool, and answers to calls are kept as they came.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import trio
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import PARSE_ERROR, ErrorData
from mcp_types import methods as _methods
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from msgspec import Struct, field
from pydantic import ValidationError

__all__ = ["MAX_TOOLS", "Listing", "Wire"]

MAX_TOOLS = 2_000
"""Tools of one server; a list that goes on beyond is cut."""

_answers: ContextVar[list[Mapping[str, Any]] | None] = ContextVar("codemode_mcp_answers", default=None)


class Listing(Struct):
    """Tools as a server lists them, by name, and what is wrong with those that are left out."""

    tools: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, other: Listing) -> None:
        """Add another page of the list."""
        for name, tool in other.tools.items():
            self.take(name, tool)
        self.problems += other.problems

    def take(self, name: str, tool: Mapping[str, Any]) -> None:
        """Add one tool, unless there is one of that name, or enough of them."""
        if name in self.tools:
            self.problems.append(f"tool {name!r} is listed twice; the first one counts")
        elif len(self.tools) >= MAX_TOOLS:
            if len(self.problems) < MAX_TOOLS:
                self.problems.append(f"tool {name!r} is left out: there are more than {MAX_TOOLS}")
        else:
            self.tools[name] = tool


class Wire(JSONRPCDispatcher):
    """The SDK's dispatcher, which also keeps answers as they came and knows when it has ended."""

    def __init__(self, read: Any, write: Any) -> None:
        super().__init__(read, write)
        self.ended = trio.Event()
        """Set when the server has ended the conversation, or somebody here has."""
        self.listing = Listing()
        """The page of tools that was listed last."""

    async def run(self, *args: Any, **kwargs: Any) -> None:
        try:
            await super().run(*args, **kwargs)
        finally:
            self.ended.set()

    @property
    def is_open(self) -> bool:
        """Whether a request that is made now can be answered."""
        return self._running and not self.ended.is_set()

    @contextlib.contextmanager
    def keeping(self) -> Iterator[list[Mapping[str, Any]]]:
        """Keep the answers to the calls that this task makes meanwhile."""
        answers: list[Mapping[str, Any]] = []
        token = _answers.set(answers)
        try:
            yield answers
        finally:
            _answers.reset(token)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        raw = await super().send_raw_request(method, params, opts, **kwargs)
        if method == "tools/list":
            return self._sifted(raw)
        answers = _answers.get()
        if method == "tools/call" and answers is not None:
            if not isinstance(raw, dict):
                raise MCPError(code=PARSE_ERROR, message=f"it is {raw!r:.80}, and no object")
            if raw.get("resultType", "complete") != "complete":
                raise MCPError(
                    code=PARSE_ERROR,
                    message=f"it asks for {raw['resultType']!r:.60}, which is not offered here",
                )
            answers.append(raw)
            return {"content": [], "resultType": "complete"}  # the SDK need not look at it
        return raw

    def fail_all(self, problem: str) -> None:
        """Fail every request that waits: something came that may have been the answer to any of them."""
        for pending in list(self._pending.values()):
            with contextlib.suppress(Exception):
                pending.send.send_nowait(ErrorData(code=PARSE_ERROR, message=problem))

    def _sifted(self, raw: dict[str, Any]) -> dict[str, Any]:
        self.listing = Listing()
        tools = raw.get("tools")
        if not isinstance(tools, list):
            return raw  # which the SDK refuses as a whole
        kept = []
        for tool in tools:
            name = tool.get("name") if isinstance(tool, dict) else None
            if not isinstance(name, str) or not name:
                self.listing.problems.append(f"a tool has no name: {tool!r:.200}")
                continue
            problem = _problem_of(tool)
            if problem is None:
                self.listing.take(name, tool)
                kept.append(tool)
            else:
                self.listing.problems.append(f"tool {name!r} is left out: {problem}")
        return {**raw, "tools": kept}


def _problem_of(tool: Mapping[str, Any]) -> str | None:
    """Say why the SDK would refuse a list for the sake of this tool."""
    for version in (LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION):
        page = {"tools": [tool], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        try:
            _methods.validate_server_result("tools/list", version, page)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            return f"{first['msg']} at {'.'.join(map(str, first['loc'][2:]))}"
    return None
