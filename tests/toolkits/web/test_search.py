from __future__ import annotations

import json

import pytest
import trio

from codemode import CodeMode, ToolError
from codemode.toolkits.web import Brave, Found, SearXNG, Source, Tavily, web
from tests.toolkits.calling import both, failure, program_failure, shown


class Scripted:
    """A provider that gives what the test says, by query."""

    name = "Scripted"

    def __init__(self, **found):
        self.found = found
        self.asked = []
        self.ended = []

    async def search(self, query):
        self.asked.append(query)
        try:
            found = self.found[query]
            if found == "wait":
                await trio.sleep_forever()
            if isinstance(found, BaseException):
                raise found
            return found
        finally:
            self.ended.append(query)


def sources(prefix, count):
    return tuple(Source(f"https://{prefix}.test/{n}", f"{prefix} {n}") for n in range(count))


def engine(provider):
    return CodeMode(web(provider))


async def test_one_query_is_the_providers_answer():
    provider = Scripted(
        pears=Found(
            (Source("https://a.test/x", "A [1]", "some\n text", "2024-05-01"), Source("https://b.test/")),
            "Pears are fruit.",
        )
    )
    async with engine(provider) as cm:
        assert await both(cm, "web_search", queries=[" pears ", "pears"]) == {
            "sources": [
                {
                    "url": "https://a.test/x",
                    "title": "A [1]",
                    "snippet": "some\n text",
                    "publishedAt": "2024-05-01",
                },
                {"url": "https://b.test/"},
            ],
            "truncated": False,
            "content": "Pears are fruit.",
        }
        outcome = await cm.call("web_search", {"queries": ["pears"]})
        assert outcome.content[0].text == (
            "Pears are fruit.\n\nSources:\n- [A (1)](https://a.test/x) — some text (2024-05-01)\n"
            "- [b.test](https://b.test/)\n\nCite the relevant URLs above as markdown links in your answer."
        )
        assert outcome.meta == {
            "answer": "Pears are fruit.",
            "truncated": False,
            "sources": outcome.value["sources"],
        }
    assert provider.asked == ["pears"] * 3


async def test_several_queries_are_merged_the_best_of_each_first_without_doubles():
    provider = Scripted(
        a=Found((*sources("a", 5), Source("https://shared.test/")), "About a."),
        b=Found((Source("https://shared.test/", "shared"), *sources("b", 5))),
        c=Found((), "About c."),
    )
    async with engine(provider) as cm:
        value = await both(cm, "web_search", queries=["a", "b", "c"])
        assert [source["url"] for source in value["sources"]] == [
            "https://a.test/0",
            "https://shared.test/",
            "https://a.test/1",
            "https://b.test/0",
            "https://a.test/2",
            "https://b.test/1",
            "https://a.test/3",
            "https://b.test/2",
        ]
        assert value["truncated"] is True
        assert value["content"] == "### a\n\nAbout a.\n\n### c\n\nAbout c."
        assert "(Showing the first 8 sources. Refine the query for more.)" in await shown(
            cm, "web_search", queries=["a", "b", "c"]
        )


async def test_nothing_found_is_a_value():
    async with engine(Scripted(x=Found(()))) as cm:
        assert await both(cm, "web_search", queries=["x"]) == {"sources": [], "truncated": False}
        assert (await shown(cm, "web_search", queries=["x"])).startswith("No results found.\n\n")


async def test_one_query_that_fails_ends_the_others_and_its_error_is_the_one():
    provider = Scripted(
        slow="wait", bad=ToolError("out of order", code="WEB_PROVIDER_ERROR"), odd=OSError("boom")
    )
    async with engine(provider) as cm:
        error = await failure(cm, "web_search", queries=["slow", "bad"])
        assert (error.code, error.message) == ("WEB_PROVIDER_ERROR", "out of order")
        assert sorted(provider.ended) == ["bad", "slow"]
        error = await failure(cm, "web_search", queries=["odd"])
        assert (error.code, error.message) == ("WEB_PROVIDER_ERROR", "Scripted failed: OSError: boom")
        assert (await program_failure(cm, "web_search", queries=["odd"]))[0] == "WEB_PROVIDER_ERROR"


async def test_time_is_bounded(monkeypatch):
    monkeypatch.setattr("codemode.toolkits.web.searching.SEARCH_SECONDS", 0.1)
    async with engine(Scripted(slow="wait")) as cm:
        assert (await failure(cm, "web_search", queries=["slow"])).code == "WEB_PROVIDER_UNAVAILABLE"


@pytest.mark.parametrize("queries", [[], [""], ["a", " "], list("abcde"), ["a"] * 5, "a", ["x" * 1001]])
async def test_queries_that_cannot_be_searched(queries):
    provider = Scripted()
    async with engine(provider) as cm:
        assert (await failure(cm, "web_search", queries=queries)).code == "INVALID_ARGUMENTS"
    assert provider.asked == []


async def test_without_a_provider_there_is_no_search():
    assert [each.name for each in web()] == ["web_fetch"]


