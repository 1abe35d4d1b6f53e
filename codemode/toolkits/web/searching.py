"""`web_search`: one or several queries to a provider, their sources merged. What searches is a `SearchProvider`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Annotated, Any, NotRequired, Protocol, TypedDict
from urllib.parse import urlsplit

import trio
from msgspec import Meta, Struct

from codemode import Text, Tool, ToolArgumentsError, ToolError, text, tool

__all__ = ["Found", "SearchProvider", "Source", "search_tool"]

MAX_QUERIES = 4
MAX_SOURCES = 8
SEARCH_SECONDS = 30.0
_GRACE_SECONDS = 5.0
_MAX_QUERY_CHARACTERS = 1000
# What a provider says is kept short, whatever it sends.
_MAX_TITLE = 300
_MAX_SNIPPET = 2000
_MAX_DATE = 50
_MAX_CONTENT = 20_000


class Source(Struct, frozen=True):
    """One result: a URL and what is known of it. `published_at` is a date as the provider writes it."""

    url: str
    title: str | None = None
    snippet: str | None = None
    published_at: str | None = None


class Found(Struct, frozen=True):
    """What one query gave: sources, the best first, and perhaps an answer in words."""

    sources: tuple[Source, ...]
    content: str | None = None


class SearchProvider(Protocol):
    """Something that searches. `name` is how it is called in messages."""

    @property
    def name(self) -> str: ...

    async def search(self, query: str) -> Found:
        """Search for one query. Cancellation closes the connection and is passed on.

        Raises `ToolError` with one of WEB_PROVIDER_UNAVAILABLE (it cannot be reached),
        WEB_PROVIDER_CREDENTIAL_MISSING, WEB_PROVIDER_ERROR.
        """
        ...


class SearchSource(TypedDict):
    url: str
    title: NotRequired[str]
    snippet: NotRequired[str]
    publishedAt: NotRequired[str]


class SearchValue(TypedDict):
    content: NotRequired[str]
    sources: list[SearchSource]
    truncated: bool


Queries = Annotated[
    list[Annotated[str, Meta(max_length=_MAX_QUERY_CHARACTERS)]],
    Meta(description=f"1 to {MAX_QUERIES} queries, searched at the same time"),
]


def search_tool(provider: SearchProvider) -> Tool:
    @tool(
        render=_render,
        presentation_meta=_meta,
        parallel=True,
        read_only=True,
        timeout=SEARCH_SECONDS + _GRACE_SECONDS,
    )
    async def web_search(queries: Queries) -> SearchValue:
        """Search the web. The value has the best sources of all queries, each once, at most eight.

        Fetch a source to read it; its snippet is only a part of it.
        """
        wanted = list(dict.fromkeys(query.strip() for query in queries))
        if not wanted:
            raise ToolArgumentsError("queries must contain at least one query")
        if len(queries) > MAX_QUERIES:
            raise ToolArgumentsError(f"queries must contain at most {MAX_QUERIES} queries")
        if "" in wanted:
            raise ToolArgumentsError("each query must be a non-empty string")
        with trio.move_on_after(SEARCH_SECONDS):
            found = await _search_all(provider, wanted)
            return _merged(wanted, found)
        raise ToolError(
            f"{provider.name} did not answer within {SEARCH_SECONDS:g} s", code="WEB_PROVIDER_UNAVAILABLE"
        )

    return web_search


async def _search_all(provider: SearchProvider, queries: Sequence[str]) -> list[Found]:
    """Search for all queries at once. The first that fails ends the others, which are waited for."""
    found: dict[int, Found] = {}
    first: list[ToolError] = []

    async def search(index: int, query: str, scope: trio.CancelScope) -> None:
        try:
            found[index] = await provider.search(query)
        except ToolError as error:
            first.append(error)
            scope.cancel()
        except Exception as error:
            first.append(
                ToolError(
                    f"{provider.name} failed: {type(error).__name__}: {error}", code="WEB_PROVIDER_ERROR"
                )
            )
            scope.cancel()

    async with trio.open_nursery() as nursery:
        for index, query in enumerate(queries):
            nursery.start_soon(search, index, query, nursery.cancel_scope)
    if first:
        raise first[0]
    return [found[index] for index in range(len(queries))]


def _merged(queries: Sequence[str], found: Sequence[Found]) -> SearchValue:
    answers = [(query, (each.content or "").strip()) for query, each in zip(queries, found, strict=True)]
    if len(queries) == 1:
        content = answers[0][1]
    else:
        content = "\n\n".join(f"### {query}\n\n{answer}" for query, answer in answers if answer)
    sources: dict[str, Source] = {}
    for rank in zip_longest(*(each.sources for each in found)):  # the best of each query first
        for source in rank:
            if source is not None and _is_of_the_web(source.url):
                sources.setdefault(source.url, source)
    value: SearchValue = {
        "sources": [_as_value(source) for source in list(sources.values())[:MAX_SOURCES]],
        "truncated": len(sources) > MAX_SOURCES,
    }
    if content:
        value["content"] = content[:_MAX_CONTENT]
    return value


def _is_of_the_web(url: str) -> bool:
    """Whether a URL is one, and can stand in a line of text."""
    return (
        re.fullmatch(r"https?://[!-~\u00a1-\U0010ffff]{1,2000}", url, re.IGNORECASE) is not None
        and url.isprintable()
    )


def _as_value(source: Source) -> SearchSource:
    value: SearchSource = {"url": source.url}
    if source.title:
        value["title"] = source.title[:_MAX_TITLE]
    if source.snippet:
        value["snippet"] = source.snippet[:_MAX_SNIPPET]
    if source.published_at:
        value["publishedAt"] = source.published_at[:_MAX_DATE]
    return value


def _render(arguments: object, value: SearchValue) -> list[Text]:
    parts = [value["content"]] if value.get("content") else []
    if value["sources"]:
        parts.append("\n".join(["Sources:", *map(_line, value["sources"])]))
    if not parts:
        parts.append("No results found.")
    if value["truncated"]:
        parts.append(f"(Showing the first {len(value['sources'])} sources. Refine the query for more.)")
    parts.append("Cite the relevant URLs above as markdown links in your answer.")
    return [text("\n\n".join(parts))]


def _line(source: SearchSource) -> str:
    label = " ".join(source.get("title", "").split()) or _host(source["url"])
    label = label.replace("[", "(").replace("]", ")")
    target = source["url"].replace("(", "%28").replace(")", "%29")
    snippet = " ".join(source.get("snippet", "").split())
    line = f"- [{label}]({target})"
    if snippet:
        line += f" — {snippet}"
    if "publishedAt" in source:
        line += f" ({' '.join(source['publishedAt'].split())})"
    return line


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or url
    except ValueError:
        return url


def _meta(arguments: object, value: SearchValue) -> dict[str, Any]:
    meta: dict[str, Any] = {"truncated": value["truncated"], "sources": value["sources"]}
    if "content" in value:
        meta["answer"] = value["content"]
    return meta
