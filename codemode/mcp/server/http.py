"""Many clients over streamable HTTP, on loopback, or anywhere with a token.

A page in a browser that was led to this address (DNS rebinding) is turned away by the headers `Host` and `Origin`.
A client that closes the connection of a request takes the request's run with it.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import trio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from codemode.errors import CodeModeError
from codemode.mcp.server.app import GONE, ProgramServer

__all__ = ["PATH", "TokenRequired", "is_loopback", "open_socket", "serve_http"]

PATH = "/mcp"

_MAX_SESSIONS = 1_000
_BACKLOG = 128
_END_SECONDS = 3.0  # for open connections, when the server ends

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class TokenRequired(CodeModeError):
    """A server that others can reach needs a token."""

    code = "TOKEN_REQUIRED"


def is_loopback(host: str) -> bool:
    """Whether a host name or address reaches this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens at `host` and `port` (0: any free one). Raises OSError."""
    name = host.strip("[]")
    family, _, _, _, address = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


async def serve_http(
    program_server: ProgramServer,
    listener: socket.socket,
    *,
    host: str,
    token: str | None = None,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve at a listening socket until cancelled; `task_status` gets the URL.

    With `token`, every request has to bear it; an empty one is none. Raises `TokenRequired` when `host` is not this
    machine alone and there is none.
    """
    from hypercorn.config import Config
    from hypercorn.trio import serve

    alone = is_loopback(host)
    if not alone and not token:
        raise TokenRequired(
            f"{host} can be reached from other machines; give a token that clients have to show, "
            "or listen on 127.0.0.1"
        )
    port = listener.getsockname()[1]
    manager = StreamableHTTPSessionManager(
        program_server.server,
        security_settings=_security(port)
        if alone
        else TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_sessions=_MAX_SESSIONS,
    )
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]  # which the server owns from now on
    config.accesslog = None
    config.errorlog = logging.getLogger("codemode.mcp.http")
    config.graceful_timeout = _END_SECONDS
    config.shutdown_timeout = _END_SECONDS
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    async with program_server.watching(), manager.run(), trio.open_nursery() as nursery:
        app = _Door(manager.handle_request, token or None, None if alone else ())
        await nursery.start(_serve, serve, app, config)
        task_status.started(f"http://{shown}:{port}{PATH}")


async def _serve(
    serve: Any, app: Any, config: Any, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    await serve(app, config, mode="asgi", task_status=_Once(task_status))


class _Once:
    """A task status that drops what it is given."""

    def __init__(self, status: trio.TaskStatus[None]) -> None:
        self._status = status

    def started(self, value: object = None) -> None:
        self._status.started()


def _security(port: int) -> TransportSecuritySettings:
    names = ("127.0.0.1", "localhost", "[::1]")
    return TransportSecuritySettings(
        allowed_hosts=[f"{name}:{port}" for name in names],
        allowed_origins=[f"http://{name}:{port}" for name in names],
    )


class _Door:
    """Lets requests in: those for the one path, with the token, and (`origins` given) not from other pages.

    Where the headers of a browser are the SDK's to judge, `origins` is None.
    """

    def __init__(self, app: Any, token: str | None, origins: tuple[str, ...] | None) -> None:
        self._app = app
        self._expected = None if token is None else f"Bearer {token}".encode()
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        headers = dict(scope["headers"])
        if scope["path"] != PATH:
            await _answer(send, 404, f"the only path here is {PATH}")
        elif self._expected is not None and not hmac.compare_digest(
            headers.get(b"authorization", b""), self._expected
        ):
            await _answer(
                send, 401, "give the token: Authorization: Bearer TOKEN", (b"www-authenticate", b"Bearer")
            )
        elif self._origins is not None and headers.get(b"origin", b"").decode("latin-1") not in (
            "",
            *self._origins,
        ):
            await _answer(send, 403, "requests of web pages are not served")
        else:
            await self._let_in(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = trio.Event()
        is_post = scope["method"] == "POST"

        async def watched() -> MutableMapping[str, Any]:
            message = await receive()
            if is_post and message["type"] == "http.disconnect":
                gone.set()
            return message

        scope[GONE] = gone
        await self._app(scope, watched, send)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _answer(send: Send, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
    body = text.encode()
    sent = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*sent, *headers]})
    await send({"type": "http.response.body", "body": body})
