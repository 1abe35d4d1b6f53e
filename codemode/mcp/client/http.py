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
from codemode.mcp.lines import MAX_MESSAGE_BYTES

__all__ = ["HttpServer", "open_http"]

_CONNECT_SECONDS = 10.0
_SILENT_SECONDS = 600.0
"""How long a response may stay silent: longer than any call may take, which has a bound of its own."""


class HttpServer:
    """A server at a URL: its streams, and the last answer that was an HTTP error."""

    def __init__(self, url: str) -> None:
        self.streams: Any = None  # the SDK's own kind of stream
        self._url = url
        self._refusal = ""

    def end(self) -> str:
        """Say what the server last refused, if it did."""
        return self._refusal or "the connection was closed"

    def last_words(self) -> str:
        """What the server last refused, to be put behind a sentence; empty for nothing."""
        return f"; {self._refusal}" if self._refusal else ""

    async def look_at(self, response: httpx2.Response) -> None:
        """Note an HTTP error; bound what is read of any answer."""
        request = response.request
        if response.status_code >= 400 and not (request.method == "GET" and response.status_code == 405):
            self._refusal = f"{request.method} was answered with HTTP {response.status_code}"
            if response.status_code in (401, 403):
                self._refusal += "; check the headers in its entry (Authorization)"
        if response.headers.get("content-type", "").startswith("application/json"):
            response.stream = _Bounded(response.stream)


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


@contextlib.asynccontextmanager
async def open_http(config: Http) -> AsyncIterator[HttpServer]:
    """Open the transport; nothing is sent before the first message. Leaving it ends the session at the server."""
    server = HttpServer(config.url)
    client = httpx2.AsyncClient(
        headers=dict(config.headers),
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_SILENT_SECONDS),
        event_hooks={"response": [server.look_at]},
    )
    async with (
        client,
        streamable_http_client(
            config.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES
        ) as streams,
    ):
        server.streams = streams
        yield server
