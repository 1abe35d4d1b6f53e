"""The calls that a model makes in one answer: together through the pipeline, under the scheduler, into the log.

All are logged as made before any starts, in the model's order; each result is logged as soon as its call has
ended, so that a crash loses no outcome that was known. Approvals that wait at the same time are asked together.
Whatever happens, each call ends in exactly one outcome and one `tool/result`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import trio
from msgspec import UNSET, Struct, UnsetType

from codemode.content import content_to_json
from codemode.session import Session
from codemode.tools.bodies import GRACE_SECONDS
from codemode.tools.call import Outcome, Success
from codemode.tools.pipeline import Dispatch, Pipeline
from codemode.tools.scheduler import Scheduler
from codemode.values import JSON

__all__ = ["DirectCalls", "ModelCall", "OnEnd", "result_data"]

_COMMIT_SECONDS = 10.0  # to make the log of cancelled calls durable


class ModelCall(Struct, frozen=True, kw_only=True):
    """A call as a model made it. `arguments` that were no JSON object are what was received in their place."""

    id: str
    name: str
    arguments: JSON
    turn: int | UnsetType = UNSET
    step: int | UnsetType = UNSET


OnEnd: TypeAlias = Callable[[ModelCall, Outcome], None]
"""Called when a call has ended and its result is in the log; it must return at once, and may append to the session."""


def result_data(call_id: str, outcome: Outcome) -> dict[str, JSON]:
    """Return the data of a `tool/result`: what was shown, the error's code, the metadata; never the value."""
    data: dict[str, JSON] = {
        "callId": call_id,
        "content": content_to_json(outcome.content),
        "isError": outcome.is_error,
    }
    if isinstance(outcome, Success):
        if outcome.meta is not UNSET:
            data["meta"] = outcome.meta
    elif outcome.error.code is not None:
        data["error"] = {"name": outcome.error.type or "Error", "code": outcome.error.code}
    return data


