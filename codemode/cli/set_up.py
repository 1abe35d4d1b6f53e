"""Which tools and limits a command's options ask for: file tools, own ones, toolkits, MCP servers, HTTP APIs."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from codemode.cli.approve import Terminal
from codemode.cli.openapi import openapi_tools
from codemode.cli.terminal import UsageError, printable
from codemode.cli.toolkits import TOOLKITS, Kit, Setting
from codemode.engine import Scope
from codemode.errors import CodeModeError, ToolDefinitionError
from codemode.sandbox import Limits, Package
from codemode.sandbox.packages import checked
from codemode.session import Session
from codemode.toolkits import files
from codemode.tools.definition import Tool
from codemode.tools.registry import Registry

if TYPE_CHECKING:
    from codemode.agent import Provider

__all__ = [
    "Tooling",
    "described_tools",
    "given_packages",
    "limits_of",
    "load_tools",
    "set_up",
    "workspace_path",
]


class Tooling(Struct, frozen=True):
    """The tools of a command, the toolkits among them, and the packages that programs may import. `notices` tells
    the model of a scope which background jobs have finished."""

    registry: Registry
    kits: tuple[Kit, ...]
    notices: Callable[[Scope], Sequence[str]]
    packages: tuple[Package, ...] = ()

    def begin(self, session: Session) -> None:
        """Tell the toolkits which session the programs are in."""
        for kit in self.kits:
            if kit.begin is not None:
                kit.begin(session)


def limits_of(options: argparse.Namespace) -> Limits:
    """Return the limits that options ask for."""
    return Limits(
        wall_seconds=options.timeout,
        cpu_seconds=options.cpu,
        memory_bytes=options.memory,
        max_calls=options.max_calls,
    )


@asynccontextmanager
async def set_up(
    options: argparse.Namespace, terminal: Terminal | None, provider: Provider | None = None
) -> AsyncIterator[Tooling]:
    """Give the tools that options ask for, as long as the command runs; `provider` is the model it talks to, if any.

    Raises `UsageError`.
    """
    problem: UsageError | None = None
    async with AsyncExitStack() as stack:
        try:
            registry = _registry(options, await _mcp_registry(options, stack, terminal))
            for api in options.openapi:
                for each in await openapi_tools(api):
                    _add(registry, each, f"--openapi {api.document}")
            setting = Setting(
                workspace_path(options.workspace),
                registry,
                terminal,
                provider=provider,
                toolkits=frozenset(options.toolkit),
            )
            kits = [await _open_toolkit(name, setting, stack) for name in dict.fromkeys(options.toolkit)]
            _check_allowed(options.allow, registry)
            packages = given_packages(options) if "package" in options else ()
        except UsageError as error:
            problem = error  # raised outside, where no toolkit's nursery wraps it in a group
        else:
            yield Tooling(registry, tuple(kits), setting.jobs.notices, packages)
    if problem is not None:
        raise problem


async def described_tools(options: argparse.Namespace) -> list[Tool]:
    """Return the tools that options ask for, to speak of them: none of them runs. Raises `UsageError`."""
    async with set_up(options, None) as tooling:
        return list(tooling.registry)


async def _mcp_registry(
    options: argparse.Namespace, stack: AsyncExitStack, terminal: Terminal | None
) -> Registry:
    """The tools of MCP servers, below all others. Their list may change while the command runs."""
    if options.mcp is None:
        return Registry()
    try:
        from codemode.mcp import mcp_tools
    except ImportError as error:
        raise UsageError(f"--mcp: {error}") from None
    try:
        return await stack.enter_async_context(mcp_tools(options.mcp, login=_login(terminal)))
    except CodeModeError as error:
        raise UsageError(f"--mcp {options.mcp}: {error}") from None


def _login(terminal: Terminal | None) -> Callable[[str, str], None] | None:
    """Return what asks a person on the terminal to log in; None when nobody would see it."""
    stream = terminal.writer if terminal is not None else sys.stderr
    if not stream.isatty():
        return None

    def ask(name: str, url: str) -> None:
        stream.write(f"MCP server {printable(name)} wants a login; open in a browser:\n  {printable(url)}\n")
        stream.flush()

    return ask


def _add(registry: Registry, tool: Tool, option: str) -> None:
    if tool.name in registry:
        raise UsageError(f"{option}: there is a tool {tool.name!r} already; give this one another name")
    try:
        registry.register(tool)
    except ToolDefinitionError as error:
        raise UsageError(f"{option}: {error}") from None


def _registry(options: argparse.Namespace, base: Registry) -> Registry:
    registry = base.scope()
    try:
        tools = files(workspace_path(options.workspace), write=options.write)
    except (ToolDefinitionError, OSError) as error:
        raise UsageError(f"--workspace {options.workspace}: {error}") from None
    for each in tools:
        _add(registry, each, f"--workspace {options.workspace}")
    for reference in options.tools:
        for own in load_tools(reference):
            _add(registry, own, f"--tools {reference}")
    return registry


async def _open_toolkit(name: str, setting: Setting, stack: AsyncExitStack) -> Kit:
    try:
        kit = await stack.enter_async_context(TOOLKITS[name](setting))
    except (ToolDefinitionError, ImportError) as error:
        raise UsageError(f"--toolkit {name}: {error}") from None
    for each in kit.tools:
        _add(setting.registry, each, f"--toolkit {name}")
    setting.registry.add_hooks(kit.hooks)
    return kit


def _check_allowed(names: Iterable[str], registry: Registry) -> None:
    for name in names:
        if name not in registry:
            raise UsageError(
                f"--allow {name}: there is no such tool; there are: {', '.join(_names(registry))}"
            )


def _names(registry: Registry) -> list[str]:
    return [each.name for each in registry]


def given_packages(options: argparse.Namespace) -> tuple[Package, ...]:
    """Return the packages that programs may import; those in the current directory can be found.

    Raises `UsageError`.
    """
    names = [(name, False) for name in options.package] + [(name, True) for name in options.trusted_package]
    if names and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return checked(Package(name, trusted=trusted) for name, trusted in names)
    except ValueError as error:
        raise UsageError(str(error)) from None


def workspace_path(name: str) -> Path:
    """Return the directory that file tools are rooted in. Raises `UsageError`."""
    path = Path(name)
    if not path.is_dir():
        raise UsageError(f"--workspace {name}: no such directory")
    return path


def load_tools(reference: str) -> list[Tool]:
    """Import `MODULE:NAME`, a tool or several; the current directory can be imported from.

    Raises `UsageError` saying what is missing.
    """
    module_name, separator, attribute = reference.partition(":")
    if not separator or not module_name or not attribute:
        raise UsageError(f"--tools {reference}: write MODULE:NAME, for example my_tools:count_lines")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except ToolDefinitionError:
        raise
    except AttributeError as error:
        raise UsageError(f"--tools {reference}: {error}") from None
    except Exception as error:
        raise UsageError(
            f"--tools {reference}: importing {module_name} failed: {type(error).__name__}: {error}"
        ) from error
    tools = list(found) if isinstance(found, Iterable) and not isinstance(found, str) else [found]
    for each in tools:
        if not isinstance(each, Tool):
            raise UsageError(
                f"--tools {reference}: {each!r} is no tool; decorate the function with @tool(render=…)"
            )
    return tools
