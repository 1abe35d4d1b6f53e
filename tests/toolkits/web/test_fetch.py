from __future__ import annotations

import gzip
import json
import zlib

import pytest
import trio

from codemode import Accept, CodeMode, Hooks, Text
from codemode.toolkits.web import FetchLimits, Reach, web
from codemode.toolkits.web.markdown import to_markdown
from tests.toolkits.calling import both, failure, from_program, program_failure, shown, value
from tests.toolkits.support import children
from tests.toolkits.web.conftest import LOCAL

HTML = """<!doctype html><html><head><title>Prices</title><style>p{}</style></head><body><script>alert(1)</script>
<h1>Prices</h1><p>See <a href="/list?x=1#a">the <b>list</b></a>.</p>
<table><tr><th>what</th><th>how much</th></tr><tr><td>pear</td><td>3</td></tr></table>
<ul><li>one<ul><li>two</li></ul></li></ul><pre><code>x = 1
</code></pre><img src="data:image/png;base64,AAAA" alt="dot"><img src="a.png" alt="a"></body></html>"""


def engine(**options):
    limits = FetchLimits(**options)
    return CodeMode(web(limits=limits, reach=Reach([LOCAL])))


async def test_the_value_is_the_page_as_it_is_and_a_model_sees_markdown(server):
    server.answer("/page", HTML, type="text/html; charset=utf-8")
    url = f"{server.url}/page"
    async with engine() as cm:
        assert await both(cm, "web_fetch", url=url) == {
            "url": url,
            "statusCode": 200,
            "body": {"kind": "html", "content": HTML},
            "truncated": False,
        }
        outcome = await cm.call("web_fetch", {"url": url})
        assert outcome.meta == {"url": url, "statusCode": 200, "truncated": False}
        assert outcome.content[0].text == (
            f"Fetched {url} (HTTP 200)\n\n# Prices\n\nSee [the **list**]({server.url}/list?x=1#a).\n\n"
            "| what | how much |\n| --- | --- |\n| pear | 3 |\n\n- one\n  - two\n\n```\nx = 1\n```\n\n"
            f"![dot]()![a]({server.url}/a.png)"
        )
    assert server.requests[0][2]["accept-encoding"] == "gzip"
    assert "cookie" not in server.requests[0][2]


async def test_elements_that_nobody_closed_are_understood_and_nothing_that_is_not_for_readers_is_shown(
    server,
):
    page = (
        "<title>A &amp;\n B</title><nav><a href=/home>Home</a></nav><ol><li>x<li>y</ol><table><tr><td>1<td>2</table>"
        "<p>a<br>b<svg><text>no</text></svg><iframe src=x>no</iframe><noscript>no</noscript><template>no</template>"
    )
    server.answer("/", page, type="text/html")
    async with engine() as cm:
        text = await shown(cm, "web_fetch", url=server.url)
    assert text == (
        f"Fetched {server.url} (HTTP 200)\n\n# A & B\n\n[Home]({server.url}/home)\n\n1. x\n2. y\n\n"
        "| 1 | 2 |\n| --- | --- |\n\na  \nb"
    )


async def test_a_program_can_have_markdown_too(server):
    server.answer("/", "<h2>A</h2><p>b", type="text/html")
    server.answer("/text", "<b>", type="text/plain")
    async with engine() as cm:
        got = await both(cm, "web_fetch", url=server.url, markdown=True)
        assert got["body"] == {"kind": "text", "content": "## A\n\nb"}
        assert await shown(cm, "web_fetch", url=server.url, markdown=True) == (
            f"Fetched {server.url} (HTTP 200)\n\n## A\n\nb"
        )
        got = await both(cm, "web_fetch", url=f"{server.url}/text", markdown=True)
        assert got["body"] == {"kind": "text", "content": "<b>"}


async def test_every_status_is_a_value(server):
    server.answer("/broken", '{"error": 1}', status="500 Oops", type="application/json")
    async with engine() as cm:
        got = await both(cm, "web_fetch", url=f"{server.url}/broken")
        assert (got["statusCode"], got["body"]) == (500, {"kind": "text", "content": '{"error": 1}'})
        got = await value(cm, "web_fetch", url=f"{server.url}/none")
        assert (got["statusCode"], got["body"]["content"]) == (404, "gone")


