"""`glob` and `grep`: find files by name, lines by what is in them.

The values have everything that was found; what a model is shown of it is bounded in the rendering only.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from itertools import groupby, islice
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from codemode import Text, Tool, ToolArgumentsError, ToolError, text, tool
from codemode.toolkits.filesystem.matcher import MAX_DESCRIPTORS, Matcher
from codemode.toolkits.filesystem.patterns import Glob, PatternError
from codemode.toolkits.filesystem.walking import Deadline, walk
from codemode.toolkits.filesystem.workspace import Workspace, require_regular, shown

__all__ = ["GlobValue", "GrepValue", "glob_tool", "grep_tool"]

TIME_LIMIT = 30.0
"""Seconds that one search may take."""
MAX_PATTERN_CHARACTERS = 10_000

_DOING = "cannot search"

# What a model is shown of a value, and a user interface.
_SHOWN_PATHS = 100
_SHOWN_MATCHES = 250
_SHOWN_LINES = 500  # with their context
_SHOWN_LINE_BYTES = 2000
_META_BYTES = 65_536

GlobPattern = Annotated[str, Meta(min_length=1, description="such as *.py, src/**/*.ts or *.{js,ts}")]
LinePattern = Annotated[
    str,
    Meta(min_length=1, max_length=MAX_PATTERN_CHARACTERS, description="a regular expression, as Python's re"),
]
Where = Annotated[str, Meta(min_length=1, description="where to search, the whole workspace if not given")]
Include = Annotated[str, Meta(min_length=1, description="only files that this glob pattern matches")]

Ignored = Annotated[bool, Meta(description="also what .gitignore names")]
IgnoreCase = Annotated[bool, Meta(description="letters match in either case")]
Context = Annotated[int, Meta(ge=0, le=50, description="lines to give before and after each match")]
FirstMatch = Annotated[int, Meta(ge=1, description="the first match to return, from 1")]
MatchLimit = Annotated[int, Meta(ge=1, description="how many matches to return at most")]


class GlobValue(TypedDict):
    paths: list[str]


class Match(TypedDict):
    path: str
    lineNumber: int
    line: str

    before: NotRequired[list[str]]
    after: NotRequired[list[str]]


class GrepValue(TypedDict):
    """What was found. `total` is there when only some of it was asked for: how many matches there are."""

    matches: list[Match]
    total: NotRequired[int]


def glob_tool(workspace: Workspace) -> Tool:
    @tool(render=_render_paths, presentation_meta=_paths_meta, parallel=True, read_only=True)
    def glob(pattern: GlobPattern, path: Where | None = None, include_ignored: Ignored = False) -> GlobValue:
        """Find files by name, the last changed first; in the value all of them, relative to the workspace.

        A pattern without a slash matches names at any depth, one with a slash paths beneath `path`, a
        directory. `*` stays within a name, `**` goes through directories; also `?`, `[a-z]`, `{a,b}`.
        Hidden files count; links, version control and what .gitignore names do not (`include_ignored`).
        """
        if path is None:
            pattern = _beneath_root(pattern, workspace.root)
        wanted = _glob(pattern, "pattern")
        start = _directory(workspace, path)
        deadline = Deadline(TIME_LIMIT)
        skip = len("/".join(start)) + 1 if start else 0
        found = [
            file
            for file in walk(workspace, start, deadline, include_ignored=include_ignored)
            if wanted.matches(file.path[skip:])
        ]
        found.sort(key=lambda file: (-file.modified, file.path))
        return {"paths": [shown(file.path) for file in found]}

    return glob


def grep_tool(workspace: Workspace) -> Tool:
    @tool(render=_render_matches, presentation_meta=_matches_meta, parallel=True, read_only=True)
    def grep(
        pattern: LinePattern,
        path: Where | None = None,
        include: Include | None = None,
        ignore_case: IgnoreCase = False,
        include_ignored: Ignored = False,
        context: Context = 0,
        offset: FirstMatch = 1,
        limit: MatchLimit | None = None,
    ) -> GrepValue:
        """Find the lines of text files that a regular expression matches, ordered by path and line.

        `path` is a file or a directory; `include` is a glob pattern such as `*.py` or `*.{js,ts}`. The value
        has all matches, each line whole and without its ending. Binary files are passed over; links, version
        control and what .gitignore names, too (`include_ignored`).

        With `context`, each match has so many lines `before` and `after` it. With `offset` or `limit`, the value has
        these matches only, and `total`.
        """
        wanted = _include(include)
        deadline = Deadline(TIME_LIMIT)
        # It starts first, so that a wrong pattern is said before anything is searched.
        with Matcher(pattern, ignore_case=ignore_case, context=context, deadline=deadline) as matcher:
            candidates = _candidates(workspace, path, wanted, deadline, include_ignored)
            matches: list[Match] = []
            for batch in _batches(iter(candidates)):
                with contextlib.ExitStack() as opened:
                    paths, descriptors = [], []
                    for candidate in batch:
                        with contextlib.suppress(OSError):
                            descriptor = workspace.open_found(candidate)
                            opened.callback(os.close, descriptor)
                            paths.append(shown(candidate))
                            descriptors.append(descriptor)
                    found = matcher.search(descriptors)
                matches += [
                    _match(where, *hit) for where, hits in zip(paths, found, strict=True) for hit in hits
                ]
        if offset == 1 and limit is None:
            return {"matches": matches}
        end = len(matches) if limit is None else offset - 1 + limit
        return {"matches": matches[offset - 1 : end], "total": len(matches)}

    return grep


def _match(
    path: str, number: int, line: str, before: list[str] | None = None, after: list[str] | None = None
) -> Match:
    match: Match = {"path": path, "lineNumber": number, "line": line}
    if before is not None and after is not None:
        match["before"], match["after"] = before, after
    return match


def _candidates(
    workspace: Workspace, path: str | None, wanted: Glob | None, deadline: Deadline, include_ignored: bool
) -> list[str]:
    """The files to search, by path. A file that was asked for by its path is searched whatever it is."""
    with workspace.entry(path or ".", doing=_DOING) as found:
        if not _is_directory(found.status):
            require_regular(found, path or ".", _DOING)
            return [found.path]
        start = _parts(found.path)
    skip = len(found.path) + 1 if start else 0
    files = walk(workspace, start, deadline, include_ignored=include_ignored)
    return sorted(file.path for file in files if wanted is None or wanted.matches(file.path[skip:]))


def _batches(items: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(items, MAX_DESCRIPTORS)):
        yield batch


def _directory(workspace: Workspace, path: str | None) -> tuple[str, ...]:
    """The names that lead to a directory, without links."""
    with workspace.entry(path or ".", doing=_DOING) as found:
        if found.status is None:
            require_regular(found, path or ".", _DOING)
        if not _is_directory(found.status):
            raise ToolError(f'{_DOING} "{path}": it is not a directory', code="FS_NOT_DIRECTORY")
        return _parts(found.path)


def _is_directory(status: os.stat_result | None) -> bool:
    return status is not None and stat.S_ISDIR(status.st_mode)


def _parts(path: str) -> tuple[str, ...]:
    return () if path == "." else tuple(path.split("/"))


def _beneath_root(pattern: str, root: str) -> str:
    """A pattern that is absolute and beneath the workspace, as one that is tied to its root."""
    prefix = root.rstrip("/") + "/"
    return pattern[len(prefix) - 1 :] if pattern.startswith(prefix) else pattern


def _glob(pattern: str, what: str) -> Glob:
    if not pattern.strip():
        raise ToolArgumentsError(f"{what} must be a non-empty glob")
    try:
        return Glob(pattern)
    except PatternError as error:
        raise ToolError(
            f"{what} {pattern[:200]!r} is no glob: {error}", code="SEARCH_INVALID_PATTERN"
        ) from None


def _include(include: str | None) -> Glob | None:
    if include is None:
        return None
    if include.startswith("!"):
        raise ToolArgumentsError(
            "include takes no negated patterns; it says what to search, not what to leave"
        )
    wanted = _glob(include, "include")
    depth = 0
    for character in include:
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            raise ToolArgumentsError("include is one glob, not a comma-separated list; write *.{ts,tsx}")
    return wanted


# ------------------------------------------------------------------------------------- what is shown


def _render_paths(arguments: object, value: GlobValue) -> list[Text]:
    paths = value["paths"]
    if not paths:
        return [text("No files found")]
    shown_text = "\n".join(paths[:_SHOWN_PATHS])
    if len(paths) > _SHOWN_PATHS:
        shown_text += (
            f"\n\n(Showing {_SHOWN_PATHS} of {len(paths)} paths, the last changed first; "
            "narrow pattern or path to see others.)"
        )
    return [text(shown_text)]


def _paths_meta(arguments: object, value: GlobValue) -> dict[str, Any]:
    paths = value["paths"]
    kept = list(_fitting(paths[:_SHOWN_PATHS]))
    return {"shape": "paths", "paths": kept, "truncated": len(kept) < len(paths), "total": len(paths)}


def _render_matches(arguments: dict[str, Any], value: GrepValue) -> list[Text]:
    matches = value["matches"]
    total = value.get("total", len(matches))
    if not matches:
        return [text(f"No more matches ({total} in all)" if total else "No matches found")]
    first = arguments.get("offset", 1)
    kept = matches[: min(_SHOWN_MATCHES, max(_SHOWN_LINES // (1 + 2 * arguments.get("context", 0)), 1))]
    counted = f"{len(kept)} of {total}" if len(kept) < total else str(total)
    lines = [f"Found {counted} match{'es' if total > 1 else ''}"]
    for path, group in groupby(kept, key=lambda match: match["path"]):
        lines += ["", path, *_with_context(list(group))]
    if (last := first - 1 + len(kept)) < total:
        lines += ["", f"(Use offset={last + 1} to continue, or narrow pattern, path or include.)"]
    return [text("\n".join(lines))]


def _with_context(matches: list[Match]) -> list[str]:
    """The matches of one file, and the lines around them, each once; `--` where lines are left out between them."""
    around: dict[int, str] = {}
    for match in matches:
        before = match.get("before", [])
        around.update(enumerate(before, match["lineNumber"] - len(before)))
        around.update(enumerate(match.get("after", []), match["lineNumber"] + 1))
    has_context = bool(around)
    found = {match["lineNumber"]: match["line"] for match in matches}
    lines: list[str] = []
    previous = None
    for number in sorted(around.keys() | found.keys()):
        if has_context and previous is not None and number > previous + 1:
            lines.append("--")
        previous = number
        is_match = number in found
        lines.append(
            f"Line {number}{':' if is_match else '-'} {_preview(found[number] if is_match else around[number])}"
        )
    return lines


def _matches_meta(arguments: object, value: GrepValue) -> dict[str, Any]:
    matches = value["matches"]
    files: list[dict[str, Any]] = []
    previews = [{**match, "line": _preview(match["line"])} for match in matches[:_SHOWN_MATCHES]]
    count = 0
    for match in _fitting(previews):
        count += 1
        if not files or files[-1]["path"] != match["path"]:
            files.append({"path": match["path"], "matches": []})
        files[-1]["matches"].append({"lineNumber": match["lineNumber"], "line": match["line"]})
    return {
        "shape": "matches",
        "files": files,
        "truncated": count < len(matches),
        "total": value.get("total", len(matches)),
    }


def _fitting(items: list[Any]) -> Iterator[Any]:
    """The first items, as many as metadata has room for."""
    room = _META_BYTES - 200  # for what is around them
    for item in items:
        room -= len(json.dumps(item, ensure_ascii=False).encode()) + 2
        if room < 0:
            return
        yield item


def _preview(line: str) -> str:
    data = line.encode()
    if len(data) <= _SHOWN_LINE_BYTES:
        return line
    return data[:_SHOWN_LINE_BYTES].decode("utf-8", "ignore") + " (line truncated)"
