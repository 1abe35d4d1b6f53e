"""Tools over the files of one workspace: `read`, `glob`, `grep`, and with `write=True` `write`, `edit`.

What may be touched is decided in `workspace.py` alone; nothing else in this package opens a path.

    workspace.py         a directory that no path leaves
    reading.py           read
    editing.py           write, edit
    searching.py         glob, grep
    walking.py           the files under a directory, without the ignored ones
    ignoring.py          .gitignore
    patterns.py          shell patterns
    matcher.py           regular expressions over files, in a process of their own
    matcher_process.py   that process
    texts.py             what counts as text
    changes.py           what a change shows to a user interface
"""

from __future__ import annotations

import os

from codemode import Tool
from codemode.toolkits.filesystem.editing import edit_tool, write_tool
from codemode.toolkits.filesystem.reading import read_tool
from codemode.toolkits.filesystem.searching import glob_tool, grep_tool
from codemode.toolkits.filesystem.workspace import Workspace

__all__ = ["files"]


def files(workspace: str | os.PathLike[str], *, write: bool = False) -> list[Tool]:
    """Return the tools `read`, `glob` and `grep` over a directory; with `write`, also `write` and `edit`.

    Paths are relative to `workspace`, or absolute beneath it. One that leaves it, also through a symbolic
    link, is refused with FS_OUTSIDE_WORKSPACE. Raises `ToolDefinitionError` if it is no directory.
    """
    place = Workspace(workspace)
    tools = [read_tool(place), glob_tool(place), grep_tool(place)]
    if write:
        tools += [write_tool(place), edit_tool(place)]
    return tools