async def test_what_a_provider_sends_is_kept_short():
    long = Source("https://a.test/", "t" * 1000, "s" * 5000, "d" * 100)
    async with engine(Scripted(x=Found((long,), "c" * 50_000))) as cm:
        value = await both(cm, "web_search", queries=["x"])
        (source,) = value["sources"]
        assert [len(source[name]) for name in ("title", "snippet", "publishedAt")] == [300, 2000, 50]
        assert len(value["content"]) == 20_000


async def test_nothing_that_a_provider_sends_breaks_out_of_its_line():
    wrong = [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://a.test/\n- [x](y)",
        "https://",
        "https://a b",
        "http://\x1b[31m",
    ]
    found = [Source(url) for url in wrong]
    found += [
        Source("https://a.test/(x)", "A](evil) [b\n- [c](d)", "one\n\ntwo", "2024\n- x"),
        Source("http://[::1"),
    ]
    async with engine(Scripted(x=Found(tuple(found)))) as cm:
        assert len((await both(cm, "web_search", queries=["x"]))["sources"]) == 2
        assert (await shown(cm, "web_search", queries=["x"])).split("\n\n")[0].splitlines() == [
            "Sources:",
            "- [A)(evil) (b - (c)(d)](https://a.test/%28x%29) — one two (2024 - x)",
            "- [http://(::1](http://[::1)",
        ]


# ----------------------------------------------------------------------------------------- providers


async def test_searxng(server):
    results = [
        {
            "url": "https://a.test/",
            "title": "A",
            "content": "about <b>a</b> &amp; b",
            "publishedDate": "2024-01-02",
            "engine": "x",
        },
        {"url": "https://b.test/", "title": "B", "content": "", "publishedDate": None},
    ]
    server.answer(
        "/sx/search", json.dumps({"query": "x", "results": results, "answers": [], "infoboxes": []})
    )
    async with engine(SearXNG(f"{server.url}/sx/")) as cm:
        assert (await both(cm, "web_search", queries=["pears & plums"]))["sources"] == [
            {"url": "https://a.test/", "title": "A", "snippet": "about a & b", "publishedAt": "2024-01-02"},
            {"url": "https://b.test/", "title": "B"},
        ]
    method, target, _, _ = server.requests[0]
    assert (method, target) == ("GET", "/sx/search?q=pears+%26+plums&format=json")


async def test_brave(server):
    results = [
        {
            "url": "https://a.test/",
            "title": "A",
            "description": "<strong>a</strong>",
            "page_age": "2024-01-02T00:00:00",
        }
    ]
    server.answer(
        "/res/v1/web/search", json.dumps({"type": "search", "web": {"type": "search", "results": results}})
    )
    async with engine(Brave("key-1", url=server.url)) as cm:
        assert (await both(cm, "web_search", queries=["pears"]))["sources"] == [
            {"url": "https://a.test/", "title": "A", "snippet": "a", "publishedAt": "2024-01-02T00:00:00"}
        ]
        server.answer("/res/v1/web/search", json.dumps({"type": "search"}))
        assert (await both(cm, "web_search", queries=["pears"]))["sources"] == []
    assert server.requests[0][1] == "/res/v1/web/search?q=pears&count=10"
    assert server.requests[0][2]["x-subscription-token"] == "key-1"


async def test_tavily(server):
    results = [
        {"url": "https://a.test/", "title": "A", "content": "a", "score": 0.9, "published_date": "2024"}
    ]
    server.answer("/search", json.dumps({"answer": "Pears.", "results": results}))
    async with engine(Tavily("key-2", url=server.url)) as cm:
        assert await both(cm, "web_search", queries=["pears"]) == {
            "sources": [{"url": "https://a.test/", "title": "A", "snippet": "a", "publishedAt": "2024"}],
            "truncated": False,
            "content": "Pears.",
        }
    method, _, headers, body = server.requests[0]
    assert (method, headers["authorization"]) == ("POST", "Bearer key-2")
    assert json.loads(body) == {"query": "pears", "max_results": 10, "include_answer": True}


async def test_errors_of_providers_have_codes_and_never_show_the_key(server):
    async with engine(Brave("key-3", url=server.url)) as cm:
        for status, code in [
            ("401 No", "WEB_PROVIDER_CREDENTIAL_MISSING"),
            ("429 Slow", "WEB_PROVIDER_ERROR"),
            ("500 Oops", "WEB_PROVIDER_ERROR"),
            ("302 Found", "WEB_PROVIDER_ERROR"),
        ]:
            server.answer("/res/v1/web/search", "key-3", status=status, Location="http://127.0.0.1/")
            error = await failure(cm, "web_search", queries=["x"])
            assert error.code == code
            assert "key-3" not in error.message
        for body in (
            b"<html>",
            b"[1]",
            b'{"web": {"results": [{}]}}',
            b"\xff",
            b"[" * 100_000,
            b" " * 2_000_001,
        ):
            server.answer("/res/v1/web/search", body)
            assert (await failure(cm, "web_search", queries=["x"])).code == "WEB_PROVIDER_ERROR"
    async with engine(SearXNG("http://127.0.0.1:1")) as cm:
        assert (await failure(cm, "web_search", queries=["x"])).code == "WEB_PROVIDER_UNAVAILABLE"
    async with engine(Tavily("")) as cm:
        assert (await failure(cm, "web_search", queries=["x"])).code == "WEB_PROVIDER_CREDENTIAL_MISSING"
