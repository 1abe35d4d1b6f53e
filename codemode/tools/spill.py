"""Spill: content that is too long for a model's context is stored whole in a file, and its head and tail shown.

For a direct call that is what the model sees; for a nested one only the stored copy in the log, since the
program works with the value. What cannot be stored stays as it is. `Spill.reader` is the tool by which a model or a
program asks for the rest.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import tempfile
from pathlib import Path
from typing import IO, TypedDict

import trio

from codemode.content import Content, Text
from codemode.errors import ToolError
from codemode.rendering import cut_middle
from codemode.tools.call import Call, Outcome
from codemode.tools.definition import Tool, tool
from codemode.tools.hooks import Hooks
from codemode.values import JSON

__all__ = ["Spill", "SpilledPart"]

_PART_BYTES = 40_000
_MOST_PART_BYTES = 1_000_000
"""What one call of `read_spilled` gives if nothing is said, and at most."""

_STORED = re.compile(r"[A-Za-z0-9._-]+\.txt")

_log = logging.getLogger("codemode.tools")


class SpilledPart(TypedDict):
    """A part of a stored text: the bytes from `offset` up to `end`, of `totalBytes` in all."""

    text: str
    offset: int
    end: int
    totalBytes: int


class Spill:
    """Stores long content in files of a directory that only its owner can read.

    `max_bytes` bounds what is shown of one call (UTF-8). Without a directory, a fresh temporary one is made
    when it is first needed; whoever made the spill deletes it. Content with other blocks than text is left alone.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None, *, max_bytes: int = 50_000) -> None:
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 1:
            raise ValueError(f"max_bytes={max_bytes!r}: must be a positive number of bytes")
        self._directory = None if directory is None else Path(directory)
        self.max_bytes = max_bytes
        self._is_readable = False

    def reader(self) -> Tool:
        """Return the tool `read_spilled`, which gives what was stored part by part; to be among the engine's tools.

        What is shown of a long text then says how to call it. Errors: NOT_STORED for a name that this spill has not
        stored, BAD_OFFSET for an offset past the end.
        """
        self._is_readable = True

        @tool(render=_as_part, parallel=True, read_only=True)
        async def read_spilled(name: str, *, offset: int = 0, limit: int = _PART_BYTES) -> SpilledPart:
            """Read more of a text that was too long to show. `name` is where the note says that it is; offsets count
            bytes, and the next part begins at `end`."""
            return await trio.to_thread.run_sync(self._read, name, offset, limit)

        return read_spilled

    def hooks(self) -> Hooks:
        """Return the hooks that put it to work, to be the last of their scope."""
        return Hooks(finalize_content=(self._shown,), stored_content=(self._stored,))

    async def shorten(self, call: Call, text: str, max_bytes: int | None = None) -> str | None:
        """Return what to show of a text: itself if it is short enough, else its head and tail and where the
        whole is. None when it cannot be stored."""
        bound = self.max_bytes if max_bytes is None else max_bytes
        data = text.encode("utf-8", "backslashreplace")
        if len(data) <= bound:
            return text
        try:
            path = await trio.to_thread.run_sync(self._store, call, data)
        except OSError as error:
            _log.warning("long content of tool %r could not be stored: %s", call.name, error)
            return None
        if self._is_readable:
            note = f"the whole text is in {path}; more of it: read_spilled(name={path.name!r}, offset={bound // 2})"
        else:
            note = f"the whole text is in {path}; read it from there in parts, or search in it"
        shown = cut_middle(text, bound, note)
        return shown if note in shown else None

    async def _shown(self, call: Call, outcome: Outcome) -> Content | None:
        return await self._shortened(call, outcome) if call.is_direct else None

    async def _stored(self, call: Call, outcome: Outcome) -> Content | None:
        return await self._shortened(call, outcome)

    async def _shortened(self, call: Call, outcome: Outcome) -> Content | None:
        content = outcome.content
        texts = [block.text for block in content if isinstance(block, Text)]
        if len(texts) < len(content) or sum(map(len, texts)) * 4 <= self.max_bytes:
            return None
        text = "\n".join(texts)
        shown = await self.shorten(call, text)
        return None if shown is None or shown is text else (Text(shown),)

    def _read(self, name: str, offset: int, limit: int) -> SpilledPart:
        directory = self._directory
        path = Path(name)
        if directory is not None and path.parent in (Path(), directory) and _STORED.fullmatch(path.name):
            with contextlib.suppress(OSError):
                descriptor = os.open(directory / path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                with open(descriptor, "rb") as stream:
                    return _part(stream, max(offset, 0), min(max(limit, 4), _MOST_PART_BYTES))
        raise ToolError(
            f"no stored text {name[:200]!r}; use the name that the shown text gives", code="NOT_STORED"
        )

    def _store(self, call: Call, data: bytes) -> Path:
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="codemode-spill-"))
        else:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = re.sub(r"[^A-Za-z0-9._-]", "_", call.name)[:60]
        path = self._directory / f"{name}-{secrets.token_hex(6)}.txt"
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(file, "wb") as stream:
                stream.write(data)
        except OSError:
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        return path


def _part(stream: IO[bytes], offset: int, limit: int) -> SpilledPart:
    """Read about `limit` bytes, from the beginning of a character to the beginning of another."""
    total = stream.seek(0, os.SEEK_END)
    if offset > total:
        raise ToolError(f"offset {offset} is past the end; the text has {total} bytes", code="BAD_OFFSET")
    stream.seek(offset)
    data = stream.read(limit + 3)
    while data and data[0] & 0xC0 == 0x80:  # the middle of a character
        data, offset = data[1:], offset + 1
    if offset + len(data) < total:
        data = data[:limit]
        while data and data[-1] & 0xC0 == 0x80:
            data = data[:-1]
        if data and data[-1] & 0x80:
            data = data[:-1]
    return {
        "text": data.decode("utf-8", "replace"),
        "offset": offset,
        "end": offset + len(data),
        "totalBytes": total,
    }


def _as_part(arguments: dict[str, JSON], value: SpilledPart) -> list[Text]:
    end, total = value["end"], value["totalBytes"]
    more = f"; go on with offset={end}" if end < total else ""
    return [Text(f"[bytes {value['offset']} to {end} of {total}{more}]\n{value['text']}")]
