"""Where a browser is led back to after a login: one address on loopback, for as long as a login takes (RFC 8252, 7.3).

What comes without the state of this login is turned away, so that no other page can end it.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator
from functools import partial
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

import h11
import trio
from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult

from codemode.rendering import printable

__all__ = ["Redirect", "Returned"]

Returned: TypeAlias = AuthorizationCodeResult | OAuthFlowError
"""What a browser brings back: the code of a login, or why there is none."""

_HOST = "127.0.0.1"
_PATH = "/callback"
_REQUEST_SECONDS = 10.0
_MAX_BYTES = 16 * 1024
_SHOWN = 300  # characters of why a login was refused
_PAGE = (
    b"<!doctype html><meta charset=utf-8><title>codemode</title><p>%s</p><p>You can close this page.</p>\n"
)


class Redirect:
    """The address `uri`. `port` None takes a free one, and keeps it until `close`."""

    def __init__(self, port: int | None) -> None:
        self._bound: socket.socket | None = None
        if port is None:
            self._bound = _bind(0)
            port = self._bound.getsockname()[1]
        self.port: int = port
        self.uri = f"http://{_HOST}:{port}{_PATH}"

    @contextlib.asynccontextmanager
    async def listening(self, state: str) -> AsyncIterator[trio.MemoryReceiveChannel[Returned]]:
        """Listen for the browser of the login that has `state`; what it brings comes through the channel.

        Raises `OAuthFlowError` when the port is taken.
        """
        taken = self._bound
        self._bound = None
        try:
            listener = _bind(self.port) if taken is None else taken
            listener.listen()
        except OSError as error:
            raise OAuthFlowError(
                f"port {self.port}, where the login leads back to, cannot be used: {error.strerror or error}; end "
                "what uses it, or set another codemode.oauth.port"
            ) from None
        send, receive = trio.open_memory_channel[Returned](1)
        async with trio.open_nursery() as nursery:
            with send, receive:
                listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(listener))]
                nursery.start_soon(trio.serve_listeners, partial(_answer, state, send), listeners)
                yield receive
            nursery.cancel_scope.cancel()

    def close(self) -> None:
        if self._bound is not None:
            self._bound.close()


def _bind(port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((_HOST, port))
        bound.setblocking(False)
    except OSError:
        bound.close()
        raise
    return bound


async def _answer(state: str, found: trio.MemorySendChannel[Returned], stream: trio.SocketStream) -> None:
    """Answer one connection, which asks once."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_BYTES)
    with (
        trio.move_on_after(_REQUEST_SECONDS),
        contextlib.suppress(trio.BrokenResourceError, h11.ProtocolError),
    ):
        async with stream:
            while (event := connection.next_event()) is h11.NEED_DATA:
                connection.receive_data(await stream.receive_some(4096))
            if not isinstance(event, h11.Request):
                return
            result = _result(event, state)
            if result is None:
                status, says = 400, b"This is no login that is under way."
            else:
                status, says = (
                    200,
                    b"The login is %s." % (b"refused" if isinstance(result, OAuthFlowError) else b"done"),
                )
            page = _PAGE % says
            head = h11.Response(
                status_code=status,
                headers=[
                    ("Content-Type", "text/html"),
                    ("Content-Length", str(len(page))),
                    ("Connection", "close"),
                    ("Cache-Control", "no-store"),
                ],
            )
            try:
                for each in (head, h11.Data(data=page), h11.EndOfMessage()):
                    await stream.send_all(connection.send(each) or b"")
            finally:  # a browser that reads no page has brought the answer all the same
                if result is not None:
                    with contextlib.suppress(
                        trio.WouldBlock, trio.ClosedResourceError, trio.BrokenResourceError
                    ):
                        found.send_nowait(result)


def _result(request: h11.Request, state: str) -> Returned | None:
    """What a request brings back; None when it is not of this login."""
    target = urlsplit(request.target.decode("latin-1"))
    query = {name: values[0] for name, values in parse_qs(target.query, keep_blank_values=True).items()}
    if request.method != b"GET" or target.path != _PATH or query.get("state") != state:
        return None
    if "error" in query:
        why = ": ".join(filter(None, (query["error"], query.get("error_description"))))
        return OAuthFlowError(f"the login was refused: {printable(why[:_SHOWN])}")
    if not query.get("code"):
        return None
    return AuthorizationCodeResult(code=query["code"], state=state, iss=query.get("iss"))
