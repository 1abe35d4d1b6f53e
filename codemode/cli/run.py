"""`codemode run`: one program, tools over a workspace, its output as it comes."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from typing import Any

import trio

from codemode.cli.approve import CommandLineApprover, Terminal, open_terminal
from codemode.cli.options import add_json, add_limits, add_packages, add_tools
from codemode.cli.progress import Progress, can_show
from codemode.cli.set_up import Tooling, limits_of, set_up
from codemode.cli.terminal import UsageError, paint, printable, say_error, write, write_json
from codemode.engine import CodeMode, RunResult
from codemode.errors import CheckUnavailable, SandboxUnavailable, SessionError
from codemode.rendering import json_text
from codemode.sandbox import REQUIRED_LAYERS, Limits

__all__ = ["DESCRIPTION", "add_arguments", "command", "read_program"]


DESCRIPTION = (
    "Run a program with tools over a workspace. Printed text streams as it comes, the result "
    "follows. Exit code: 0 the run ended well, 1 it did not, 2 wrong usage."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("program", metavar="PROGRAM", help="a file with the program, or - for standard input")
    add_tools(parser)
    add_packages(parser)
    add_json(
        parser, "print one JSON object instead, at the end: logs, result or error, warnings, missingLayers"
    )
    parser.add_argument(
        "--check",
        choices=["off", "warn", "strict"],
        default="off",
        help="check the program against the tools first (extra `check`); strict: do not start one that is certain "
        "to fail (default: %(default)s)",
    )
    add_limits(parser)
    parser.add_argument(
        "--accept-missing",
        metavar="LAYER",
        action="append",
        default=[],
        choices=REQUIRED_LAYERS,
        help="run although this required layer of the wall does not stand here (repeatable; one of: "
        f"{', '.join(REQUIRED_LAYERS)}); only for programs that you trust as much as your own code",
    )


def command(options: argparse.Namespace) -> int:
    """Run the command and return its exit code. Raises `UsageError`, and OSError when nothing can be written."""
    return trio.run(_set_up_and_run, read_program(options.program), options)


async def _set_up_and_run(source: str, options: argparse.Namespace) -> int:
    terminal = open_terminal()
    try:
        async with set_up(options, terminal) as tooling:
            return await _run(source, tooling, options, terminal)
    finally:
        if terminal is not None:
            terminal.close()


async def _run(source: str, tooling: Tooling, options: argparse.Namespace, terminal: Terminal | None) -> int:
    approver = CommandLineApprover(options.allow, terminal)
    result: RunResult | None = None
    try:
        async with trio.open_nursery() as nursery:
            ending = _Ending(nursery.cancel_scope)
            progress = Progress() if can_show(sys.stderr) and not options.json else None
            printed = _Printed(ending, progress)
            await nursery.start(ending.watch_signals)
            if progress is not None:
                nursery.start_soon(progress.show, terminal)
            async with CodeMode(
                tooling.registry,
                limits=limits_of(options),
                session=options.session,
                approver=approver,
                hooks=None if progress is None else progress.tally.hooks,
                packages=tooling.packages,
                accept_missing=options.accept_missing,
                check=options.check,
            ) as cm:
                tooling.begin(cm.session)
                result = await cm.run(source, on_log=None if options.json else printed)
            nursery.cancel_scope.cancel()
    except* SandboxUnavailable as group:
        return_code = _report_unusable("sandbox-unavailable", group, options.json)
    except* SessionError as group:
        return_code = _report_unusable("session", group, options.json)
    except* CheckUnavailable as group:
        return_code = _report_unusable("check-unavailable", group, options.json)
    if result is None:
        if not ending.is_reached:
            return return_code
        code = ending.code()
        if options.json:
            say_error("abort", f"the run was ended by signal {code - 128}", as_json=True)
        return code
    if options.json:
        write_json(_as_object(result))
    else:
        printed.end_line()
        if result.missing_layers:
            _warn_of(result.missing_layers)
        for warning in result.warnings:
            write(f"check: {printable(warning)}\n", sys.stderr)
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

    def __init__(self, ending: _Ending, progress: Progress | None) -> None:
        self._ending = ending
        self._progress = progress
        self._is_open = False

    def __call__(self, text: str) -> None:
        if self._progress is not None:
            self._progress.erase()
            self._progress.is_hidden = not text.endswith("\n") and sys.stdout.isatty()
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
    if result.warnings:
        shown["warnings"] = list(result.warnings)
    if result.error is not None:
        shown["error"] = {"kind": result.error.kind, "message": result.error.message}
    elif result.has_result:
        shown["result"] = result.result
    if result.missing_layers:
        shown["missingLayers"] = list(result.missing_layers)
    return shown


def _warn_of(layers: Sequence[str]) -> None:
    head = paint("warning: ", "red", sys.stderr)
    sys.stderr.write(
        f"{head}the program ran behind a weaker wall: {', '.join(layers)} missing on this machine, as accepted; "
        "see `codemode doctor`\n"
    )


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
        write_json({"logs": [], "error": {"kind": kind, "message": str(error)}})
    else:
        say_error(kind, str(error), as_json=False)
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
