"""The calls that a program makes: each goes through the pipeline, under the scheduler, into the log.

A nested call is recorded when it starts (`tool/code-dispatch-start`) and when it ends
(`tool/code-dispatch`: its content as shown and whether it is an error, never its value). One that never
starts is not recorded.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from codemode.content import content_to_json
from codemode.sandbox import CallRequest
from codemode.session import Session
from codemode.tools.call import Call, Success
from codemode.tools.pipeline import Pipeline
from codemode.tools.scheduler import Scheduler
from codemode.values import JSON

__all__ = ["NestedCalls"]

_MAX_PENDING_BYTES = 4 * 1024 * 1024
"""Events that may wait in memory while a run goes on; then they are written, so that a run with many large
calls does not hold them all."""


class NestedCalls:
    """What one run reports to: hands its calls to a scheduler and its prints to `on_log`."""

    def __init__(
        self,
        nursery: trio.Nursery,
        pipeline: Pipeline,
        session: Session,
        outer: Call,
        *,
        max_parallel_calls: int,
        on_log: Callable[[str], None] | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.session = session
        self.outer = outer
        self._on_log = on_log
        self._scheduler = Scheduler(nursery, max_parallel_calls)
        self._jobs: dict[int, _NestedCall] = {}

    def log(self, text: str) -> None:
        if self._on_log is not None:
            self._on_log(text)

    def call(self, request: CallRequest) -> None:
        job = _NestedCall(self, request)
        if self._scheduler.submit(job):
            self._jobs[request.id] = job

    def cancel(self, id: int) -> None:
        job = self._jobs.pop(id, None)
        if job is not None:
            self._scheduler.withdraw(job)

    def close(self) -> None:
        """The run is over: start nothing more, stop what runs. Its end is awaited by the nursery."""
        self._scheduler.close()

    def forget(self, id: int) -> None:
        self._jobs.pop(id, None)


class _NestedCall:
    """One job of the scheduler."""

    __slots__ = ("_is_stopped", "_owner", "_request", "_scope", "dispatch")

    def __init__(self, owner: NestedCalls, request: CallRequest) -> None:
        outer = owner.outer
        self._owner = owner
        self._request = request
        self._scope: trio.CancelScope | None = None
        self._is_stopped = False
        self.dispatch = owner.pipeline.begin(
            request.name,
            request.arguments,
            id=f"{outer.id}:{request.id}",
            root_id=outer.root_id,
            parent=outer.token,
        )

    def may_overlap(self) -> bool:
        call = self.dispatch.call
        tool = self._owner.pipeline.registry.get(call.name)
        return tool is not None and tool.may_overlap(call.arguments)

    def stop(self) -> None:
        self._is_stopped = True
        if self._scope is not None:
            self._scope.cancel()

    def _stoppable(self) -> trio.CancelScope:
        """A scope for one stage; `stop` cancels it, also when it came before."""
        self._scope = trio.CancelScope()
        if self._is_stopped:
            self._scope.cancel()
        return self._scope

    async def prepare(self) -> None:
        self._owner.session.append("tool/code-dispatch-start", self._event())
        try:
            with self._stoppable():
                await self._owner.pipeline.prepare(self.dispatch)
        except BaseException:
            await self._end_aborted()
            raise

    async def complete(self, turn: trio.Lock) -> None:
        pipeline = self._owner.pipeline
        try:
            with self._stoppable() as scope:
                await trio.lowlevel.checkpoint_if_cancelled()
                await pipeline.perform(self.dispatch)
                async with turn:
                    await pipeline.settle(self.dispatch)
        except BaseException:
            await self._end_aborted()
            raise
        if scope.cancelled_caught:
            await self._end_aborted()
        else:
            self._end()
        if self._owner.session.pending_bytes > _MAX_PENDING_BYTES:
            await self._owner.session.commit()

    async def _end_aborted(self) -> None:
        await self._owner.pipeline.settle_aborted(self.dispatch)
        self._end()

    def _end(self) -> None:
        outcome = self.dispatch.outcome
        assert outcome is not None
        if isinstance(outcome, Success):
            self._request.answer(outcome.value)
        else:
            self._request.fail(outcome.error.message, outcome.error.code)
        self._owner.forget(self._request.id)
        end = self._event()
        end["content"] = content_to_json(outcome.content)
        end["isError"] = outcome.is_error
        self._owner.session.append("tool/code-dispatch", end)

    def _event(self) -> dict[str, JSON]:
        call = self.dispatch.call
        return {
            "rootCallId": call.root_id,
            "parentCallId": self._owner.outer.id,
            "subCallId": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }
