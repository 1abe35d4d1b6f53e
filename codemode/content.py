"""Content blocks: what is rendered from a value, shown to the model and stored. Data only, no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec
from msgspec import Struct

from codemode.values import JSON, FrozenList, adopt

__all__ = ["Content", "Image", "Text", "content_from_json", "content_to_json", "text", "text_of"]


class Text(Struct, frozen=True, tag_field="type", tag="text"):
    """A block of text."""

    text: str


class Image(Struct, frozen=True, tag_field="type", tag="image", rename="camel"):
    """A picture: base64 `data` of media type `media_type` (`image/png`, …)."""

    data: str
    media_type: str


Content: TypeAlias = tuple[Text | Image, ...]


def text(value: str) -> Text:
    """Return a text block."""
    return Text(value)


def text_of(content: Iterable[Text | Image]) -> str:
    """Return the text of some content, blocks joined by newlines; other blocks as `[image image/png]`."""
    return "\n".join(b.text if isinstance(b, Text) else f"[image {b.media_type}]" for b in content)


def content_to_json(content: Content) -> FrozenList:
    """Return content as a frozen JSON value, as it is stored. The text in it must be Unicode."""
    blocks: list[JSON] = list(msgspec.to_builtins(content))
    frozen = adopt(blocks)
    assert isinstance(frozen, FrozenList)
    return frozen


def content_from_json(blocks: JSON) -> Content:
    """Return content from its stored form. Raises `msgspec.ValidationError` for anything else."""
    return msgspec.convert(blocks, tuple[Text | Image, ...])
