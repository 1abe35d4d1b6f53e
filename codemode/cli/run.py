"""`codemode run`: one program, tools over a workspace, its output as it comes."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import trio

from codemode.cli.approve import CommandLineApprover, open_terminal
from codemode.cli.terminal import UsageError, paint, write
from codemode.engine import CodeMode, RunResult
from codemode.errors import SandboxUnavailable, SessionError, ToolDefinitionError
from codemode.rendering import json_text
from codemode.sandbox import Limits
from codemode.toolkits import files
from codemode.tools.definition import Tool
from codemode.tools.registry import Registry

__all__ = ["command", "load_tools", "read_program", "workspace_path"]


def command(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    try:
        limits = Limits(
            wall_seconds=options.timeout,
            cpu_seconds=options.cpu,
            memory_bytes=options.memory,
            max_calls=options.max_calls,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    source = read_program(options.program)
    try:
        registry = Registry(files(workspace_path(options.workspace), write=options.write))
        for each in options.tools:
            for own in load_tools(each):
                registry.register(own)
    except ToolDefinitionError as error:
        raise UsageError(str(error)) from None
    return trio.run(_run, source, registry, limits, options)


async def _run(source: str, registry: Registry, limits: Limits, options: argparse.Namespace) -> int:
    printed = _Printed()
    terminal = open_terminal()
    approver = CommandLineApprover(options.allow, terminal)
    try:
        async with CodeMode(registry, limits=limits, session=options.session, approver=approver) as cm:
            result = await cm.run(source, on_log=None if options.json else printed)
    except SandboxUnavailable as error:
        return _report_unusable("sandbox-unavailable", str(error), options.json)
    except SessionError as error:
        return _report_unusable("session", str(error), options.json)
    finally:
        if terminal is not None:
            terminal.close()
    if options.json:
        write(json.dumps(_as_object(result), ensure_ascii=False) + "\n")
    else:
        printed.end_line()
        if result.error is not None:
            _report_failure(result)
        elif result.has_result:
            shown = result.result if isinstance(result.result, str) else json_text(result.result)
            write(shown + "\n")
    return 0 if result.error is None else 1


class _Printed:
    """Writes what a program prints, and knows whether its last line is complete."""

    def __init__(self) -> None:
        self._is_open = False

    def __call__(self, text: str) -> None:
        write(text)
        self._is_open = not text.endswith("\n")

    def end_line(self) -> None:
        if self._is_open:
            write("\n")


def _as_object(result: RunResult) -> dict[str, Any]:
    shown: dict[str, Any] = {"logs": result.logs}
    if result.error is not None:
        shown["error"] = {"kind": result.error.kind, "message": result.error.message}
    elif result.has_result:
        shown["result"] = result.result
    return shown


def _report_failure(result: RunResult) -> None:
    assert result.error is not None
    head = paint(f"run failed ({result.error.kind}): ", "red", sys.stderr)
    sys.stderr.write(head)
    write(result.error.message.rstrip("\n") + "\n", sys.stderr)


def _report_unusable(kind: str, message: str, as_json: bool) -> int:
    if as_json:
        write(
            json.dumps({"logs": [], "error": {"kind": kind, "message": message}}, ensure_ascii=False) + "\n"
        )
    else:
        print(f"codemode: {message}", file=sys.stderr)
    return 1


def read_program(name: str) -> str:
    """Return the text of a program file, or of standard input for `-`. Raises `UsageError`."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the program {name}: {error.strerror or error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the program {name} is no UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from None


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
