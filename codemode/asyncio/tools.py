"""`tool`, `Tool` and `Hooks` whose coroutines are asyncio's. It knows of no engine: whichever calls them has a loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, overload

import msgspec
import trio

from codemode.asyncio.calling import LoopLifespan, OnLoop, is_async, on_loop, resolver, through
from codemode.loop_thread import Waited
from codemode.schemas import ParameterSchema
from codemode.tools.call import Call, Outcome
from codemode.tools.declared import Approval
from codemode.tools.definition import (
    Execute,
    FinalizeContent,
    Output,
    Parallel,
    PresentationMeta,
    Render,
)
from codemode.tools.definition import Tool as TrioTool
from codemode.tools.definition import tool as trio_tool
from codemode.tools.hooks import Hooks as TrioHooks
from codemode.tools.lifespans import Lifespan
from codemode.values import JSON

__all__ = ["Hooks", "Tool", "tool"]

_PLAIN = ("pre_execute", "guards", "post_execute", "finalize_content", "observers", "stored_content")


class Tool(TrioTool):
    """`codemode.Tool` with an asyncio `execute`, and `finalize_content` and `lifespan` if they are given."""

    __slots__ = ()

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, JSON] | ParameterSchema,
        output: Output,
        execute: Execute,
        *,
        parallel: Parallel = False,
        timeout: float | None = None,
        approval: Approval | None = None,
        read_only: bool = False,
        finalize_content: FinalizeContent | None = None,
        lifespan: Lifespan | None = None,
        method: str | None = None,
    ) -> None:
        super().__init__(
            name,
            description,
            parameters,
            output,
            OnLoop(execute) if callable(execute) else execute,
            parallel=parallel,
            timeout=timeout,
            approval=approval,
            read_only=read_only,
            finalize_content=None if finalize_content is None else OnLoop(finalize_content),
            lifespan=_held(lifespan),
            method=method,
        )


@overload
def tool(
    *,
    render: Render,
    name: str | None = ...,
    description: str | None = ...,
    parallel: Parallel = ...,
    timeout: float | None = ...,
    approval: Approval | None = ...,
    read_only: bool = ...,
    presentation_meta: PresentationMeta | None = ...,
    finalize_content: FinalizeContent | None = ...,
    lifespan: Lifespan | None = ...,
    method: str | None = ...,
) -> Callable[[Callable[..., object]], TrioTool]: ...


@overload
def tool(function: Callable[..., object], /) -> TrioTool: ...


def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    render: Render | None = None,
    name: str | None = None,
    description: str | None = None,
    parallel: Parallel = False,
    timeout: float | None = None,
    approval: Approval | None = None,
    read_only: bool = False,
    presentation_meta: PresentationMeta | None = None,
    finalize_content: FinalizeContent | None = None,
    lifespan: Lifespan | None = None,
    method: str | None = None,
) -> TrioTool | Callable[[Callable[..., object]], TrioTool]:
    """Make a tool from a function; as `codemode.tool`, but a coroutine is asyncio's and runs on the caller's loop.

    When a call is cancelled or has used up its time, its task is cancelled. A synchronous function runs in a worker
    thread. Raises `ToolDefinitionError`, naming what is missing.
    """
    if function is not None:
        return trio_tool(function)  # which says that a render is missing
    if render is None:
        return trio_tool  # likewise
    make = trio_tool(
        render=render,
        name=name,
        description=description,
        parallel=parallel,
        timeout=timeout,
        approval=approval,
        read_only=read_only,
        presentation_meta=presentation_meta,
        finalize_content=None if finalize_content is None else OnLoop(finalize_content),
        lifespan=_held(lifespan),
        method=method,
    )
    return lambda body: make(_body(body))


class Hooks(TrioHooks, frozen=True, kw_only=True):
    """Hooks of an asyncio program: coroutines run on the caller's loop, other functions in a worker thread.

    See `codemode.Hooks` for what each may say. In `around(call, proceed)`, `await proceed()` may be awaited on the
    caller's loop, any number of times.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in _PLAIN:
            hooks = tuple(hook if isinstance(hook, OnLoop) else OnLoop(hook) for hook in getattr(self, name))
            msgspec.structs.force_setattr(self, name, hooks)
        around = tuple(hook if isinstance(hook, _Around) else _Around(hook) for hook in self.around)
        msgspec.structs.force_setattr(self, "around", around)


class _Around:
    """An `around` hook on the caller's loop, whose `proceed` leads back into the engine's."""

    def __init__(self, hook: Callable[[Call, Callable[[], Awaitable[Outcome]]], Awaitable[Outcome]]) -> None:
        self._hook = hook

    async def __call__(self, call: Call, proceed: Callable[[], Awaitable[Outcome]]) -> Outcome:
        async with trio.open_nursery() as nursery:
            back = _Back(nursery, proceed)
            try:
                outcome = await on_loop(lambda: self._hook(call, back.proceed))
            finally:
                back.is_over = True
                nursery.cancel_scope.cancel()  # of a `proceed` that the hook did not wait for
        return outcome


class _Back:
    """`proceed`, as a coroutine of the caller's loop; cancelling it cancels what it stands for."""

    def __init__(self, nursery: trio.Nursery, function: Callable[[], Awaitable[Outcome]]) -> None:
        self._nursery = nursery
        self._function = function
        self._token = trio.lowlevel.current_trio_token()
        self.is_over = False

    async def proceed(self) -> Outcome:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        waited: Waited[Outcome] = Waited(resolver(loop, future))
        scope = trio.CancelScope()
        self._token.run_sync_soon(self._start, waited, scope)
        await through(future, lambda: self._token.run_sync_soon(scope.cancel))
        return waited.result()

    def _start(self, waited: Waited[Outcome], scope: trio.CancelScope) -> None:
        if self.is_over:
            waited.end(error=RuntimeError("proceed() was called when its hook had returned"))
        else:
            self._nursery.start_soon(self._run, waited, scope)

    async def _run(self, waited: Waited[Outcome], scope: trio.CancelScope) -> None:
        outcome: Outcome | None = None
        error: BaseException | None = asyncio.CancelledError()  # unless it ends otherwise
        try:
            with scope:
                outcome = await self._function()
                error = None
        except Exception as raised:
            error = raised
        finally:
            waited.end(outcome, error)


def _body(body: Callable[..., object]) -> Callable[..., object]:
    if not callable(body) or isinstance(body, type) or not is_async(body):
        return body

    @functools.wraps(body)
    async def run(*args: Any, **kwargs: Any) -> object:
        return await on_loop(lambda: body(*args, **kwargs))  # type: ignore[arg-type,return-value]

    return run


def _held(lifespan: Lifespan | None) -> Lifespan | None:
    if lifespan is None or isinstance(lifespan, LoopLifespan) or not hasattr(lifespan, "__aenter__"):
        return lifespan
    return LoopLifespan(lifespan)