async def test_fetches_of_one_program_overlap(server):
    async def slow(stream):
        waiting.append(stream)
        while len(waiting) < 3:
            await trio.sleep(0.01)
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx")

    waiting = []
    server.answers["/slow"] = slow
    async with engine() as cm:
        result = await cm.run(
            f"import asyncio\nurl = {server.url + '/slow'!r}\n"
            "return len(await asyncio.gather(*[tools.web_fetch(url) for _ in range(3)]))"
        )
        assert result.result == 3


@pytest.mark.parametrize(
    ("body", "type", "text"),
    [
        ("é".encode(), "text/plain; charset=utf-8", "é"),
        ("é".encode("latin-1"), "text/plain; charset=ISO-8859-1", "é"),
        (b"\x80", "text/plain; charset=latin1", "€"),
        ("щ".encode("koi8-r"), 'text/plain; charset="KOI8-R"', "щ"),
        ("日本".encode("shift_jis"), "text/plain;charset=Shift_JIS", "日本"),
        ("é".encode("utf-16"), "text/plain", "é"),
        (b"\xef\xbb\xbfa", "text/plain; charset=ascii", "a"),
        (b"\xff", "text/plain", "\ufffd"),
        (b"xn--4ca", "text/plain; charset=punycode", "xn--4ca"),
        (b"6161", "text/plain; charset=hex", "6161"),
        (b"a", "text/plain; charset=nonsense", "a"),
        (b"[1]", "application/vnd.api+json", "[1]"),
        (b"a,b", "", "a,b"),
        (b"", "text/plain", ""),
    ],
)
async def test_text_is_decoded_as_it_says_or_as_utf_8(server, body, type, text):
    server.answer("/", body, type=type)
    async with engine() as cm:
        assert (await value(cm, "web_fetch", url=server.url))["body"] == {"kind": "text", "content": text}


async def test_html_says_its_charset_itself(server):
    page = '<html><meta charset="windows-1251"><p>щ</p></html>'
    server.answer("/", page.encode("cp1251"), type="text/html")
    server.answer("/unsaid", "<!DOCTYPE html><p>x", type="")
    async with engine() as cm:
        assert (await value(cm, "web_fetch", url=server.url))["body"]["content"] == page
        assert (await value(cm, "web_fetch", url=f"{server.url}/unsaid"))["body"]["kind"] == "html"


# ------------------------------------------------------------------------------------------ bounds


async def test_a_body_is_bounded_in_bytes(server):
    server.answer("/", b"x" * 1001)
    server.answer("/fits", b"x" * 1000)

    async def endless(stream):
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            await stream.send_all(b"x" * 500)

    server.answers["/endless"] = endless
    async with engine(max_bytes=1000) as cm:
        assert len((await value(cm, "web_fetch", url=f"{server.url}/fits"))["body"]["content"]) == 1000
        for path in ("/", "/endless"):
            error = await failure(cm, "web_fetch", url=server.url + path)
            assert error.code == "WEB_FETCH_TOO_LARGE"
            assert "1,000 bytes" in error.message
        assert (await program_failure(cm, "web_fetch", url=server.url))[0] == "WEB_FETCH_TOO_LARGE"


async def test_little_that_unpacks_to_much_is_stopped(server):
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(bomb.compress(bytes(1_000_000)) for _ in range(50)) + bomb.flush()
    assert len(packed) < 60_000
    server.answer("/bomb", packed, Content_Encoding="gzip")
    server.gzipped("/fine", b"fine" * 100_000)
    async with engine() as cm:
        assert (await failure(cm, "web_fetch", url=f"{server.url}/bomb")).code == "WEB_FETCH_TOO_LARGE"
        got = await value(cm, "web_fetch", url=f"{server.url}/fine")
        assert got["body"]["content"] == "fine" * 100_000


