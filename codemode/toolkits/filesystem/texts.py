"""What counts as text, and how text is told from other bytes. Pure.

Text is UTF-8 without a NUL byte at its beginning. Lines end at LF; a CR before it belongs to the ending.
"""

from __future__ import annotations

from codemode import ToolError

__all__ = ["BOM", "PROBE_BYTES", "decode", "has_nul", "not_text"]

PROBE_BYTES = 8192
"""A NUL byte among the first so many makes a file binary."""

BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


def has_nul(data: bytes) -> bool:
    """Return whether these first bytes of a file make it a binary one."""
    return b"\0" in data[:PROBE_BYTES]


def decode(data: bytes, path: str, doing: str) -> str:
    """Return a file's whole text. Raises `ToolError` FS_NOT_TEXT."""
    if has_nul(data):
        raise not_text(path, doing, "it is a binary file")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise not_text(path, doing, f"line {line} is not valid UTF-8") from None


def not_text(path: str, doing: str, why: str) -> ToolError:
    return ToolError(f'{doing} "{path}": {why}', code="FS_NOT_TEXT")
