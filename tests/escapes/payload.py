"""Payload files: a program with a header that says what it tries, and how it is to be run.

    # mode: code | raw      as a model's program, or with the language wall taken as lost
    # generate: EXPR        the program is the value of this expression
    # python: >=3.12        not for older versions
    # walls: language=must os=backstop host=-

An `INDEX.json` beside the files has the last word on the walls: entries of number, name, text, walls, mode.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

__all__ = ["Payload", "Walls", "find"]

_HEADER = re.compile(r"# (mode|generate|python|walls): (.*)")
_HEADER_LINES = 12


class Walls(NamedTuple):
    """For each wall `must` (stop this by itself), `backstop` (contain it when the other has failed) or `-`."""

    language: str = "must"
    os: str = "must"
    host: str = "must"


class Payload(NamedTuple):
    """One payload. `applies` is False where this version of Python is too old for it."""

    name: str
    mode: str
    source: str
    walls: Walls
    applies: bool


def find(paths: Iterable[Path]) -> list[Payload]:
    """Read the payloads of these directories and files, in the order of their names. Raises OSError."""
    found: list[Payload] = []
    for path in paths:
        files = sorted(path.glob("*.py")) if path.is_dir() else [path]
        index = _index(path if path.is_dir() else path.parent)
        found.extend(_read(file, index) for file in files)
    return found


def _index(directory: Path) -> dict[str, Walls]:
    try:
        entries = json.loads((directory / "INDEX.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {f"{number}-{name}": Walls(*walls) for number, name, _, walls, _ in entries}


def _read(path: Path, index: dict[str, Walls]) -> Payload:
    text = path.read_bytes().decode("utf-8", "surrogatepass")
    header: dict[str, str] = {}
    for line in text.split("\n")[:_HEADER_LINES]:
        match = _HEADER.fullmatch(line.rstrip("\r"))
        if match:
            header.setdefault(match[1], match[2].strip())
    source = eval(header["generate"]) if "generate" in header else text
    walls = index.get(path.stem)
    if walls is None:
        walls = (
            Walls(**dict(pair.split("=") for pair in header["walls"].split()))
            if "walls" in header
            else Walls()
        )
    oldest = tuple(map(int, header.get("python", ">=3").removeprefix(">=").split(".")))
    return Payload(path.stem, header.get("mode", "code"), source, walls, sys.version_info >= oldest)
