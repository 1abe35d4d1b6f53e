"""A response's body: unpacked and collected within a bound, then decoded. What is neither HTML nor text is refused."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import AsyncIterable
from typing import Literal, NamedTuple

from codemode import ToolError

__all__ = ["ACCEPTED_ENCODINGS", "Body", "collect", "decode", "kind_of", "media_type_of"]

ACCEPTED_ENCODINGS = "gzip"
"""Of `Accept-Encoding`: what is unpacked here, piece by piece, so that little cannot become much."""

_PIECE_BYTES = 64 * 1024
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = frozenset(
    "application/json application/ld+json application/xml application/javascript application/ecmascript "
    "application/x-javascript application/yaml application/x-yaml application/toml application/sql "
    "application/graphql application/x-sh application/x-ndjson application/jsonl application/rtf "
    "application/x-www-form-urlencoded image/svg+xml message/rfc822".split()
)
# Python's codecs for texts of other alphabets. Among the others are ones that are slow or no text (punycode, hex).
_CHARSETS = re.compile(
    r"utf-(8|16|32)|utf-(16|32)-[lb]e|iso8859-\d+|cp\d+|koi8-[rtu]|gbk|gb2312|gb18030|big5|big5hkscs|shift_jis|"
    r"shift_jisx0213|euc_jp|euc_kr|iso2022_jp|johab|mac-\w+|ascii|tis-620|hz|ptcp154|kz1048",
)
_META_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}["']?\s{0,9}([A-Za-z0-9_:.-]{1,40})""", re.I
)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class Body(NamedTuple):
    """A decoded body."""

    kind: Literal["html", "text"]
    content: str


async def collect(pieces: AsyncIterable[bytes], encoding: str, max_bytes: int) -> bytes:
    """Return a whole body, unpacked. Raises `ToolError`: WEB_FETCH_TOO_LARGE past `max_bytes`, WEB_BAD_RESPONSE
    for what cannot be unpacked, WEB_UNSUPPORTED_CONTENT_TYPE for another packing than was accepted."""
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise ToolError(
            f"the answer is packed as {encoding!r}, which was not asked for",
            code="WEB_UNSUPPORTED_CONTENT_TYPE",
        )
    packed = encoding.endswith("gzip")
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    data = bytearray()

    def add(piece: bytes) -> None:
        data.extend(piece)
        if len(data) > max_bytes:
            raise ToolError(
                f"the answer has more than {max_bytes:,} bytes; fetch a smaller part of it",
                code="WEB_FETCH_TOO_LARGE",
            )

    async for piece in pieces:
        if not packed:
            add(piece)
            continue
        try:
            while not unpacker.eof:
                unpacked = unpacker.decompress(piece, _PIECE_BYTES)
                add(unpacked)
                piece = unpacker.unconsumed_tail
                if not piece and len(unpacked) < _PIECE_BYTES:
                    break
        except zlib.error as error:
            raise ToolError(f"the answer cannot be unpacked: {error}", code="WEB_BAD_RESPONSE") from None
    if packed and not unpacker.eof and (data or unpacker.unconsumed_tail):
        raise ToolError("the answer ends in the middle of its packed data", code="WEB_BAD_RESPONSE")
    return bytes(data)


def media_type_of(content_type: str) -> str:
    """Return the media type of a `Content-Type` header, without parameters."""
    return content_type.split(";")[0].strip().lower()


def kind_of(media_type: str, start: bytes) -> Literal["html", "text"] | None:
    """Return what a body is, by its declared type or, without one, by how it starts; None if neither."""
    if media_type in _HTML:
        return "html"
    if media_type in _TEXT or media_type.startswith("text/") or media_type.endswith(("+json", "+xml")):
        return "text"
    if media_type not in ("", "application/octet-stream") or b"\0" in start:
        return None
    if media_type == "" and re.match(rb"\s*(<!doctype html|<html)", start, re.I):
        return "html"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return None
    return "text"


def decode(data: bytes, kind: Literal["html", "text"], content_type: str) -> Body:
    """Decode a body: by its byte order mark, its header, what HTML says of itself, else as UTF-8.

    What is wrong in it becomes U+FFFD. Takes a moment for megabytes: not for the host's loop.
    """
    for bom, marked in _BOMS:
        if data.startswith(bom):
            return Body(kind, data[len(bom) :].decode(marked, "replace"))
    charset: str | None
    said = re.search(r"charset\s*=\s*[\"']?([\w:.-]{1,40})", content_type, re.I)
    charset = _charset(said.group(1)) if said else None
    if charset is None and kind == "html":
        meta = _META_CHARSET.search(data[:4096])
        charset = _charset(meta.group(1).decode()) if meta else None
    return Body(kind, data.decode(charset or "utf-8", "replace"))


def _charset(name: str) -> str | None:
    """Python's name of a charset, if it is one of a text's. What the web calls Latin-1 is Windows-1252."""
    try:
        known = codecs.lookup(name).name
    except LookupError:
        return None
    if known in ("iso8859-1", "ascii"):
        return "cp1252"
    return known if _CHARSETS.fullmatch(known) else None
