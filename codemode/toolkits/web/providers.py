"""What searches: SearXNG (an instance of one's own, no key), Brave and Tavily (with a key).

A provider is named by the host, not by a model, so it may be at any address. What it answers is bounded and
checked all the same.
"""

from __future__ import annotations

import html
import re
from typing import TypeVar

import httpx
import msgspec
from msgspec import Struct

from codemode import ToolError
from codemode.toolkits.web.searching import Found, Source

__all__ = ["Brave", "SearXNG", "Tavily"]

MAX_ANSWER_BYTES = 2_000_000
_SECONDS = 20.0
_COUNT = 10

_A = TypeVar("_A", bound=Struct)


class _Result(Struct, frozen=True):
    """One result, under any of the providers' names for its parts."""

    url: str
    title: str | None = None
    content: str | None = None
    description: str | None = None
    publishedDate: str | None = None
    published_date: str | None = None
    page_age: str | None = None

    def source(self) -> Source:
        return Source(
            url=self.url,
            title=_plain(self.title),
            snippet=_plain(self.content or self.description),
            published_at=self.publishedDate or self.published_date or self.page_age,
        )


class _Results(Struct, frozen=True):
    results: tuple[_Result, ...] = ()
    answer: str | None = None


class _BraveAnswer(Struct, frozen=True):
    web: _Results = _Results()


class SearXNG:
    """A SearXNG instance, by its URL; its settings have to allow the format `json`.

    https://docs.searxng.org/dev/search_api.html
    """

    name = "SearXNG"

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    async def search(self, query: str) -> Found:
        """Search; see `SearchProvider`."""
        request = httpx.Request("GET", f"{self._url}/search", params={"q": query, "format": "json"})
        return _found(await _ask(self.name, request, _Results))


class Brave:
    """Brave's search API, with a key.

    https://api-dashboard.search.brave.com/app/documentation/web-search/get-started
    """

    name = "Brave"

    def __init__(self, key: str, *, url: str = "https://api.search.brave.com") -> None:
        self._key = key
        self._url = url.rstrip("/")

    async def search(self, query: str) -> Found:
        """Search; see `SearchProvider`."""
        request = httpx.Request(
            "GET",
            f"{self._url}/res/v1/web/search",
            params={"q": query, "count": _COUNT},
            headers={"X-Subscription-Token": _key(self.name, self._key)},
        )
        return _found((await _ask(self.name, request, _BraveAnswer)).web)


class Tavily:
    """Tavily's search API, with a key. https://docs.tavily.com/documentation/api-reference/endpoint/search"""

    name = "Tavily"

    def __init__(self, key: str, *, url: str = "https://api.tavily.com") -> None:
        self._key = key
        self._url = url.rstrip("/")

    async def search(self, query: str) -> Found:
        """Search; see `SearchProvider`."""
        request = httpx.Request(
            "POST",
            f"{self._url}/search",
            json={"query": query, "max_results": _COUNT, "include_answer": True},
            headers={"Authorization": f"Bearer {_key(self.name, self._key)}"},
        )
        return _found(await _ask(self.name, request, _Results))


def _key(name: str, key: str) -> str:
    if not key.strip():
        raise ToolError(f"{name} needs a key, and there is none", code="WEB_PROVIDER_CREDENTIAL_MISSING")
    return key.strip()


def _found(results: _Results) -> Found:
    return Found(tuple(each.source() for each in results.results), results.answer)


async def _ask(name: str, request: httpx.Request, shape: type[_A]) -> _A:
    request.headers["Accept"] = "application/json"
    request.headers["Accept-Encoding"] = "identity"
    try:
        async with httpx.AsyncClient(timeout=_SECONDS) as client:
            response = await client.send(request, stream=True)
            try:
                status = response.status_code
                data = await _read(name, response) if status == 200 else b""
            finally:
                await response.aclose()
    except httpx.HTTPError as error:
        raise ToolError(
            f"{name} cannot be reached: {error or type(error).__name__}", code="WEB_PROVIDER_UNAVAILABLE"
        ) from None
    if status in (401, 403):
        raise ToolError(
            f"{name} did not accept the key, or may not be asked this way (HTTP {status})",
            code="WEB_PROVIDER_CREDENTIAL_MISSING",
        )
    if status != 200:
        wait = "; there were too many searches, wait before the next" if status == 429 else ""
        raise ToolError(f"{name} answered with HTTP {status}{wait}", code="WEB_PROVIDER_ERROR")
    try:
        return msgspec.json.decode(data, type=shape)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ToolError(
            f"{name} answered with something else than results: {error}", code="WEB_PROVIDER_ERROR"
        ) from None


async def _read(name: str, response: httpx.Response) -> bytes:
    data = bytearray()
    async for piece in response.aiter_raw():
        data += piece
        if len(data) > MAX_ANSWER_BYTES:
            raise ToolError(
                f"{name} answered with more than {MAX_ANSWER_BYTES:,} bytes", code="WEB_PROVIDER_ERROR"
            )
    return bytes(data)


def _plain(marked: str | None) -> str | None:
    """Text without the marks that providers put around what matches."""
    return None if marked is None else html.unescape(re.sub(r"</?(?:strong|b|em|mark)>", "", marked))
