"""`CodeMode` and `Scope` for asyncio: each call is a job in the engine's loop, and a task of the caller's waits for it.

What runs and what it means is `codemode.engine`'s; here is only how a task hands it over, waits, and cancels it.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from codemode import engine as trio_engine
from codemode.asyncio.calling import OnLoop, callers_loop, resolver, through
from codemode.asyncio.session import Session
from codemode.asyncio.waiting import Deliveries, Engine
from codemode.direct import ModelCall
from codemode.engine import RunResult
from codemode.faces import ScopeFace
from codemode.loop_thread import LoopThread, current_job
from codemode.sandbox import Limits, Sandbox
from codemode.sandbox.packages import Package
from codemode.sdk.checks import Check
from codemode.sdk.prompt import DEFAULT_BUDGET
from codemode.tools.approval import Approver
from codemode.tools.call import Outcome
from codemode.tools.definition import Tool
from codemode.tools.hooks import Hooks
from codemode.tools.registry import Mode, Registry
from codemode.tools.spill import Spill

__all__ = ["CodeMode", "Scope"]


class Scope(ScopeFace[Engine]):
    """One view of an engine: its tools, hooks and mode. Runs programs and makes direct calls under them."""

    def scope(
        self,
        tools: Iterable[Tool] = (),
        *,
        hooks: Hooks | None = None,
        mode: Mode | None = None,
        allow: Collection[str] | None = None,
        deny: Collection[str] | None = None,
        session: Session | None = None,
        limits: Limits | None = None,
        approver: Approver | None = None,
    ) -> Scope:
        """Return a new scope over this one; see `codemode.Scope.scope`. It lives as long as the engine does.

        `session` is one of this engine.
        """
        make = functools.partial(
            self._inner.scope,
            tools,
            hooks=hooks,
            mode=mode,
            allow=allow,
            deny=deny,
            session=None if session is None else session.of(self._engine),
            limits=limits,
            approver=OnLoop(approver) if callable(approver) else approver,
        )
        return Scope(self._engine, self._engine.now(make))

    @property
    def session(self) -> Session:
        """The session that calls are logged in."""
        return Session(self._engine, self._inner.session)

    async def run(
        self,
        code: str,
        description: str = "run a program",
        *,
        on_log: Callable[[str], Awaitable[None] | None] | None = None,
        remember: bool = False,
        reuse: RunResult | None = None,
        check: Check | None = None,
    ) -> RunResult:
        """Run a program to its end and return what it gave; a failed program is a result with `error`.

        Arguments and errors are those of `codemode.Scope.run`. `on_log` is called on this loop, in order, and may be a
        coroutine function; all of it has ended when this returns. Cancellation ends the run, waits until its parts have
        ended, and is passed on. Raises RuntimeError outside the block, in another loop, and when the engine is closed
        meanwhile.
        """
        async with Deliveries(self._engine.callers_loop()) as deliveries:
            return await self._engine.do(
                functools.partial(
                    self._inner.run,
                    code,
                    description,
                    on_log=deliveries.to("on_log", on_log),
                    remember=remember,
                    reuse=reuse,
                    check=check,
                )
            )

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        on_log: Callable[[str], Awaitable[None] | None] | None = None,
    ) -> Outcome:
        """Make a direct call of one tool and return its outcome; a failure is an outcome too. Otherwise as `run`."""
        async with Deliveries(self._engine.callers_loop()) as deliveries:
            return await self._engine.do(
                functools.partial(self._inner.call, name, arguments, on_log=deliveries.to("on_log", on_log))
            )

    async def call_all(
        self,
        calls: Sequence[ModelCall],
        *,
        on_log: Callable[[str, str], Awaitable[None] | None] | None = None,
        on_end: Callable[[ModelCall, Outcome], Awaitable[None] | None] | None = None,
    ) -> list[Outcome]:
        """Make the calls of one answer of a model and return their outcomes, in that order.

        See `codemode.Scope.call_all`; `on_log` and `on_end` are called on this loop, in order. Otherwise as `run`.
        """
        async with Deliveries(self._engine.callers_loop()) as deliveries:
            return await self._engine.do(
                functools.partial(
                    self._inner.call_all,
                    calls,
                    on_log=deliveries.to("on_log", on_log),
                    on_end=deliveries.to("on_end", on_end),
                )
            )


class CodeMode(Scope):
    """Runs programs that call tools. An async context manager; use one for many runs, from the loop that entered it.

    The arguments are those of `codemode.CodeMode`; `session` is a path, or None for one in memory. Entering raises
    what entering that one raises; a wrong tool raises `ToolDefinitionError` at once. Leaving ends what other tasks
    still run (they get RuntimeError), waits for tools that have not stopped, and ends the thread; a cancellation
    meanwhile is passed on afterwards.
    """

    def __init__(
        self,
        tools: Iterable[Tool] | Registry = (),
        *,
        limits: Limits | None = None,
        session: str | os.PathLike[str] | None = None,
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
        self._trio = trio_engine.CodeMode(
            tools,
            limits=limits,
            session=session,
            hooks=hooks,
            approver=OnLoop(approver) if callable(approver) else approver,
            spill=spill,
            mode=mode,
            max_parallel_calls=max_parallel_calls,
            sandbox=sandbox,
            packages=packages,
            check=check,
            prompt_budget=prompt_budget,
            accept_missing=accept_missing,
        )
        self._closed: asyncio.Future[None]
        super().__init__(Engine(), self._trio)

    async def __aenter__(self) -> Self:
        if self._engine.thread is not None:
            raise RuntimeError("this CodeMode is entered already; make another one, or share it")
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = loop.create_future()
        self._closed = loop.create_future()
        thread = LoopThread(
            self._trio,
            prepare=functools.partial(_set_loop, loop),
            opened=resolver(loop, opened),
            closed=resolver(loop, self._closed),
        )
        thread.open()
        self._engine.loop, self._engine.thread = loop, thread
        try:
            await through(opened, thread.close)
            thread.opened.result()
        except BaseException:
            await self._leave(thread)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        thread = self._engine.thread
        if thread is None:
            return
        self._engine.callers_loop()
        if current_job(thread) is not None:
            raise RuntimeError("an engine cannot be closed from inside a tool, hook or approver that it runs")
        await self._leave(thread)

    async def _leave(self, thread: LoopThread) -> None:
        thread.close()
        try:
            await through(self._closed, lambda: None)
        finally:
            self._engine.thread = None
            thread.join()
        thread.closed.result()


def _set_loop(loop: asyncio.AbstractEventLoop) -> None:
    callers_loop.set(loop)
