"""One call of an operation over HTTP: the request, its bounds, what its failures mean. The only file that sends.

All requests go to one origin, so that what authenticates them goes nowhere else; redirects of reading requests are
followed within it.
"""

from __future__ import annotations

import inspect
import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any, TypeAlias, cast
from urllib.parse import quote, urljoin

import httpx
import trio
from msgspec import Struct

from codemode import ToolError
from codemode.toolkits.openapi.bodies import EncodedBody, encoded, value_of
from codemode.toolkits.openapi.operations import Operation, Parameter
from codemode.toolkits.openapi.styles import header_text, path_text, query_pairs, reserved_quote

__all__ = ["ApiLimits", "Authenticate", "Connection", "origin"]

Authenticate: TypeAlias = Callable[[httpx.Request], Awaitable[None] | None]
"""Puts into a request what shows who asks, as it is sent; it may raise `ToolError`."""

_MAX_REDIRECTS = 5
_SHOWN_CHARACTERS = 2000  # of the body of a response that is an error
_CLOSE_SECONDS = 2.0


class ApiLimits(Struct, frozen=True, kw_only=True):
    """Bounds of one call: of the unpacked response in bytes, of all of it in seconds."""

    max_bytes: int = 10 * 1024 * 1024
    seconds: float = 60.0


