"""The event loop of a program: asyncio's own semantics over one descriptor and no operating system.

`Loop` is asyncio's base loop with a way of waiting of our own, so that tasks, groups, timeouts and queues
are the real ones. A tool call is a future that the loop completes when its answer arrives. Nothing here
decides what a program may name; the facade of `asyncio` does.
"""

from __future__ import annotations

import contextlib
import heapq
import sys
import time
from collections.abc import Coroutine, Generator
from typing import Any

from codemode import wire
from codemode.guest.running.channel import Channel
from codemode.guest.running.tools import Calls, ToolCallError, outcome
from codemode.guest.running.without_ssl import asyncio

# The texts of handles are not to name a file of this machine.
asyncio.format_helpers._get_function_source = lambda function: None  # type: ignore[attr-defined]

__all__ = ["Abandoned", "Deadlock", "Loop", "PendingCall"]

_TIDY_AT = 64
"""Calls and tasks that are remembered for their outcome before finished ones are let go; then twice as many
as are left, so that the time for it stays in proportion."""


class Deadlock(RuntimeError):
    """Every task waits for something that nothing can bring about."""


class Abandoned(Exception):
    """Something failed of which nobody asked for the outcome. `what` names it, `error` is the failure."""

    def __init__(self, what: str, error: BaseException) -> None:
        super().__init__(what)
        self.what = what
        self.error = error


class PendingCall(asyncio.Future[Any]):
    """A tool call that has been sent. It is awaited once, as the call of an async function is, and may be
    given to `gather`, `wait` and their like as often as one likes."""

    def __init__(self, tool: wire.ToolName, number: int, loop: Loop) -> None:
        super().__init__(loop=loop)
        self._tool = tool
        self._number = number
        self._awaited = False

    def __await__(self) -> Generator[Any, None, Any]:
        if self._awaited:
            raise RuntimeError(
                f"this call of {self._tool.name} was awaited before; keep its value in a variable"
            )
        self._awaited = True
        return super().__await__()

    def cancel(self, msg: Any = None) -> bool:
        cancelled = super().cancel(msg)
        if cancelled:
            loop = self._loop
            assert isinstance(loop, Loop)
            loop.forget(self._number)
        return cancelled

    def __repr__(self) -> str:
        return f"<call of {self._tool.name}, {'done' if self.done() else 'not awaited yet'}>"


PendingCall.__qualname__ = PendingCall.__name__ = "PendingCall"
PendingCall.__module__ = "builtins"


