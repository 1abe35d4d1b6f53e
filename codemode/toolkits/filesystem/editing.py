"""`write` and `edit`: replace a file's content, whole or in one place.

A file is replaced at once (a new one is renamed over it), so that a reader sees the old or the new text.
Concurrent changes of one file in this process follow each other, none is lost. A call that is cancelled
while it writes may still take effect, whole.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from codemode import Text, Tool, ToolArgumentsError, ToolError, text, tool
from codemode.toolkits.filesystem.changes import diffs
from codemode.toolkits.filesystem.reading import FilePath
from codemode.toolkits.filesystem.texts import decode, has_nul
from codemode.toolkits.filesystem.workspace import Entry, Workspace, read_entry, require_regular, shown

__all__ = ["EditValue", "WriteValue", "edit_tool", "write_tool"]

MAX_EDIT_BYTES = 10 * 1024 * 1024
"""The largest file that is edited, or whose text a `write` returns as `before`."""


class WriteValue(TypedDict):
    path: str
    operation: Literal["create", "update"]
    before: str | None
    after: str


class EditValue(TypedDict):
    path: str
    before: str
    after: str


Content = Annotated[str, Meta(description="the whole text of the file")]
NewString = Annotated[str, Meta(description="what takes its place")]
ReplaceAll = Annotated[bool, Meta(description="replace each occurrence; otherwise there must be one alone")]
OldString = Annotated[str, Meta(min_length=1, description="text to replace, as it is in the file")]


def write_tool(workspace: Workspace) -> Tool:
    @tool(render=_render_write, presentation_meta=_write_meta)
    def write(file_path: FilePath, content: Content) -> WriteValue:
        """Write a text file: create it, with the directories it needs, or replace what it holds.

        `before` is the old text, null for a new file and for one that was no text or over 10 MiB.
        """
        doing = "cannot write"
        with (
            workspace.entry(file_path, doing=doing, make_parents=True) as place,
            workspace.exclusively(place) as found,
        ):
            before = None
            if found.status is not None:
                require_regular(found, file_path, doing)
                before = _text_if_any(found)
            workspace.replace(found, content.encode())
        return {
            "path": shown(found.path),
            "operation": "create" if found.status is None else "update",
            "before": before,
            "after": content,
        }

    return write


def edit_tool(workspace: Workspace) -> Tool:
    @tool(render=_render_edit, presentation_meta=_edit_meta)
    def edit(
        file_path: FilePath, old_string: OldString, new_string: NewString, replace_all: ReplaceAll = False
    ) -> EditValue:
        """Replace text in a file: the one occurrence of `old_string`, or every one with `replace_all`.

        The text is taken literally. It may span lines; line endings match and stay as the file has them.
        """
        doing = "cannot edit"
        if _plain_newlines(old_string) == _plain_newlines(new_string):
            raise ToolArgumentsError("old_string and new_string must differ")
        with workspace.entry(file_path, doing=doing) as place, workspace.exclusively(place) as found:
            require_regular(found, file_path, doing)
            data = read_entry(found, MAX_EDIT_BYTES + 1)
            if len(data) > MAX_EDIT_BYTES:
                raise ToolError(
                    f'{doing} "{file_path}": it is larger than {MAX_EDIT_BYTES // 2**20} MiB',
                    code="FS_TOO_LARGE",
                )
            before = decode(data, file_path, doing)
            after = _edited(before, old_string, new_string, replace_all, file_path)
            workspace.replace(found, after.encode())
        return {"path": shown(found.path), "before": before, "after": after}

    return edit


def _text_if_any(found: Entry) -> str | None:
    data = read_entry(found, MAX_EDIT_BYTES + 1)
    if len(data) > MAX_EDIT_BYTES or has_nul(data):
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


# ------------------------------------------------------------------------------------ replacing text


def _edited(before: str, old: str, new: str, replace_all: bool, path: str) -> str:
    # Found in a text whose line endings are all LF, replaced in the original one. Literal search is linear;
    # a regular expression for either ending would not be.
    plain, old, new = _plain_newlines(before), _plain_newlines(old), _plain_newlines(new)
    first = plain.find(old)
    if first < 0:
        raise ToolError(
            f'old_string was not found in "{path}"; it has to be the exact text, with its indentation',
            code="FS_EDIT_NOT_FOUND",
        )
    if not replace_all and plain.find(old, first + 1) >= 0:
        raise ToolError(
            f'old_string matched {max(plain.count(old), 2)} times in "{path}"; '
            "give more of the text around it, or set replace_all to true",
            code="FS_AMBIGUOUS_EDIT",
        )
    if _mostly_crlf(before):
        new = new.replace("\n", "\r\n")
    # Where the text without CRs had one: each moves what follows it by one character.
    dropped = [match.start() - index for index, match in enumerate(re.finditer("\r\n", before))]
    pieces: list[str] = []
    kept = 0
    while first >= 0:
        end = first + len(old)
        pieces += [before[kept : first + bisect_left(dropped, first)], new]
        kept = end + bisect_left(dropped, end)
        first = plain.find(old, end) if replace_all else -1
    return "".join([*pieces, before[kept:]])


def _plain_newlines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _mostly_crlf(text: str) -> bool:
    crlf = text.count("\r\n")
    return crlf > text.count("\n") - crlf


# ------------------------------------------------------------------------------------- what is shown


def _render_write(arguments: object, value: WriteValue) -> list[Text]:
    done = "Created" if value["operation"] == "create" else "Updated"
    return [text(f"{done} file {value['path']}")]


def _write_meta(arguments: object, value: WriteValue) -> dict[str, Any]:
    return diffs(value["path"], value["before"], value["after"])


def _render_edit(arguments: dict[str, Any], value: EditValue) -> list[Text]:
    what = (
        "All occurrences were replaced." if arguments.get("replace_all") else "One occurrence was replaced."
    )
    return [text(f"The file {value['path']} has been updated. {what}")]


def _edit_meta(arguments: object, value: EditValue) -> dict[str, Any]:
    return diffs(value["path"], value["before"], value["after"])
