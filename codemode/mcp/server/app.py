"""What a client of the protocol can ask for: the tools, the signatures as a resource, a call.

Each request of a run is a scope of its own over one engine. A request that is cancelled, or whose client has gone,
takes its run with it.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

import trio
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    EmptyResult,
    ImageContent,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    SetLevelRequestParams,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from codemode.content import Content, Text, text_of
from codemode.engine import Scope
from codemode.errors import CodeModeError, RunError
from codemode.mcp.server.report import Report
from codemode.rendering import cut_middle
from codemode.sdk import signatures
from codemode.tools.call import Failure, Outcome, Success
from codemode.tools.hooks import Hooks
from codemode.tools.registry import RUN_CODE
from codemode.values import JSON, thaw

__all__ = ["GONE", "SIGNATURES_URI", "ProgramServer"]

SIGNATURES_URI = "codemode://signatures"
"""The resource that holds what a program can call."""

GONE = "codemode.gone"
"""Key of an HTTP request's scope: the `trio.Event` that is set when its client has gone."""

_MAX_DESCRIPTION_BYTES = 32 * 1024
_TELL_SECONDS = 5.0  # a client that does not take a notification is told no more
_MAX_WAITING = 100

_RUN_OUTPUT: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "logs": {"type": "array", "items": {"type": "string"}, "description": "The printed lines."},
        "result": {"description": "What the program returned, if it returned something."},
        "error": {
            "type": "object",
            "description": "Why the run did not end well.",
            "properties": {"kind": {"type": "string"}, "message": {"type": "string"}},
            "required": ["kind", "message"],
        },
    },
    "required": ["logs"],
}

_log = logging.getLogger("codemode.mcp")


