"""A server on loopback whose answers a test writes, and the document of one operation."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple


class Seen(NamedTuple):
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Answer(NamedTuple):
    body: bytes = b""
    status: int = 200
    type: str | None = "application/json"
    headers: Mapping[str, str] = MappingProxyType({})


class Api:
    """Answers with what `answers` has for a path, or calls it; keeps the requests as they came."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | Callable[[Any], None]] = {}
        self.seen: list[Seen] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                api.seen.append(Seen(self.command, self.path, headers, self.rfile.read(length)))
                found = api.answers.get(self.path.partition("?")[0], Answer(b"null"))
                if callable(found):
                    found(self)
                    return
                self.send_response(found.status)
                if found.type is not None and found.body:
                    self.send_header("Content-Type", found.type)
                for name, value in found.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(found.body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(found.body)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = answer

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def json(self, path: str, value: Any, status: int = 200) -> None:
        self.answers[path] = Answer(json.dumps(value).encode(), status)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def document(paths: dict[str, Any], version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    return {"openapi": version, "info": {"title": "test", "version": "1"}, "paths": paths, **more}


def one(path: str, method: str = "get", **operation: Any) -> dict[str, Any]:
    """A document whose only operation is `it`; its response is any JSON unless said otherwise."""
    responses = {"200": {"description": "ok", "content": {"application/json": {"schema": {}}}}}
    return document({path: {method: {"operationId": "it", "responses": responses, **operation}}})


def parameter(name: str, place: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    raw = {"name": name, "in": place, **more}
    if "content" not in more:
        raw["schema"] = {} if schema is None else schema
    return {**raw, "required": True} if place == "path" else raw
