"""`read`: a window of a text file's lines.

The value has every line of the window, whole; what a model is shown of it is bounded in the rendering
only. A file is streamed, so that its size does not matter; the window's does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO, TypedDict

import trio
from msgspec import Meta

from codemode import Text, Tool, ToolError, text, tool
from codemode.toolkits.filesystem.texts import BOM, has_nul, not_text
from codemode.toolkits.filesystem.workspace import Workspace, shown

__all__ = ["ReadValue", "read_tool"]

MAX_WINDOW_BYTES = 10 * 1024 * 1024
"""The most text that one call returns."""

_BLOCK_BYTES = 1024 * 1024
_DOING = "cannot read"

# What a model is shown of a value.
_SHOWN_LINES = 2000
_SHOWN_BYTES = 50 * 1024
_SHOWN_LINE_CHARACTERS = 2000

FilePath = Annotated[str, Meta(min_length=1, description="relative to the workspace, or absolute in it")]
Offset = Annotated[int, Meta(ge=1, description="the first line to read, from 1")]
Limit = Annotated[int, Meta(ge=1, description="how many lines to read at most")]


class Line(TypedDict):
    number: int
    text: str


class ReadValue(TypedDict):
    path: str
    offset: int
    lines: list[Line]
    totalLines: int


def read_tool(workspace: Workspace) -> Tool:
    @tool(render=_render, presentation_meta=_meta, parallel=True, read_only=True)
    def read(file_path: FilePath, offset: Offset = 1, limit: Limit = 2000) -> ReadValue:
        """Read lines of a UTF-8 text file, 2,000 from its beginning unless told otherwise.

        Line endings are not part of a line's text; a last line counts also without one. A larger `limit`
        gives a program the whole file, up to 10 MiB; what is shown directly stays at 2,000 lines,
        2,000 characters of each, 50 KiB in all.
        """
        with workspace.open(file_path, doing=_DOING) as (path, file):
            kept, newlines, total = _window(file, file_path, offset, offset + limit - 1)
        if offset > max(total, 1):
            raise ToolError(
                f'offset {offset} is out of range for "{file_path}" ({_lines(total)})', code="FS_OUT_OF_RANGE"
            )
        lines: list[Line] = []
        for number, raw in enumerate(kept, offset):
            if number <= newlines:
                raw = raw.removesuffix(b"\r")
            try:
                lines.append({"number": number, "text": raw.decode()})
            except UnicodeDecodeError:
                raise not_text(file_path, _DOING, f"line {number} is not valid UTF-8") from None
        if offset == 1 and lines:
            lines[0]["text"] = lines[0]["text"].removeprefix(BOM)
        return {"path": shown(path), "offset": offset, "lines": lines, "totalLines": total}

    return read


def _window(file: BinaryIO, path: str, first: int, last: int) -> tuple[list[bytes], int, int]:
    """Return the lines `first` to `last` (from 1) without LF, how many LFs there are, and how many lines."""
    kept: list[bytes] = []
    size = 0
    newlines = 0
    tail = b""
    for block in _blocks(file, path):
        in_block = block.count(b"\n")
        begins = newlines + 1  # the line that the block begins in
        if begins <= last and begins + in_block >= first:
            for number, piece in enumerate(block.split(b"\n"), begins):
                if first <= number <= last:
                    size += len(piece) + 1
                    if number - first < len(kept):
                        kept[-1] += piece
                    else:
                        kept.append(piece)
            if size > MAX_WINDOW_BYTES:
                raise ToolError(
                    f'{_DOING} "{path}": from line {first} these are more than {MAX_WINDOW_BYTES // 2**20} MiB; '
                    "read it in parts, with a smaller limit and a growing offset",
                    code="FS_TOO_LARGE",
                )
        newlines += in_block
        tail = block[-1:]
    total = newlines + (1 if tail not in (b"", b"\n") else 0)
    del kept[max(total - first + 1, 0) :]  # after a last LF no line follows
    return kept, newlines, total


def _blocks(file: BinaryIO, path: str) -> Iterator[bytes]:
    block = file.read(_BLOCK_BYTES)
    if has_nul(block):
        raise not_text(path, _DOING, "it is a binary file")
    while block:
        yield block
        trio.from_thread.check_cancelled()
        block = file.read(_BLOCK_BYTES)


# ------------------------------------------------------------------------------------- what is shown


def _cut(value: ReadValue) -> list[Line]:
    """The lines of a value that are shown: at least one, where there are any."""
    lines: list[Line] = []
    room = _SHOWN_BYTES
    for line in value["lines"][:_SHOWN_LINES]:
        content = line["text"]
        if len(content) > _SHOWN_LINE_CHARACTERS:
            cut = f"... (line truncated to {_SHOWN_LINE_CHARACTERS} chars)"
            content = content[:_SHOWN_LINE_CHARACTERS] + cut
        room -= len(content.encode()) + 1
        if room < 0 and lines:
            break
        lines.append({"number": line["number"], "text": content})
    return lines


def _render(arguments: object, value: ReadValue) -> list[Text]:
    lines = _cut(value)
    total = value["totalLines"]
    body = "".join(f"{line['number']}: {line['text']}\n" for line in lines)
    if lines and lines[-1]["number"] < total:
        last = lines[-1]["number"]
        capped = "Output capped. " if len(lines) < len(value["lines"]) else ""
        footer = (
            f"({capped}Showing lines {value['offset']}-{last} of {total}. Use offset={last + 1} to continue.)"
        )
    else:
        footer = f"(End of file - {_lines(total)} in all)"
    if body:
        body += "\n"
    return [text(f"<path>{value['path']}</path>\n<type>file</type>\n<content>\n{body}{footer}\n</content>")]


def _meta(arguments: object, value: ReadValue) -> dict[str, Any]:
    meta: dict[str, Any] = {**value, "lines": _cut(value)}
    stem, _, extension = value["path"].rpartition("/")[2].rpartition(".")
    if stem and extension.lower() in _LANGUAGES:
        meta["lang"] = _LANGUAGES[extension.lower()]
    return meta


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


# Names that highlighters know, by extension.
_LANGUAGES = {
    extension: language
    for language, extensions in {
        "bash": "sh bash",
        "c": "c h",
        "cpp": "cc cpp cxx hh hpp",
        "css": "css",
        "go": "go",
        "html": "html htm",
        "java": "java",
        "javascript": "js mjs cjs",
        "json": "json",
        "jsx": "jsx",
        "kotlin": "kt kts",
        "markdown": "md",
        "php": "php",
        "python": "py pyi",
        "ruby": "rb",
        "rust": "rs",
        "sql": "sql",
        "swift": "swift",
        "toml": "toml",
        "tsx": "tsx",
        "typescript": "ts mts cts",
        "xml": "xml svg",
        "yaml": "yaml yml",
    }.items()
    for extension in extensions.split()
}
