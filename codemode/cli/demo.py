"""`codemode demo`: the main job on real files, shown step by step."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import trio

import codemode
from codemode.cli.options import add_json
from codemode.cli.set_up import workspace_path
from codemode.cli.terminal import paint, printable, say_error, write_json
from codemode.engine import CodeMode, RunResult
from codemode.errors import CodeModeError
from codemode.session import Event
from codemode.toolkits import files

__all__ = ["DESCRIPTION", "PROGRAM", "add_arguments", "command"]

PROGRAM = """\
import asyncio
from collections import Counter

# Find every Python file, read them side by side, and rank what was found.
paths = (await tools.glob("**/*.py"))["paths"]
files = await asyncio.gather(*[tools.read(path, limit=100_000) for path in paths])

sizes = {file["path"]: file["totalLines"] for file in files}
words = Counter()
for file in files:
    for line in file["lines"]:
        words.update(w for w in line["text"].split() if w in ("def", "class", "async", "await", "return"))

found = await tools.grep(r"^\\s*(async )?def \\w+", include="*.py")
per_file = Counter(match["path"] for match in found["matches"])

largest = sorted(sizes, key=lambda path: -sizes[path])[:5]
print(f"{len(paths)} files, {sum(sizes.values())} lines, {len(found['matches'])} functions")
for path in largest:
    print(f"{sizes[path]:6} lines {per_file[path]:4} functions  {path}")

return {"files": len(paths), "lines": sum(sizes.values()), "keywords": dict(words.most_common(3))}
"""

_SHOWN_CALLS = 12


DESCRIPTION = (
    "Run a program over a real source tree and show it, each of its tool calls as they "
    "happen, and what a model would get back."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        help="the source tree to look at (default: the source of codemode itself)",
    )
    add_json(parser)


def command(options: argparse.Namespace) -> int:
    """Run the demonstration and return its exit code."""
    own = Path(codemode.__file__).parent
    workspace = workspace_path(options.workspace) if options.workspace else own
    try:
        return trio.run(_tell if options.json else _demonstrate, workspace)
    except CodeModeError as error:
        say_error("unusable", str(error), as_json=options.json)
        return 1


async def _tell(workspace: Path) -> int:
    """The same for a program."""
    calls: list[dict[str, Any]] = []

    def note(event: Event) -> None:
        if event.type == "tool/code-dispatch":
            calls.append({key: event.data[key] for key in ("name", "arguments", "isError")})

    async with CodeMode(files(workspace)) as cm:
        cm.session.observe(note)
        result = await cm.run(PROGRAM, "rank the source files by size")
    shown: dict[str, Any] = {
        "workspace": str(workspace),
        "program": PROGRAM,
        "calls": calls,
        "shown": result.text,
    }
    if result.error is not None:
        shown["error"] = {"kind": result.error.kind, "message": result.error.message}
    write_json(shown)
    return 0 if result.error is None else 1


async def _demonstrate(workspace: Path) -> int:
    _heading("The program, as a model would write it")
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        print(paint(f"{number:4} ", "dim", sys.stdout) + line)
    _heading(f"Its tool calls, as they happen (over {workspace})")
    calls = _Calls()
    async with CodeMode(files(workspace)) as cm:
        cm.session.observe(calls)
        result = await cm.run(PROGRAM, "rank the source files by size")
    calls.summarise()
    _heading("What the model gets back")
    print(printable(result.text))
    _compare(calls, result)
    return 0 if result.error is None else 1


class _Calls:
    """Prints each nested call when it has ended, the first few in full."""

    def __init__(self) -> None:
        self.count = 0
        self.content_bytes = 0

    def __call__(self, event: Event) -> None:
        if event.type != "tool/code-dispatch":
            return
        self.count += 1
        size = sum(len(block.get("text", "").encode()) for block in event.data["content"])
        self.content_bytes += size
        if self.count > _SHOWN_CALLS:
            return
        arguments = json.dumps(event.data["arguments"], ensure_ascii=False)
        mark = (
            paint("failed", "red", sys.stdout) if event.data["isError"] else paint("ok", "green", sys.stdout)
        )
        name = paint(event.data["name"], "cyan", sys.stdout)
        print(f"  {mark} {name} {printable(arguments)[:90]}  {paint(f'{size:,} bytes', 'dim', sys.stdout)}")

    def summarise(self) -> None:
        if self.count > _SHOWN_CALLS:
            print(f"  … and {self.count - _SHOWN_CALLS} more")


def _heading(text: str) -> None:
    print(f"\n{paint(text, 'bold', sys.stdout)}\n")


def _compare(calls: _Calls, result: RunResult) -> None:
    shown = len(result.text.encode())
    print(
        f"\n{calls.count} calls in one turn. Called one by one they would have put "
        f"{calls.content_bytes:,} bytes into the model's context; this run put {shown:,} there."
    )
