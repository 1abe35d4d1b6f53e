"""`web_fetch`: one page or text by its URL, within bounds, and redirects that stay with the same site.

A redirect to another site is not followed but said, with the URL: whoever looks at the arguments of calls is to
see every site that is fetched from.
"""

from __future__ import annotations

import ssl
from typing import Annotated, Any, Literal, NoReturn, TypedDict

import httpcore
import httpx
import trio
from msgspec import Meta, Struct

from codemode import Call, Outcome, Success, Text, Tool, ToolError, text, tool
from codemode.toolkits.web.markdown import to_markdown
from codemode.toolkits.web.reach import Reach
from codemode.toolkits.web.reading import ACCEPTED_ENCODINGS, Body, collect, decode, kind_of, media_type_of

__all__ = ["FetchLimits", "FetchValue", "fetch_tool"]

MAX_URL_CHARACTERS = 2048
MAX_REDIRECTS = 5
MAX_SHOWN_CHARACTERS = 200_000
_GRACE_SECONDS = 5.0
_PROBE_BYTES = 1024
_CUT = "\n\n(Content truncated. Fetch a more specific URL or section for the full text.)"
_AS_HTML = "\n\n(Shown as HTML: it could not be turned into Markdown.)"


class FetchLimits(Struct, frozen=True):
    """Bounds of one fetch: of the unpacked body in bytes, of its text in characters, of all of it in seconds."""

    max_bytes: int = 5_000_000
    max_characters: int = 1_000_000
    seconds: float = 30.0
    shown_characters: int = MAX_SHOWN_CHARACTERS
    ssl_context: ssl.SSLContext | None = None
    """Which authorities are trusted; those of Mozilla if not given."""


class FetchBody(TypedDict):
    kind: Literal["html", "text"]
    content: str


class FetchValue(TypedDict):
    url: str
    statusCode: int
    body: FetchBody
    truncated: bool


Url = Annotated[str, Meta(min_length=1, max_length=MAX_URL_CHARACTERS, description="http or https")]
AsMarkdown = Annotated[bool, Meta(description="HTML comes as Markdown, as text, to read and not to parse")]


def fetch_tool(limits: FetchLimits, reach: Reach) -> Tool:
    async def finalize(call: Call, outcome: Outcome) -> list[Text] | None:
        # Markdown is for the model's eyes: it takes a process, so it is not made for calls of a program.
        if not call.is_direct or not isinstance(outcome, Success) or outcome.value["body"]["kind"] != "html":
            return None
        if list(outcome.content) != render(call.arguments, outcome.value):
            return None  # somebody has put other content in its place
        markdown = await to_markdown(outcome.value["body"]["content"], outcome.value["url"])
        if markdown is None:
            return [text(_shown(outcome.value, outcome.value["body"]["content"], limits, _AS_HTML))]
        return [text(_shown(outcome.value, markdown, limits))]

    def render(arguments: object, value: FetchValue) -> list[Text]:
        return [text(_shown(value, value["body"]["content"], limits))]

    @tool(
        render=render,
        presentation_meta=_meta,
        finalize_content=finalize,
        parallel=True,
        read_only=True,
        timeout=limits.seconds + _GRACE_SECONDS,
    )
    async def web_fetch(url: Url, markdown: AsMarkdown = False) -> FetchValue:
        """Fetch a page or a text from the web by its URL.

        Every status is a value, also 404. Redirects within a site are followed (`url` is where they led); one
        to another site is an error that names it. Pages are not executed; there are no cookies and no log-in.
        """
        with trio.move_on_after(limits.seconds):
            value = await _Fetch(limits, reach).value(_checked(url))
            if markdown and value["body"]["kind"] == "html":
                converted = await to_markdown(value["body"]["content"], value["url"])
                if converted is None:
                    raise ToolError(
                        "the page could not be turned into Markdown; fetch it without markdown=True",
                        code="WEB_CONVERSION_FAILED",
                    )
                value["truncated"] |= len(converted) > limits.max_characters
                value["body"] = {"kind": "text", "content": converted[: limits.max_characters]}
            return value
        raise ToolError(f"fetching took more than {limits.seconds:g} s", code="WEB_FETCH_TIMEOUT")

    return web_fetch


