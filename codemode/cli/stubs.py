"""`codemode stubs`: what an editor needs to know of programs, written into a directory."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import trio

from codemode.cli.options import add_json, add_tools
from codemode.cli.set_up import described_tools
from codemode.cli.terminal import UsageError, write, write_json
from codemode.errors import CheckUnavailable
from codemode.sdk.stub_files import write_stubs

__all__ = ["DESCRIPTION", "add_arguments", "command"]

DESCRIPTION = (
    "Write what an editor or a type checker needs to know of programs: the tools with their types, the builtins, and "
    "the modules that can be imported (extra `check`)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the directory to write to")
    parser.add_argument(
        "--style",
        choices=["sync", "async"],
        default="sync",
        help="async for programs that use await (default: %(default)s)",
    )
    add_json(parser, "print one JSON object instead: typeshedPath, stubPath, and the files in them")
    add_tools(parser)


def command(options: argparse.Namespace) -> int:
    """Run the command and return its exit code. Raises `UsageError`."""
    tools = trio.run(described_tools, options)
    directory = Path(options.output)
    try:
        settings = write_stubs(directory, tools, options.style)
    except CheckUnavailable as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"--output {directory}: {error.strerror or error}") from None
    if options.json:
        write_json(_as_object(directory))
    else:
        write(settings + "\n")
    return 0


def _as_object(directory: Path) -> dict[str, Any]:
    places = {"typeshedPath": directory / "typeshed", "stubPath": directory / "stubs"}
    files = sorted(str(each) for place in places.values() for each in place.rglob("*") if each.is_file())
    return {name: str(place) for name, place in places.items()} | {"files": files}
