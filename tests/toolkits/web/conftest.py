"""A server on this machine, and names that lead to it."""

from __future__ import annotations

import gzip
import socket

import pytest
import trio

LOCAL = "127.0.0.0/8"


class Server:
    """Answers GET requests with raw bytes by path; keeps the requests as they came."""

    def __init__(self):
        self.answers = {}
        self.requests = []
        self.port = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def answer(self, path, body=b"", *, status="200 OK", type="text/plain; charset=utf-8", **headers):
        body = body.encode() if isinstance(body, str) else body
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"Content-Type: {type}"] if type else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.answers[path] = "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def gzipped(self, path, body, **headers):
        self.answer(path, gzip.compress(body), Content_Encoding="gzip", **headers)

    async def serve(self, stream):
        try:
            data = b""
            while b"\r\n\r\n" not in data:
                piece = await stream.receive_some()
                if not piece:
                    return
                data += piece
            head, _, body = data.partition(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines[1:])
            length = int(headers.get("Content-Length", headers.get("content-length", 0)))
            while len(body) < length:
                body += await stream.receive_some()
            method, target, _ = lines[0].split(" ")
            self.requests.append((method, target, {k.lower(): v for k, v in headers.items()}, body))
            answer = self.answers.get(target.split("?")[0])
            if callable(answer):
                await answer(stream)
            else:
                await stream.send_all(answer or b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone")
            await stream.aclose()
        except trio.BrokenResourceError:
            pass  # the client has gone


@pytest.fixture
async def server(nursery):
    server = Server()
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    server.port = listener.socket.getsockname()[1]
    nursery.start_soon(trio.serve_listeners, server.serve, [listener])
    return server


class Names(trio.abc.HostnameResolver):
    """Resolves the names it is given, and no others."""

    def __init__(self):
        self.table = {}
        self.asked = []

    async def getaddrinfo(self, host, port, family=0, type=0, proto=0, flags=0):
        name = host.decode() if isinstance(host, bytes) else host
        self.asked.append(name)
        answers = self.table.get(name)
        if not answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if isinstance(answers[0], list):  # another answer each time
            answers = answers.pop(0)
        return [
            (
                socket.AF_INET6 if ":" in address else socket.AF_INET,
                socket.SOCK_STREAM,
                6,
                "",
                (address, int(port), 0, 0) if ":" in address else (address, int(port)),
            )
            for address in answers
        ]

    async def getnameinfo(self, sockaddr, flags):
        raise NotImplementedError


@pytest.fixture
async def names():
    names = Names()
    trio.socket.set_custom_hostname_resolver(names)
    return names
