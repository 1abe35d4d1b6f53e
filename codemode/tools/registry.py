"""Which tools there are, for whom, and under which hooks: a global layer, and scopes over it.

A scope (an agent, a request) sees the tools of the layer below, narrowed by its restrictions, and its own
tools, which shadow. What is listed, described, bound in programs and callable is always this one view.
Changes take effect for the next look-up, also while programs run.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal, TypeAlias

from codemode.errors import ToolDefinitionError, UnknownToolError
from codemode.tools.definition import Tool
from codemode.tools.hooks import Hooks
from codemode.tools.lifespans import Lifespan
from codemode.values import JSON

__all__ = ["RUN_CODE", "Mode", "Registry"]

RUN_CODE = "run_code"
"""The name of the tool that runs programs; no other tool can have it, and no restriction can name it."""

_MOST_NAMED = 20  # of the tools that there are, to somebody who asks for one that there is not

Mode: TypeAlias = Literal["native", "code", "both"]
"""Which calls the model may make itself: tools only, run_code only, or both."""


class Registry:
    """One layer of tools, hooks and mode. `Registry()` is a global layer; `scope` makes one over it.

    Raises `ToolDefinitionError` for a wrong tool, `ValueError` for a wrong mode.
    """

    def __init__(
        self, tools: Iterable[Tool] = (), *, hooks: Hooks | None = None, mode: Mode | None = None
    ) -> None:
        self._start(None, hooks, mode)
        for each in tools:
            self.register(each)

    def _start(self, parent: Registry | None, hooks: Hooks | None, mode: Mode | None) -> None:
        if mode not in ("native", "code", "both", None):
            raise ValueError(f"mode={mode!r}: choose 'native', 'code' or 'both'")
        self._parent = parent
        self._root: Registry = self if parent is None else parent._root
        self._mode = mode
        self._tools: dict[str, Tool] = {}
        self._restrictions: list[_Restriction] = []
        self._hooks: list[Hooks] = [] if hooks is None else [hooks]
        self._version = 0  # of the root: counts changes anywhere in its tree
        # Also of the root: by how many tools each lifespan is needed, and who is told when it is none any more.
        self._needed: dict[Lifespan, int] = {}
        self._unneeded: list[Callable[[Lifespan], None]] = []
        self._watchers: list[Callable[[], None]] = []  # of the root
        self._cached_at = -1
        self._cached_tools: dict[str, Tool] = {}
        self._cached_hooks = Hooks()
        self._cached_hash = ""

    # -------------------------------------------------------------------------------- changing

    def scope(
        self,
        tools: Iterable[Tool] = (),
        *,
        hooks: Hooks | None = None,
        mode: Mode | None = None,
        allow: Collection[str] | None = None,
        deny: Collection[str] | None = None,
    ) -> Registry:
        """Return a new scope over this layer: its own tools, restrictions, hooks and mode (None: inherited)."""
        scope = Registry.__new__(Registry)
        scope._start(self, hooks, mode)
        if allow is not None or deny is not None:
            scope.restrict(allow=allow, deny=deny)
        for each in tools:
            scope.register(each)
        return scope

    def register(self, tool: Tool) -> Callable[[], None]:
        """Add a tool to this layer; return the function that removes it again.

        Raises `ToolDefinitionError` for anything that is no tool, a reserved name, or a name or method in use in
        this layer. A scope's tool may have the name, or the method, of one below, which it then shadows.
        """
        if not isinstance(tool, Tool):
            hint = "; decorate the function with @tool(render=…)" if callable(tool) else ""
            raise ToolDefinitionError(f"{tool!r} is not a Tool{hint}")
        if tool.name == RUN_CODE:
            raise ToolDefinitionError(
                f"tool {RUN_CODE!r}: this name is taken by the tool that runs programs; choose another"
            )
        where = "" if self._parent is None else " in this scope"
        if tool.name in self._tools:
            raise ToolDefinitionError(
                f"tool {tool.name!r} is registered already{where}; remove that one first, or give this one "
                "another name"
            )
        for each in self._tools.values() if tool.method is not None else ():
            if each.method == tool.method:
                raise ToolDefinitionError(
                    f"tool {tool.name!r}: method={tool.method!r} is that of tool {each.name!r} already{where}; remove "
                    "that one first, or give this one another method"
                )
        self._tools[tool.name] = tool
        self._need(tool.lifespan, 1)
        self._changed()

        def remove() -> None:
            if self._tools.get(tool.name) is tool:
                del self._tools[tool.name]
                self._changed()
                self._need(tool.lifespan, -1)

        return remove

    def when_unneeded(self, told: Callable[[Lifespan], None]) -> Callable[[], None]:
        """Call `told` with each lifespan whose last tool is removed, anywhere in this tree; return what ends that."""
        self._root._unneeded.append(told)
        return lambda: self._root._unneeded.remove(told)

    def _need(self, lifespan: Lifespan | None, change: int) -> None:
        if lifespan is None:
            return
        root = self._root
        root._needed[lifespan] = root._needed.get(lifespan, 0) + change
        if root._needed[lifespan] == 0:
            del root._needed[lifespan]
            for told in root._unneeded:
                told(lifespan)

    def restrict(
        self, *, allow: Collection[str] | None = None, deny: Collection[str] | None = None
    ) -> Callable[[], None]:
        """Narrow what this scope inherits; several restrictions intersect. Return the function that lifts it.

        The scope's own tools are not touched. Raises `ValueError` for a global layer, for no list at all,
        for `run_code`, and for names that there are none of; `TypeError` for a text instead of a list.
        """
        if self._parent is None:
            raise ValueError(
                "restrict() narrows what a scope inherits; make one first: registry.scope(allow=[…])"
            )
        if allow is None and deny is None:
            raise ValueError("restrict() without allow or deny changes nothing; give one of them")
        if isinstance(allow, str) or isinstance(deny, str):
            raise TypeError("restrict() takes lists of names, not one text")
        allow = None if allow is None else frozenset(allow)
        deny = None if deny is None else frozenset(deny)
        named = {*(allow or ()), *(deny or ())}
        if RUN_CODE in named:
            raise ValueError(f"{RUN_CODE!r} cannot be restricted; use mode='native' to leave it out")
        unknown = sorted(named - self._parent._view().keys())
        if unknown:
            known = ", ".join(sorted(self._parent._view())) or "none"
            raise ValueError(
                f"restrict() names unknown tools: {', '.join(map(repr, unknown))}; there are: {known}"
            )
        restriction = _Restriction(allow, deny or frozenset())
        self._restrictions.append(restriction)
        self._changed()

        def lift() -> None:
            if restriction in self._restrictions:
                self._restrictions.remove(restriction)
                self._changed()

        return lift

    def add_hooks(self, hooks: Hooks) -> Callable[[], None]:
        """Add hooks to this layer, after those it has; return the function that removes them again.

        A call that has begun keeps the hooks it began with.
        """
        self._hooks.append(hooks)
        self._changed()

        def remove() -> None:
            for index, each in enumerate(self._hooks):
                if each is hooks:
                    del self._hooks[index]
                    self._changed()
                    return

        return remove

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after every change here or in another layer of the same tree; return what ends that.

        It is called at once, in the middle of whatever made the change: it must return soon and not raise.
        """
        self._root._watchers.append(changed)

        def unwatch() -> None:
            if changed in self._root._watchers:
                self._root._watchers.remove(changed)

        return unwatch

    # -------------------------------------------------------------------------------- reading

    @property
    def mode(self) -> Mode:
        """The mode of this layer, or of the nearest one below that has one; `both` where none has."""
        layer: Registry | None = self
        while layer is not None:
            if layer._mode is not None:
                return layer._mode
            layer = layer._parent
        return "both"

    @property
    def hooks(self) -> Hooks:
        """The hooks that hold here: those of the layers below first."""
        self._view()
        return self._cached_hooks

    @property
    def signatures_hash(self) -> str:
        """The SHA-256 of the visible tools' signatures, in hexadecimal: it changes when what can be called does."""
        view = self._view()
        if not self._cached_hash:
            text = "\n".join(view[name].signature for name in sorted(view))
            self._cached_hash = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
        return self._cached_hash

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self._view().get(name)

    def require(self, name: str) -> Tool:
        """Return the tool of that name. Raises `UnknownToolError` with the nearest names."""
        view = self._view()
        tool = view.get(name)
        if tool is None:
            near = difflib.get_close_matches(name, view, 3)
            if near:
                hint = f"; did you mean {' or '.join(map(repr, near))}?"
            elif view:
                more = f" and {len(view) - _MOST_NAMED} more" if len(view) > _MOST_NAMED else ""
                hint = f"; there are: {', '.join(sorted(view)[:_MOST_NAMED])}{more}"
            else:
                hint = "; no tools are registered"
            raise UnknownToolError(f"unknown tool {name!r}{hint}")
        return tool

    def __iter__(self) -> Iterator[Tool]:
        """The visible tools, by name."""
        view = self._view()
        return iter([view[name] for name in sorted(view)])

    def __len__(self) -> int:
        return len(self._view())

    def __contains__(self, name: object) -> bool:
        return name in self._view()

    def describe(self) -> list[dict[str, JSON]]:
        """Return what a model is told of each visible tool: name, description, parameters (JSON Schema)."""
        return [each.describe() for each in self]

    # ----------------------------------------------------------------------------------------

    def _changed(self) -> None:
        self._root._version += 1
        for watcher in list(self._root._watchers):
            watcher()

    def _view(self) -> dict[str, Tool]:
        version = self._root._version
        if self._cached_at != version:
            inherited: dict[str, Tool] = {}
            hooks = Hooks()
            if self._parent is not None:
                methods = {each.method for each in self._tools.values()} - {None}
                inherited = {
                    name: each
                    for name, each in self._parent._view().items()
                    if all(restriction.passes(name) for restriction in self._restrictions)
                    and each.method not in methods
                }
                hooks = self._parent._cached_hooks
            for own in self._hooks:
                hooks = hooks | own
            self._cached_tools = {**inherited, **self._tools}
            self._cached_hooks = hooks
            self._cached_hash = ""
            self._cached_at = version
        return self._cached_tools


class _Restriction:
    """Compared by identity: two of the same lists are lifted one by one."""

    def __init__(self, allow: frozenset[str] | None, deny: frozenset[str]) -> None:
        self._allow = allow
        self._deny = deny

    def passes(self, name: str) -> bool:
        return name not in self._deny and (self._allow is None or name in self._allow)
