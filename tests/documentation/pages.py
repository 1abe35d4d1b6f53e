"""The pages that a reader is given, and what each of their blocks says of itself. Nothing is run here.

A block is code, or anything else that stands in a fence. The comment on the line before it says what becomes of it:

    <!-- file: NAME -->     it is a file of that name, beside the other files of the page
    <!-- run: NAME -->      a file, which Python runs
    <!-- async: NAME -->    the same, as the body of an asynchronous function
    <!-- program: NAME -->  a file, which `codemode run` runs
    <!-- shell -->          a shell runs it; `<!-- shell: exit 1 -->` says how it ends, if not well
    <!-- prints -->         the one before it printed this, and nothing else
    <!-- commands -->       each line is a command line that this version takes
    <!-- ci -->             `.ci/run` runs it (also `demo-command`, `test-command`)
    <!-- not run: WHY -->   nobody runs it, for this reason
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]

_MARK = re.compile(
    r"<!-- (file|run|async|program|shell|prints|commands|ci|demo-command|test-command|not run)(?:: (.+?))? -->"
)


class Block(NamedTuple):
    page: str
    line: int
    language: str
    content: str
    kind: str
    """What its comment says; empty where there is none that is known."""
    about: str
    """What stands behind the colon."""


def pages() -> list[str]:
    """The pages, by their paths in the repository."""
    return sorted(
        ["README.md", "SECURITY.md", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
    )


def blocks(page: str) -> list[Block]:
    """All blocks of a page in their order, wherever they stand: in lists and quotations too.

    Directives (`{toctree}`) are none: the site's builder reads them, and complains.
    """
    found = []
    before = ""
    for token in MarkdownIt("commonmark").enable("table").parse((ROOT / page).read_text("utf-8")):
        if token.type in ("fence", "code_block") and not token.info.startswith("{"):
            mark = _MARK.fullmatch(before)
            kind, about = (mark[1], mark[2] or "") if mark else ("", "")
            assert token.map is not None
            found.append(Block(page, token.map[0] + 1, token.info.strip(), token.content, kind, about))
        before = token.content.strip() if token.type == "html_block" else ""
    return found
