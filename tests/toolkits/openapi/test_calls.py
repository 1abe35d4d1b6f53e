"""Calls over HTTP: what is sent, what comes back, what is refused."""

from __future__ import annotations

import base64
import gzip
import json
import threading

import httpx
import pytest
import trio

from codemode import CodeMode, ToolError
from codemode.content import text_of
from codemode.toolkits.openapi import ApiLimits, openapi
from tests.toolkits.calling import both, failure, program_failure, value
from tests.toolkits.openapi.api import Answer, document, one, parameter

ARRAY = {"type": "array", "items": {"type": "string"}}
OBJECT = {"type": "object"}


@pytest.mark.parametrize(
    ("place", "style", "explode", "given", "target"),
    [
        ("path", None, None, "a b/c", "/x/a%20b%2Fc/y"),
        ("path", None, None, ["a", "b"], "/x/a,b/y"),
        ("path", "simple", True, {"k": "v", "n": 1}, "/x/k=v,n=1/y"),
        ("path", "simple", False, {"k": "v", "n": 1}, "/x/k,v,n,1/y"),
        ("path", "label", False, "a", "/x/.a/y"),
        ("path", "label", True, ["a", "b"], "/x/.a.b/y"),
        ("path", "label", False, ["a", "b"], "/x/.a,b/y"),
        ("path", "matrix", False, "a", "/x/;p=a/y"),
        ("path", "matrix", True, ["a", "b"], "/x/;p=a;p=b/y"),
        ("path", "matrix", False, ["a", "b"], "/x/;p=a,b/y"),
        ("path", "matrix", True, {"k": "v"}, "/x/;k=v/y"),
        ("path", None, None, True, "/x/true/y"),
        ("query", None, None, ["a", "b&c"], "/x?p=a&p=b%26c"),
        ("query", "form", False, ["a", "b"], "/x?p=a,b"),
        ("query", None, None, {"k": "v", "n": 1}, "/x?k=v&n=1"),
        ("query", "form", False, {"k": "v"}, "/x?p=k,v"),
        ("query", "spaceDelimited", False, ["a", "b"], "/x?p=a%20b"),
        ("query", "pipeDelimited", False, ["a", "b"], "/x?p=a%7Cb"),
        (
            "query",
            "deepObject",
            True,
            {"k": "v", "d": {"e": [1, 2]}},
            "/x?p%5Bk%5D=v&p%5Bd%5D%5Be%5D=1&p%5Bd%5D%5Be%5D=2",
        ),
        ("query", None, None, "ü=+ #", "/x?p=%C3%BC%3D%2B%20%23"),
        ("query", None, None, 12345678901234567890, "/x?p=12345678901234567890"),
        ("query", None, None, None, "/x"),
    ],
)
async def test_parameters_are_written_in_their_style(api, place, style, explode, given, target):
    more = {} if style is None else {"style": style}
    if explode is not None:
        more["explode"] = explode
    path = "/x/{p}/y" if place == "path" else "/x"
    tools = openapi(one(path, parameters=[parameter("p", place, {}, **more)]), api.url)
    async with CodeMode(tools) as cm:
        await value(cm, "it", p=given)
    assert [(seen.method, seen.target) for seen in api.seen] == [("GET", target)]


async def test_headers_cookies_and_json_parameters(api):
    tools = openapi(
        one(
            "/x",
            parameters=[
                parameter("X-Trace-Id", "header", {"type": "string"}),
                parameter("list", "header", ARRAY),
                parameter("sid", "cookie", {"type": "string"}),
                parameter("filter", "query", content={"application/json": {"schema": OBJECT}}),
                parameter("text", "query", content={"application/json": {"schema": {"type": "string"}}}),
                parameter("free", "query", allowReserved=True),
            ],
        ),
        api.url,
        headers={"Cookie": "own=1"},
    )
    async with CodeMode(tools) as cm:
        await value(
            cm,
            "it",
            X_Trace_Id="t-1",
            list=["a", "b"],
            sid="s;1",
            filter={"a": [1]},
            text='q"',
            free="a/b?c&d",
        )
    (seen,) = api.seen
    assert seen.headers["x-trace-id"] == "t-1"
    assert seen.headers["list"] == "a,b"
    assert seen.headers["cookie"] == "own=1; sid=s%3B1"
    assert seen.target == "/x?filter=%7B%22a%22%3A%20%5B1%5D%7D&text=%22q%5C%22%22&free=a/b?c%26d"


