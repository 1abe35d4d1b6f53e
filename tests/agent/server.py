"""A local HTTP server that plays recorded answers, one after another, and keeps the requests that it got.

It speaks just enough HTTP for the SDKs. An answer can be cut after any byte, sent in pieces of any size, held
until something happens, or be an error of any status.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import trio

from tests.conversation.scripts import Json, events, stream_bytes


@dataclass
class Play:
    """One answer. `cut` bytes of the body are sent, then the connection is closed; `size` bytes a piece."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    size: int = 1 << 20
    hold_at: int | None = None
    """After that many bytes, wait until the server's `go` is set."""
    chunked: bool = True
    """Else the end of the connection is the end of the body, and a cut cannot be seen from outside the events."""


def plays(*messages: Json, size: int = 7) -> list[Play]:
    """Whole answers of the Messages API."""
    return [Play(stream_bytes(events(each, size))) for each in messages]


def refused(status: int, kind: str = "api_error", **headers: str) -> Play:
    body = {"type": "error", "error": {"type": kind, "message": "not now"}}
    return Play(json.dumps(body).encode(), status, headers)


class Recorded:
    """The server: `script` is what is left to play, or says what to play for a request."""

    def __init__(self, script: Iterable[Play] | Callable[[Any], Play]) -> None:
        self.script: list[Play] = [] if callable(script) else list(script)
        self._choose = script if callable(script) else None
        self.requests: list[Any] = []
        self.paths: list[str] = []
        self.go = trio.Event()
        self.holding = trio.Event()
        self.url = ""

    async def serve(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(partial(trio.serve_tcp, self._talk, 0, host="127.0.0.1"))
            self.url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
            task_status.started()

    async def _talk(self, stream: trio.SocketStream) -> None:
        async with stream:
            try:
                await self._answer(stream)
            except trio.BrokenResourceError:
                pass  # whoever asked has gone

    async def _answer(self, stream: trio.SocketStream) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            more = await stream.receive_some()
            if not more:
                return
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        while len(body) < int(headers.get("content-length", "0")):
            body += await stream.receive_some()
        self.paths.append(lines[0].split(" ")[1])
        self.requests.append(json.loads(body))
        if self._choose is not None:
            play = self._choose(self.requests[-1])
        else:
            play = self.script.pop(0) if self.script else refused(400, "invalid_request_error")
        await self._play(stream, play)

    async def _play(self, stream: trio.SocketStream, play: Play) -> None:
        kind = "text/event-stream" if play.status == 200 else "application/json"
        headers = {"content-type": kind, "connection": "close", **play.headers}
        if play.chunked:
            headers["transfer-encoding"] = "chunked"
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        await stream.send_all(f"HTTP/1.1 {play.status} X\r\n{head}\r\n".encode())
        end = len(play.body) if play.cut is None else play.cut
        at = 0
        while at < end:
            to = min(at + play.size, end)
            if play.hold_at is not None and at < play.hold_at:
                to = min(to, play.hold_at)
            piece = play.body[at:to]
            await stream.send_all(b"%x\r\n%s\r\n" % (len(piece), piece) if play.chunked else piece)
            at = to
            if play.hold_at == at:
                self.holding.set()
                await self.go.wait()
        if play.chunked and play.cut is None:
            await stream.send_all(b"0\r\n\r\n")


@asynccontextmanager
async def recorded(script: Iterable[Play] | Callable[[Any], Play]) -> AsyncIterator[Recorded]:
    """A server in this process, for as long as the block."""
    server = Recorded(script)
    async with trio.open_nursery() as nursery:
        await nursery.start(server.serve)
        yield server
        nursery.cancel_scope.cancel()
