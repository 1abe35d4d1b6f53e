"""`CodeMode`: the engine itself, which owns the tools, the sandbox and the session while it is entered."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Self

import trio

from codemode.engine.core import Core, Opened
from codemode.engine.scope import Scope
from codemode.sandbox import Limits, Sandbox
from codemode.sandbox.local import LocalSandbox
from codemode.sandbox.packages import Package, checked
from codemode.sdk.checks import Check, Checks
from codemode.sdk.prompt import DEFAULT_BUDGET
from codemode.session import Session
from codemode.tools.approval import Approver
from codemode.tools.bodies import Bodies
from codemode.tools.definition import Tool
from codemode.tools.hooks import Hooks
from codemode.tools.registry import Mode, Registry
from codemode.tools.spans import span_hooks
from codemode.tools.spill import Spill

__all__ = ["CodeMode"]


class CodeMode(Scope):
    """Runs programs that call tools. An async context manager; use one for many runs.

    `tools` are the functions of a program: tools, or a `Registry` of them. `limits` hold for each run.
    `session` is a path, an open `Session` (left open), or None for one in memory. `hooks` hold for all calls;
    `approver` answers when one of them, or a tool, asks (without one the call is denied). `spill` keeps text
    that is too long to show. `mode` says what a model may call directly. `max_parallel_calls` bounds how
    many tools of one run work at the same time. `sandbox` takes the place of this machine's; `packages` are
    what programs may import beside the library, and `accept_missing` the layers of the wall that may be missing
    (see `LocalSandbox`), if they run on this machine's. `check` says whether programs are checked against the tools
    before they run (`strict`: one that is certain to fail does not start); `prompt_budget` is how many tokens the
    tools may take in what a model is told of `run_code` (8,000 unless given; a token is taken as four characters).

    Entering raises `SandboxUnavailable` or `SessionError`; a wrong tool raises `ToolDefinitionError` at once.
    Leaving waits for tools that have not stopped when they were cancelled.
    """

    def __init__(
        self,
        tools: Iterable[Tool] | Registry = (),
        *,
        limits: Limits | None = None,
        session: Session | str | os.PathLike[str] | None = None,
        hooks: Hooks | None = None,
        approver: Approver | None = None,
        spill: Spill | None = None,
        mode: Mode | None = None,
        max_parallel_calls: int = 10,
        sandbox: Sandbox | None = None,
        packages: Iterable[Package] = (),
        check: Check = "off",
        prompt_budget: int = DEFAULT_BUDGET,
        accept_missing: Collection[str] = (),
    ) -> None:
        _check_type("limits", limits, Limits)
        _check_type("hooks", hooks, Hooks)
        _check_type("spill", spill, Spill)
        if (
            not isinstance(max_parallel_calls, int)
            or isinstance(max_parallel_calls, bool)
            or max_parallel_calls < 1
        ):
            raise ValueError(f"max_parallel_calls={max_parallel_calls!r}: must be a positive integer")
        traced = span_hooks()
        if traced is not None:
            hooks = traced | (hooks or Hooks())
        if isinstance(tools, Registry):
            registry = tools.scope(hooks=hooks, mode=mode)
        else:
            registry = Registry(tools, hooks=hooks, mode=mode)
        if spill is not None:
            registry.add_hooks(spill.hooks())
        packages = checked(packages)
        if packages and sandbox is not None:
            raise ValueError(
                "packages= is for this machine's sandbox; give the packages to the sandbox itself"
            )
        if accept_missing and sandbox is not None:
            raise ValueError("accept_missing= is for this machine's sandbox; say it to the sandbox itself")
        self._packages = packages
        self._accept_missing = accept_missing
        self._given_session = session
        self._given_sandbox = sandbox
        self._stack = AsyncExitStack()
        core = Core(
            limits or Limits(),
            spill,
            max_parallel_calls,
            tuple(package.name for package in packages),
            Checks(check),
            prompt_budget,
        )
        super().__init__(core, registry, approver=approver)

    async def __aenter__(self) -> Self:
        if self._core.opened is not None:
            raise RuntimeError("this CodeMode is entered already; make another one, or share it")
        async with AsyncExitStack() as stack:
            given = self._given_session
            session = given
            if not isinstance(session, Session):
                session = await stack.enter_async_context(Session.open(session))
            sandbox = self._given_sandbox
            if sandbox is None:
                sandbox = await stack.enter_async_context(
                    LocalSandbox(
                        self._core.limits, packages=self._packages, accept_missing=self._accept_missing
                    )
                )
            manager = trio.open_nursery()
            nursery = await manager.__aenter__()
            stack.push_async_callback(self._close, manager, nursery)
            bodies = Bodies(nursery)
            stack.callback(self.registry.when_unneeded(bodies.lifespans.leave))
            self._core.opened = Opened(session, sandbox, nursery, bodies)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def _close(self, manager: AbstractAsyncContextManager[trio.Nursery], nursery: trio.Nursery) -> None:
        self._core.opened = None
        # What is left in it are tools that were cancelled and did not stop. An error or a cancellation of whoever
        # leaves is not theirs: it passes by them, and does not come back wrapped in a group.
        nursery.cancel_scope.cancel()
        nursery.cancel_scope.shield = True
        await manager.__aexit__(None, None, None)


def _check_type(name: str, value: object, kind: type) -> None:
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"{name}={value!r}: must be a {kind.__name__}")
