"""Between the engine's loop and the caller's: what one of them awaits runs in the other.

`on_loop` waits in the engine's loop for a task of the caller's; `through`, in the caller's, for what ends elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Any, TypeVar

import trio

from codemode.errors import ToolError

__all__ = ["LoopLifespan", "OnLoop", "callers_loop", "is_async", "on_loop", "resolver", "through"]

_T = TypeVar("_T")

callers_loop: trio.lowlevel.RunVar[asyncio.AbstractEventLoop] = trio.lowlevel.RunVar("the caller's loop")
"""Set in the loop of each engine of `codemode.asyncio`."""


class OnLoop:
    """A function of an asyncio caller, as the engine calls it: its coroutine on the caller's loop, else in a thread."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    async def __call__(self, *args: Any) -> Any:
        if is_async(self._function):
            return await on_loop(lambda: self._function(*args))
        # A limiter of its own: these never wait for tools that fill trio's worker threads.
        said = await trio.to_thread.run_sync(
            self._function, *args, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1)
        )
        return await on_loop(lambda: said) if inspect.isawaitable(said) else said


async def on_loop(make: Callable[[], Awaitable[_T]]) -> _T:
    """Await `make()` in a task of the caller's loop; return what it returns, raise what it raises.

    Cancellation cancels the task, waits until it has ended, and is passed on. Raises `ToolError` where no engine of
    `codemode.asyncio` runs, when the loop is closed, and when the task is cancelled by somebody else.
    """
    try:
        loop = callers_loop.get()
    except LookupError:
        raise ToolError(
            "this is made for asyncio, by codemode.asyncio, and needs an engine of codemode.asyncio to run in; "
            "this engine is another one",
            code="NO_ASYNCIO_LOOP",
        ) from None
    task = _Task(loop, make)
    try:
        loop.call_soon_threadsafe(task.start)
    except RuntimeError:
        raise ToolError("the asyncio loop that entered the engine is closed", code="ABORTED") from None
    try:
        await task.ended.wait()
    except trio.Cancelled:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and no task of it runs
            loop.call_soon_threadsafe(task.cancel)
            with trio.CancelScope(shield=True):
                await task.ended.wait()
        raise
    value: _T = task.result()
    return value


class _Task:
    """A task of the caller's loop. `start` and `cancel` are called there, in this order."""

    def __init__(self, loop: asyncio.AbstractEventLoop, make: Callable[[], Awaitable[Any]]) -> None:
        self.ended = trio.Event()
        self._loop = loop
        self._make = make
        self._token = trio.lowlevel.current_trio_token()
        self._task: asyncio.Task[Any] | None = None

    def start(self) -> None:
        self._task = self._loop.create_task(self._run())
        self._task.add_done_callback(self._done)

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> Any:
        return await self._make()

    def _done(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled():
            task.exception()  # seen; whoever waits in the engine raises it
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self.ended.set)

    def result(self) -> Any:
        task = self._task
        assert task is not None
        if task.cancelled():
            raise ToolError("the task was cancelled in its own loop", code="ABORTED")
        error = task.exception()
        if error is None:
            return task.result()
        if not isinstance(error, Exception):  # an interrupt, which the caller's loop raises as well
            raise ToolError(f"the task ended with {type(error).__name__}", code="ABORTED")
        raise error


class LoopLifespan:
    """An async context manager of asyncio that the engine holds: one task of the caller's loop enters and leaves it.

    It is left by cancelling that task, as the engine leaves every lifespan.
    """

    def __init__(self, manager: AbstractAsyncContextManager[Any, Any]) -> None:
        self._manager = manager
        self._stack = AsyncExitStack()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoopLifespan) and other._manager is self._manager

    def __hash__(self) -> int:
        return hash((LoopLifespan, id(self._manager)))

    async def __aenter__(self) -> None:
        token = trio.lowlevel.current_trio_token()
        settled = trio.Event()
        failed: list[Exception] = []

        async def hold() -> None:
            async with self._manager:
                token.run_sync_soon(settled.set)
                await asyncio.Event().wait()

        async def run() -> None:
            try:
                await on_loop(hold)
            except Exception as error:
                failed.append(error)
            settled.set()

        async with AsyncExitStack() as stack:
            nursery = await stack.enter_async_context(trio.open_nursery())
            nursery.start_soon(run)
            await settled.wait()
            self._stack = stack.pop_all()
        if failed:
            await self._stack.aclose()
            raise failed[0]

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)


def is_async(function: object) -> bool:
    """Return whether a function, or an object that is called like one, gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - its kind is looked at, not whether it is there
    )


async def through(future: asyncio.Future[None], cancel: Callable[[], None]) -> None:
    """On the caller's loop: wait for a future. A cancellation calls `cancel`, waits all the same, and is passed on."""
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            if cancelled is None:
                cancelled = error
                cancel()
    if cancelled is not None:
        raise cancelled


def resolver(loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> Callable[[], None]:
    """Return what resolves a future of the caller's loop, from any thread."""

    def resolve() -> None:
        if not future.done():
            future.set_result(None)

    def notify() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(resolve)

    return notify
