"""`codemode check`: what is wrong with programs, found without running them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import msgspec
import trio

from codemode.cli.options import add_json, add_tools
from codemode.cli.run import read_program
from codemode.cli.set_up import described_tools
from codemode.cli.terminal import UsageError, write, write_json
from codemode.errors import CheckUnavailable
from codemode.sdk.checking import Checker, Finding

__all__ = ["DESCRIPTION", "add_arguments", "command"]

DESCRIPTION = (
    "Check programs against the tools by a type checker, without running them (extra `check`). Exit code: 0 nothing "
    "that is certain to fail, 1 something is, 2 wrong usage."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "programs", metavar="PROGRAM", nargs="+", help="a file with a program, or - for standard input"
    )
    add_json(parser, "print one JSON object instead: the findings of each program by its name")
    add_tools(parser)


def command(options: argparse.Namespace) -> int:
    """Run the command and return its exit code. Raises `UsageError`."""
    sources = [read_program(name) for name in options.programs]
    try:
        found = trio.run(_check, sources, options)
    except CheckUnavailable as error:
        raise UsageError(str(error)) from None
    if options.json:
        shown = {name: msgspec.to_builtins(each) for name, each in zip(options.programs, found, strict=True)}
        write_json(shown)
    else:
        write("".join(_lines(options.programs, found)))
    return 1 if any(each.certain for findings in found for each in findings) else 0


async def _check(sources: list[str], options: argparse.Namespace) -> list[list[Finding]]:
    return await Checker().check_all(sources, await described_tools(options))


def _lines(names: Sequence[str], found: Sequence[Sequence[Finding]]) -> list[str]:
    return [
        f"{name}:{each.line}:{each.column}: {'' if each.certain else 'perhaps: '}{each.message}\n"
        for name, findings in zip(names, found, strict=True)
        for each in findings
    ]
