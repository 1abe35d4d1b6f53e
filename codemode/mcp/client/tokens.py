"""What a login at a server left: tokens, the registration they belong to, and who gave them. In a file, or in memory.

A file is readable for its owner alone and is replaced as a whole. Nothing here knows how a login goes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken
from msgspec import Struct
from pydantic import BaseModel, ValidationError

from codemode.errors import CodeModeError

__all__ = ["MemoryTokens", "TokensError", "TokensFile", "default_file"]

_M = TypeVar("_M", bound=BaseModel)


class TokensError(CodeModeError):
    """A file with tokens cannot be used; the message says why and what to do."""

    code = "MCP_TOKENS"


class _Kept(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """The content of a file. Texts are JSON of the SDK's models; `expires_at` is in seconds since 1970."""

    server: str
    port: int | None = None
    client: str | None = None
    authorization_server: str | None = None
    tokens: str | None = None
    expires_at: float | None = None


class MemoryTokens:
    """Tokens that are forgotten when the connection ends: the SDK's `TokenStorage`, and what it leaves out.

    `expires_at` is when the access token ends (seconds since 1970; None: it is not known); `authorization_server` is
    what is known of who gave it, and who renews it.
    """

    def __init__(self) -> None:
        self._kept = _Kept(server="")
        self.authorization_server: OAuthMetadata | None = None

    @property
    def port(self) -> int | None:
        """The port of the address that the registered client is led back to."""
        return self._kept.port

    @port.setter
    def port(self, port: int) -> None:
        if port != self._kept.port:  # the registration is for another address
            self._kept = _Kept(server=self._kept.server, port=port)

    @property
    def expires_at(self) -> float | None:
        return self._kept.expires_at

    async def get_tokens(self) -> OAuthToken | None:
        self._load()
        return _read(OAuthToken, self._kept.tokens)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._kept.tokens = _text(tokens)
        self._kept.expires_at = None if tokens.expires_in is None else time.time() + tokens.expires_in
        self._save()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return _read(OAuthClientInformationFull, self._kept.client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._kept.client = _text(client_info)
        self._kept.tokens = self._kept.expires_at = None
        self._save()

    def _load(self) -> None:
        """Look whether another process has put something newer there. Raises `TokensError`."""

    def _save(self) -> None:
        """Keep it beyond this process. Raises `TokensError`."""


class TokensFile(MemoryTokens):
    """The same, kept in the file `path` for the server at `url`. Raises `TokensError` for a file that is another's."""

    def __init__(self, path: Path, url: str) -> None:
        super().__init__()
        self._path = path
        self._url = url
        self._kept = _Kept(server=url)
        self._load()

    def _load(self) -> None:
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise TokensError(f"cannot read the tokens in {self._path}: {error.strerror or error}") from None
        try:
            kept = msgspec.json.decode(text, type=_Kept)
        except msgspec.MsgspecError:
            raise TokensError(f"{self._path} holds no tokens; delete it, and log in again") from None
        if kept.server != self._url:
            raise TokensError(
                f"{self._path} holds the tokens of {kept.server}; give each server its own file"
            )
        if self._kept.port is not None and kept.port != self._kept.port:
            return
        self._kept = kept
        self.authorization_server = _read(OAuthMetadata, kept.authorization_server)

    def _save(self) -> None:
        if self.authorization_server is not None:
            self._kept.authorization_server = _text(self.authorization_server)
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, beside = tempfile.mkstemp(dir=self._path.parent, prefix=".tokens-")  # mode 0600
            try:
                with open(descriptor, "wb") as out:
                    out.write(msgspec.json.encode(self._kept))
                    out.flush()
                    os.fsync(out.fileno())  # a crash leaves the old tokens or the new ones, and no empty file
                os.replace(beside, self._path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(beside)
                raise
        except OSError as error:
            raise TokensError(f"cannot keep tokens in {self._path}: {error.strerror or error}") from None


def default_file(url: str) -> Path:
    """Return where the tokens for the server at `url` are kept: under the user's configuration directory.

    It is `$XDG_CONFIG_HOME`, or `~/.config` (XDG Base Directory Specification).
    """
    base = os.environ.get("XDG_CONFIG_HOME", "")
    directory = Path(base) if os.path.isabs(base) else Path.home() / ".config"
    name = f"{urlsplit(url).hostname}-{hashlib.sha256(url.encode()).hexdigest()[:16]}.json"
    return directory / "codemode" / "mcp" / name


def _text(model: BaseModel) -> str:
    return model.model_dump_json(exclude_none=True)


def _read(model: type[_M], text: str | None) -> _M | None:
    try:
        return None if text is None else model.model_validate_json(text)
    except ValidationError:
        return None  # of another version of the SDK: as if it were not there
