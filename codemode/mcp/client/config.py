"""`mcp.json`: which servers there are and how each is reached and used. No I/O but reading the file.

The file is the one that other clients read: `mcpServers` (or `servers`), each with `command`, `args`, `env`, `cwd`
or `url`, `headers`, perhaps `type`; `${VAR}` and `${VAR:-default}` stand for environment variables. Keys that
other clients have for themselves are passed over. What is ours stands under `codemode` in a server's entry, and
there an unknown key is an error.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Struct, UnsetType

from codemode.errors import CodeModeError

__all__ = [
    "Approval",
    "Http",
    "McpConfigError",
    "OAuth",
    "ServerConfig",
    "Stdio",
    "Values",
    "is_confidential",
    "load_config",
]

Values: TypeAlias = Literal["protocol", "unwrapped"]
Approval: TypeAlias = Literal["destructive", "always", "never"]
Grant: TypeAlias = Literal["authorization_code", "client_credentials"]

_HTTP_TYPES = ("http", "streamable-http", "streamableHttp", "streamable_http")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SHORT_NAME = 64
_IN_THE_CLEAR = "has to start with https://, where it is not on this machine (localhost, 127.0.0.1)"


class McpConfigError(CodeModeError):
    """`mcp.json` cannot be used; the message says what is wrong with which server."""

    code = "MCP_CONFIG"


class Stdio(Struct, frozen=True, kw_only=True):
    """A server that is started as a process: the command, its arguments, and variables beside the few that are
    inherited (`HOME`, `PATH` and the like; nothing else of this process's environment)."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str | None = None


class OAuth(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How requests to a server are authorized by OAuth, as it is written in an entry.

    With `authorization_code` a person logs in; `tokens` is the file that keeps what that gave (None: under the user's
    configuration directory), `port` the one on this machine that the login leads back to (None: a free one).
    `client_id` and `client_secret` are of a client that was registered beforehand (None: it registers itself). With
    `client_credentials` they are what authorizes, and go to the authorization server `issuer` alone.
    """

    grant: Grant = "authorization_code"
    client_id: str | None = None
    client_secret: str | None = None
    issuer: str | None = None
    port: int | None = None
    tokens: str | None = None


class Http(Struct, frozen=True, kw_only=True):
    """A server that listens at a URL, by streamable HTTP."""

    url: str
    headers: Mapping[str, str] = {}
    oauth: OAuth | None = None


class ServerConfig(Struct, frozen=True, kw_only=True):
    """One server, and how its tools are used.

    `prefix` comes before the names of its tools. `values` says what a call returns: `protocol` is
    `{content, structuredContent?}`; `unwrapped` is the structured content, else a single text parsed as JSON, else
    the text. `approval` says which tools need somebody's approval: those that the server marks as destructive,
    all, or none; `approved` names tools that need none. `timeout` bounds a call, in seconds without a sign of
    progress. `optional` says that tools are there without this server if it cannot be reached at the start.
    """

    name: str
    transport: Stdio | Http
    prefix: str
    values: Values = "protocol"
    approval: Approval = "destructive"
    approved: frozenset[str] = frozenset()
    timeout: float = 60.0
    optional: bool = False


class _Entry(Struct, kw_only=True):
    """A server's entry, as it is written."""

    type: str | None = None
    command: str | None = None
    args: list[str] | None = None
    env: dict[str, str | int | float | bool] | None = None
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] | None = None
    disabled: bool = False
    autoApprove: list[str] | None = None
    alwaysAllow: list[str] | None = None
    codemode: _Own | UnsetType = UNSET


class _Own(Struct, kw_only=True, forbid_unknown_fields=True):
    values: Values = "protocol"
    prefix: str | None = None
    approval: Approval = "destructive"
    timeout: float = 60.0
    optional: bool = False
    oauth: OAuth | None = None


def load_config(
    config: str | os.PathLike[str] | Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> list[ServerConfig]:
    """Return the servers of an `mcp.json` file, or of its content as a mapping, without the disabled ones.

    `environment` is what `${VAR}` is looked up in (default: this process's). A relative `cwd` starts at the
    file's directory. Raises `McpConfigError`.
    """
    variables = os.environ if environment is None else environment
    if isinstance(config, Mapping):
        where, base, content = "the configuration", Path.cwd(), config
    else:
        path = Path(config)
        where, base, content = str(path), path.absolute().parent, _read(path)
    servers = content.get("mcpServers", content.get("servers")) if isinstance(content, Mapping) else None
    if not isinstance(servers, Mapping):
        raise McpConfigError(
            f'{where} has no servers; write {{"mcpServers": {{"NAME": {{"command": …}} or {{"url": …}}}}}}'
        )
    found = []
    for name, entry in servers.items():
        try:
            server = _server(str(name), entry, base, variables)
        except (msgspec.ValidationError, ValueError) as error:
            raise McpConfigError(f"{where}: server {name!r}: {_readable(error)}") from None
        if server is not None:
            found.append(server)
    return found


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise McpConfigError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise McpConfigError(f"{path} is no JSON: {error}") from None


def _server(name: str, entry: object, base: Path, variables: Mapping[str, str]) -> ServerConfig | None:
    if not name.strip() or not name.isprintable() or len(name) > _SHORT_NAME:
        raise ValueError(f"its name has to be 1 to {_SHORT_NAME} printable characters")
    written = msgspec.convert(entry, _Entry)
    if written.disabled:
        return None
    own = _Own() if written.codemode is UNSET else written.codemode
    if not 0 < own.timeout < 86_400:
        raise ValueError(f"codemode.timeout is {own.timeout!r}; write a number of seconds above 0")
    return ServerConfig(
        name=name,
        transport=_transport(written, own, base, variables),
        prefix=_prefix(name) if own.prefix is None else _checked_prefix(own.prefix),
        values=own.values,
        approval=own.approval,
        approved=frozenset((*(written.autoApprove or ()), *(written.alwaysAllow or ()))),
        timeout=own.timeout,
        optional=own.optional,
    )


def _transport(written: _Entry, own: _Own, base: Path, variables: Mapping[str, str]) -> Stdio | Http:
    kind = written.type
    if kind is None:
        if (written.command is None) == (written.url is None):
            raise ValueError("give it either a command to start or a url to connect to")
        kind = "stdio" if written.command is not None else "http"
    if kind == "stdio":
        if not written.command:
            raise ValueError("it has type 'stdio' and no command to start")
        if own.oauth is not None:
            raise ValueError("codemode.oauth is for a server with a url")
        cwd = written.cwd
        if cwd is not None:
            cwd = str(base / Path(_expanded(cwd, variables)).expanduser())
        return Stdio(
            command=_expanded(written.command, variables),
            args=tuple(_expanded(each, variables) for each in written.args or ()),
            env={key: _expanded(_as_text(item), variables) for key, item in (written.env or {}).items()},
            cwd=cwd,
        )
    if kind in _HTTP_TYPES:
        url = _expanded(written.url or "", variables)
        if not re.match(r"https?://[^/\s]+", url):
            raise ValueError("its url has to start with http:// or https:// and name a host")
        headers = {key: _expanded(item, variables) for key, item in (written.headers or {}).items()}
        oauth = None if own.oauth is None else _checked_oauth(own.oauth, base, variables)
        if oauth is not None and not is_confidential(url):
            raise ValueError(f"codemode.oauth sends tokens to its url, which {_IN_THE_CLEAR}")
        if oauth is not None and "authorization" in map(str.lower, headers):
            raise ValueError("give it either codemode.oauth or a header Authorization")
        return Http(url=url, headers=headers, oauth=oauth)
    if kind == "sse":
        raise ValueError("type 'sse' is the transport of 2024 that streamable HTTP replaced; use type 'http'")
    raise ValueError(f"type {kind!r} is unknown; write 'stdio' or 'http'")


def _checked_oauth(oauth: OAuth, base: Path, variables: Mapping[str, str]) -> OAuth:
    names = ("client_id", "client_secret", "issuer", "tokens")
    given = {name: text for name in names if (text := getattr(oauth, name)) is not None}
    expanded = {name: _expanded(text, variables) for name, text in given.items()}
    if "tokens" in expanded:
        expanded["tokens"] = str(base / Path(expanded["tokens"]).expanduser())
    if (
        oauth.grant == "client_credentials"
        and not {"client_id", "client_secret", "issuer"} <= expanded.keys()
    ):
        raise ValueError("codemode.oauth with client_credentials needs clientId, clientSecret and issuer")
    if "client_secret" in expanded and "client_id" not in expanded:
        raise ValueError("codemode.oauth has a clientSecret and no clientId")
    if oauth.port is not None and not 0 < oauth.port < 65_536:
        raise ValueError(f"codemode.oauth.port is {oauth.port}; write a port from 1 to 65535")
    if not re.match(r"https?://[^/\s]+", expanded.get("issuer", "https://-")):
        raise ValueError("codemode.oauth.issuer has to start with http:// or https:// and name a host")
    if "issuer" in expanded and not is_confidential(expanded["issuer"]):
        raise ValueError(f"codemode.oauth.issuer is sent secrets, and {_IN_THE_CLEAR}")
    return msgspec.structs.replace(oauth, **expanded)


def is_confidential(url: str) -> bool:
    """Whether nobody between can read what is sent to a URL: it is `https`, or stays on this machine.

    Raises `ValueError` for what is no URL. The rule is OAuth 2.1's, 1.5.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" or host == "localhost":
        return parts.scheme in ("http", "https")
    try:
        return parts.scheme == "http" and ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        found = variables.get(name)
        if found is not None and (found or default is None):
            return found
        if default is None:
            raise ValueError(
                f"the environment has no variable {name!r}; set it, or write ${{{name}:-default}}"
            )
        return str(default)

    return _VARIABLE.sub(value, text)


def _as_text(value: str | float | bool) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _prefix(name: str) -> str:
    prefix = re.sub(r"\W", "_", name).strip("_") or "mcp"
    return f"mcp_{prefix}" if prefix[0].isdigit() else prefix


def _checked_prefix(prefix: str) -> str:
    if prefix and not (prefix.isidentifier() and not prefix.startswith("_")):
        raise ValueError(
            f"codemode.prefix {prefix!r} has to be a Python name without a leading underscore, or empty"
        )
    return prefix


def _readable(error: Exception) -> str:
    text = str(error).replace("`", "").replace(" - at $.", " at ").replace(" - at $", "")
    if "codemode" in text and "unknown field" in text:
        fields = OAuth.__struct_encode_fields__ if "oauth" in text else _Own.__struct_fields__
        text += f"; there are: {', '.join(fields)}"
    if "Invalid enum value" in text:
        text += f"; values: {', '.join(get_args(Values))}; approval: {', '.join(get_args(Approval))}"
        text += f"; oauth.grant: {', '.join(get_args(Grant))}" if "oauth" in text else ""
    return text
