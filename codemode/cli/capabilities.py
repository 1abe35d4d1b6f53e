"""`codemode capabilities`: what this engine is, holds back, allows and offers."""

from __future__ import annotations

import argparse
import sys

import msgspec
import trio

from codemode.cli.doctor import look
from codemode.cli.options import add_json, add_limits, add_packages, add_tools
from codemode.cli.set_up import described_tools, given_packages, limits_of
from codemode.cli.terminal import write, write_json
from codemode.sdk.capabilities import Capabilities, capabilities

__all__ = ["DESCRIPTION", "add_arguments", "command"]

DESCRIPTION = "Print the capability card: versions, walls as they stand here, limits, language, tools."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_json(parser, "print the whole card as one JSON object")
    add_tools(parser)
    add_limits(parser)
    add_packages(parser)


def command(options: argparse.Namespace) -> int:
    """Run the command and return its exit code. Raises `UsageError`."""
    tools = trio.run(described_tools, options)
    packages = given_packages(options)
    layers, problem = trio.run(look, packages)
    card = capabilities(tools, limits_of(options), layers, [package.name for package in packages])
    if options.json:
        write_json(msgspec.to_builtins(card) | ({"problem": problem} if problem else {}))
    else:
        write(_summary(card))
        if problem:
            print(f"codemode: {problem}", file=sys.stderr)
    return 0


def _summary(card: Capabilities) -> str:
    standing = sum(layer.stands for layer in card.walls)
    limits = card.limits
    lines = [
        f"codemode {card.versions.codemode}, programs in Python {card.versions.python}",
        f"walls: {standing} of {len(card.walls)} layers stand (codemode doctor shows them)",
        f"limits: {limits.wall_seconds:g} s, {limits.cpu_seconds:g} s computing, "
        f"{limits.memory_bytes >> 20} MiB, {limits.max_calls:,} calls",
        f"modules: {', '.join([*card.modules, *card.packages])}",
        "tools:",
        *(f"  {each.access}  {each.signature_hash[:12]}  {each.summary}" for each in card.tools),
    ]
    return "\n".join(lines) + "\n"
