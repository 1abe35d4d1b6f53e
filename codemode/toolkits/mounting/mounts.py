"""What is mounted, and the tools that show, mount and unmount. All of it is gone when the engine closes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Annotated, Any, Literal, TypedDict

import trio
from msgspec import Meta

from codemode import Registry, Text, Tool, ToolDefinitionError, ToolError, as_text, text, tool
from codemode.toolkits.mounting.loading import ENTRY_POINTS, Loader, Plugin

__all__ = ["Mounts"]

MAX_MOUNTS = 20
LOAD_SECONDS = 30.0
_GRACE_SECONDS = 5.0
_MAX_SHOWN_SOURCE = 20_000

Source = Annotated[
    str,
    Meta(
        min_length=1, max_length=4096, description="an entry point's name, or a file's path that ends in .py"
    ),
]
MountOrSource = Annotated[
    str,
    Meta(min_length=1, max_length=4096, description="as plugin_mount takes it, or a mount id"),
]
MountId = Annotated[str, Meta(min_length=1, max_length=100, description="as plugin_mount gave it")]


class MountValue(TypedDict):
    mountId: str
    source: str
    kind: Literal["file", "entry-point"]
    tools: list[str]
    hooks: bool


class UnmountValue(TypedDict):
    mountId: str
    tools: list[str]


class _Mount:
    def __init__(self, source: str, plugin: Plugin, removals: list[Callable[[], None]]) -> None:
        self.source = source
        self.plugin = plugin
        self._removals = removals

    @property
    def tools(self) -> list[str]:
        return [each.name for each in self.plugin.tools]

    def undo(self) -> None:
        for remove in reversed(self._removals):
            remove()
        self.plugin.unload()


class _Loading:
    """One plugin that is loaded in a thread for somebody who may have gone by the time it is done."""

    def __init__(self, loader: Loader, source: str) -> None:
        self._loader = loader
        self._source = source
        self._lock = threading.Lock()
        self._is_given_up = False
        self._loaded: Plugin | None = None

    def run(self) -> Plugin:
        plugin = self._loader.load(self._source)
        with self._lock:
            self._loaded = plugin
            if self._is_given_up:
                plugin.unload()
        return plugin

    def give_up(self) -> None:
        with self._lock:
            self._is_given_up = True
            if self._loaded is not None:
                self._loaded.unload()


class Mounts:
    """The plugins in one registry. A lifespan of its tools: leaving it unmounts them all."""

    def __init__(self, registry: Registry, loader: Loader) -> None:
        self._registry = registry
        self._loader = loader
        self._mounted: dict[str, _Mount] = {}
        self._count = 0
        self._is_entered = False

    async def __aenter__(self) -> None:
        if self._is_entered:
            raise ToolError(
                "these tools are in use by another engine; each engine needs tools of its own", code="IN_USE"
            )
        self._is_entered = True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_entered = False
        for mount_id in reversed(list(self._mounted)):
            self._mounted.pop(mount_id).undo()

    def tools(self) -> list[Tool]:
        return [self._inspect_tool(), self._mount_tool(), self._unmount_tool()]

    # --------------------------------------------------------------------------------- the tools

    def _inspect_tool(self) -> Tool:
        @tool(render=as_text, read_only=True, timeout=LOAD_SECONDS, lifespan=self)
        async def plugin_inspect(source: MountOrSource | None = None) -> str:
            """Show what is mounted and what can be; or, of one mount id, its tools; or the text of a file.

            Nothing of a plugin runs for it.
            """
            if source is None:
                return await trio.to_thread.run_sync(self._overview, abandon_on_cancel=True)
            if source in self._mounted:
                return self._described(source)
            if self._loader.is_file(source):
                shown = await trio.to_thread.run_sync(self._loader.source, source, abandon_on_cancel=True)
                cut = "" if len(shown) <= _MAX_SHOWN_SOURCE else f"\n(cut at {_MAX_SHOWN_SOURCE} characters)"
                return shown[:_MAX_SHOWN_SOURCE] + cut
            for point in await trio.to_thread.run_sync(self._loader.offered, abandon_on_cancel=True):
                if point.name == source:
                    return f"{point.name}: {point.value}{_package(point)}, not mounted"
            raise ToolError(
                f"{source!r} is no mount id, no entry point of {ENTRY_POINTS} and no .py file",
                code="PLUGIN_NOT_FOUND",
            )

        return plugin_inspect

    def _mount_tool(self) -> Tool:
        @tool(
            render=_render_mount,
            presentation_meta=_meta,
            approval=_reason,
            timeout=LOAD_SECONDS + _GRACE_SECONDS,
            lifespan=self,
        )
        async def plugin_mount(source: Source) -> MountValue:
            """Run a plugin's code in the host and add its tools, until it is unmounted or the engine closes.

            A plugin is a Python module with TOOLS = […] and perhaps HOOKS. Somebody is asked before. A program
            can call the tools from the next run on.
            """
            if len(self._mounted) >= MAX_MOUNTS:
                raise ToolError(f"{MAX_MOUNTS} plugins are mounted; unmount one first", code="PLUGIN_LIMIT")
            plugin = await self._loaded(source)
            try:
                removals = self._register(source, plugin)
            except BaseException:
                plugin.unload()
                raise
            self._count += 1
            mount_id = f"plugin-{self._count}"
            mount = self._mounted[mount_id] = _Mount(source, plugin, removals)
            return {
                "mountId": mount_id,
                "source": source,
                "kind": "file" if self._loader.is_file(source) else "entry-point",
                "tools": mount.tools,
                "hooks": len(removals) > len(mount.tools),
            }

        return plugin_mount

    def _unmount_tool(self) -> Tool:
        @tool(render=_render_unmount, presentation_meta=_meta, timeout=LOAD_SECONDS, lifespan=self)
        async def plugin_unmount(mountId: MountId) -> UnmountValue:
            """Take a mounted plugin out: its tools, its hooks and its modules. Calls under way go on to their end."""
            mount = self._mounted.pop(mountId, None)
            if mount is None:
                known = ", ".join(self._mounted) or "none"
                raise ToolError(
                    f"there is no mount {mountId!r}; there are: {known}", code="PLUGIN_NOT_MOUNTED"
                )
            mount.undo()
            return {"mountId": mountId, "tools": mount.tools}

        return plugin_unmount

    # ------------------------------------------------------------------------------------ mounting

    async def _loaded(self, source: str) -> Plugin:
        """Load in a worker thread. A thread cannot be stopped: one that comes too late cleans up after itself."""
        loading = _Loading(self._loader, source)
        try:
            with trio.fail_after(LOAD_SECONDS):
                return await trio.to_thread.run_sync(loading.run, abandon_on_cancel=True)
        except trio.TooSlowError:
            loading.give_up()
            raise ToolError(
                f"plugin {source!r} took more than {LOAD_SECONDS:g} s to load and was left",
                code="PLUGIN_FAILED",
            ) from None
        except BaseException:
            loading.give_up()
            raise

    def _register(self, source: str, plugin: Plugin) -> list[Callable[[], None]]:
        """Add tools and hooks, all or none."""
        removals: list[Callable[[], None]] = []
        try:
            for each in plugin.tools:
                if each.name in self._registry:
                    raise ToolDefinitionError(f"there is a tool {each.name!r} already")
                if each.method is not None and each.method in {other.method for other in self._registry}:
                    raise ToolDefinitionError(f"there is a tool with method={each.method!r} already")
                removals.append(self._registry.register(each))
            if any(getattr(plugin.hooks, name) for name in plugin.hooks.__struct_fields__):
                removals.append(self._registry.add_hooks(plugin.hooks))
        except ToolDefinitionError as error:
            for remove in reversed(removals):
                remove()
            raise ToolError(f"plugin {source!r} cannot be mounted: {error}", code="PLUGIN_INVALID") from None
        return removals

    # ---------------------------------------------------------------------------------- inspecting

    def _overview(self) -> str:
        lines = ["Mounted:"]
        lines += [f"- {id}: {mount.source} ({', '.join(mount.tools)})" for id, mount in self._mounted.items()]
        if not self._mounted:
            lines.append("(nothing)")
        lines.append(f"Entry points of {ENTRY_POINTS}:")
        offered = self._loader.offered()
        lines += [f"- {point.name}: {point.value}{_package(point)}" for point in offered]
        if not offered:
            lines.append("(none)")
        return "\n".join(lines)

    def _described(self, mount_id: str) -> str:
        mount = self._mounted[mount_id]
        lines = [f"{mount_id}: {mount.source}"]
        for each in mount.plugin.tools:
            summary = each.description.partition("\n")[0]
            lines.append(f"- {each.signature}" + (f": {summary}" if summary else ""))
        hooks = [name for name in mount.plugin.hooks.__struct_fields__ if getattr(mount.plugin.hooks, name)]
        if hooks:
            lines.append(f"Hooks: {', '.join(hooks)}")
        return "\n".join(lines)


def _package(point: Any) -> str:
    distribution = getattr(point, "dist", None)
    return "" if distribution is None else f" of {distribution.name} {distribution.version}"


def _reason(arguments: dict[str, Any]) -> str:
    return f"it runs the Python code of {arguments.get('source')!r} in the host, outside of any sandbox"


def _render_mount(arguments: object, value: MountValue) -> list[Text]:
    hooks = " and hooks" if value["hooks"] else ""
    tools = ", ".join(value["tools"]) or "no tools"
    return [text(f"Mounted {value['source']} as {value['mountId']}: {tools}{hooks}.")]


def _render_unmount(arguments: object, value: UnmountValue) -> list[Text]:
    return [text(f"Unmounted {value['mountId']}: {', '.join(value['tools']) or 'no tools'}.")]


def _meta(arguments: object, value: Any) -> Any:
    return value
