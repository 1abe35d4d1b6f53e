"""`CodeMode` and `Scope` for asyncio: each call is a job in the engine's loop, and a task of the caller's waits for it.

What runs and what it means is `codemode.engine`'s; here is only how a task hands it over, waits, and cancels it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import logging
import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from codemode import engine as trio_engine
from codemode.asyncio.calling import OnLoop, callers_loop, resolver, through
from codemode.asyncio.session import Session
from codemode.direct import ModelCall
from codemode.engine import RunResult
from codemode.loop_thread import Job, LoopThread, current_job
from codemode.sandbox import Limits, Sandbox
from codemode.sandbox.packages import Package
from codemode.sdk.capabilities import Capabilities
from codemode.sdk.checks import Check
from codemode.sdk.prompt import DEFAULT_BUDGET
from codemode.tools.approval import Approver
from codemode.tools.call import Outcome
from codemode.tools.definition import Tool
from codemode.tools.hooks import Hooks
from codemode.tools.registry import Mode, Registry
from codemode.tools.spill import Spill
from codemode.values import JSON

__all__ = ["CodeMode", "Engine", "Scope"]

_T = TypeVar("_T")
_log = logging.getLogger("codemode.asyncio")


class Engine:
    """The loop's thread of an engine, while it is entered, and how the caller's loop asks it for something."""

    def __init__(self) -> None:
        self.thread: LoopThread | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    async def do(self, function: Callable[[], Awaitable[_T]]) -> _T:
        """Run an async function in the engine's loop; return what it returns or raise what it raises.

        Cancellation cancels it, waits until it has ended, and is passed on. Raises RuntimeError in another loop than
        the one that entered the engine, and when it is not open.
        """
        loop = self.callers_loop()
        thread = self.thread
        assert thread is not None
        future: asyncio.Future[None] = loop.create_future()
        job = Job(function, resolver(loop, future))
        thread.submit(job)
        await through(future, functools.partial(thread.cancel, job))
        return job.result()

    def callers_loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop that entered the engine. Raises RuntimeError where it is not the one that runs here."""
        if self.thread is None:
            raise RuntimeError("enter it first, and use it inside the block: async with CodeMode(...) as cm")
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "this engine is asyncio's, and no asyncio loop runs here; in a trio program use codemode.CodeMode, "
                "in a synchronous one codemode.sync.CodeMode"
            ) from None
        if running is not self.loop:
            raise RuntimeError(
                "this engine belongs to the asyncio loop that entered it, and this is another one; make an engine in "
                "each loop, or use asyncio.run_coroutine_threadsafe"
            )
        return running

    def now(self, function: Callable[[], _T]) -> _T:
        """Call something quick in the engine's thread, and return what it returns; before entering, here."""
        thread = self.thread
        if thread is None or thread.is_here:
            return function()

        async def call() -> _T:
            return function()

        job = Job(call)
        thread.submit(job)
        return job.wait(functools.partial(thread.cancel, job))


class Deliveries:
    """What a run hands to the caller's loop while it goes on: each call in its turn, all of them before it returns."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = contextvars.copy_context()
        self._queue: asyncio.Queue[tuple[Callable[[], object], str] | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def to(self, name: str, function: Callable[..., object] | None) -> Callable[..., None] | None:
        """Return what puts a call of `function` into the queue, from the engine's loop."""
        if function is None:
            return None
        if self._task is None:
            self._task = self._loop.create_task(self._make(), context=self._context)

        def put(*args: object) -> None:
            delivery = functools.partial(function, *args), name
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is there to be told
                self._loop.call_soon_threadsafe(self._queue.put_nowait, delivery)

        return put

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._task is None:
            return
        ended: asyncio.Future[None] = self._loop.create_future()
        self._task.add_done_callback(lambda _: ended.set_result(None))
        if kind is None:
            self._queue.put_nowait(None)
        else:
            self._task.cancel()
        await through(ended, functools.partial(self._stop, self._task))

    @staticmethod
    def _stop(task: asyncio.Task[None]) -> None:
        task.cancel()

    async def _make(self) -> None:
        """Make the calls. One that raises is reported, and its function not called again."""
        failed: set[str] = set()
        while (delivery := await self._queue.get()) is not None:
            call, name = delivery
            if name in failed:
                continue
            try:
                said = call()
                if inspect.isawaitable(said):
                    await said
            except Exception:
                failed.add(name)
                _log.warning("%s failed; the run goes on without it", name, exc_info=True)


class Scope:
    """One view of an engine: its tools, hooks and mode. Runs programs and makes direct calls under them."""

    def __init__(self, engine: Engine, inner: trio_engine.Scope) -> None:
        self._engine = engine
        self._inner = inner

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

    @property
    def limits(self) -> Limits:
        """The limits of each run."""
        return self._inner.limits

    def describe(self) -> list[dict[str, JSON]]:
        """Return the tools that a model may call directly here: name, description, parameters (JSON Schema)."""
        return self._engine.now(self._inner.describe)

    def prompt(self, budget: int | None = None) -> str:
        """Return what a model is told of `run_code` here; see `codemode.Scope.prompt`."""
        return self._engine.now(functools.partial(self._inner.prompt, budget))

    def capabilities(self) -> Capabilities:
        """Return the capability card of this scope: versions, walls, limits, language, tools."""
        return self._engine.now(self._inner.capabilities)

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