@pytest.mark.parametrize("given", ["..", ".", "", [], None])
async def test_an_argument_cannot_lead_to_another_path(api, given):
    async with CodeMode(openapi(one("/x/{p}", parameters=[parameter("p", "path")]), api.url)) as cm:
        assert (await failure(cm, "it", p=given)).code == "INVALID_ARGUMENTS"
    assert api.seen == []


async def test_dots_that_a_template_puts_together_are_refused_too(api):
    tools = openapi(one("/x/{a}{b}", parameters=[parameter("a", "path"), parameter("b", "path")]), api.url)
    async with CodeMode(tools) as cm:
        assert (await failure(cm, "it", a=".", b=".")).code == "INVALID_ARGUMENTS"
        await value(cm, "it", a="{b}", b="c")
    assert [seen.target for seen in api.seen] == ["/x/%7Bb%7Dc"]


async def test_a_header_cannot_be_split(api):
    async with CodeMode(openapi(one("/x", parameters=[parameter("h", "header")]), api.url)) as cm:
        assert (await failure(cm, "it", h="a\r\nX-Evil: 1")).code == "INVALID_ARGUMENTS"
    assert api.seen == []


def with_body(media_type: str, schema: object, **media: object) -> dict:
    content = {media_type: {"schema": schema, **media}}
    return one("/x", "post", requestBody={"required": True, "content": content})


async def sent(api, raw: dict, body: object):
    async with CodeMode(openapi(raw, api.url, allow=["it"])) as cm:
        await value(cm, "it", body=body)
    return api.seen[-1]


async def test_bodies_of_every_kind(api):
    seen = await sent(api, with_body("application/json", OBJECT), {"ü": [1, None]})
    assert (seen.headers["content-type"], json.loads(seen.body)) == ("application/json", {"ü": [1, None]})
    seen = await sent(api, with_body("application/merge-patch+json", OBJECT), {"a": None})
    assert (seen.headers["content-type"], seen.body) == ("application/merge-patch+json", b'{"a":null}')
    fields = {"type": "object", "properties": {"a": {}, "b": ARRAY, "c": OBJECT}}
    seen = await sent(
        api,
        with_body("application/x-www-form-urlencoded", fields),
        {"a": "1 &", "b": ["x", "y"], "c": {"k": 1}},
    )
    assert seen.body == b"a=1%20%26&b=x&b=y&c=%7B%22k%22%3A%201%7D"
    seen = await sent(api, with_body("text/plain", {"type": "string"}), "grüße")
    assert (seen.headers["content-type"], seen.body) == ("text/plain; charset=utf-8", "grüße".encode())
    seen = await sent(api, with_body("image/png", {"type": "string", "format": "binary"}), "AP8=")
    assert (seen.headers["content-type"], seen.body) == ("image/png", b"\x00\xff")


async def test_a_multipart_body_holds_files_texts_and_json(api):
    schema = {
        "type": "object",
        "properties": {
            "file": {"type": "string", "contentMediaType": "image/png"},
            "name": {"type": "string"},
            "meta": OBJECT,
            "tags": ARRAY,
        },
    }
    raw = with_body("multipart/form-data", schema, encoding={"file": {"contentType": "image/png"}})
    body = {"file": base64.b64encode(b"\x00png").decode(), "name": "n", "meta": {"a": 1}, "tags": ["x", "y"]}
    seen = await sent(api, raw, body)
    assert seen.headers["content-type"].startswith("multipart/form-data; boundary=")
    parts = seen.body.split(b"--" + seen.headers["content-type"].partition("boundary=")[2].encode())[1:-1]
    assert [part.strip().partition(b"\r\n\r\n")[2] for part in parts] == [
        b"\x00png",
        b"n",
        b'{"a": 1}',
        b"x",
        b"y",
    ]
    assert b'filename="file"' in parts[0]
    assert b"Content-Type: image/png" in parts[0]
    assert b"filename" not in parts[1]
    async with CodeMode(openapi(raw, api.url, allow="*")) as cm:
        assert (await failure(cm, "it", body={"file": "no base64!"})).code == "INVALID_ARGUMENTS"