async def test_what_cannot_be_unpacked_is_said(server):
    server.answer("/garbage", b"no gzip", Content_Encoding="gzip")
    server.answer("/half", gzip.compress(b"hello" * 100)[:-12], Content_Encoding="gzip")
    server.answer("/brotli", b"xx", Content_Encoding="br")
    server.gzipped("/empty", b"")
    async with engine() as cm:
        assert (await failure(cm, "web_fetch", url=f"{server.url}/garbage")).code == "WEB_BAD_RESPONSE"
        assert (await failure(cm, "web_fetch", url=f"{server.url}/half")).code == "WEB_BAD_RESPONSE"
        assert (
            await failure(cm, "web_fetch", url=f"{server.url}/brotli")
        ).code == "WEB_UNSUPPORTED_CONTENT_TYPE"
        assert (await value(cm, "web_fetch", url=f"{server.url}/empty"))["body"]["content"] == ""


async def test_long_text_is_cut_and_says_so(server):
    server.answer("/", "é" * 300)
    async with engine(max_characters=200) as cm:
        got = await both(cm, "web_fetch", url=server.url)
        assert (got["body"]["content"], got["truncated"]) == ("é" * 200, True)
        outcome = await cm.call("web_fetch", {"url": server.url})
        assert outcome.content[0].text.endswith(
            "é\n\n(Content truncated. Fetch a more specific URL or section for the full text.)"
        )
        assert outcome.meta["truncated"] is True


async def test_what_is_shown_is_bounded_and_the_value_is_whole(server):
    server.answer("/", "line\n" * 100)
    async with engine(shown_characters=300) as cm:
        outcome = await cm.call("web_fetch", {"url": server.url})
        assert len(outcome.content[0].text) == 300
        assert outcome.content[0].text.endswith("for the full text.)")
        assert len(outcome.value["body"]["content"]) == 500
    async with engine(shown_characters=10) as cm:
        assert await shown(cm, "web_fetch", url=server.url) == "Fetched ht"
    server.answer("/html", "<p>" + "word " * 60_000, type="text/html")
    async with engine() as cm:
        assert len(await shown(cm, "web_fetch", url=f"{server.url}/html")) == 200_000


async def test_time_is_bounded_also_against_one_who_trickles(server):
    async def trickle(stream):
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            await stream.send_all(b"x")
            await trio.sleep(0.02)

    async def silent(stream):
        await trio.sleep_forever()

    server.answers.update({"/trickle": trickle, "/silent": silent})
    async with engine(seconds=0.3) as cm:
        for path in ("/trickle", "/silent"):
            error = await failure(cm, "web_fetch", url=server.url + path)
            assert error.code == "WEB_FETCH_TIMEOUT"


@pytest.mark.parametrize(
    "type", ["image/png", "application/pdf", "application/octet-stream", "video/mp4", ""]
)
async def test_what_is_no_text_is_refused(server, type):
    server.answer("/", b"\x89PNG\0\1\2", type=type)
    async with engine() as cm:
        error = await failure(cm, "web_fetch", url=server.url)
        assert error.code == "WEB_UNSUPPORTED_CONTENT_TYPE"
        assert "HTTP 200, 7 bytes" in error.message


# ------------------------------------------------------------------------------- URLs and redirects


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("ftp://example.com/x", "WEB_INVALID_URL"),
        ("file:///etc/passwd", "WEB_INVALID_URL"),
        ("/etc/passwd", "WEB_INVALID_URL"),
        ("example.com", "WEB_INVALID_URL"),
        ("http://", "WEB_INVALID_URL"),
        ("http:///path", "WEB_INVALID_URL"),
        ("http://[::1", "WEB_INVALID_URL"),
        ("http://a\nb/", "WEB_INVALID_URL"),
        ("http://user:secret@example.com/", "WEB_BLOCKED_URL"),
        ("http://x/" + "a" * 2048, "INVALID_ARGUMENTS"),
        ("", "INVALID_ARGUMENTS"),
    ],
)
async def test_urls_that_are_not_fetched(names, url, code):
    async with engine() as cm:
        error = await failure(cm, "web_fetch", url=url)
        assert error.code == code
        assert "secret" not in error.message
    assert names.asked == []


async def test_redirects_within_a_site_are_followed(server, names):
    names.table = {"site.test": ["127.0.0.1"], "www.site.test": ["127.0.0.1"]}
    server.answer("/a", status="301 Moved", Location="/b?q=1")
    server.answer("/b", status="302 Found", Location=f"//www.site.test:{server.port}/c#part")
    server.answer("/c", "there")
    async with engine() as cm:
        got = await value(cm, "web_fetch", url=f"http://site.test:{server.port}/a")
        assert got["url"] == f"http://www.site.test:{server.port}/c"
        assert got["body"]["content"] == "there"
    assert [target for _, target, _, _ in server.requests] == ["/a", "/b?q=1", "/c"]


