"""Pictures in a program's result: shown as pictures, and in the text only named.

A picture is a block as tools give it: `{"type": "image", "data": base64, "mimeType": "image/png"}`, anywhere in the
result. Only what a program returns is shown; pictures that its calls gave and that it did not return are not.
"""

from __future__ import annotations

import base64
import binascii

from codemode.content import Image
from codemode.values import JSON

__all__ = ["MAX_PICTURES", "taken_out"]

MAX_PICTURES = 20
"""Pictures of one result that are shown; the others are named. About what a model takes in at once."""

_MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")


def taken_out(result: JSON) -> tuple[JSON, list[Image]]:
    """Return the result with a note in the place of each picture, and the pictures that are to be shown."""
    pictures: list[Image] = []
    return _without(result, pictures), pictures[:MAX_PICTURES]


def _without(value: JSON, pictures: list[Image]) -> JSON:
    if isinstance(value, dict):
        picture = _picture(value)
        if picture is None:
            return {key: _without(item, pictures) for key, item in value.items()}
        pictures.append(picture)
        number = len(pictures)
        shown = "shown below" if number <= MAX_PICTURES else f"not shown: more than {MAX_PICTURES} pictures"
        return f"[picture {number}, {picture.media_type}, {shown}]"
    if isinstance(value, list):
        return [_without(item, pictures) for item in value]
    return value


def _picture(block: dict[str, JSON]) -> Image | None:
    if block.get("type") != "image":
        return None
    data, media_type = block.get("data"), block.get("mimeType", block.get("mediaType"))
    if not isinstance(data, str) or not data or media_type not in _MEDIA_TYPES:
        return None
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Image(data, str(media_type))
