"""A plugin's module: loaded from a file or an entry point, and taken out again. It runs whatever is in it.

What is taken out: the module, and for an entry point the modules of its package that came with it. What these
have imported from elsewhere stays, since others may use it by then.
"""

from __future__ import annotations

import itertools
import os
import sys
import traceback
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from msgspec import Struct

from codemode import Hooks, Tool, ToolError
from codemode.toolkits.filesystem.texts import decode
from codemode.toolkits.filesystem.workspace import Workspace

__all__ = ["ENTRY_POINTS", "Loader", "Plugin"]

ENTRY_POINTS = "codemode.plugins"
"""The group of entry points that are plugins."""
MAX_SOURCE_BYTES = 1024 * 1024
MAX_TOOLS = 100

_DOING = "cannot use plugin"
_numbers = itertools.count(1)


class Plugin(Struct, frozen=True, eq=False):
    """A loaded module: its tools and hooks, and the names under which it lies in `sys.modules`."""

    tools: tuple[Tool, ...]
    hooks: Hooks
    modules: tuple[str, ...]

    def unload(self) -> None:
        """Take the modules out: from `sys.modules`, and from the packages that hold them as attributes."""
        for name in self.modules:
            module = sys.modules.pop(name, None)
            parent, _, last = name.rpartition(".")
            if parent in sys.modules and getattr(sys.modules[parent], last, None) is module:
                delattr(sys.modules[parent], last)


class Loader:
    """Finds and loads plugins. Everything here blocks, and is for a worker thread."""

    def __init__(self, workspace: str | os.PathLike[str] | None) -> None:
        self._workspace = None if workspace is None else Workspace(workspace)

    def offered(self) -> list[EntryPoint]:
        """Return the entry points that can be mounted, by name."""
        return sorted(entry_points(group=ENTRY_POINTS), key=lambda each: each.name)

    def source(self, path: str) -> str:
        """Return the text of a file of the workspace. Raises `ToolError`."""
        return self._read(path)[1]

    def is_file(self, source: str) -> bool:
        """Whether a source names a file; else it names an entry point."""
        return source.endswith(".py")

    def load(self, source: str) -> Plugin:
        """Load a plugin and return it. Raises `ToolError`: PLUGIN_NOT_FOUND, PLUGIN_FAILED, PLUGIN_INVALID, FS_…

        When it fails, what was loaded is taken out again.
        """
        before = set(sys.modules)
        if self.is_file(source):
            name = f"codemode_plugin_{next(_numbers)}"
            roots, run = [name], self._file(source, name)
        else:
            point = self._entry_point(source)
            roots, run = [point.module.partition(".")[0]], point.load
        try:
            found = _run(source, run)
            modules = _came_with(roots, before)
            return Plugin(*_parts(source, found), modules)
        except BaseException:
            Plugin((), Hooks(), _came_with(roots, before)).unload()
            raise

    def _entry_point(self, source: str) -> EntryPoint:
        offered = self.offered()
        for each in offered:
            if each.name == source:
                return each
        names = ", ".join(each.name for each in offered) or "none"
        raise ToolError(
            f"there is no plugin {source!r}; installed packages offer: {names}; a file is named by its path, which "
            "ends in .py",
            code="PLUGIN_NOT_FOUND",
        )

    def _read(self, path: str) -> tuple[str, str]:
        if self._workspace is None:
            raise ToolError(f"{path!r} is a file, and no files can be mounted here", code="PLUGIN_NOT_FOUND")
        with self._workspace.open(path, doing=_DOING) as (found, file):
            data = file.read(MAX_SOURCE_BYTES + 1)
        if len(data) > MAX_SOURCE_BYTES:
            raise ToolError(
                f'{_DOING} "{path}": it is larger than {MAX_SOURCE_BYTES // 2**20} MiB', code="FS_TOO_LARGE"
            )
        return os.path.join(self._workspace.root, found), decode(data, path, _DOING)

    def _file(self, source: str, name: str) -> Any:
        place, text = self._read(source)

        def run() -> ModuleType:
            # From the text that was read, so that nothing else can come in between; and without a file of bytecode.
            module = ModuleType(name)
            module.__file__ = place
            sys.modules[name] = module
            exec(compile(text, place, "exec", dont_inherit=True), module.__dict__)
            return module

        return run


def _run(source: str, run: Any) -> Any:
    try:
        return run()
    except (Exception, SystemExit) as error:
        lines = "".join(traceback.format_exception_only(error)).strip()
        # A text that cannot be read names its own place; otherwise it is where the plugin's code was, not ours.
        frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename != __file__]
        where = ""
        if frames and not isinstance(error, SyntaxError):
            where = f" at line {frames[-1].lineno} of {frames[-1].filename}"
        raise ToolError(
            f"plugin {source!r} failed while it was loaded{where}: {lines[:2000]}", code="PLUGIN_FAILED"
        ) from error


def _parts(source: str, found: Any) -> tuple[tuple[Tool, ...], Hooks]:
    """Return the tools and hooks of what was loaded: a module, a tool, or several."""
    hooks = getattr(found, "HOOKS", None) or Hooks()
    tools = found if isinstance(found, Tool | list | tuple) else getattr(found, "TOOLS", None)
    if isinstance(tools, Tool):
        tools = [tools]
    if not isinstance(tools, Iterable) or isinstance(tools, str):
        raise _invalid(source, "it has no TOOLS; write TOOLS = [a_tool, another_tool]")
    listed = tuple(itertools.islice(tools, MAX_TOOLS + 1))
    for each in listed:
        if not isinstance(each, Tool):
            raise _invalid(
                source, f"{each!r} in TOOLS is no tool; decorate the function with @tool(render=…)"
            )
    if not isinstance(hooks, Hooks):
        raise _invalid(source, f"HOOKS is {type(hooks).__name__}; write HOOKS = Hooks(…)")
    if not listed and hooks == Hooks():
        raise _invalid(source, "it has neither tools nor hooks")
    if len(listed) > MAX_TOOLS:
        raise _invalid(source, f"it has more than {MAX_TOOLS} tools")
    return listed, hooks


def _invalid(source: str, why: str) -> ToolError:
    return ToolError(f"plugin {source!r} cannot be mounted: {why}", code="PLUGIN_INVALID")


def _came_with(roots: Iterable[str], before: set[str]) -> tuple[str, ...]:
    """The modules of these packages that have come since."""
    return tuple(name for name in sorted(sys.modules.keys() - before) if name.partition(".")[0] in roots)