async def test_redirects_elsewhere_are_said_and_not_followed(server, names):
    names.table = {"site.test": ["127.0.0.1"]}
    async with engine() as cm:
        for location in (
            "http://other.test/x",
            f"http://sub.site.test:{server.port}/x",
            "http://site.test:1/x",
            "file:///etc/passwd",
            "http://user:pw@site.test/",
            "http://[::1",
        ):
            server.answer("/", status="302 Found", Location=location)
            error = await failure(cm, "web_fetch", url=f"http://site.test:{server.port}/")
            assert error.code == "WEB_REDIRECT_BLOCKED", location
        server.answer("/", status="302 Found", Location="http://other.test/x")
        error = await failure(cm, "web_fetch", url=f"http://site.test:{server.port}/")
        assert "redirects to another site: http://other.test/x" in error.message
    assert set(names.asked) == {"site.test"}


async def test_redirects_are_counted(server):
    for number in range(7):
        server.answer(f"/{number}", status="302 Found", Location=f"/{number + 1}")
    server.answer("/7", "end")
    async with engine() as cm:
        assert (await value(cm, "web_fetch", url=f"{server.url}/2"))["body"]["content"] == "end"
        assert (await failure(cm, "web_fetch", url=f"{server.url}/1")).code == "WEB_REDIRECT_BLOCKED"


async def test_a_server_that_does_not_speak_http_is_a_coded_failure(server):
    async def nonsense(stream):
        await stream.send_all(b"SSH-2.0-OpenSSH\r\n\r\n")

    async def hangs_up(stream):
        pass

    async def cut(stream):
        await stream.send_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhalf"
        )

    server.answers.update({"/nonsense": nonsense, "/gone": hangs_up, "/cut": cut})
    async with engine() as cm:
        for path in ("/nonsense", "/gone", "/cut"):
            assert (await failure(cm, "web_fetch", url=server.url + path)).code == "WEB_FETCH_FAILED"
        assert (await failure(cm, "web_fetch", url="http://127.0.0.1:1/")).code == "WEB_FETCH_FAILED"


# ------------------------------------------------------------------------------------------ Markdown


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "deep",
        "<ul><li>" * 900 + "x " * 100_000,
        "<table><tr>" + "<td>" * 200_000,
    ],
)
async def test_a_page_that_cannot_be_converted_in_bounds_is_shown_as_html(server, html, monkeypatch):
    # Too short for any: what a page takes depends on the machine.
    monkeypatch.setattr("codemode.toolkits.web.markdown.CONVERSION_SECONDS", 0.02)
    server.answer("/", html, type="text/html")
    before = children()
    async with engine(shown_characters=2000) as cm:
        text = await shown(cm, "web_fetch", url=server.url)
        assert text.startswith(f"Fetched {server.url} (HTTP 200)\n\n<")
        assert len(text) == 2000
        assert (await program_failure(cm, "web_fetch", url=server.url, markdown=True))[
            0
        ] == "WEB_CONVERSION_FAILED"
        assert len(await from_program(cm, "web_fetch", url=server.url)) == 4
    assert children() == before


async def test_cancelling_kills_the_process():
    before = children()
    with trio.move_on_after(0.2) as scope:
        await to_markdown("<b>" * 2_000_000, "http://x/")
    assert scope.cancelled_caught
    assert children() == before


async def test_other_content_of_a_hook_is_not_undone(server):
    server.answer("/", HTML, type="text/html")

    def redact(call, outcome):
        return Accept(content=[Text("redacted")])

    async with CodeMode(web(reach=Reach([LOCAL])), hooks=Hooks(post_execute=(redact,))) as cm:
        assert await shown(cm, "web_fetch", url=server.url) == "redacted"


async def test_what_a_page_says_stays_text(server):
    server.answer("/", "<p>&lt;script&gt;alert(1)&lt;/script&gt; *a* [x](y)", type="text/html")
    async with engine() as cm:
        assert "<script>" in await shown(cm, "web_fetch", url=server.url)
        described = json.dumps(cm.describe())
        assert "web_fetch" in described
