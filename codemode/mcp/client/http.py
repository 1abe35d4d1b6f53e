"""A server that is reached by streamable HTTP: the SDK's transport, with a bound on what an answer may hold.

Nothing here knows what the messages mean.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from codemode.mcp.client.config import Http
from codemode.mcp.client.oauth import Login, Pause, authorization, keep_confidential
from codemode.mcp.lines import MAX_MESSAGE_BYTES

__all__ = ["HttpServer", "open_http"]

_CONNECT_SECONDS = 10.0
_SILENT_SECONDS = 600.0
"""How long a response may stay silent: longer than any call may take, which has a bound of its own."""


class HttpServer:
    """A server at a URL: its streams, and the last answer that was an HTTP error."""

    def __init__(self, config: Http) -> None:
        self.streams: Any = None  # the SDK's own kind of stream
        self._config = config
        self._refusal = ""
        self._was_unauthorized = False

    def end(self) -> str:
        """Say what the server last refused, if it did."""
        return self._refusal or "the connection was closed"

    def last_words(self) -> str:
        """What the server last refused, to be put behind a sentence; empty for nothing."""
        return f"; {self._refusal}" if self._refusal else ""

    async def look_at(self, response: httpx2.Response) -> None:
        """Note an HTTP error; bound what is read of any answer."""
        request = response.request
        is_servers = request.url == httpx2.URL(self._config.url)  # not one that asks for authorization
        if is_servers:
            self._note(request.method, response)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not (is_servers and response.status_code < 400 and kind == "text/event-stream"):
            response.stream = _Bounded(response.stream)
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            response.stream = _Packed(response.stream)

    def _note(self, method: str, response: httpx2.Response) -> None:
        status = response.status_code
        if self._was_unauthorized and status != 401:
            self._refusal = ""
        self._was_unauthorized = status == 401
        if status >= 400 and not (method == "GET" and status == 405):
            self._refusal = f"{method} was answered with HTTP {status}"
            if status in (401, 403):
                self._refusal += f"; {self._cure(response)}"

    def _cure(self, response: httpx2.Response) -> str:
        if self._config.oauth is not None:
            return "what the login gave is not enough; see codemode.oauth in its entry"
        if any(name.lower() == "authorization" for name in self._config.headers):
            return "check the headers in its entry (Authorization)"
        header = '"headers": {"Authorization": "Bearer ${TOKEN}"}'
        if "resource_metadata" in response.headers.get("www-authenticate", ""):
            return f'it offers OAuth: put "codemode": {{"oauth": {{}}}} into its entry, or a token, {header}'
        return f"check the headers in its entry (Authorization): it wants a token, {header}"


class _Bounded(httpx2.AsyncByteStream):
    """A response's bytes, up to `MAX_MESSAGE_BYTES`. Event streams have a bound of their own, for each event."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_MESSAGE_BYTES:
                raise httpx2.StreamError(
                    f"the answer has more than {MAX_MESSAGE_BYTES:,} bytes, the most that is taken in"
                )
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Packed(_Bounded):
    """A response that is compressed, though none was asked for: a few of its bytes can stand for any number."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        raise httpx2.StreamError("the answer is compressed, and was asked for as it is")
        yield b""  # which makes it an iterator


@contextlib.asynccontextmanager
async def open_http(name: str, config: Http, login: Login | None, pause: Pause) -> AsyncIterator[HttpServer]:
    """Open the transport; nothing is sent before the first message. Leaving it ends the session at the server.

    `login` and `pause` are for a server that wants a login; see `oauth`.
    """
    server = HttpServer(config)
    async with (
        contextlib.AsyncExitStack() as stack,
        httpx2.AsyncClient(
            headers={"accept-encoding": "identity", **config.headers},
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_SILENT_SECONDS),
            event_hooks={
                "request": [] if config.oauth is None else [keep_confidential],
                "response": [server.look_at],
            },
            auth=None
            if config.oauth is None
            else authorization(name, config.url, config.oauth, login, pause, stack),
        ) as client,
        streamable_http_client(
            config.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES
        ) as streams,
    ):
        server.streams = streams
        yield server
