"""The capability card: in one value, what an engine is, holds back, allows and offers.

What is said elsewhere of these things (the prompt, the command line, documents) is made from here.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from functools import cache

from msgspec import Struct

from codemode.control import Layer
from codemode.sandbox.limits import Limits
from codemode.sdk.bindings import binding
from codemode.sdk.language import language
from codemode.sdk.signatures import access
from codemode.tools.definition import Tool
from codemode.wire import decode_document

__all__ = ["Capabilities", "ToolCard", "Versions", "capabilities"]


class Versions(Struct, frozen=True):
    """`codemode` is the engine's version, `python` the one that programs are written in, as `3.12`."""

    codemode: str
    python: str


class ToolCard(Struct, frozen=True):
    """One tool: `access` is how a program reaches it, `signature_hash` the SHA-256 of what `tools.describe` says,
    in hexadecimal, which changes whenever that does."""

    name: str
    access: str
    call: str
    summary: str
    signature_hash: str


class Capabilities(Struct, frozen=True, kw_only=True):
    """What an engine is, in names and numbers.

    `walls` are the layers as they were seen on this machine, empty where nobody looked. `modules` are the names in
    each importable module, `*` for all public ones; `packages` can be imported beside them. `unavailable` builtins
    and `elsewhere` modules come with what to do instead; `refused` is syntax with the engine's own words.
    """

    versions: Versions
    walls: Sequence[Layer]
    limits: Limits
    modules: dict[str, list[str]]
    packages: Sequence[str]
    elsewhere: dict[str, str]
    builtins: list[str]
    unavailable: dict[str, str]
    refused: dict[str, str]
    tools: Sequence[ToolCard]


def capabilities(
    tools: Iterable[Tool],
    limits: Limits | None = None,
    walls: Sequence[Layer] = (),
    packages: Sequence[str] = (),
) -> Capabilities:
    """Return the card for these tools under these limits. `msgspec.to_builtins` makes JSON of it."""
    tables = language()
    return Capabilities(
        versions=Versions(_version(), f"{sys.version_info[0]}.{sys.version_info[1]}"),
        walls=tuple(walls),
        limits=limits or Limits(),
        modules=tables.modules,
        packages=tuple(packages),
        elsewhere=tables.elsewhere,
        builtins=tables.builtins,
        unavailable=tables.unavailable,
        refused=tables.refused,
        tools=tuple(_tool_card(each) for each in sorted(tools, key=lambda each: each.name)),
    )


@cache
def _version() -> str:
    from importlib.metadata import version  # takes a while to load

    return version("codemode")


def _tool_card(tool: Tool) -> ToolCard:
    known = decode_document(binding(tool).document)
    hashed = hashlib.sha256(known.text.encode("utf-8", "backslashreplace")).hexdigest()
    return ToolCard(tool.name, access(tool), known.call, known.summary, hashed)