class _Fetch:
    """One fetch, over the redirects that it takes."""

    def __init__(self, limits: FetchLimits, reach: Reach) -> None:
        self._limits = limits
        self._reach = reach

    async def value(self, url: httpx.URL) -> FetchValue:
        try:
            async with self._reach.pool(self._limits.ssl_context) as pool:
                redirects = 0
                while isinstance(answered := await self._request(pool, url), httpx.URL):
                    redirects += 1
                    if redirects > MAX_REDIRECTS:
                        _refuse_redirect(
                            f"{url} is the end of {MAX_REDIRECTS} redirects, and redirects again"
                        )
                    if not _same_site(url, answered):
                        _refuse_redirect(
                            f"{url} redirects to another site: {answered}; fetch that, if it is wanted"
                        )
                    url = answered
                return answered
        except httpcore.TimeoutException:
            raise ToolError(f"{url} did not answer in time", code="WEB_FETCH_TIMEOUT") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError) as error:
            raise ToolError(f"{url} could not be fetched: {_why(error)}", code="WEB_FETCH_FAILED") from None

    async def _request(self, pool: httpcore.AsyncConnectionPool, url: httpx.URL) -> FetchValue | httpx.URL:
        """Return the value, or where the answer redirects to."""
        headers: dict[bytes | str, bytes | str] = {
            "Host": url.netloc.decode("ascii"),
            "User-Agent": "codemode (+web_fetch)",
            "Accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5",
            "Accept-Encoding": ACCEPTED_ENCODINGS,
        }
        timeout = dict.fromkeys(("connect", "read", "write", "pool"), self._limits.seconds)
        address = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        async with pool.stream("GET", address, headers=headers, extensions={"timeout": timeout}) as response:
            answered = httpx.Headers(response.headers)
            if response.status in (301, 302, 303, 307, 308) and "location" in answered:
                return _target(url, answered["location"])
            data = await collect(
                response.aiter_stream(), answered.get("content-encoding", ""), self._limits.max_bytes
            )
            content_type = answered.get("content-type", "")
            kind = kind_of(media_type_of(content_type), data[:_PROBE_BYTES])
            if kind is None:
                raise ToolError(
                    f"{url} is {media_type_of(content_type) or 'of no known type'}, neither HTML nor text (HTTP "
                    f"{response.status}, {len(data):,} bytes)",
                    code="WEB_UNSUPPORTED_CONTENT_TYPE",
                )
            body: Body = await trio.to_thread.run_sync(
                decode, data, kind, content_type, abandon_on_cancel=True
            )
            return {
                "url": str(url),
                "statusCode": response.status,
                "body": {"kind": body.kind, "content": body.content[: self._limits.max_characters]},
                "truncated": len(body.content) > self._limits.max_characters,
            }


def _checked(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url.strip())
        host = parsed.host
    except (httpx.InvalidURL, UnicodeError, ValueError) as error:
        raise ToolError(f"{url[:200]!r} is no URL: {error}", code="WEB_INVALID_URL") from None
    if parsed.scheme not in ("http", "https") or not host:
        raise ToolError(
            f"{url[:200]!r} is no URL of the web; write http://… or https://…", code="WEB_INVALID_URL"
        )
    if parsed.userinfo:
        raise ToolError("a URL with a user name or password is not fetched", code="WEB_BLOCKED_URL")
    return parsed.copy_with(fragment=None)


def _target(url: httpx.URL, location: str) -> httpx.URL:
    try:
        return _checked(str(url.join(location[:MAX_URL_CHARACTERS])))
    except (ToolError, httpx.InvalidURL, UnicodeError, ValueError):
        _refuse_redirect(f"{url} redirects to {location[:200]!r}, which cannot be fetched")


def _same_site(one: httpx.URL, other: httpx.URL) -> bool:
    """The same host and port, `www.` aside; from http to https is a step up, the way back is none."""

    def port(url: httpx.URL) -> int | None:
        return None if url.port in (None, 80 if url.scheme == "http" else 443) else url.port

    if one.host.removeprefix("www.") != other.host.removeprefix("www.") or port(one) != port(other):
        return False
    return one.scheme == other.scheme or other.scheme == "https"


def _why(error: BaseException) -> str:
    """The first of an error and what caused it that says something."""
    cause: BaseException | None = error
    while cause is not None and not str(cause):
        cause = cause.__cause__ or cause.__context__
    return "the connection broke" if cause is None else str(cause)


def _refuse_redirect(message: str) -> NoReturn:
    raise ToolError(message, code="WEB_REDIRECT_BLOCKED")


def _shown(value: FetchValue, body: str, limits: FetchLimits, note: str = "") -> str:
    whole = f"Fetched {value['url']} (HTTP {value['statusCode']})\n\n{body}{note}"
    if len(whole) <= limits.shown_characters and not value["truncated"]:
        return whole
    if limits.shown_characters <= len(_CUT):
        return whole[: limits.shown_characters]
    return whole[: limits.shown_characters - len(_CUT)] + _CUT


def _meta(arguments: object, value: FetchValue) -> dict[str, Any]:
    shown_whole = len(value["body"]["content"]) <= MAX_SHOWN_CHARACTERS
    return {
        "url": value["url"],
        "statusCode": value["statusCode"],
        "truncated": value["truncated"] or not shown_whole,
    }
