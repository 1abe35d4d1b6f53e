"""How names and texts that others chose are written in Python: which are identifiers, how the rest is quoted.

Every answer here is the same on each version of Python: what counts as a letter is taken from Unicode 3.2, which no
version changes, and words are listed rather than asked for. Nothing here knows about tools or schemas.
"""

from __future__ import annotations

import inspect
import json
import re
from unicodedata import ucd_3_2_0 as unicode

from codemode.rendering import printable
from codemode.values import JSON

__all__ = ["LONGEST", "camel", "comment", "docstring", "is_name", "literal", "one_line", "quote", "summary"]

_KEYWORDS = frozenset(
    "False None True and as assert async await break class continue def del elif else except finally for from global "
    "if import in is lambda nonlocal not or pass raise return try while with yield".split()
)

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
LONGEST = 1000
"""Characters of the longest text that is written as a literal; checkers do not follow much longer ones."""
_LARGEST = 10**40  # a longer number is no use to a reader, and Python refuses to read very long ones


def is_name(text: str) -> bool:
    """Return whether every Python takes `text` as an identifier as it stands, without a leading underscore."""
    if text[:1] == "_" or not text.isidentifier() or text in _KEYWORDS:
        return False
    return text.isascii() or (
        all(unicode.category(letter) != "Cn" for letter in text) and unicode.normalize("NFKC", text) == text
    )


def quote(text: str) -> str:
    """Return a Python literal of a text, on one line, with everything hidden written out."""
    return printable(json.dumps(text, ensure_ascii=False))


def literal(value: JSON) -> str | None:
    """Return a scalar as Python would write it, or None for what is better not written."""
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return quote(value) if len(value) <= LONGEST else None
    if isinstance(value, int) and -_LARGEST < value < _LARGEST:
        return str(int(value))
    if isinstance(value, float) and value - value == 0:
        return repr(float(value))
    return None


def one_line(text: str) -> str:
    """Return a text on one line, blanks joined, everything hidden written out."""
    return printable(" ".join(_LINE_ENDS.sub("\n", text).split()))


def comment(text: str) -> str:
    """Return `# text`, which cannot end before its line does."""
    return f"# {one_line(text)}"


def summary(text: str, longest: int = 120) -> str:
    """Return the first sentence or line of a description, cut at a word to at most `longest` characters."""
    lines = _LINE_ENDS.sub("\n", text).strip().split("\n", 1)
    first = one_line(lines[0])
    sentence = re.match(r"(.{8,}?[.!?])(?=\s)", first)
    first = (sentence[1] if sentence else first).rstrip(".")
    if len(first) <= longest:
        return first
    return first[: longest - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def docstring(text: str, indent: str) -> str:
    """Return a text as the lines of a docstring; no text in it ends it early. Ends without a newline."""
    text = inspect.cleandoc(_LINE_ENDS.sub("\n", text).expandtabs(4))
    text = printable(text.replace("\\", "\\\\"))
    text = re.sub(r'"(?="|\Z)', r'\\"', text)
    lines = [line.rstrip() for line in text.split("\n")]
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}"""'
    inner = "\n".join(indent + line if line else "" for line in lines[1:])
    return f'{indent}"""{lines[0]}\n{inner}\n{indent}"""'


def camel(text: str) -> str:
    """Return the ASCII words of a text as one capitalised name: `git-log.entries` gives `GitLogEntries`."""
    words = re.findall(r"[A-Za-z0-9]+", text)
    joined = "".join(word[0].upper() + word[1:] for word in words)[:60]
    return f"T{joined}" if joined[:1].isdigit() else joined
