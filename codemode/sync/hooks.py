"""Functions of a synchronous caller, as the engine calls them: in worker threads. It knows of no engine."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import trio

from codemode.tools.call import Call, Outcome
from codemode.tools.hooks import Hooks as TrioHooks

__all__ = ["Hooks", "in_thread"]

_PLAIN = ("pre_execute", "guards", "post_execute", "finalize_content", "observers", "stored_content")


def in_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function so that it runs in a worker thread; one that is asynchronous as it is.

    A thread cannot be stopped: when the call is cancelled it is left behind, and what it returns dropped.
    """
    if _is_async(function) or isinstance(function, _InThread):
        return function
    return _InThread(function)


class Hooks(TrioHooks, frozen=True, kw_only=True):
    """Hooks that may block: each function runs in a worker thread, `around(call, proceed)` as well.

    There `proceed()` is an ordinary call that returns the outcome. See `codemode.Hooks` for what each may say.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in _PLAIN:
            msgspec.structs.force_setattr(self, name, tuple(map(in_thread, getattr(self, name))))
        around = tuple(
            hook if _is_async(hook) or isinstance(hook, _AroundInThread) else _AroundInThread(hook)
            for hook in self.around
        )
        msgspec.structs.force_setattr(self, "around", around)


class _InThread:
    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    async def __call__(self, *args: Any) -> Any:
        # A limiter of its own: these never wait for tools that fill trio's worker threads.
        said = await trio.to_thread.run_sync(
            self._function, *args, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1)
        )
        return await said if inspect.isawaitable(said) else said


class _AroundInThread:
    def __init__(self, hook: Callable[..., Any]) -> None:
        self._hook = hook

    async def __call__(self, call: Call, proceed: Callable[[], Awaitable[Outcome]]) -> Outcome:
        async def go_on() -> Outcome:
            return await proceed()

        def run() -> Any:
            return self._hook(call, lambda: trio.from_thread.run(go_on))

        # Not left behind: a cancelled call is cancelled in `proceed`, and that passes through the hook.
        outcome: Outcome = await trio.to_thread.run_sync(run, limiter=trio.CapacityLimiter(1))
        return outcome


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - its kind is looked at, not whether it is there
    )
