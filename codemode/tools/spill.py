"""Spill: content that is too long for a model's context is stored whole in a file, and its head and tail shown.

For a direct call that is what the model sees; for a nested one only the stored copy in the log, since the
program works with the value. What cannot be stored stays as it is.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import tempfile
from pathlib import Path

import trio

from codemode.content import Content, Text
from codemode.rendering import cut_middle
from codemode.tools.call import Call, Outcome
from codemode.tools.hooks import Hooks

__all__ = ["Spill"]

_log = logging.getLogger("codemode.tools")


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
