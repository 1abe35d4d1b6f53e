"""Which commands and options there are, and what an exit code means. No command's work is done here.

Exit codes: 0 the run ended well, 1 it did not, 2 wrong usage, 130 interrupted, 129 and 143 ended by a signal.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import NamedTuple, NoReturn

from codemode import launch
from codemode.cli.terminal import UsageError, say_error

__all__ = ["COMMANDS", "main", "parser_of"]


class Command(NamedTuple):
    """A command: what it is for, and whether it surely runs a program, so that its guests' process can start early.

    It is the module of that name in this package, with `DESCRIPTION`, `add_arguments(parser)` and
    `command(options)`, which returns the exit code. Only the one that is asked for is loaded.
    """

    help: str
    runs_program: bool = False


COMMANDS = {
    "run": Command("run a program", runs_program=True),
    "chat": Command("talk with a model that runs programs over a workspace"),
    "demo": Command("see a program work on real files", runs_program=True),
    "doctor": Command("see which layers of the wall stand on this machine"),
    "serve": Command("let MCP clients run programs"),
    "log": Command("look into a session file"),
    "check": Command("check programs against the tools, without running them"),
    "stubs": Command("write stubs of the tools for an editor"),
    "prompt": Command("print what a model is told of run_code"),
    "capabilities": Command("print what this engine is, allows and offers"),
    "completions": Command("print what lets a shell complete all this"),
}


_ASIDE = frozenset(("-h", "--help", "--package", "--trusted-package"))
"""Options with which no guest is needed, or one with packages in it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Wrong usage raises `SystemExit(2)`, as argparse does."""
    _open_missing_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = next((each for each in given if not each.startswith("-")), "")
    if name in COMMANDS and COMMANDS[name].runs_program and not _ASIDE.intersection(given):
        launch.start_early()
    try:
        options = parser_of((name,)).parse_args(given)
    except _WrongUsage as wrong:
        wrong.say(as_json="--json" in given)
        raise SystemExit(2) from None
    as_json = getattr(options, "json", False)
    try:
        code: int = options.command(options)
        sys.stdout.flush()
    except UsageError as error:
        say_error("usage", str(error), as_json=as_json)
        return 2
    except BaseException as error:
        return _stopped(error, as_json)
    return code


def _stopped(error: BaseException, as_json: bool) -> int:
    """Return the exit code for an interrupt or a reader that has gone, also when nurseries wrapped it."""
    cause = error
    while isinstance(cause, BaseExceptionGroup) and len(cause.exceptions) == 1:
        cause = cause.exceptions[0]
    if isinstance(cause, KeyboardInterrupt):
        say_error("interrupted", "interrupted", as_json=as_json)
        return 130
    if isinstance(cause, BrokenPipeError):
        # Whoever read the output has gone; there is nobody to tell, and Python must not try at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if isinstance(cause, OSError):
        print(f"codemode: cannot write the output: {cause.strerror or cause}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    raise error


def _open_missing_streams() -> None:
    """A command that was started without standard streams reads nothing and writes nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for the whole process


def parser_of(wanted: Collection[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands, complete for those that are wanted; the modules of others are not loaded."""
    parser = _Parser(
        prog="codemode",
        description="Run one Python program, confined, with tools as its functions.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version, and end")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, about in COMMANDS.items():
        if name not in wanted:
            commands.add_parser(name, help=about.help)
            continue
        module = import_module(f"codemode.cli.{name}")
        command = commands.add_parser(name, help=about.help, description=module.DESCRIPTION)
        module.add_arguments(command)
        command.set_defaults(command=module.command)
    return parser


class _WrongUsage(Exception):
    """What was given is not what the parser takes."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(message)
        self._parser = parser

    def say(self, *, as_json: bool) -> None:
        if as_json:
            say_error("usage", str(self), as_json=True)
        else:
            self._parser.print_usage(sys.stderr)
            print(f"{self._parser.prog}: error: {self}", file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    """Leaves it to `main` how an error is told."""

    def error(self, message: str) -> NoReturn:
        raise _WrongUsage(self, message)


class _Version(argparse.Action):
    """Looks the version up only when somebody asks for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"codemode {version('codemode')}")
        parser.exit()
