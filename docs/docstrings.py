"""How docstrings are read by the site: they are plain prose, with `names` in backticks and tables set by blanks.

An indented part becomes a literal block, as it reads in the source. Only that is done here; which names have a page is
in `reference/`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["as_rest", "setup"]


def as_rest(lines: list[str]) -> list[str]:
    """Return the lines of a docstring as reStructuredText: a part that is indented after a blank line is literal."""
    found: list[str] = []
    is_literal = False
    for line in lines:
        is_indented = line.startswith("    ")
        if is_indented and not is_literal and (not found or not found[-1].strip()):
            found += ["::", ""]
            is_literal = True
        elif line.strip() and not is_indented:
            if is_literal and found and found[-1].strip():
                found.append("")
            is_literal = False
        found.append(line)
    return found


def _process(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    lines[:] = as_rest(lines)


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
