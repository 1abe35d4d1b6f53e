"""Text for a page, made harmless: whatever was logged is shown as characters, and steers nothing. Pure; no I/O.

Every piece of a page that is not written in `page` itself comes from here.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from codemode.content import Image

__all__ = ["block", "inline", "lines_of", "picture"]

MAX_INLINE: Final = 200
"""Characters of a name or an id that stand on the page."""

MAX_IMAGE: Final = 1_000_000
"""Characters of base64 of a picture that is shown."""

_PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}", re.ASCII)


def inline(text: str, most: int = MAX_INLINE) -> str:
    """Return a name or an id as HTML on one line, cut after `most` characters, kept apart from what is around it."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return f"<bdi>{_characters(cut, '')}</bdi>"


def block(text: str, kind: str = "text") -> str:
    """Return some lines as an HTML block of preformatted text; `kind` is its class."""
    return f'<pre class="{kind}" dir="auto">{_characters(text, chr(10) + chr(9))}</pre>'


def lines_of(program: str, anchor: str) -> str:
    """Return a program as an HTML list of its lines, numbered as errors number them, each to be linked to."""
    lines = program.removesuffix("\n").split("\n")
    items = (
        f'<li id="{anchor}-{number}"><code>{_characters(line, chr(9))}</code></li>'
        for number, line in enumerate(lines, 1)
    )
    return f'<ol class="program" dir="ltr">{"".join(items)}</ol>'


def picture(image: Image) -> str:
    """Return a picture as HTML: shown if browsers show its kind and it is not large, else said to be there."""
    size = f"{len(image.data):,} characters of base64"
    if image.media_type in _PICTURES and len(image.data) <= MAX_IMAGE and _BASE64.fullmatch(image.data):
        return (
            f'<figure><img alt="a picture, {image.media_type}, {size}" '
            f'src="data:{image.media_type};base64,{image.data}"></figure>'
        )
    return f'<p class="note">[image {inline(image.media_type)}, {size}]</p>'


def _characters(text: str, kept: str) -> str:
    """Return text as HTML, in which what cannot be seen (but for `kept`) is written as an escape, and marked so."""
    if text.isascii() and text.isprintable():
        return escape(text)
    parts: list[str] = []
    seen = 0
    for place, char in enumerate(text):
        if char.isprintable() or char in kept:
            continue
        parts.append(escape(text[seen:place]))
        parts.append(f'<span class="hidden">{escape(ascii(char)[1:-1])}</span>')
        seen = place + 1
    parts.append(escape(text[seen:]))
    return "".join(parts)
