"""`codemode prompt`: what a model is told of `run_code`."""

from __future__ import annotations

import argparse

import trio

from codemode.cli.options import add_json, add_limits, add_packages, add_tools
from codemode.cli.set_up import described_tools, given_packages, limits_of
from codemode.cli.terminal import write, write_json
from codemode.run_code.tool import MAX_SHOWN_BYTES
from codemode.sdk.prompt import DEFAULT_BUDGET, prompt

__all__ = ["DESCRIPTION", "add_arguments", "command"]

DESCRIPTION = "Print what a model is told of run_code: how to write a program, the limits, the tools."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--budget",
        metavar="TOKENS",
        type=_whole,
        default=DEFAULT_BUDGET,
        help="what the list of tools may take (default: %(default)d)",
    )
    add_json(parser, 'print {"prompt": …} instead')
    add_tools(parser)
    add_limits(parser)
    add_packages(parser)


def command(options: argparse.Namespace) -> int:
    """Run the command and return its exit code. Raises `UsageError`."""
    tools = trio.run(described_tools, options)
    packages = [package.name for package in given_packages(options)]
    limits = limits_of(options)
    text = prompt(tools, limits, budget=options.budget, shown_bytes=MAX_SHOWN_BYTES, packages=packages)
    if options.json:
        write_json({"prompt": text})
    else:
        write(text + "\n")
    return 0


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tokens; write a whole number")
    return int(text)
