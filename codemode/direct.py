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
from codemode.rendering import encodable
from codemode.session import Session
from codemode.tools.bodies import GRACE_SECONDS
from codemode.tools.call import Outcome, Success
from codemode.tools.job import CallJob
from codemode.tools.pipeline import Pipeline
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
                await job.abort(None)
            with trio.move_on_after(_COMMIT_SECONDS):
                await self.session.commit()

    async def _answer(self, jobs: Sequence[_DirectCall]) -> None:
        await self.pipeline.answer([job.dispatch for job in jobs])


class _DirectCall(CallJob):
    """One job of the scheduler."""

    def __init__(self, owner: DirectCalls, call: ModelCall) -> None:
        self._owner = owner
        self._call = call
        # A name that is no text that can be stored names no tool; it is logged as it can be.
        self._name = encodable(call.name)
        self.ended = trio.Event()
        dispatch = owner.pipeline.begin(self._name, call.arguments, id=call.id)
        dispatch.before_body = self._log_start
        super().__init__(owner.pipeline, dispatch, owner.scheduler)

    @property
    def outcome(self) -> Outcome:
        assert self.dispatch.outcome is not None
        return self.dispatch.outcome

    def note_start(self) -> None:
        """Its start is logged when its body is about to run."""

    async def end(self) -> None:
        if self.claim_end():
            self.end_at_once()

    def end_at_once(self) -> None:
        self.ended.set()
        data = result_data(self._call.id, self.outcome)
        self._owner.session.append("tool/result", data | self._placed())
        self.pipeline.approvals.forget(self._call.id)
        if self._owner.on_end is not None:
            self._owner.on_end(self._call, self.outcome)

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

    def _placed(self) -> dict[str, JSON]:
        return {
            name: value
            for name, value in (("turn", self._call.turn), ("step", self._call.step))
            if value is not UNSET
        }