class DirectCalls:
    """The calls of one answer. Their tasks live in `nursery`, so that a tool that does not stop holds nobody."""

    def __init__(
        self,
        nursery: trio.Nursery,
        pipeline: Pipeline,
        session: Session,
        max_parallel_calls: int,
        on_end: OnEnd | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.session = session
        self.on_end = on_end
        self._stop = trio.CancelScope()
        self.scheduler: Scheduler[_DirectCall] = Scheduler(
            nursery, max_parallel_calls, self._answer, self._stop.cancel
        )

    async def run(self, calls: Sequence[ModelCall]) -> list[Outcome]:
        """Make the calls and return their outcomes, in the order of the calls; all of it is durable then.

        Cancelled, it starts nothing more, stops what runs (within some seconds), logs a result for every call,
        and passes the cancellation on. Raises `SessionError` when the log cannot be written.
        """
        jobs = [_DirectCall(self, call) for call in calls]
        for job in jobs:
            job.log_call()
        for job in jobs:
            self.scheduler.submit(job)
        try:
            with self._stop:
                for job in jobs:
                    await job.ended.wait()
        finally:
            with trio.CancelScope(shield=True):
                await self._close(jobs)
        await self.session.commit()
        return [job.outcome for job in jobs]

    async def _close(self, jobs: Sequence[_DirectCall]) -> None:
        self.scheduler.close()
        try:
            for stuck in await self.scheduler.ended(GRACE_SECONDS):
                await stuck.leave()
        finally:
            for job in jobs:
                await job.end_aborted(None)
            with trio.move_on_after(_COMMIT_SECONDS):
                await self.session.commit()

    async def _answer(self, jobs: Sequence[_DirectCall]) -> None:
        await self.pipeline.answer([job.dispatch for job in jobs])


class _DirectCall:
    """One job of the scheduler."""

    def __init__(self, owner: DirectCalls, call: ModelCall) -> None:
        self._owner = owner
        self._call = call
        self._scope: trio.CancelScope | None = None
        self._is_stopped = False
        # A name that is no text that can be stored names no tool; it is logged as it can be.
        self._name = call.name.encode("utf-8", "backslashreplace").decode()
        self.ended = trio.Event()
        self.dispatch: Dispatch = owner.pipeline.begin(self._name, call.arguments, id=call.id)
        self.dispatch.before_body = self._log_start

    @property
    def asks(self) -> bool:
        return self.dispatch.question is not None and self.dispatch.outcome is None

    @property
    def outcome(self) -> Outcome:
        assert self.dispatch.outcome is not None
        return self.dispatch.outcome

    @property
    def is_undecided(self) -> bool:
        return self._owner.pipeline.may_refuse(self.dispatch)

    def may_overlap(self) -> bool:
        call = self.dispatch.call
        tool = self._owner.pipeline.registry.get(call.name)
        return tool is not None and tool.may_overlap(call.arguments)

    def stop(self) -> None:
        self._is_stopped = True
        if self._scope is not None:
            self._scope.cancel()

    @property
    def starts_at_once(self) -> bool:
        return not self.is_undecided and not self.dispatch.hooks.guards

    async def decide(self) -> None:
        with self._stoppable():
            await self._owner.pipeline.decide(self.dispatch)

    def start_now(self) -> None:
        """Its start is logged when its body is about to run."""

    async def start(self) -> None:
        try:
            with self._stoppable():
                await self._owner.pipeline.guard(self.dispatch)
        except BaseException:
            await self.end_aborted(None)
            raise

    async def complete(self, turn: trio.Lock) -> None:
        pipeline, dispatch = self._owner.pipeline, self.dispatch
        if not dispatch.hooks.around:  # one may have the body run again
            dispatch.after_body = self._make_room
        try:
            with self._stoppable() as scope:
                await trio.lowlevel.checkpoint_if_cancelled()
                await pipeline.perform(dispatch)
                if self.ended.is_set():
                    return  # nobody waited any longer; it was recorded as one that did not stop
                async with turn:
                    await pipeline.settle(dispatch)
        except Exception:
            # What a body raised while it was cancelled, once the cancellation is taken out of it.
            await self.end_aborted(turn)
            return
        except BaseException:
            await self.end_aborted(turn)
            raise
        if scope.cancelled_caught:
            await self.end_aborted(turn)
            return
        self._end()

    async def _make_room(self) -> None:
        await self._owner.scheduler.make_room(self)

    async def leave(self) -> None:
        """Give up waiting for this call: it was cancelled and goes on all the same."""
        if not self.ended.is_set():
            self.dispatch.fail(
                f"tool call aborted: it was cancelled and did not stop within {GRACE_SECONDS:g} s",
                code="ABORTED",
                is_final=True,
            )
            await self.end_aborted(None)

    async def end_aborted(self, turn: trio.Lock | None) -> None:
        """End a call that was cancelled, unless it has ended; not beside another's end, unless that one hangs."""
        if self.ended.is_set():
            return
        with trio.CancelScope(shield=True):
            held = turn is not None
            if turn is not None:
                with trio.move_on_after(GRACE_SECONDS) as limit:
                    await turn.acquire()
                held = not limit.cancelled_caught
            try:
                await self._owner.pipeline.settle_aborted(self.dispatch)
            finally:
                if held and turn is not None:
                    turn.release()
        self._end()

    def _stoppable(self) -> trio.CancelScope:
        """A scope for one stage; `stop` cancels it, also when it came before."""
        self._scope = trio.CancelScope()
        if self._is_stopped:
            self._scope.cancel()
        return self._scope

    def log_call(self) -> None:
        given = self._call.arguments
        arguments = self.dispatch.call.arguments if isinstance(given, dict) else given
        data: dict[str, JSON] = {
            "callId": self._call.id,
            "name": self._name,
            "arguments": arguments,
            "startLogged": True,
        }
        self._owner.session.append("tool/call", data | self._placed())

    async def _log_start(self) -> None:
        self._owner.session.append("tool/start", {"callId": self._call.id})
        await self._owner.session.commit()

    def _end(self) -> None:
        if not self.ended.is_set():
            self.ended.set()
            data = result_data(self._call.id, self.outcome)
            self._owner.session.append("tool/result", data | self._placed())
            self._owner.pipeline.approvals.forget(self._call.id)
            if self._owner.on_end is not None:
                self._owner.on_end(self._call, self.outcome)

    def _placed(self) -> dict[str, JSON]:
        return {
            name: value
            for name, value in (("turn", self._call.turn), ("step", self._call.step))
            if value is not UNSET
        }
