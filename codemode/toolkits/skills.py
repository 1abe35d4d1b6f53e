"""`skill`: instructions for a kind of task, kept as folders of Markdown, as agent clients keep them.

A skill is a folder with a `SKILL.md` that begins with YAML front matter: `name`, which is the folder's, and
`description`; other fields are passed over (https://agentskills.io/specification). Needs the extra
`codemode[skills]`. Files are opened by `Workspace` alone, so that no link leads out of a directory of skills.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import msgspec
from msgspec import Meta, Struct

from codemode import Text, Tool, ToolError, text, tool
from codemode.toolkits.filesystem.texts import decode
from codemode.toolkits.filesystem.workspace import Workspace

if find_spec("yaml") is None:  # msgspec reads YAML with it
    raise ImportError("the skills toolkit needs pyyaml; install it with: pip install 'codemode[skills]'")

__all__ = ["skills"]

MAX_SKILL_BYTES = 256 * 1024
MAX_FRONT_MATTER_BYTES = 16 * 1024
MAX_LISTED = 100
_MAX_ENTRIES = 10_000  # of one directory of skills
_SHOWN_DESCRIPTION = 300

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_FILE = "SKILL.md"
_DOING = "cannot load skill"


class ResourceBase(TypedDict):
    kind: Literal["directory"]
    path: str


class SkillValue(TypedDict):
    name: str
    provider: str
    resourceBase: NotRequired[ResourceBase]
    content: str


SkillName = Annotated[str, Meta(min_length=1, max_length=64, description="one of those that are listed")]


class _FrontMatter(Struct, frozen=True, rename="kebab"):
    name: str
    description: str
    disable_model_invocation: bool = False


class _Skill(NamedTuple):
    front: _FrontMatter
    body: str
    provider: str
    folder: str


def skills(directories: Iterable[str | os.PathLike[str]]) -> list[Tool]:
    """Return the tool `skill` over directories of skills; of two with the same name, that of the first counts.

    Its description lists the skills that are there now; a call looks at the files as they are then. A folder
    without a proper `SKILL.md` is no skill. Raises `ToolDefinitionError` for what is no directory.
    """
    places = [(os.fspath(directory), Workspace(directory)) for directory in directories]

    @tool(
        render=_render,
        presentation_meta=_meta,
        description=_description(places),
        parallel=True,
        read_only=True,
        timeout=30,
    )
    def skill(name: SkillName) -> SkillValue:
        if _NAME.fullmatch(name) is None:
            raise ToolError(
                f"invalid skill name {name!r}: letters, digits, '-' and '_'", code="SKILL_INVALID_NAME"
            )
        found = _find(places, name)
        if found.front.disable_model_invocation:
            raise ToolError(f"skill {name!r} is for people to start, not for you", code="SKILL_NOT_AVAILABLE")
        return {
            "name": name,
            "provider": found.provider,
            "resourceBase": {"kind": "directory", "path": found.folder},
            "content": found.body,
        }

    return [skill]


def _find(places: Iterable[tuple[str, Workspace]], name: str) -> _Skill:
    places = list(places)
    for provider, place in places:
        try:
            return _load(provider, place, name)
        except ToolError as error:
            if error.code != "FS_NOT_FOUND":
                raise
    known = ", ".join(each.front.name for each in _listed(places)) or "none"
    raise ToolError(f"there is no skill {name!r}; there are: {known}", code="SKILL_UNKNOWN")


def _load(provider: str, place: Workspace, name: str) -> _Skill:
    path = f"{name}/{_FILE}"
    with place.open(path, doing=_DOING) as (found, file):
        data = file.read(MAX_SKILL_BYTES + 1)
    if len(data) > MAX_SKILL_BYTES:
        raise ToolError(
            f"skill {name!r} is larger than {MAX_SKILL_BYTES // 1024} KiB", code="SKILL_TOO_LARGE"
        )
    whole = decode(data, path, _DOING).removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").replace("\r\n", "\n")
    front, body = _parts(whole, name)
    return _Skill(front, body, provider, os.path.join(place.root, os.path.dirname(found)))


def _parts(whole: str, name: str) -> tuple[_FrontMatter, str]:
    """Return front matter and body. Raises `ToolError` SKILL_INVALID."""
    matched = _FRONT_MATTER.match(whole)
    if matched is None:
        raise _invalid(name, "it does not begin with front matter between two lines '---'")
    if len(matched.group(1).encode()) > MAX_FRONT_MATTER_BYTES:
        raise _invalid(name, f"its front matter is longer than {MAX_FRONT_MATTER_BYTES // 1024} KiB")
    try:
        front = msgspec.yaml.decode(matched.group(1).encode(), type=_FrontMatter)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, TypeError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise _invalid(name, f"its front matter cannot be used: {reason[0]}") from None
    if front.name != name:
        raise _invalid(name, f"its front matter names it {front.name[:100]!r}")
    return front, whole[matched.end() :].strip()


def _invalid(name: str, why: str) -> ToolError:
    return ToolError(f"skill {name!r} is not usable: {why}", code="SKILL_INVALID")


def _listed(places: Iterable[tuple[str, Workspace]]) -> list[_Skill]:
    """The skills that a model can load, by name."""
    found: dict[str, _Skill] = {}
    for provider, place in places:
        with os.scandir(place.root) as entries:
            names = [entry.name for _, entry in zip(range(_MAX_ENTRIES), entries, strict=False)]
        for name in sorted(names):
            if name in found or _NAME.fullmatch(name) is None:
                continue
            try:
                found[name] = _load(provider, place, name)
            except ToolError:
                continue  # no skill
    listed = [found[name] for name in sorted(found) if not found[name].front.disable_model_invocation]
    return listed[:MAX_LISTED]


def _description(places: Iterable[tuple[str, Workspace]]) -> str:
    lines = [
        "Load the instructions of a skill, before a task that one is for, and follow them.",
        "",
        "Files that they name are relative to `resourceBase`. Skills:",
    ]
    for each in _listed(places):
        described = " ".join(each.front.description.split())
        if len(described) > _SHOWN_DESCRIPTION:
            described = described[: _SHOWN_DESCRIPTION - 1] + "…"
        lines.append(f"- {each.front.name}: {described}")
    return "\n".join(lines if len(lines) > 3 else [*lines, "(none)"])


def _render(arguments: object, value: SkillValue) -> list[Text]:
    base = value.get("resourceBase")
    where = f"Base directory: {base['path']}" if base else "There are no files beside it."
    return [
        text(
            f'<skill_content name="{value["name"]}">\n<skill_resources>\n{where}\n</skill_resources>\n'
            f"<skill_instructions>\n{value['content']}\n</skill_instructions>\n</skill_content>"
        )
    ]


def _meta(arguments: object, value: SkillValue) -> dict[str, Any]:
    return {"name": value["name"], "provider": value["provider"]}
