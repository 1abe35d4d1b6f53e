"""`mcp_tools`: the tools of several servers as one registry, which follows what the servers list."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import trio

from codemode.errors import CodeModeError, ToolDefinitionError
from codemode.mcp.client.config import Http, ServerConfig, load_config
from codemode.mcp.client.connection import Connection
from codemode.mcp.client.definitions import make_tool, tool_names
from codemode.mcp.client.oauth import Login
from codemode.mcp.client.results import value_of
from codemode.mcp.client.wire import Listing
from codemode.tools.call import Call
from codemode.tools.definition import Tool
from codemode.tools.registry import Registry

__all__ = ["McpError", "McpServer", "McpTools", "mcp_tools"]

_CLOSE_SECONDS = 10.0
"""How long all servers together may take to end in order; then what is left is ended at once."""

_log = logging.getLogger("codemode.mcp")


class McpError(CodeModeError):
    """A server cannot be reached, or two servers' tools have the same name."""

    code = "MCP"


class McpServer:
    """One server as it stands: its tools by their names here, and what is wrong, if something is."""

    def __init__(self, config: ServerConfig, registry: McpTools, login: Login | None) -> None:
        self.config = config
        self.tools: dict[str, Tool] = {}
        """Its tools that are registered, by the names that the server gives them."""
        self.problems: tuple[str, ...] = ()
        """Tools of its list that are left out, and why."""
        self.connection = Connection(config, self._take, login)
        self._registry = registry
        self._listed: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._remove: dict[str, Callable[[], None]] = {}

    @property
    def name(self) -> str:
        """The server's name in the configuration."""
        return self.config.name

    @property
    def problem(self) -> str:
        """Why there is no connection now; empty while there is one."""
        return self.connection.problem

    @property
    def instructions(self) -> str:
        """What the server says about how its tools are to be used; empty for nothing."""
        return self.connection.instructions

    def _take(self, listing: Listing) -> None:
        """Make the registry hold what the server lists now. A tool that is listed as before stays the same tool."""
        names = tool_names(self.config.prefix, listing.tools)
        listed = {raw: (names[raw], tool) for raw, tool in listing.tools.items()}
        for raw in [raw for raw in self.tools if self._listed.get(raw) != listed.get(raw)]:
            self._remove.pop(raw)()
            del self.tools[raw]
        problems = list(listing.problems)
        for raw, (name, tool) in listed.items():
            if raw not in self.tools:
                try:
                    self._register(raw, name, tool)
                except ToolDefinitionError as error:
                    problems.append(f"tool {raw!r} is left out: {error}")
        self._listed = listed
        for problem in problems:
            if problem not in self.problems:
                _log.warning("MCP server %r: %s", self.name, problem)
        self.problems = tuple(problems)

    def _register(self, raw: str, name: str, listed: Mapping[str, Any]) -> None:
        connection, values = self.connection, self.config.values

        async def execute(arguments: dict[str, Any], call: Call) -> object:
            return value_of(await connection.call(raw, arguments), values)

        tool = make_tool(self.config, name, listed, execute)
        owner = self._registry.owner_of(name)
        if owner is not None:
            raise ToolDefinitionError(
                f"the name {name!r} is taken by server {owner!r}; give one of the two another "
                '"codemode": {"prefix": …} in its entry'
            )
        self._remove[raw] = self._registry.register(tool)
        self.tools[raw] = tool


class McpTools(Registry):
    """The tools of all servers: a registry that changes when a server's list does. See `mcp_tools`."""

    def __init__(self, configs: list[ServerConfig], login: Login | None = None) -> None:
        super().__init__()
        self.servers: dict[str, McpServer] = {each.name: McpServer(each, self, login) for each in configs}

    def owner_of(self, name: str) -> str | None:
        """Return the name of the server that a tool is of, or None if there is no such tool."""
        for server in self.servers.values():
            if any(tool.name == name for tool in server.tools.values()):
                return server.name
        return None


@contextlib.asynccontextmanager
async def mcp_tools(
    config: str | os.PathLike[str] | Mapping[str, Any],
    *,
    environment: Mapping[str, str] | None = None,
    login: Login | None = None,
) -> AsyncIterator[McpTools]:
    """Connect to the servers of an `mcp.json` and give their tools: `async with mcp_tools("mcp.json") as tools`.

    `config` is the file, or its content. What is given is a `Registry`: hand it to `CodeMode`, or put own tools over
    it with `tools.scope([…])`. It follows the servers' lists while it is open; a server that goes away is started or
    connected to again, its tools stay and wait for it a little. Tools are named `SERVER_TOOL`; a read-only tool may
    overlap with others; one that its server marks as destructive needs approval.

    `login(name, url)` brings a person to open the URL, for a server that wants a login (None: nobody is there).

    Raises `McpConfigError` for the file, `McpError` when a server that is not `optional` cannot be reached or two
    tools get the same name. Leaving it ends all servers that were started. Cancellation does too.
    """
    tools = McpTools(load_config(config, environment), login)
    manager = trio.open_nursery()
    nursery = await manager.__aenter__()
    try:
        for server in tools.servers.values():
            nursery.start_soon(server.connection.run, name=f"MCP server {server.name}")
        for server in tools.servers.values():
            await server.connection.tried.wait()
        problem = _problem(tools)
        if problem is not None:
            raise McpError(problem)
        yield tools
    finally:
        # What was raised above passes by the nursery, and does not come back wrapped in a group.
        for server in tools.servers.values():
            server.connection.close()
        nursery.cancel_scope.shield = True
        nursery.cancel_scope.deadline = trio.current_time() + _CLOSE_SECONDS
        await manager.__aexit__(None, None, None)


def _problem(tools: McpTools) -> str | None:
    """Say what keeps these tools from being given at all."""
    found = []
    for server in tools.servers.values():
        if server.problem and not server.config.optional:
            found.append(
                f"MCP server {server.name!r} cannot be used: {_address(server.config)}: {server.problem}; correct "
                'its entry, or set "disabled": true or "codemode": {"optional": true} in it'
            )
        found += [
            f"MCP server {server.name!r}: {each}" for each in server.problems if "is taken by server" in each
        ]
    return "\n".join(found) or None


def _address(config: ServerConfig) -> str:
    transport = config.transport
    if isinstance(transport, Http):
        return transport.url.split("?", 1)[0]
    return transport.command
