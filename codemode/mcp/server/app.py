"""What a client of the protocol can ask for: the tools, the signatures as a resource, a call.

Each call is a scope of its own over one engine. A request that is cancelled, or whose client has gone, takes its call
with it.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Collection
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
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmptyResult,
    InputRequiredResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    SetLevelRequestParams,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from codemode.engine import Scope
from codemode.errors import CodeModeError
from codemode.mcp.server.asking import ClientApprover, Elicit, understands_forms
from codemode.mcp.server.parked import ParkedCalls
from codemode.mcp.server.results import RUN_OUTPUT, call_result, refused
from codemode.mcp.server.served import ServedCall
from codemode.rendering import cut_middle
from codemode.sdk import signatures
from codemode.tools.call import Outcome
from codemode.tools.registry import RUN_CODE
from codemode.values import JSON

__all__ = ["GONE", "SIGNATURES_URI", "ProgramServer"]

SIGNATURES_URI = "codemode://signatures"
"""The resource that holds what a program can call."""

GONE = "codemode.gone"
"""Key of an HTTP request's scope: the `trio.Event` that is set when its client has gone."""

_MAX_DESCRIPTION_BYTES = 32 * 1024
_TELL_SECONDS = 5.0  # a client that does not take a notification is told no more
_MAX_WAITING = 100
_QUESTION = "approval"

_log = logging.getLogger("codemode.mcp")


class ProgramServer:
    """An engine, or a scope of one, as a server of the protocol. `server` is the SDK's own object.

    `scope.registry.mode` says what a client may call: `code` is `run_code` alone. At most `max_runs` calls go on at
    once; others wait for their turn. `watching` has to be entered while it serves.

    What needs approval is decided by the approver of `scope`. Where it has none, or where the server is told to
    `ask_clients`, it is put to the user of a client that can ask its user, but for the tools named in `approved`; the
    user has `answer_seconds`. For clients that cannot, the approver of `scope` answers all the same. Any client may say
    that its user has said yes: one that is asked is trusted to speak for a user.
    """

    def __init__(
        self,
        scope: Scope,
        *,
        max_runs: int = 10,
        approved: Collection[str] = (),
        answer_seconds: float = 600.0,
        ask_clients: bool = False,
    ) -> None:
        self._scope = scope
        self._asks_clients = ask_clients or scope.approver is None
        self._approved = frozenset(approved)
        self._answer_seconds = answer_seconds
        self._nursery: trio.Nursery | None = None
        self._turns = trio.Semaphore(max_runs, max_value=max_runs)
        self._parked = ParkedCalls(answer_seconds, self._turns)
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
        """Make calls, and tell clients when the tools change, as long as this is entered.

        Leaving it, or cancellation, ends the calls that no request waits for.
        """
        unwatch = self._scope.registry.watch(self._note_change)
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._tell_changes)
            nursery.start_soon(self._parked.watch)
            try:
                yield
            finally:
                self._nursery = None
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
            output = RUN_OUTPUT
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
    ) -> CallToolResult | InputRequiredResult:
        call = self._begun(context, params) if params.request_state is None else self._taken_up(params)
        if call is None:
            return refused(f"{_MAX_WAITING} calls are waiting already; call again later")
        gone = getattr(context.request, "scope", {}).get(GONE)
        async with trio.open_nursery() as nursery:
            if gone is not None:
                nursery.start_soon(_cancel_when, gone, nursery.cancel_scope)
            await call.attend(context)
            nursery.cancel_scope.cancel()
        if call.question is not None:
            return self._parked_for(call, call.question)
        if call.error is not None:
            raise call.error
        if call.outcome is None:  # nobody is there who could read this
            return refused("the client has gone")
        return call_result(params.name, call.outcome)

    def _begun(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> ServedCall | None:
        """Begin a call; None when too many wait already."""
        if self._turns.statistics().tasks_waiting >= _MAX_WAITING:
            return None
        call = ServedCall(params, self._answer_seconds)
        elicit = self._way_to_ask(context, call) if self._asks_clients else None
        approver = None if elicit is None else ClientApprover(self._approved, elicit)
        scope = self._scope.scope(hooks=call.report.hooks, approver=approver)

        async def make() -> Outcome:
            self._parked.make_room()
            async with self._turns:
                return await self._outcome(scope, call)

        if self._nursery is None:
            raise RuntimeError("enter `watching` first, and serve inside it")
        self._nursery.start_soon(call.go_on, make)
        return call

    @staticmethod
    def _way_to_ask(context: ServerRequestContext[Any, Any], call: ServedCall) -> Elicit | None:
        if not understands_forms(context.session.client_capabilities):
            return None
        if context.session.can_send_request:
            return functools.partial(call.elicit_now, context)
        return call.elicit_later if context.protocol_version in MODERN_PROTOCOL_VERSIONS else None

    async def _outcome(self, scope: Scope, call: ServedCall) -> Outcome:
        params = call.params
        try:
            return await scope.call(params.name, params.arguments or {}, on_log=call.report.printed)
        except CodeModeError as error:
            _log.error("a call could not be made or recorded: %s", error)
            raise MCPError(-32603, f"the call could not be made or recorded: {error}") from None

    def _parked_for(self, call: ServedCall, question: ElicitRequestFormParams) -> InputRequiredResult:
        """Keep a call for the request that brings its answer, for a while."""
        asked = ElicitRequest(params=question)
        return InputRequiredResult(input_requests={_QUESTION: asked}, request_state=self._parked.keep(call))

    def _taken_up(self, params: CallToolRequestParams) -> ServedCall:
        """The call that a request brings an answer for. Raises `MCPError`."""
        call = self._parked.take(params)
        result = (params.input_responses or {}).get(_QUESTION)
        call.reply(result if isinstance(result, ElicitResult) else None)
        return call

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
