"""How docstrings are read by the site: they are plain prose, with `names` in backticks and tables set by blanks.

An indented part, or a table, becomes a literal block, as it reads in the source; a long type that has a name is called
by it. Only that is done here; which names have a page is in `reference/`.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

from sphinx.util.typing import stringify_annotation

__all__ = ["as_rest", "setup"]

_NAMED = [f"codemode.{name}" for name in ("Answer", "Approver", "Mode", "Outcome")] + [
    f"codemode.tools.hooks.{name}"
    for name in ("Around", "FinalizeContent", "Guard", "Observer", "PostExecute", "PreExecute")
]
"""Names for types that would be written out in signatures; each has an entry in the reference."""

_FILE = re.compile(r" *\w+\.py  ")
_ROW = re.compile(r"\S.*?\S {2,}\S")


def as_rest(lines: list[str]) -> list[str]:
    """Return the lines of a docstring as reStructuredText: an indented part, or a table, is literal."""
    found: list[str] = []
    is_literal = False
    for line in lines:
        is_set = line.startswith("    ") or _ROW.match(line) is not None
        if is_set and not is_literal and (not found or not found[-1].strip()):
            found += ["::", ""]
            is_literal = True
        elif line.strip() and not is_set:
            if is_literal and found and found[-1].strip():
                found.append("")
            is_literal = False
        found.append(f"    {line}" if is_literal and line.strip() else line)
    return found


def _process(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    if what == "module":
        # As it is written: what comes after the first line may be indented as a whole. And which file of a package
        # holds what is for those who open it.
        lines[:] = [line for line in (obj.__doc__ or "").splitlines() if not _FILE.match(line)]
    lines[:] = as_rest(lines)


def _sign(
    app: Any, what: str, name: str, obj: object, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    return _with_names(signature), _with_names(returns)


def _with_names(text: str | None) -> str | None:
    for written, name in _written().items():
        text = text and text.replace(written, name)
    return text


@cache
def _written() -> dict[str, str]:
    """The names of types by how signatures write them out, the longest first: one may hold another."""
    named = {
        name: getattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in _NAMED
    }
    written = {stringify_annotation(made, "smart"): f"~{name}" for name, made in named.items()}
    return {text: written[text] for text in sorted(written, key=len, reverse=True)}


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", _sign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
