"""Reads the corpus: files of programs, each under a line `### name`.

A name may end in a condition in brackets, `[3.12]`: syntax of that Python or later. Programs of a file
called `failures` fail, and everything else ends well, under both Pythons.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

__all__ = ["FILES", "programs"]

_PLACE = Path(__file__).with_name("corpus")
FILES = sorted(path.stem for path in _PLACE.glob("*.programs"))
_HEAD = re.compile(r"^### (.+?)(?: \[3\.(\d+)\])?$", re.MULTILINE)


def programs(stem: str) -> dict[str, str]:
    """Return the programs of one file that this Python has the syntax for, by name."""
    text = (_PLACE / f"{stem}.programs").read_text("utf-8")
    heads = list(_HEAD.finditer(text))
    found: dict[str, str] = {}
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        name = head[1]
        assert name not in found, f"{stem}: two programs are called {name!r}"
        if sys.version_info >= (3, int(head[2] or 0)):
            found[name] = text[head.end() + 1 : following.start() if following else None].rstrip("\n") + "\n"
    return found
