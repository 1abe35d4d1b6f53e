"""`codemode run`: one program, tools over a workspace, its output as it comes."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import trio

from codemode.cli.approve import CommandLineApprover, Terminal, open_terminal
from codemode.cli.terminal import UsageError, paint, printable, write
from codemode.cli.toolkits import TOOLKITS, Kit, Setting
from codemode.engine import CodeMode, RunResult
from codemode.errors import SandboxUnavailable, SessionError, ToolDefinitionError
from codemode.rendering import json_text
from codemode.sandbox import Limits
from codemode.toolkits import files
from codemode.tools.definition import Tool
from codemode.tools.registry import Registry

__all__ = [
    "check_allowed",
    "command",
    "load_tools",
    "open_registry",
    "open_toolkit",
    "read_program",
    "workspace_path",
]


def command(options: argparse.Namespace) -> int:
    """Run the command and return its exit code. Raises `UsageError`, and OSError when nothing can be written."""
    limits = Limits(
        wall_seconds=options.timeout,
        cpu_seconds=options.cpu,
        memory_bytes=options.memory,
        max_calls=options.max_calls,
    )
    source = read_program(options.program)
    return trio.run(_set_up_and_run, source, open_registry(options), limits, options)


async def _set_up_and_run(
    source: str, registry: Registry, limits: Limits, options: argparse.Namespace
) -> int:
    terminal = open_terminal()
    setting = Setting(workspace_path(options.workspace), registry, terminal)
    problem: UsageError | None = None
    code = 2
    try:
        async with AsyncExitStack() as stack:
            try:
                kits = [await open_toolkit(name, setting, stack) for name in dict.fromkeys(options.toolkit)]
                check_allowed(options.allow, registry)
            except UsageError as error:
                problem = error  # raised outside, where no toolkit's nursery wraps it in a group
            else:
                code = await _run(source, registry, limits, options, terminal, kits)
    finally:
        if terminal is not None:
            terminal.close()
    if problem is not None:
        raise problem
    return code


async def open_toolkit(name: str, setting: Setting, stack: AsyncExitStack) -> Kit:
    """Add a toolkit to the tools, for as long as the stack is open. Raises `UsageError`."""
    try:
        kit = await stack.enter_async_context(TOOLKITS[name](setting))
        for each in kit.tools:
            setting.registry.register(each)
    except (ToolDefinitionError, ImportError) as error:
        raise UsageError(f"--toolkit {name}: {error}") from None
    setting.registry.add_hooks(kit.hooks)
    return kit


def check_allowed(names: Iterable[str], registry: Registry) -> None:
    """Raise `UsageError` for a name in `--allow` that is no tool."""
    for name in names:
        if name not in registry:
            raise UsageError(
                f"--allow {name}: there is no such tool; there are: {', '.join(_names(registry))}"
            )


def open_registry(options: argparse.Namespace) -> Registry:
    """Return the tools that `--workspace`, `--write` and `--tools` ask for. Raises `UsageError`."""
    try:
        registry = Registry(files(workspace_path(options.workspace), write=options.write))
    except (ToolDefinitionError, OSError) as error:
        raise UsageError(f"--workspace {options.workspace}: {error}") from None
    for reference in options.tools:
        for own in load_tools(reference):
            if own.name in registry:
                raise UsageError(
                    f"--tools {reference}: there is a tool {own.name!r} already; give this one another name"
                )
            try:
                registry.register(own)
            except ToolDefinitionError as error:
                raise UsageError(f"--tools {reference}: {error}") from None
    return registry


def _names(registry: Registry) -> list[str]:
    return [each.name for each in registry]


async def _run(
    source: str,
    registry: Registry,
    limits: Limits,
    options: argparse.Namespace,
    terminal: Terminal | None,
    kits: Iterable[Kit],
) -> int:
    approver = CommandLineApprover(options.allow, terminal)
    result: RunResult | None = None
    try:
        async with trio.open_nursery() as nursery:
            ending = _Ending(nursery.cancel_scope)
            printed = _Printed(ending)
            await nursery.start(ending.watch_signals)
            async with CodeMode(registry, limits=limits, session=options.session, approver=approver) as cm:
                for kit in kits:
                    if kit.begin is not None:
                        kit.begin(cm.session)
                result = await cm.run(source, on_log=None if options.json else printed)
            nursery.cancel_scope.cancel()
    except* SandboxUnavailable as group:
        return_code = _report_unusable("sandbox-unavailable", group, options.json)
    except* SessionError as group:
        return_code = _report_unusable("session", group, options.json)
    if result is None:
        return ending.code() if ending.is_reached else return_code
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


class _Ending:
    """What ends a run from outside: a signal, or output that cannot be written any more."""

    def __init__(self, scope: trio.CancelScope) -> None:
        self._scope = scope
        self._signal: int | None = None
        self._error: OSError | None = None

    @property
    def is_reached(self) -> bool:
        return self._signal is not None or self._error is not None

    def code(self) -> int:
        """Return the exit code of a run that was ended; raise the error that ended it."""
        if self._error is not None:
            raise self._error
        assert self._signal is not None
        return 128 + self._signal

    def cannot_write(self, error: OSError) -> None:
        self._error = error
        self._scope.cancel()

    async def watch_signals(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """End the run on SIGTERM and SIGHUP, so that its log is complete and nothing is left behind."""
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
            task_status.started()
            async for number in signals:
                self._signal = number
                self._scope.cancel()


class _Printed:
    """Writes what a program prints, and knows whether its last line is complete."""

    def __init__(self, ending: _Ending) -> None:
        self._ending = ending
        self._is_open = False

    def __call__(self, text: str) -> None:
        try:
            write(text)
        except OSError as error:
            self._ending.cannot_write(error)
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


def _report_unusable(kind: str, group: BaseExceptionGroup[Exception], as_json: bool) -> int:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if as_json:
        failed = {"logs": [], "error": {"kind": kind, "message": str(error)}}
        write(json.dumps(failed, ensure_ascii=False) + "\n")
    else:
        print(f"codemode: {printable(str(error))}", file=sys.stderr)
    return 1


def read_program(name: str) -> str:
    """Return the text of a program file, or of standard input for `-`. Raises `UsageError`."""
    most = Limits().source_bytes
    try:
        if name == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(most + 1)
    except OSError as error:
        raise UsageError(f"cannot read the program {name}: {error.strerror or error}") from None
    if len(data) > most:
        raise UsageError(
            f"the program {name} is longer than {most:,} bytes, the most that a program may have"
        )
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
