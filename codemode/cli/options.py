"""Command-line options that several commands have, and how their values are read."""

from __future__ import annotations

import argparse
import math

from codemode.cli.openapi import add_openapi
from codemode.cli.toolkits import TOOLKITS
from codemode.sandbox import Limits

__all__ = ["add_json", "add_limits", "add_packages", "add_tools", "count", "seconds", "size"]


def add_json(parser: argparse.ArgumentParser, says: str = "print one JSON object instead") -> None:
    """Add the option with which a command speaks to programs."""
    error = '{"error": {"kind": …, "message": …}}'
    parser.add_argument(
        "--json",
        action="store_true",
        help=f"{says}; when it cannot be done, {error} on standard output",
    )


def add_tools(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which tools there are."""
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        default=".",
        help="the directory that the file tools see (default: the current one)",
    )
    parser.add_argument(
        "--write", action="store_true", help="also give the tools that change files: write and edit"
    )
    parser.add_argument(
        "--tools",
        metavar="MODULE:NAME",
        action="append",
        default=[],
        help="give tools of your own: a Tool, or a list of them, in an importable module (repeatable)",
    )
    parser.add_argument(
        "--toolkit",
        metavar="NAME",
        action="append",
        default=[],
        choices=sorted(TOOLKITS),
        help=f"also give the tools of this toolkit: {', '.join(sorted(TOOLKITS))} (repeatable)",
    )
    parser.add_argument(
        "--mcp",
        "--mcp-config",
        metavar="FILE",
        help="also give the tools of the MCP servers in this mcp.json; needs codemode[mcp]",
    )
    add_openapi(parser)
    parser.add_argument(
        "--allow",
        metavar="TOOL",
        action="append",
        default=[],
        help="do not ask before calls of this tool, which needs approval (repeatable)",
    )


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which limits a run has, and where its log goes."""
    parser.add_argument("--session", metavar="FILE", help="keep the log of all calls in this SQLite file")
    defaults = Limits()
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        default=defaults.wall_seconds,
        help="real time for the run (default: %(default)g)",
    )
    parser.add_argument(
        "--cpu",
        metavar="SECONDS",
        type=seconds,
        default=defaults.cpu_seconds,
        help="processor time for the program itself (default: %(default)g)",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        type=size,
        default=defaults.memory_bytes,
        help="memory for the program: 512M, 2G; a plain number is MiB (default: 512M)",
    )
    parser.add_argument(
        "--max-calls",
        metavar="N",
        type=count,
        default=defaults.max_calls,
        help="tool calls in the run (default: %(default)d)",
    )


def add_packages(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which packages programs may import."""
    parser.add_argument(
        "--package",
        metavar="NAME",
        action="append",
        default=[],
        help="let programs import this package; its source is held to the rules of programs (repeatable)",
    )
    parser.add_argument(
        "--trusted-package",
        metavar="NAME",
        action="append",
        default=[],
        help="the same without those rules, for compiled ones such as numpy: its objects may lead a program past the "
        "language wall, not the process wall (repeatable)",
    )


def seconds(text: str) -> float:
    """Read a time in seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time; write a number of seconds above 0, such as 2.5"
        )
    return number


def count(text: str) -> int:
    """Read a whole number above 0."""
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number; write a whole number above 0")
    return int(text)


def size(text: str) -> int:
    """Read a size in bytes; a plain number is MiB."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    digits = text.upper().removesuffix("B").removesuffix("I")
    unit = units.get(digits[-1:])
    try:
        number = int(float(digits[:-1]) * unit if unit else float(digits) * units["M"])
        if number < 1:
            raise ValueError
        return number
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 512M or 2G") from None