class Connection:
    """What the tools of one API share: the client, open while their engine is, and who they are."""

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str],
        authenticate: Authenticate | None,
        limits: ApiLimits,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        self.base_url = base_url
        self.limits = limits
        self._headers = dict(headers)
        self._authenticate = authenticate
        self._ssl_context = ssl_context
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> None:
        if self._client is not None:
            raise ToolError(
                "these tools are used by another engine; each engine gets tools of its own: openapi(…)",
                code="TOOLS_IN_USE",
            )
        verify: ssl.SSLContext | bool = self._ssl_context or True
        pool = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        # The bound on time is one on all of a call, so the client has none of its own.
        # It keeps no cookies: what a call sends is what it was given.
        cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        self._client = httpx.AsyncClient(verify=verify, timeout=None, limits=pool, cookies=cookies)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        client, self._client = self._client, None
        if client is not None:
            with trio.move_on_after(_CLOSE_SECONDS, shield=True):
                await client.aclose()

    async def call(self, operation: Operation, base_url: str, arguments: Mapping[str, Any]) -> Any:
        """Make one call and return the value of its response. Raises `ToolError`; cancellation drops the connection."""
        request = self._request(operation, base_url, arguments)
        where = f"{request.method} {request.url}"  # before it is authenticated, which may put a secret into the URL
        sent = _Sent()
        try:
            with trio.move_on_after(self.limits.seconds):
                return await self._answer(request, where, sent)
        except httpx.ConnectError as error:
            raise ToolError(
                f"{where}: the server cannot be reached: {error}", code="HTTP_UNAVAILABLE"
            ) from None
        except httpx.HTTPError as error:
            raise ToolError(
                f"{where}: the connection broke ({type(error).__name__}); whether the call took effect is not known",
                code="HTTP_CONNECTION_LOST",
            ) from None
        unknown = "; whether the call took effect is not known" if sent.is_sent else ""
        raise ToolError(
            f"{where}: no whole answer within {self.limits.seconds:g} s{unknown}", code="HTTP_TIMEOUT"
        )

    def _request(self, operation: Operation, base_url: str, arguments: Mapping[str, Any]) -> httpx.Request:
        path, headers = operation.path, dict(self._headers)
        query: list[str] = []
        cookies: list[str] = []
        for parameter in operation.parameters:
            if parameter.argument not in arguments:
                continue
            value = arguments[parameter.argument]
            if parameter.as_json:
                value = json.dumps(value, ensure_ascii=False)
            if parameter.place == "path":
                text = path_text(parameter.name, value, parameter.style, parameter.explode)
                path = path.replace("{" + parameter.name + "}", text)
            elif parameter.place == "query":
                query.extend(_query(parameter, value))
            elif value is None:
                continue
            elif parameter.place == "header":
                headers[parameter.name] = header_text(parameter.name, value, parameter.explode)
            else:
                cookies.extend(query_pairs(parameter.name, value, "form", parameter.explode))
        if any(segment in (".", "..") for segment in path.split("/")):
            raise ToolError(f"the arguments would lead to another path: {path}", code="INVALID_ARGUMENTS")
        if cookies:
            given = next((name for name in headers if name.lower() == "cookie"), "Cookie")
            headers[given] = "; ".join(filter(None, [headers.get(given, ""), *cookies]))
        body: EncodedBody = ({}, None, [])
        if operation.body is not None and operation.body.argument in arguments:
            body = encoded(operation.body, arguments[operation.body.argument])
        url = base_url.rstrip("/") + quote(path, safe="/%:@!$&'()*+,;=~.-_")
        if query:
            url += ("&" if "?" in url else "?") + "&".join(query)
        own, content, parts = body
        client = self._client
        assert client is not None  # the engine enters the lifespan before the first call
        try:
            return client.build_request(
                operation.method,
                url,
                headers={"Accept": "application/json, */*;q=0.5", **headers, **own},
                content=content,
                files=parts or None,
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise ToolError(f"the arguments make no request: {error}", code="INVALID_ARGUMENTS") from None

    async def _answer(self, request: httpx.Request, where: str, sent: _Sent) -> Any:
        client = self._client
        assert client is not None
        for _ in range(_MAX_REDIRECTS + 1):
            if self._authenticate is not None:
                said = self._authenticate(request)
                if inspect.isawaitable(said):
                    await said
                if origin(str(request.url)) != origin(self.base_url):
                    raise ToolError("authenticate sent the request to another server", code="HTTP_REFUSED")
            sent.is_sent = True
            response = await client.send(request, stream=True)
            try:
                target = self._redirect(request, response)
                if target is None:
                    return await self._value(request, response, where)
            finally:
                with trio.move_on_after(_CLOSE_SECONDS, shield=True):
                    await response.aclose()
            kept = [(name, value) for name, value in request.headers.items() if name.lower() != "host"]
            request = client.build_request(request.method, target, headers=kept)
        raise ToolError(f"{where}: more than {_MAX_REDIRECTS} redirects", code="HTTP_REDIRECT")

    def _redirect(self, request: httpx.Request, response: httpx.Response) -> str | None:
        """Where a reading request is to be made again, within the same origin; None for nowhere."""
        location = response.headers.get("location")
        if (
            request.method not in ("GET", "HEAD")
            or not location
            or response.status_code not in (301, 302, 303, 307, 308)
        ):
            return None
        target = urljoin(str(request.url), location)
        return target if origin(target) == origin(self.base_url) else None

    async def _value(self, request: httpx.Request, response: httpx.Response, where: str) -> Any:
        status = response.status_code
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if 200 <= status < 300 and request.method == "HEAD":
            return {name.lower(): value for name, value in response.headers.items()}
        body = await self._body(response, where, is_error=not 200 <= status < 300)
        if 200 <= status < 300:
            return value_of(media_type, response.charset_encoding, body)
        text = body.decode(response.charset_encoding or "utf-8", "replace").strip()
        if "location" in response.headers:
            text = f"it redirects to {response.headers['location']}; {text}".rstrip("; ")
        if len(text) > _SHOWN_CHARACTERS:
            text = text[:_SHOWN_CHARACTERS] + "…"
        raise ToolError(f"{_status_line(status)}{': ' if text else ''}{text}", code=f"HTTP_{status}")

    async def _body(self, response: httpx.Response, where: str, *, is_error: bool) -> bytes:
        """The whole body within the bound; of an error only as much as is shown."""
        bound = _SHOWN_CHARACTERS * 4 if is_error else self.limits.max_bytes
        body = bytearray()
        pieces = cast(AsyncGenerator[bytes, None], response.aiter_bytes())  # which it is
        async with aclosing(pieces):
            async for piece in pieces:
                body += piece
                if len(body) > bound:
                    break
        if len(body) > bound and not is_error:
            raise ToolError(f"{where}: the response is larger than {bound:,} bytes", code="HTTP_TOO_LARGE")
        return bytes(body)


class _Sent:
    """Whether anything of a request may have left."""

    is_sent = False


def _query(parameter: Parameter, value: Any) -> list[str]:
    if parameter.allow_reserved:
        return list(query_pairs(parameter.name, value, parameter.style, parameter.explode, reserved_quote))
    return list(query_pairs(parameter.name, value, parameter.style, parameter.explode))


def _status_line(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def origin(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of a URL."""
    parsed = httpx.URL(url)
    port = parsed.port or {"http": 80, "https": 443}.get(parsed.scheme)
    return parsed.scheme, parsed.host, port
