"""`--openapi DOCUMENT` and what belongs to it: which HTTP APIs are tools, where they are, what authenticates requests.

Secrets are named by the environment variables that hold them, for other users of a machine see its command lines.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import trio
from msgspec import Struct, structs

from codemode.cli.terminal import UsageError
from codemode.errors import ToolDefinitionError
from codemode.tools.definition import Tool

__all__ = ["Api", "add_openapi", "openapi_tools"]

_PREFIXED = re.compile(r"([A-Za-z]\w*)=(.+)", re.DOTALL)
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([A-Za-z_][A-Za-z0-9_]*)")  # a token of RFC 9110, 5.6.2
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Api(Struct, frozen=True):
    """One API that was asked for. `headers` are names of headers with the variables that hold their values."""

    document: str
    prefix: str = ""
    url: str | None = None
    token: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    only: tuple[str, ...] = ()


def add_openapi(parser: argparse.ArgumentParser) -> None:
    """Add the options: `--openapi` begins an API, the others say more of the one before them."""
    parser.add_argument(
        "--openapi",
        metavar="DOCUMENT",
        action=_Begin,
        default=[],
        help="also give the operations of the HTTP API that this OpenAPI document describes, a file or a URL; "
        "PREFIX=DOCUMENT puts PREFIX_ before their names; needs codemode[openapi] (repeatable; the options --openapi-… "
        "are about the one before them)",
    )
    _more(parser, "url", "URL", _with_url, "where the API is (default: the document's first server)")
    _more(
        parser,
        "token",
        "VARIABLE",
        _with_token,
        "send Authorization: Bearer with the value of this environment variable",
    )
    _more(
        parser,
        "header",
        "NAME=VARIABLE",
        _with_header,
        "send the header NAME with the value of this environment variable (repeatable)",
    )
    _more(parser, "only", "TOOL", _with_only, "give only this operation, by its tool's name (repeatable)")


def _more(
    parser: argparse.ArgumentParser, name: str, metavar: str, change: Callable[[Api, str], Api], says: str
) -> None:
    parser.add_argument(
        f"--openapi-{name}",
        metavar=metavar,
        dest="openapi",
        action=_More,
        change=change,
        default=argparse.SUPPRESS,
        help=says,
    )


class _Begin(argparse.Action):
    def __call__(
        self, parser: object, options: argparse.Namespace, value: Any, option: object = None
    ) -> None:
        prefixed = _PREFIXED.fullmatch(value)
        prefix, document = prefixed.groups() if prefixed else ("", value)
        options.openapi = [*options.openapi, Api(document, prefix)]


class _More(argparse.Action):
    def __init__(self, *, change: Callable[[Api, str], Api], **rest: Any) -> None:
        super().__init__(**rest)
        self._change = change

    def __call__(
        self, parser: object, options: argparse.Namespace, value: Any, option: object = None
    ) -> None:
        if not options.openapi:
            raise argparse.ArgumentError(self, "it is about the --openapi before it, and there is none")
        *before, last = options.openapi
        try:
            options.openapi = [*before, self._change(last, value)]
        except ValueError as error:
            raise argparse.ArgumentError(self, str(error)) from None


def _with_url(api: Api, url: str) -> Api:
    return structs.replace(api, url=url)


def _with_token(api: Api, variable: str) -> Api:
    if not _VARIABLE.fullmatch(variable):
        raise ValueError(
            "give the name of an environment variable that holds the token, not the token itself"
        )
    return structs.replace(api, token=variable)


def _with_header(api: Api, header: str) -> Api:
    found = _HEADER.fullmatch(header)
    if found is None:
        raise ValueError("write NAME=VARIABLE, for example X-Api-Key=API_KEY; the variable holds the value")
    name, variable = found.groups()
    return structs.replace(api, headers=(*api.headers, (name, variable)))


def _with_only(api: Api, name: str) -> Api:
    return structs.replace(api, only=(*api.only, name))


# ------------------------------------------------------------------------------------------- tools


async def openapi_tools(api: Api) -> list[Tool]:
    """Return the tools of an API that options ask for. Raises `UsageError`. Cancellation leaves nothing behind."""
    try:
        from codemode.toolkits.openapi import openapi
    except ImportError as error:
        raise UsageError(f"--openapi: {error}") from None
    read = functools.partial(openapi, api.document, api.url, headers=_headers(api), prefix=api.prefix)
    try:
        tools = await trio.to_thread.run_sync(read, abandon_on_cancel=True)
    except ToolDefinitionError as error:
        message = str(error).replace("base_url=", "--openapi-url ")
        raise UsageError(f"--openapi {api.document}: {message}") from None
    return list(tools) if not api.only else _chosen(api, tools)


def _headers(api: Api) -> dict[str, str]:
    named = {name: _value(variable, f"--openapi-header {name}={variable}") for name, variable in api.headers}
    if api.token is not None:
        named["Authorization"] = f"Bearer {_value(api.token, f'--openapi-token {api.token}')}"
    return named


def _value(variable: str, option: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise UsageError(f"{option}: the environment has no variable {variable}; set it to the value to send")
    if not (value.isascii() and value.isprintable()):
        raise UsageError(f"{option}: the value of {variable} has characters that no header can hold")
    return value


def _chosen(api: Api, tools: Sequence[Tool]) -> list[Tool]:
    by_name = {each.name: each for each in tools}
    for name in api.only:
        if name not in by_name:
            there = ", ".join(by_name) or "none"
            raise UsageError(
                f"--openapi-only {name}: {api.document} has no such operation; there are: {there}"
            )
    return [each for name, each in by_name.items() if name in api.only]