class ProgramServer:
    """An engine, or a scope of one, as a server of the protocol. `server` is the SDK's own object.

    `scope.registry.mode` says what a client may call: `code` is `run_code` alone. At most `max_runs` calls go on at
    once; others wait for their turn. `watching` has to be entered while it serves.
    """

    def __init__(self, scope: Scope, *, max_runs: int = 10) -> None:
        self._scope = scope
        self._turns = trio.Semaphore(max_runs, max_value=max_runs)
        self._connections: set[Connection] = set()
        self._bus = InMemorySubscriptionBus()
        self._changed = trio.Event()
        self.server: Server[Any] = Server(
            "codemode",
            version=version("codemode"),
            instructions="run_code runs one Python program, confined, that calls the tools its description lists.",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self.server.add_request_handler("logging/setLevel", SetLevelRequestParams, self._set_level)
        self.server.middleware.append(self._know)
        self.options = self.server.create_initialization_options(
            NotificationOptions(tools_changed=True, resources_changed=True)
        )

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Tell clients when the tools change, as long as this is entered."""
        unwatch = self._scope.registry.watch(self._note_change)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell_changes)
            try:
                yield
            finally:
                unwatch()
                nursery.cancel_scope.cancel()

    # -------------------------------------------------------------------------------- what there is

    async def _list_tools(
        self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[self._described(each) for each in self._scope.describe()])

    def _described(self, tool: dict[str, JSON]) -> Tool:
        name, description = tool["name"], tool["description"]
        output, annotations = None, None
        if name == RUN_CODE:
            description = self._description(description)
            output = _RUN_OUTPUT
        else:
            registered = self._scope.registry.require(name)
            schema = registered.output.schema.json_schema
            output = schema if schema.get("type") == "object" else None
            annotations = ToolAnnotations(read_only_hint=registered.read_only)
        return Tool(
            name=name,
            description=description,
            input_schema={"type": "object", **tool["parameters"]},
            output_schema=output,
            annotations=annotations,
        )

    def _description(self, description: str) -> str:
        text = f"{description}\n\nThe tools of a program, as functions of `tools`:\n\n{self._signatures()}"
        return cut_middle(text, _MAX_DESCRIPTION_BYTES, f"the whole text is the resource {SIGNATURES_URI}")

    def _signatures(self) -> str:
        return signatures(self._scope.registry) or "# there are no tools\n"

    async def _list_resources(
        self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        resource = Resource(
            uri=SIGNATURES_URI,
            name="signatures",
            title="What a program can call",
            mime_type="text/x-python",
        )
        return ListResourcesResult(resources=[resource])

    async def _read_resource(
        self, context: ServerRequestContext[Any, Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        if str(params.uri) != SIGNATURES_URI:
            raise MCPError(INVALID_PARAMS, f"there is no resource {params.uri}; there is {SIGNATURES_URI}")
        text = self._signatures()
        contents = TextResourceContents(uri=SIGNATURES_URI, mime_type="text/x-python", text=text)
        return ReadResourceResult(contents=[contents])

    # -------------------------------------------------------------------------------- a call

    async def _call_tool(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult:
        if self._turns.statistics().tasks_waiting >= _MAX_WAITING:
            return _refused(f"{_MAX_WAITING} calls are waiting already; call again later")
        least = context.session._connection.state.get("level", "debug")
        report = Report(context, least)
        outcome: Outcome | None = None
        gone = getattr(context.request, "scope", {}).get(GONE)
        async with trio.open_nursery() as nursery:
            if gone is not None:
                nursery.start_soon(_cancel_when, gone, nursery.cancel_scope)
            async with trio.open_nursery() as reporting:
                reporting.start_soon(report.send)
                async with self._turns:
                    outcome = await self._outcome(params, report)
                report.close()
            nursery.cancel_scope.cancel()
        if outcome is None:  # nobody is there who could read this
            return _refused("the client has gone")
        return _call_result(params.name, outcome)

    async def _outcome(self, params: CallToolRequestParams, report: Report) -> Outcome:
        scope = self._scope.scope(hooks=Hooks(observers=(report.call_ended,)))
        try:
            return await scope.call(params.name, params.arguments or {}, on_log=report.printed)
        except CodeModeError as error:
            _log.error("a call could not be made or recorded: %s", error)
            raise MCPError(-32603, f"the call could not be made or recorded: {error}") from None

    # -------------------------------------------------------------------------------- connections

    async def _know(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Remember connections that live longer than one request, to tell them what changes."""
        if ctx.method == "notifications/initialized":
            connection = ctx.session._connection
            if connection not in self._connections:
                self._connections.add(connection)
                connection.exit_stack.callback(self._connections.discard, connection)
        return await call_next(ctx)

    async def _set_level(
        self, context: ServerRequestContext[Any, Any], params: SetLevelRequestParams
    ) -> EmptyResult:
        context.session._connection.state["level"] = params.level
        return EmptyResult()

    def _note_change(self) -> None:
        self._changed.set()

    async def _tell_changes(self) -> None:
        while True:
            await self._changed.wait()
            self._changed = trio.Event()
            await self._bus.publish(ToolsListChanged())
            await self._bus.publish(ResourceUpdated(uri=SIGNATURES_URI))
            async with trio.open_nursery() as nursery:
                for connection in list(self._connections):
                    nursery.start_soon(_tell, connection)


async def _tell(connection: Connection) -> None:
    with trio.move_on_after(_TELL_SECONDS):
        await connection.send_tool_list_changed()
        await connection.send_resource_updated(SIGNATURES_URI)


async def _cancel_when(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


def _call_result(name: str, outcome: Outcome) -> CallToolResult:
    structured: JSON = None
    if isinstance(outcome, Success):
        if isinstance(outcome.value, dict):
            structured = thaw(outcome.value)
    elif name == RUN_CODE:
        structured = _run_failure(outcome)
    return CallToolResult(
        content=_blocks(outcome.content), structured_content=structured, is_error=outcome.is_error
    )


def _run_failure(outcome: Failure) -> dict[str, JSON]:
    error = outcome.exception
    if isinstance(error, RunError):
        return {"logs": list(error.logs), "error": {"kind": error.kind, "message": error.reason}}
    return {"logs": [], "error": {"kind": "refused", "message": outcome.error.message}}


def _refused(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=f"Error: {message}")], is_error=True)


def _blocks(content: Content) -> list[ContentBlock]:
    blocks: list[ContentBlock] = []
    for each in content:
        if isinstance(each, Text):
            blocks.append(TextContent(text=each.text))
        else:
            blocks.append(ImageContent(data=each.data, mime_type=each.media_type))
    return blocks or [TextContent(text=text_of(content))]