async def test_values_are_what_the_response_holds_and_are_the_same_in_a_program(api):
    api.json("/x", {"a": [1, 2.5, None, 2**70]})
    api.answers["/text"] = Answer("grüße".encode("latin-1"), type="text/plain; charset=latin-1")
    api.answers["/bytes"] = Answer(b"\x00\xff", type="image/png")
    api.answers["/none"] = Answer(b"", 204)
    responses = {"200": {"description": "ok"}}
    raw = document(
        {
            path: {
                "get": {
                    "operationId": path[1:],
                    "responses": {} if path != "/none" else {"204": responses["200"]},
                }
            }
            for path in ("/x", "/text", "/bytes", "/none")
        }
    )
    raw["paths"]["/x"]["head"] = {"operationId": "head", "responses": responses}
    async with CodeMode(openapi(raw, api.url)) as cm:
        assert await both(cm, "x") == {"a": [1, 2.5, None, 2**70]}
        assert await both(cm, "text") == "grüße"
        assert await both(cm, "bytes") == "AP8="
        assert await both(cm, "none") is None
        assert (await value(cm, "head"))["content-type"] == "application/json"


async def test_the_declared_schema_of_the_response_is_enforced(api):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    content = {"application/json": {"schema": schema}}
    raw = one(
        "/x", responses={"200": {"description": "ok", "content": content}, "404": {"description": "no"}}
    )
    async with CodeMode(openapi(raw, api.url)) as cm:
        api.json("/x", {"n": 1})
        assert await both(cm, "it") == {"n": 1}
        api.json("/x", {"n": "1"})
        assert (await failure(cm, "it")).code == "INVALID_OUTPUT"
        api.answers["/x"] = Answer(b'{"n": NaN}')
        assert (await failure(cm, "it")).code == "INVALID_RESPONSE"
        api.answers["/x"] = Answer(b"[" * 100_000)
        assert (await failure(cm, "it")).code == "INVALID_RESPONSE"


async def test_a_status_that_is_no_success_raises_with_its_code_and_the_text(api):
    api.json("/x", {"error": "no such thing"}, 404)
    async with CodeMode(openapi(one("/x"), api.url)) as cm:
        code, message = await program_failure(cm, "it")
        assert (code, message) == ("HTTP_404", '404 Not Found: {"error": "no such thing"}')
        api.answers["/x"] = Answer(b"y" * 100_000, 500, "text/plain")
        error = await failure(cm, "it")
        assert error.code == "HTTP_500"
        assert len(error.message) < 3000
        api.answers["/x"] = Answer(b"", 799, None)
        assert (await failure(cm, "it")).message == "799"


async def test_redirects_are_followed_within_the_server_and_by_reading_requests_only(api):
    api.answers["/x"] = Answer(b"", 302, None, {"Location": "/y?a=1"})
    api.json("/y", "there")
    api.answers["/loop"] = Answer(b"", 302, None, {"Location": "/loop"})
    api.answers["/away"] = Answer(b"", 302, None, {"Location": "http://elsewhere.invalid/"})
    raw = document(
        {path: {"get": {"operationId": path[1:], "responses": {}}} for path in ("/x", "/loop", "/away")}
    )
    raw["paths"]["/x"]["post"] = {"operationId": "post", "responses": {}}
    async with CodeMode(openapi(raw, api.url, headers={"X-Key": "k"}, allow=["post"])) as cm:
        assert await value(cm, "x") == "there"
        assert [seen.headers["x-key"] for seen in api.seen] == ["k", "k"]
        assert (await failure(cm, "loop")).code == "HTTP_REDIRECT"
        away = await failure(cm, "away")
        assert (away.code, "elsewhere.invalid" in away.message) == ("HTTP_302", True)
        assert (await failure(cm, "post")).code == "HTTP_302"


async def test_what_authenticates_is_neither_in_arguments_nor_in_the_log(api):
    async def authenticate(request: httpx.Request) -> None:
        await trio.sleep(0)
        request.headers["Authorization"] = "Bearer s3cret"
        request.url = request.url.copy_add_param("key", "s3cret")

    raw = one(
        "/x",
        parameters=[
            parameter("X-Api-Key", "header", required=True),
            parameter("Authorization", "header"),
            parameter("q", "query"),
        ],
    )
    tools = openapi(raw, api.url, headers={"x-api-key": "s3cret"}, authenticate=authenticate)
    assert tools[0].parameters.names == ("q",)
    api.json("/x", {"error": "bad"}, 400)
    async with CodeMode(tools) as cm:
        error = await failure(cm, "it", q="1")
        events = json.dumps([event.data for event in cm.session.events()], default=str)
    (seen,) = api.seen
    assert (seen.headers["x-api-key"], seen.headers["authorization"]) == ("s3cret", "Bearer s3cret")
    assert seen.target == "/x?q=1&key=s3cret"
    assert "s3cret" not in events
    assert "s3cret" not in error.message


