"""One server: connected, kept connected, its tools listed, its calls made.

A connection that is lost is made again, with growing pauses; a call that comes meanwhile waits a little. A call
that was under way when the connection broke fails and is never sent again: whether it took effect is not known.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

import anyio
import trio
from mcp.client.auth import OAuthFlowError
from mcp.client.session import ClientSession, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    PaginatedRequestParams,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from codemode.errors import ToolError, ToolOutputError
from codemode.mcp.client.config import Http, ServerConfig
from codemode.mcp.client.http import HttpServer, open_http
from codemode.mcp.client.oauth import Login
from codemode.mcp.client.problems import described, innermost
from codemode.mcp.client.process import ServerProcess, open_process
from codemode.mcp.client.wire import Listing, Wire
from codemode.values import JSON, thaw

__all__ = ["CONNECTION_LOST", "REFUSED", "TIMEOUT", "UNAVAILABLE", "Connection"]

UNAVAILABLE = "MCP_UNAVAILABLE"
"""Code of a call that could not be sent: the server was not there."""
CONNECTION_LOST = "MCP_CONNECTION_LOST"
"""Code of a call whose answer will never come: the connection broke. It may have taken effect."""
REFUSED = "MCP_REFUSED"
"""Code of a call that the server, or the protocol, answered with an error."""
TIMEOUT = "TOOL_TIMEOUT"

START_SECONDS = 30.0
"""How long a server may take to start, agree on a protocol and list its tools."""
_WAIT_SECONDS = 10.0  # a call for a connection
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_ATTEMPTS = 10  # in a row; then the server is left alone until it is needed again
_PROGRESS_FACTOR = 10  # signs of progress prolong a call up to this many times its timeout
_RELIST_PAUSE = 0.2  # a server that changes its list all the time is asked this often
_MAX_PAGES = 100

_log = logging.getLogger("codemode.mcp")


class _Unagreed(Exception):
    """The server went away when it was asked for the newer protocol."""


class Connection:
    """The connection to one server. `run` keeps it; `call` may be used from any task meanwhile.

    `changed` is called with the first list of tools and with every later one.
    """

    def __init__(
        self, config: ServerConfig, changed: Callable[[Listing], None], login: Login | None = None
    ) -> None:
        self.config = config
        self._login = login
        self._getting_ready: trio.CancelScope | None = None
        self.tried = trio.Event()
        """Set when the first attempt to connect has succeeded or failed."""
        self.problem = "it has not been started"
        """Why there is no connection; empty while there is one."""
        self.instructions = ""
        """What the server says about how its tools are to be used."""
        self._changed = changed
        self._live: tuple[ClientSession, Wire] | None = None
        self._server: ServerProcess | HttpServer | None = None
        self._connected = trio.lowlevel.ParkingLot()
        self._wanted = trio.Event()
        self._was_live = False
        self._relist = trio.Event()
        self._is_old = False  # it is known to speak only the older protocol
        self._closing = trio.Event()

    # -------------------------------------------------------------------------------- keeping it

    def close(self) -> None:
        """Let `run` end the connection in order, and return."""
        self._closing.set()
        self._wanted.set()
        if self._getting_ready is not None:  # perhaps somebody who never logs in is waited for
            self._getting_ready.cancel()
        self._end_session()

    async def run(self) -> None:
        """Connect, and connect again, until `close`. Cancellation ends the server's process all the same."""
        failures = 0
        while not self._closing.is_set():
            since, is_unauthorized = trio.current_time(), False
            self._was_live = False
            try:
                await self._converse()
            except _Unagreed:
                self._is_old = True
                continue
            except Exception as error:
                self.problem = described(error)
                is_unauthorized = isinstance(innermost(error), OAuthFlowError)
            self.tried.set()
            if self._closing.is_set():
                return
            _log.warning("MCP server %r: %s", self.config.name, self.problem)
            failures = 1 if trio.current_time() - since > _LONGEST_PAUSE else failures + 1
            if (
                is_unauthorized
            ):  # whoever was asked to log in is asked again when it is needed, and not before
                failures = _ATTEMPTS
            if (
                not self._was_live
            ):  # who waited for this attempt has waited; who came after a connection waits still
                self._wanted = trio.Event()
            if failures >= _ATTEMPTS:
                await self._wanted.wait()
            else:
                with trio.move_on_after(min(_FIRST_PAUSE * 2 ** (failures - 1), _LONGEST_PAUSE)):
                    await self._closing.wait()

    async def _converse(self) -> None:
        """One connection, from its beginning until either side ends it. Always raises, and says why."""
        why: Exception | None = None
        async with self._open() as server:
            self._server = server
            read, write = server.streams
            wire = Wire(read, write)
            session = ClientSession(
                dispatcher=wire,
                client_info=Implementation(name="codemode", version=version("codemode")),
                message_handler=self._on_message,
            )
            async with session:
                try:
                    await self._use(session, wire)
                except Exception as error:  # said below, where no nursery wraps it in a group
                    why = error
                finally:
                    self._live = None
        if isinstance(why, trio.TooSlowError):
            raise ConnectionError(f"it did not get ready within {START_SECONDS:g} s{server.last_words()}")
        if why is None or (isinstance(why, MCPError) and why.code == CONNECTION_CLOSED):
            raise ConnectionError(server.end())
        if isinstance(why, MCPError):
            raise ConnectionError(f"{why.message}{server.last_words()}")
        raise why

    async def _use(self, session: ClientSession, wire: Wire) -> None:
        """Get ready, be there for calls, follow the list of tools; return when the conversation has ended."""
        try:
            with trio.move_on_after(START_SECONDS) as self._getting_ready:
                await self._agree(session)
                listing = await self._list(session, wire)
            if self._getting_ready.cancelled_caught:
                raise trio.TooSlowError
        finally:
            self._getting_ready = None
        self.instructions = session.instructions or ""
        self._changed(listing)
        self._live, self.problem = (session, wire), ""
        self._was_live = True
        self._wanted = trio.Event()
        self._connected.unpark_all()
        self.tried.set()
        if self._closing.is_set():
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_list, session, wire)
            await wire.ended.wait()
            nursery.cancel_scope.cancel()

    @contextlib.asynccontextmanager
    async def _open(self) -> AsyncIterator[ServerProcess | HttpServer]:
        transport = self.config.transport
        if isinstance(transport, Http):
            async with open_http(self.config.name, transport, self._login, self._pause) as http:
                yield http
        else:
            async with open_process(self.config.name, transport) as process:
                yield process

    @contextlib.contextmanager
    def _pause(self) -> Iterator[None]:
        """Let the time to get ready stand still. In the middle of the work there is no such time."""
        scope = self._getting_ready
        if scope is None:
            raise OAuthFlowError("its authorization has ended; a new login is needed")
        left, scope.deadline = scope.deadline - trio.current_time(), math.inf
        try:
            yield
        finally:
            scope.deadline = trio.current_time() + left

    async def _agree(self, session: ClientSession) -> None:
        """Agree on a protocol: the newer one if the server answers to it, else the one with a handshake."""
        if not self._is_old:
            try:
                await session.discover()
                return
            except MCPError as error:
                if error.code == CONNECTION_CLOSED and not isinstance(self.config.transport, Http):
                    raise _Unagreed from None
            except (RuntimeError, ValidationError):
                pass
        await session.initialize()
        self._is_old = True

    async def _list(self, session: ClientSession, wire: Wire) -> Listing:
        """Return what the server lists, all pages of it; what is wrong with single tools is said beside them."""
        whole = Listing()
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            whole.add(wire.listing)
            cursor = page.next_cursor
            if cursor is None:
                return whole
        raise ConnectionError(f"its list of tools has more than {_MAX_PAGES} pages")

    async def _keep_list(self, session: ClientSession, wire: Wire) -> None:
        """List the tools again whenever the server says that they have changed. A list that fails changes nothing."""
        if session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._subscribe, session)
                await self._relist_when_told(session, wire)
        await self._relist_when_told(session, wire)

    async def _subscribe(self, session: ClientSession) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                async with listen(session, tools_list_changed=True) as subscription:
                    pause = _FIRST_PAUSE
                    async for _ in subscription:
                        self._relist.set()
            except (MCPError, SubscriptionLost, TimeoutError, RuntimeError) as error:
                if isinstance(error, MCPError) and error.code != CONNECTION_CLOSED:
                    return  # the server offers no such stream
            await trio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            self._relist.set()

    async def _relist_when_told(self, session: ClientSession, wire: Wire) -> None:
        while True:
            await self._relist.wait()
            self._relist = trio.Event()
            try:
                with trio.fail_after(START_SECONDS):
                    self._changed(await self._list(session, wire))
            except (MCPError, ConnectionError, ValidationError, trio.TooSlowError) as error:
                _log.warning(
                    "MCP server %r: its tools could not be listed again: %s",
                    self.config.name,
                    described(error),
                )
            await trio.sleep(_RELIST_PAUSE)

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._relist.set()
        elif isinstance(message, Exception):
            _log.warning("MCP server %r sent something unusable: %s", self.config.name, message)
            live = self._live
            if live is not None and isinstance(message, ValueError):
                live[1].fail_all(str(message))

    # -------------------------------------------------------------------------------- using it

    async def call(self, name: str, arguments: dict[str, JSON]) -> Mapping[str, Any]:
        """Make a call of the server's own tool `name` and return the answer as it came.

        Raises `ToolError` with one of this module's codes, `ToolOutputError` for an answer that is none.
        Cancellation is told to the server.
        """
        session, wire = await self._session()
        seconds = self.config.timeout
        with trio.move_on_after(seconds) as limit:
            last = trio.current_time() + seconds * _PROGRESS_FACTOR

            async def on_progress(progress: float, total: float | None, message: str | None) -> None:
                limit.deadline = min(last, trio.current_time() + seconds)

            try:
                return await self._send(session, wire, name, arguments, on_progress)
            except MCPError as error:
                raise self._failure(error, name) from None
            except (ValidationError, RuntimeError) as error:
                raise ToolOutputError(f"the server's answer is not valid: {described(error)}") from None
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                raise self._lost("the connection was closed") from None
        raise ToolError(
            f"MCP server {self.config.name!r} gave no answer and no sign of progress within {seconds:g} s; "
            "the call was cancelled",
            code=TIMEOUT,
        )

    async def _send(
        self, session: ClientSession, wire: Wire, name: str, arguments: dict[str, JSON], on_progress: Any
    ) -> Mapping[str, Any]:
        params = CallToolRequestParams(name=name, arguments=thaw(arguments))
        with wire.keeping() as answers:
            await session.send_request(
                CallToolRequest(params=params), CallToolResult, progress_callback=on_progress
            )
        return answers[-1]

    async def _session(self) -> tuple[ClientSession, Wire]:
        live = self._open_session()
        if live is None:
            self._wanted.set()
            with trio.move_on_after(_WAIT_SECONDS):
                while (live := self._open_session()) is None:
                    await self._connected.park()
        if live is None:
            raise ToolError(
                f"MCP server {self.config.name!r} is not available: {self.problem or 'it is being started'}",
                code=UNAVAILABLE,
            )
        return live

    def _open_session(self) -> tuple[ClientSession, Wire] | None:
        return self._live if self._live is not None and self._live[1].is_open else None

    def _failure(self, error: MCPError, name: str) -> Exception:
        if error.code == CONNECTION_CLOSED:
            return self._lost(error.message)
        if error.code == INVALID_REQUEST and error.message == "Session terminated":
            self._end_session()
            return ToolError(
                f"MCP server {self.config.name!r} has forgotten this session, so the call was not made; "
                "a new session is being opened, call it again",
                code=UNAVAILABLE,
            )
        if error.code == PARSE_ERROR:
            return ToolOutputError(f"the server's answer cannot be used: {error.message}")
        why = error.message
        if isinstance(self._server, HttpServer) and error.code == INTERNAL_ERROR:
            why += self._server.last_words()
        return ToolError(f"MCP server {self.config.name!r} refused {name!r}: {why}", code=REFUSED)

    def _lost(self, why: str) -> ToolError:
        return ToolError(
            f"the connection to MCP server {self.config.name!r} was lost while it was asked ({why}); whether the "
            "call took effect is not known",
            code=CONNECTION_LOST,
        )

    def _end_session(self) -> None:
        if self._live is not None:
            self._live[1].ended.set()
