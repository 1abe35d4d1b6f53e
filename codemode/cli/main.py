"""Which commands and options there are, and what an exit code means. No command's work is done here.

Exit codes: 0 the run ended well, 1 it did not, 2 wrong usage, 130 interrupted, 129 and 143 ended by a signal.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from codemode.cli import chat, demo, doctor, log, run, serve
from codemode.cli.terminal import UsageError, printable
from codemode.cli.toolkits import TOOLKITS
from codemode.sandbox import REQUIRED_LAYERS, Limits

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Wrong usage raises `SystemExit(2)`, as argparse does."""
    _open_missing_streams()
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        code: int = options.command(options)
        sys.stdout.flush()
    except UsageError as error:
        print(f"codemode: {printable(str(error))}", file=sys.stderr)
        return 2
    except BaseException as error:
        return _stopped(error)
    return code


def _stopped(error: BaseException) -> int:
    """Return the exit code for an interrupt or a reader that has gone, also when nurseries wrapped it."""
    cause = error
    while isinstance(cause, BaseExceptionGroup) and len(cause.exceptions) == 1:
        cause = cause.exceptions[0]
    if isinstance(cause, KeyboardInterrupt):
        print("codemode: interrupted", file=sys.stderr)
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="codemode",
        description="Run one Python program, confined, with tools as its functions.",
    )
    parser.add_argument("--version", action="version", version=f"codemode {version('codemode')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    command = commands.add_parser(
        "run",
        help="run a program",
        description="Run a program with tools over a workspace. Printed text streams as it comes, the result "
        "follows. Exit code: 0 the run ended well, 1 it did not, 2 wrong usage.",
    )
    command.add_argument(
        "program", metavar="PROGRAM", help="a file with the program, or - for standard input"
    )
    _add_tools(command)
    _add_packages(command)
    command.add_argument("--json", action="store_true", help="print one JSON object instead, at the end")
    _add_limits(command)
    command.add_argument(
        "--accept-missing",
        metavar="LAYER",
        action="append",
        default=[],
        choices=REQUIRED_LAYERS,
        help="run although this required layer of the wall does not stand here (repeatable; one of: "
        f"{', '.join(REQUIRED_LAYERS)}); only for programs that you trust as much as your own code",
    )
    command.set_defaults(command=run.command)

    command = commands.add_parser(
        "chat",
        help="talk with a model that runs programs over a workspace",
        description="Talk with a model that has tools over a workspace, on the terminal or line by line from standard "
        "input. Keys and addresses come from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, …_BASE_URL). Exit "
        "code: 0 at the end of input, 1 it could not go on, 2 wrong usage.",
    )
    command.add_argument("--model", metavar="NAME", required=True, help="the model, by its provider's name")
    command.add_argument(
        "--provider",
        choices=sorted(chat.PROVIDERS),
        default="anthropic",
        help="whose API is spoken (default: %(default)s); each needs the extra of that name",
    )
    command.add_argument(
        "--mode",
        choices=["code", "native", "both"],
        default="code",
        help="what the model can call: run_code, the tools themselves, or both (default: %(default)s)",
    )
    _add_tools(command)
    command.add_argument(
        "--session", metavar="FILE", help="keep the conversation in this SQLite file, and go on with it"
    )
    command.add_argument(
        "--system", metavar="TEXT", default="", help="what the model is told before all else"
    )
    command.add_argument(
        "--max-tokens",
        metavar="N",
        type=_count,
        default=8192,
        help="tokens of one answer (default: %(default)d)",
    )
    command.add_argument(
        "--max-steps",
        metavar="N",
        type=_count,
        default=50,
        help="answers until the model has its last word (default: %(default)d)",
    )
    command.set_defaults(command=chat.command)

    command = commands.add_parser(
        "demo",
        help="see a program work on real files",
        description="Run a program over a real source tree and show it, each of its tool calls as they "
        "happen, and what a model would get back.",
    )
    command.add_argument(
        "--workspace",
        metavar="DIR",
        help="the source tree to look at (default: the source of codemode itself)",
    )
    command.set_defaults(command=demo.command)

    command = commands.add_parser(
        "doctor",
        help="see which layers of the wall stand on this machine",
        description="Show each layer of the process wall as its effect shows it, and what would raise the missing "
        "ones. Exit code: 0 every required layer stands, 1 one does not.",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object instead")
    _add_packages(command)
    command.set_defaults(command=doctor.command)
    log.add_parser(commands)
    command = serve.add_parser(commands)
    _add_tools(command)
    _add_packages(command)
    _add_limits(command)
    return parser


def _add_limits(command: argparse.ArgumentParser) -> None:
    """Add the options that say which limits a run has, and where its log goes."""
    command.add_argument("--session", metavar="FILE", help="keep the log of all calls in this SQLite file")
    defaults = Limits()
    command.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        default=defaults.wall_seconds,
        help="real time for the run (default: %(default)g)",
    )
    command.add_argument(
        "--cpu",
        metavar="SECONDS",
        type=_seconds,
        default=defaults.cpu_seconds,
        help="processor time for the program itself (default: %(default)g)",
    )
    command.add_argument(
        "--memory",
        metavar="SIZE",
        type=_size,
        default=defaults.memory_bytes,
        help="memory for the program: 512M, 2G; a plain number is MiB (default: 512M)",
    )
    command.add_argument(
        "--max-calls",
        metavar="N",
        type=_count,
        default=defaults.max_calls,
        help="tool calls in the run (default: %(default)d)",
    )


def _add_tools(command: argparse.ArgumentParser) -> None:
    """Add the options that say which tools there are."""
    command.add_argument(
        "--workspace",
        metavar="DIR",
        default=".",
        help="the directory that the file tools see (default: the current one)",
    )
    command.add_argument(
        "--write", action="store_true", help="also give the tools that change files: write and edit"
    )
    command.add_argument(
        "--tools",
        metavar="MODULE:NAME",
        action="append",
        default=[],
        help="give tools of your own: a Tool, or a list of them, in an importable module (repeatable)",
    )
    command.add_argument(
        "--toolkit",
        metavar="NAME",
        action="append",
        default=[],
        choices=sorted(TOOLKITS),
        help=f"also give the tools of this toolkit: {', '.join(sorted(TOOLKITS))} (repeatable)",
    )
    command.add_argument(
        "--mcp",
        "--mcp-config",
        metavar="FILE",
        help="also give the tools of the MCP servers in this mcp.json; needs codemode[mcp]",
    )
    command.add_argument(
        "--allow",
        metavar="TOOL",
        action="append",
        default=[],
        help="do not ask before calls of this tool, which needs approval (repeatable)",
    )


def _add_packages(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--package",
        metavar="NAME",
        action="append",
        default=[],
        help="let programs import this package; its source is held to the rules of programs (repeatable)",
    )
    command.add_argument(
        "--trusted-package",
        metavar="NAME",
        action="append",
        default=[],
        help="the same without those rules, for compiled ones such as numpy: its objects may lead a program past the "
        "language wall, not the process wall (repeatable)",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time; write a number of seconds above 0, such as 2.5"
        )
    return seconds


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number; write a whole number above 0")
    return int(text)


def _size(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    digits = text.upper().removesuffix("B").removesuffix("I")
    unit = units.get(digits[-1:])
    try:
        size = int(float(digits[:-1]) * unit if unit else float(digits) * units["M"])
        if size < 1:
            raise ValueError
        return size
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 512M or 2G") from None