async def test_authenticate_may_fail_the_call_and_cannot_send_it_elsewhere(api):
    def deny(request: httpx.Request) -> None:
        raise ToolError("log in first", code="LOGIN")

    def elsewhere(request: httpx.Request) -> None:
        request.url = httpx.URL("http://elsewhere.invalid/")

    for authenticate, code in ((deny, "LOGIN"), (elsewhere, "HTTP_REFUSED")):
        async with CodeMode(openapi(one("/x"), api.url, authenticate=authenticate)) as cm:
            assert (await failure(cm, "it")).code == code
    assert api.seen == []


async def test_reading_overlaps_and_is_read_only_and_the_rest_asks(api):
    meet = threading.Barrier(2)

    def together(handler) -> None:
        meet.wait(60)
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "1")
        handler.end_headers()
        handler.wfile.write(b"1")

    api.answers["/x"] = together
    raw = one("/x")
    raw["paths"]["/y"] = {"delete": {"operationId": "drop", "responses": {}}}
    tools = {tool.name: tool for tool in openapi(raw, api.url)}
    assert (tools["it"].parallel, tools["it"].read_only, tools["it"].approval) == (True, True, None)
    assert (tools["drop"].parallel, tools["drop"].read_only) == (False, False)
    async with CodeMode(tools.values()) as cm:
        result = await cm.run("import asyncio\nreturn await asyncio.gather(tools.it(), tools.it())")
        assert result.result == [1, 1]
        denied = await failure(cm, "drop")
        assert (denied.code, "it may change something: DELETE /y" in denied.message) == ("DENIED", True)
    async with CodeMode(openapi(raw, api.url, allow=["drop"])) as cm:
        assert await value(cm, "drop") is None


async def test_a_response_is_bounded_unpacked_and_in_time(api):
    def packed(handler) -> None:
        body = gzip.compress(b'"' + b"x" * 300_000 + b'"')
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    never = threading.Event()

    def hang(handler) -> None:
        never.wait(60)
        handler.close_connection = True

    def broken(handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.wfile.write(b"{")
        handler.close_connection = True

    api.answers["/x"] = packed
    async with CodeMode(openapi(one("/x"), api.url, limits=ApiLimits(max_bytes=1000, seconds=0.3))) as cm:
        assert (await failure(cm, "it")).code == "HTTP_TOO_LARGE"
        api.answers["/x"] = broken
        assert (await failure(cm, "it")).code == "HTTP_CONNECTION_LOST"
        api.answers["/x"] = hang
        late = await failure(cm, "it")
        assert late.code == "HTTP_TIMEOUT"
        assert "whether the call took effect is not known" in late.message
    never.set()
    async with CodeMode(openapi(one("/x"), api.url)) as cm:
        api.answers["/x"] = packed
        assert len(await value(cm, "it")) == 300_000
    async with CodeMode(openapi(one("/x"), "http://127.0.0.1:9")) as cm:
        assert (await failure(cm, "it")).code == "HTTP_UNAVAILABLE"


async def test_a_cancelled_call_leaves_no_connection(api):
    started, gone = threading.Event(), threading.Event()

    def hang(handler) -> None:
        started.set()
        handler.connection.settimeout(60)
        if handler.connection.recv(1) == b"":
            gone.set()
        handler.close_connection = True

    api.answers["/x"] = hang
    async with CodeMode(openapi(one("/x"), api.url)) as cm:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cm.call, "it", {})
            await trio.to_thread.run_sync(started.wait, 60)
            nursery.cancel_scope.cancel()
        assert await trio.to_thread.run_sync(gone.wait, 60)


async def test_one_set_of_tools_serves_one_engine_at_a_time(api):
    tools = openapi(one("/x"), api.url)
    async with CodeMode(tools) as cm:
        assert await value(cm, "it") is None
        async with CodeMode(tools) as other:
            assert (await failure(other, "it")).code == "TOOLS_IN_USE"
        assert await value(cm, "it") is None
    async with CodeMode(tools) as cm:
        assert await value(cm, "it") is None


async def test_cookies_of_a_response_are_not_kept(api):
    api.answers["/x"] = Answer(b"1", headers={"Set-Cookie": "session=1; Path=/"})
    async with CodeMode(openapi(one("/x"), api.url)) as cm:
        await value(cm, "it")
        await value(cm, "it")
    assert [seen.headers.get("cookie") for seen in api.seen] == [None, None]


async def test_a_text_is_shown_as_it_is(api):
    api.json("/x", "line\nline")
    async with CodeMode(openapi(one("/x"), api.url)) as cm:
        outcome = await cm.call("it", {})
    assert text_of(outcome.content) == "line\nline"
