"""`asyncio` as programs see it: its useful part, on the run's own loop.

Locks, queues, groups and timeouts are asyncio's. What would hand out the loop, a thread, a process or a
socket is absent or replaced by a small object that offers what programs ask of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codemode.guest.language.classes import stand_in
from codemode.guest.running import run
from codemode.guest.running.without_ssl import asyncio

__all__ = ["REPLACED", "forbid_other_loops"]


def run_(main: Any, *, debug: Any = None, loop_factory: Any = None) -> Any:
    """Run an awaitable to its end and return its result; works inside a running program too."""
    if not asyncio.iscoroutine(main) and not isinstance(main, asyncio.Future):
        if not hasattr(main, "__await__"):
            raise ValueError(
                f"a coroutine was expected, got {_short(main)}; call the function: asyncio.run(main())"
            )
        main = _awaiting(main)
    return run.current().loop.run_nested(main)


async def _awaiting(awaitable: Any) -> Any:
    return await awaitable


def create_task(coro: Any, *, name: Any = None, context: Any = None) -> Any:
    """Start a coroutine, or take up a tool call that runs already."""
    task = asyncio.get_running_loop().create_task(coro, context=context)
    if name is not None:
        task.set_name(name)
    return task


async def to_thread(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function. There are no threads here, so it runs at once."""
    result = function(*args, **kwargs)
    return await result if isinstance(result, asyncio.Future) else result


def ensure_future(awaitable: Any) -> Any:
    """Return a task or future for an awaitable."""
    return asyncio.ensure_future(awaitable)


def isfuture(value: object) -> bool:
    return isinstance(value, asyncio.Future)


class EventLoop:
    """What `asyncio.get_event_loop()` gives: the part of a loop that programs use."""

    __slots__ = ()

    def create_task(self, coro: Any, *, name: Any = None, context: Any = None) -> Any:
        return create_task(coro, name=name, context=context)

    def create_future(self) -> Any:
        return run.current().loop.create_future()

    def run_until_complete(self, future: Any) -> Any:
        return run_(future)

    async def run_in_executor(self, executor: Any, function: Callable[..., Any], *args: Any) -> Any:
        return await to_thread(function, *args)

    def time(self) -> float:
        return run.current().loop.time()

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Any = None) -> Any:
        return run.current().loop.call_soon(callback, *args, context=context)

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any, context: Any = None) -> Any:
        return run.current().loop.call_later(delay, callback, *args, context=context)

    def is_running(self) -> bool:
        return asyncio.events._get_running_loop() is not None

    def is_closed(self) -> bool:
        return False

    def close(self) -> None:
        """The loop ends with the run."""

    def __repr__(self) -> str:
        return "<event loop>"


_event_loop = EventLoop()
EventLoop.__module__ = "asyncio"


def get_running_loop() -> EventLoop:
    """Return the running loop."""
    asyncio.get_running_loop()
    return _event_loop


def get_event_loop() -> EventLoop:
    """Return the loop of the run."""
    return _event_loop


def set_event_loop(loop: object) -> None:
    """A run has one loop; there is nothing to set."""


def current_task() -> Any:
    """Return the task that runs now."""
    return asyncio.current_task(run.current().loop)


def all_tasks() -> set[Any]:
    """Return the tasks that are not done."""
    return asyncio.all_tasks(run.current().loop)


class Runner:
    """`asyncio.Runner`."""

    __slots__ = ()

    def __init__(self, **options: Any) -> None:
        pass

    def run(self, coro: Any, **options: Any) -> Any:
        return run_(coro)

    def get_loop(self) -> EventLoop:
        return _event_loop

    def close(self) -> None:
        pass

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass


Runner.__module__ = "asyncio"


class _OneLoop(asyncio.DefaultEventLoopPolicy):
    """Makes no loop: asyncio would make one, with sockets, for whatever asks for a loop where none runs."""

    def get_event_loop(self) -> asyncio.AbstractEventLoop:
        raise RuntimeError(
            "no running event loop; use it inside a program that awaits, or inside asyncio.run"
        )

    new_event_loop = get_event_loop

    def set_event_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """There is one loop, which is never set."""


def forbid_other_loops() -> None:
    """Let asyncio make no loop of its own in this process, for ever."""
    asyncio.set_event_loop_policy(_OneLoop())


def _short(value: object) -> str:
    return f"an object of type {type(value).__name__}"


run_.__name__ = run_.__qualname__ = "run"

REPLACED: dict[str, Any] = {
    "run": run_,
    "Runner": Runner,
    "create_task": create_task,
    "ensure_future": ensure_future,
    "isfuture": isfuture,
    "to_thread": to_thread,
    "get_running_loop": get_running_loop,
    "get_event_loop": get_event_loop,
    "new_event_loop": get_event_loop,
    "set_event_loop": set_event_loop,
    "current_task": current_task,
    "all_tasks": all_tasks,
    "Future": stand_in(asyncio.Future),
    "Task": stand_in(asyncio.Task),
    "AbstractEventLoop": stand_in(asyncio.AbstractEventLoop),
}
