"""A server of tools that wants OAuth, and the authorization server that it names: both strict, both on loopback."""

import base64
import hashlib
import json
import secrets
import time
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, unquote, urlencode

import httpx2
import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from codemode.mcp.server import open_socket
from codemode.mcp.server.http import _lifespan


class World:
    """Both servers, on two ports. What they gave and were asked is kept; knobs make them do other things."""

    def __init__(self):
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, set()
        self.asked = []
        self.seconds = 3600
        self.refuses_login = False
        self.rotates = True
        self.elsewhere = {}  # where the metadata lead instead of here

    @property
    def paths(self):
        return [path for path, _ in self.asked]

    def add_client(self, secret, grants=("authorization_code", "refresh_token"), uris=()):
        name = f"client-{len(self.clients)}"
        self.clients[name] = {"secret": secret, "grants": grants, "uris": list(uris)}
        return name

    def forget_access(self):
        self.access.clear()

    # ------------------------------------------------------------------------------ the authorization server

    def authorize(self, query):
        client = self.clients[query["client_id"]]
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        assert query["redirect_uri"] in client["uris"]
        assert query["resource"] == self.resource
        back = {"state": query["state"], "iss": self.issuer}
        if self.refuses_login:
            back |= {"error": "access_denied", "error_description": "not\x1b[2J today"}
        else:
            back["code"] = secrets.token_hex(8)
            self.codes[back["code"]] = query
        return 302, {"location": f"{query['redirect_uri']}?{urlencode(back)}"}, {}

    def token(self, form, headers):
        name = form.get("client_id")
        given = headers.get(b"authorization", b"").decode()
        secret = form.get("client_secret")
        if given.startswith("Basic "):
            name, _, secret = map(unquote, base64.b64decode(given[6:]).decode().partition(":"))
        client = self.clients.get(name)
        if client is None or client["secret"] != secret or form["grant_type"] not in client["grants"]:
            return 401, {}, {"error": "invalid_client"}
        if form["grant_type"] == "authorization_code":
            asked = self.codes.pop(form["code"], None)
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if (
                not asked
                or asked["code_challenge"] != challenge
                or asked["redirect_uri"] != form["redirect_uri"]
            ):
                return 400, {}, {"error": "invalid_grant"}
        elif form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refresh:
                return 400, {}, {"error": "invalid_grant"}
            self.refresh.discard(form["refresh_token"])
        access = secrets.token_hex(8)
        self.access[access] = time.time() + self.seconds
        answer = {"access_token": access, "token_type": "bearer", "expires_in": self.seconds}
        if form["grant_type"] != "client_credentials":
            answer["refresh_token"] = secrets.token_hex(8)
            self.refresh.add(answer["refresh_token"])
        return 200, {}, answer

    def register(self, body):
        secret = secrets.token_hex(8)
        name = self.add_client(secret, uris=body["redirect_uris"])
        return (
            201,
            {},
            {
                "client_id": name,
                "client_secret": secret,
                "redirect_uris": body["redirect_uris"],
                "token_endpoint_auth_method": "client_secret_basic",
            },
        )

    async def authorization_app(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        path, body = scope["path"], await _body(receive)
        self.asked.append((path, body))
        headers = dict(scope["headers"])
        if path == "/.well-known/oauth-authorization-server":
            answer = (
                200,
                {},
                {
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.elsewhere.get('authorize', self.issuer)}/authorize",
                    "token_endpoint": f"{self.elsewhere.get('token', self.issuer)}/token",
                    "registration_endpoint": f"{self.issuer}/register",
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                    "authorization_response_iss_parameter_supported": True,
                },
            )
        elif path == "/authorize":
            answer = self.authorize(_single(scope["query_string"].decode()))
        elif path == "/token":
            answer = self.token(_single(body.decode()), headers)
        elif path == "/register":
            answer = self.register(json.loads(body))
        else:
            answer = 404, {}, {}
        await _answer(send, *answer)

    # ------------------------------------------------------------------------------ the server of tools

    async def tools_app(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["path"].startswith("/.well-known/oauth-protected-resource"):
            await _answer(send, 200, {}, {"resource": self.resource, "authorization_servers": [self.issuer]})
            return
        given = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        if self.access.get(given, 0) > time.time():
            await self.manager.handle_request(scope, receive, send)
        else:
            metadata = f"{self.resource.removesuffix('/mcp')}/.well-known/oauth-protected-resource"
            await _answer(send, 401, {"www-authenticate": f'Bearer resource_metadata="{metadata}"'}, {})


def _single(text):
    return {name: values[0] for name, values in parse_qs(text).items()}


async def _body(receive):
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def _answer(send, status, headers, value):
    body = json.dumps(value).encode()
    sent = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    sent += [(name.encode(), text.encode()) for name, text in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def world():
    """Serve both; `resource` is the URL of the tools."""
    both = World()
    server = MCPServer("guarded")

    @server.tool()
    def double(n: int) -> int:
        """Twice a number."""
        return 2 * n

    server.streamable_http_app(host="127.0.0.1")  # which makes the manager
    both.manager = server.session_manager
    assert isinstance(both.manager, StreamableHTTPSessionManager)
    sockets = [open_socket("127.0.0.1", 0) for _ in "ab"]
    both.resource = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/mcp"
    both.issuer = f"http://127.0.0.1:{sockets[1].getsockname()[1]}"
    async with both.manager.run(), trio.open_nursery() as nursery:
        for listener, app in zip(sockets, (both.tools_app, both.authorization_app), strict=True):
            config = Config()
            config.bind = [f"fd://{listener.detach()}"]
            config.errorlog = None
            config.graceful_timeout = config.shutdown_timeout = 0.2
            await nursery.start(
                lambda app=app, config=config, **status: serve(app, config, mode="asgi", **status)
            )
        yield both
        nursery.cancel_scope.cancel()


class Person:
    """Opens what is to be opened, as a browser would, and keeps the addresses and the pages that came back."""

    def __init__(self, nursery):
        self.opened, self.pages = [], []
        self._nursery = nursery

    def __call__(self, name, url):
        self.opened.append((name, url))
        self._nursery.start_soon(self._open, url)

    async def _open(self, url):
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            self.pages.append((await browser.get(url)).text)