class Loop(asyncio.BaseEventLoop):
    """Runs coroutines; waits on the channel only."""

    def __init__(self, channel: Channel, calls: Calls) -> None:
        super().__init__()
        self._channel = channel
        self._calls = calls
        self._pending: dict[int, PendingCall] = {}
        self._sent: list[PendingCall] = []  # calls whose outcome nobody may have asked for
        self._tasks: list[asyncio.Task[Any]] = []
        self._tidy_calls_at = self._tidy_tasks_at = _TIDY_AT
        self.set_exception_handler(_keep_quiet)

    # ------------------------------------------------------------------------------------- calls

    def call(self, tool: wire.ToolName, arguments: dict[str, Any]) -> PendingCall:
        """Send a call and return the future of its answer."""
        number = self._calls.send(tool, arguments)
        future = PendingCall(tool, number, self)
        self._pending[number] = future
        if len(self._sent) >= self._tidy_calls_at:
            self._sent = [sent for sent in self._sent if not sent.done() or _is_unread(sent)]
            self._tidy_calls_at = 2 * len(self._sent) + _TIDY_AT
        self._sent.append(future)
        return future

    def forget(self, number: int) -> None:
        """The program no longer waits for this call."""
        if self._pending.pop(number, None) is not None:
            self._channel.send(wire.Cancel(number))

    def _answer(self, frame: wire.FromHost) -> None:
        if isinstance(frame, wire.Program):
            return
        future = self._pending.pop(frame.id, None)
        if future is None or future.done():
            return
        try:
            future.set_result(outcome(future._tool, frame))
        except ToolCallError as error:
            future.set_exception(error.with_traceback(None))

    # ----------------------------------------------------------------------------------- running

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        """Start a coroutine as a task; a tool call, which runs already, is wrapped into one."""
        if isinstance(coro, asyncio.Future):
            coro = _wait(coro)
        task = super().create_task(coro, **options)
        if len(self._tasks) >= self._tidy_tasks_at:
            self._tasks = [known for known in self._tasks if not known.done() or _is_unread(known)]
            self._tidy_tasks_at = 2 * len(self._tasks) + _TIDY_AT
        self._tasks.append(task)
        return task

    def run_main(self, main: Coroutine[Any, Any, Any]) -> Any:
        """Run the program to its end, as `asyncio.run` would, and give back what it returned.

        Calls that were made and never awaited are waited for. Raises `Abandoned` when one of them, or a
        task, has failed and nobody asked for it; the program's own exception goes first.
        """
        asyncio.events._set_running_loop(self)
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(
            firstiter=self._asyncgen_firstiter_hook,  # type: ignore[attr-defined]
            finalizer=self._asyncgen_finalizer_hook,  # type: ignore[attr-defined]
        )
        try:
            task = super().create_task(main)
            try:
                self._run_until(task)
                result = task.result()
                while any(not call.done() and not call._callbacks for call in self._sent):
                    self._run_once()
                self._complain()
                return result
            finally:
                self._cancel_all()
        finally:
            sys.set_asyncgen_hooks(*hooks)
            asyncio.events._set_running_loop(None)

    def run_nested(self, awaitable: Any) -> Any:
        """Run an awaitable to its end, from inside a running program or outside: `asyncio.run`."""
        outer = asyncio.events._get_running_loop()
        current = asyncio.current_task(self) if outer is self else None
        if outer is not self:
            asyncio.events._set_running_loop(self)
        if current is not None:
            asyncio.tasks._leave_task(self, current)
        try:
            task = awaitable if isinstance(awaitable, asyncio.Future) else super().create_task(awaitable)
            self._run_until(task)
            return task.result()
        finally:
            if current is not None:
                asyncio.tasks._enter_task(self, current)
            if outer is not self:
                asyncio.events._set_running_loop(outer)

    def _run_until(self, future: asyncio.Future[Any]) -> None:
        while not future.done():
            self._run_once()

    def _run_once(self) -> None:
        """One turn: wait if there is nothing to do, then run what is ready. May be entered again from within."""
        scheduled = self._scheduled  # type: ignore[attr-defined]
        ready = self._ready  # type: ignore[attr-defined]
        while scheduled and scheduled[0]._cancelled:
            heapq.heappop(scheduled)._scheduled = False
        timeout: float | None = None
        if ready:
            timeout = 0.0
        elif scheduled:
            timeout = max(0.0, scheduled[0]._when - self.time())
        if self._pending:
            for frame in self._channel.arrived(timeout):
                self._answer(frame)
        elif timeout is None:
            raise Deadlock("every task waits for something that can never happen")
        elif timeout > 0:
            time.sleep(timeout)
        now = self.time() + self._clock_resolution  # type: ignore[attr-defined]
        while scheduled and scheduled[0]._when < now:
            handle = heapq.heappop(scheduled)
            handle._scheduled = False
            ready.append(handle)
        for _ in range(len(ready)):
            if not ready:
                break
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    # ------------------------------------------------------------------------------------ the end

    def _complain(self) -> None:
        for call in self._sent:
            if call.done() and _is_unread(call):
                error = call.exception()
                assert error is not None
                raise Abandoned(f"the call of {call._tool.name} failed and was never awaited", error)
        for task in self._tasks:
            if task.done() and _is_unread(task):
                error = task.exception()
                assert error is not None
                raise Abandoned("a task failed and was never awaited", error)

    def _cancel_all(self) -> None:
        """Cancel what still runs and let it clean up."""
        waiting = [task for task in asyncio.all_tasks(self) if not task.done()]
        for call in list(self._pending.values()):
            if not call._callbacks:
                call.cancel()
        for task in waiting:
            task.cancel()
        # One that waits on after it was cancelled waits for nothing: the run is over.
        with contextlib.suppress(Deadlock):
            if waiting:
                self._run_until(asyncio.gather(*waiting, return_exceptions=True))
            generators = list(self._asyncgens)  # type: ignore[attr-defined]
            if generators:
                self._run_until(
                    asyncio.gather(*[each.aclose() for each in generators], return_exceptions=True)
                )

    # What the base class expects of a loop with a selector.

    def _process_events(self, event_list: object) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def get_debug(self) -> bool:
        return False


def _is_unread(future: asyncio.Future[Any]) -> bool:
    """Whether a future has failed and nobody has asked for its outcome."""
    return bool(future._log_traceback)


def _keep_quiet(loop: object, context: object) -> None:
    """What asyncio would print about lost exceptions is told by `Abandoned`."""


async def _wait(future: asyncio.Future[Any]) -> Any:
    return await future
