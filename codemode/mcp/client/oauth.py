"""Authorization of requests to a server by OAuth 2.1: the SDK's own providers, with tokens that outlive a process.

A login is a person's: `Login` is told the address to open, and the answer comes to an address on this machine. Servers
without a person have client credentials. What is configured is read in `config`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, AsyncExitStack
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

import httpx2
import trio
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
)
from pydantic import AnyUrl

from codemode.mcp.client.config import OAuth, is_confidential
from codemode.mcp.client.redirect import Redirect
from codemode.mcp.client.tokens import MemoryTokens, TokensFile, default_file
from codemode.rendering import printable

__all__ = ["LOGIN_SECONDS", "Login", "Pause", "authorization", "keep_confidential"]

Login: TypeAlias = Callable[[str, str], "Awaitable[None] | None"]
"""`login(server name, URL)` brings a person to open the URL, and returns at once."""

Pause: TypeAlias = Callable[[], AbstractContextManager[None]]
"""While it is entered, the time to get ready stands still. Raises `OAuthFlowError` when this is no time for a login."""

LOGIN_SECONDS = 300.0
"""How long a person has for a login."""
_SHOWN = 300  # characters of an address


class _Quiet(logging.Filter):
    """Keeps the SDK from logging, with a trace, what it raises as well."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.msg != "OAuth flow error"


logging.getLogger("mcp.client.auth.oauth2").addFilter(_Quiet())


def authorization(
    name: str, url: str, oauth: OAuth, login: Login | None, pause: Pause, stack: AsyncExitStack
) -> httpx2.Auth:
    """Return what authorizes requests to the server `name` at `url`; what it holds is given back with `stack`.

    Using it raises `OAuthFlowError` (of the SDK) when no authorization can be had, `TokensError` for a file of tokens
    that cannot be used. Cancellation leaves the tokens that there are.
    """
    if oauth.grant == "client_credentials":
        return ClientCredentialsOAuthProvider(
            server_url=url,
            storage=MemoryTokens(),
            client_id=oauth.client_id or "",
            client_secret=oauth.client_secret or "",
            issuer=oauth.issuer,
        )
    tokens = TokensFile(default_file(url) if oauth.tokens is None else Path(oauth.tokens), url)
    redirect = Redirect(tokens.port if oauth.port is None else oauth.port)
    stack.callback(redirect.close)
    tokens.port = redirect.port
    return _LoginProvider(name, url, oauth, tokens, redirect, login, pause)


async def keep_confidential(request: httpx2.Request) -> None:
    """Let no request go where others can read it, whoever named the address. Raises `OAuthFlowError`."""
    _check_confidential(str(request.url))


def _check_confidential(url: str) -> None:
    if not is_confidential(url):
        shown = printable(url.partition("?")[0][:_SHOWN])
        raise OAuthFlowError(
            f"its authorization leads to {shown}, where others can read what is sent; an address has to start with "
            "https://, where it is not on this machine"
        )


class _LoginProvider(OAuthClientProvider):
    """The SDK's provider of the authorization code grant with PKCE.

    It remembers what the SDK forgets between processes: when tokens end, and who renews them.
    """

    def __init__(
        self,
        name: str,
        url: str,
        oauth: OAuth,
        tokens: MemoryTokens,
        redirect: Redirect,
        login: Login | None,
        pause: Pause,
    ) -> None:
        metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(redirect.uri)], client_name="codemode")
        super().__init__(url, metadata, tokens, self._ask, self._returned)
        self._name = name
        self._tokens = tokens
        self._redirect = redirect
        self._login = login
        self._pause = pause
        self._url_to_open = ""
        self._client: OAuthClientInformationFull | None = None
        if oauth.client_id is not None:
            self._client = OAuthClientInformationFull(
                client_id=oauth.client_id,
                client_secret=oauth.client_secret,
                redirect_uris=[AnyUrl(redirect.uri)],
                token_endpoint_auth_method="client_secret_basic" if oauth.client_secret else "none",
                issuer=oauth.issuer,
            )

    def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if not self.context.is_token_valid():
            self._initialized = False  # another process may have renewed them
        return super().async_auth_flow(request)

    async def _initialize(self) -> None:
        await super()._initialize()
        self.context.token_expiry_time = self._tokens.expires_at
        self.context.client_info = self._client or self.context.client_info
        if self.context.oauth_metadata is None:
            self.context.oauth_metadata = self._tokens.authorization_server

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        self._tokens.authorization_server = self.context.oauth_metadata
        await super()._handle_token_response(response)

    async def _ask(self, url: str) -> None:
        if self._login is None:
            raise OAuthFlowError(
                "it wants a login, and nobody is there to log in; run a command with this --mcp on a terminal once, "
                "for example `codemode prompt`, or give mcp_tools(login=…)"
            )
        _check_confidential(url)
        self._url_to_open = url

    async def _bring_somebody(self, login: Login) -> None:
        try:
            said = login(self._name, self._url_to_open)
            if inspect.isawaitable(said):
                await said
        except Exception as error:
            raise OAuthFlowError(f"asking for a login failed: {type(error).__name__}: {error}") from error

    async def _returned(self) -> AuthorizationCodeResult:
        assert self._login is not None  # which `_ask` has made sure of
        state = parse_qs(urlsplit(self._url_to_open).query)["state"][0]
        with self._pause():
            async with self._redirect.listening(state) as returned:
                await self._bring_somebody(self._login)
                with trio.move_on_after(LOGIN_SECONDS):
                    result = await returned.receive()
                    if isinstance(result, OAuthFlowError):
                        raise result
                    return result
        raise OAuthFlowError(f"nobody logged in within {LOGIN_SECONDS:g} s")
