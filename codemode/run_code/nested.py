"""The calls that a program makes: each goes through the pipeline, under the scheduler, into the log.

A nested call is recorded when it starts (`tool/code-dispatch-start`) and when it ends
(`tool/code-dispatch`: its content as shown and whether it is an error, never its value). One that never
starts is not recorded. The program has its value before the end is recorded.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Callable, Sequence

import msgspec
import trio
from msgspec import UNSET

from codemode.content import Content, content_to_json
from codemode.errors import CodeModeError, SessionError
from codemode.run_code.memory import FinishedCall, Recall
from codemode.sandbox import CallRequest
from codemode.session import Session
from codemode.tools.bodies import GRACE_SECONDS
from codemode.tools.call import Call, Outcome, Success
from codemode.tools.job import CallJob
from codemode.tools.pipeline import Pipeline
from codemode.tools.scheduler import Scheduler
from codemode.values import JSON, FrozenDict, freeze

__all__ = ["NestedCalls"]

_MAX_PENDING_BYTES = 4 * 1024 * 1024
"""Events that may wait in memory while a run goes on; then they are written, so that a run with many large
calls does not hold them all."""

_WRITE_AFTER_SECONDS = 0.1
"""How long what a run did may stay unwritten in a session file while the run goes on: what is lost at most when
the host is killed."""

_log = logging.getLogger("codemode.run_code")


class NestedCalls:
    """What one run reports to: hands its calls to a scheduler and its prints to `on_log`.

    Its tasks live in `nursery`, which outlives the run, so that a tool that does not stop holds nobody.
    `failed` is called when calls cannot be carried on (the log cannot be written); `close` raises why.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        pipeline: Pipeline,
        session: Session,
        outer: Call,
        *,
        max_parallel_calls: int,
        on_log: Callable[[str], None] | None = None,
        recall: Recall | None = None,
        remember: bool = False,
        failed: Callable[[], None] | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.session = session
        self.outer = outer
        self._on_log = on_log
        self._recall = recall
        self._made: list[_NestedCall] | None = [] if remember else None
        self.scheduler: Scheduler[_NestedCall] = Scheduler(nursery, max_parallel_calls, self._answer, failed)
        self._jobs: dict[int, _NestedCall] = {}
        self._nursery = nursery
        self._will_write = session.path is None  # in memory there is nothing to write

    def log(self, text: str) -> None:
        if self._on_log is not None:
            try:
                self._on_log(text)
            except Exception:
                self._on_log = None
                _log.warning("on_log failed; the run goes on without it", exc_info=True)

    def call(self, request: CallRequest) -> None:
        earlier = None
        if self._recall is not None:
            earlier = self._recall.next(request.name, request.arguments)
        job = _NestedCall(self, request, earlier)
        if self.scheduler.submit(job):
            self._jobs[request.id] = job
            if self._made is not None:
                self._made.append(job)

    def cancel(self, id: int) -> None:
        job = self._jobs.pop(id, None)
        if job is not None:
            self.scheduler.withdraw(job)

    async def close(self) -> None:
        """The run is over: start nothing more, stop what runs, wait until it has ended, record it.

        Shielded, and bounded: a tool that does not stop is recorded as such after `GRACE_SECONDS` and left
        to itself.
        """
        self.scheduler.close()
        if self.scheduler.has_ended:
            return
        with trio.CancelScope(shield=True):
            for stuck in await self.scheduler.ended(GRACE_SECONDS):
                await stuck.leave()

    def finished(self) -> tuple[FinishedCall, ...]:
        """The calls of this run, in the order of making, with the values they ended in."""
        return tuple(job.finished() for job in self._made or ())

    def write_soon(self) -> None:
        """See to it that what is logged now is durable before long. No checkpoint."""
        if not self._will_write:
            self._will_write = True
            self._nursery.start_soon(self._write)

    async def _write(self) -> None:
        await trio.sleep(_WRITE_AFTER_SECONDS)
        self._will_write = False
        with contextlib.suppress(
            SessionError
        ):  # the events are kept, and the commit at the end says what is wrong
            await self.session.commit()

    def forget(self, id: int) -> None:
        self._jobs.pop(id, None)

    async def _answer(self, jobs: Sequence[_NestedCall]) -> None:
        with jobs[0].hold() if jobs else contextlib.nullcontext():
            await self.pipeline.answer([job.dispatch for job in jobs])


class _NestedCall(CallJob):
    """One job of the scheduler."""

    __slots__ = ("_earlier", "_owner", "_request")

    def __init__(self, owner: NestedCalls, request: CallRequest, earlier: FinishedCall | None) -> None:
        outer = owner.outer
        self._owner = owner
        self._request = request
        self._earlier = earlier
        dispatch = owner.pipeline.begin(
            request.name,
            request.arguments,
            id=f"{outer.id}:{request.id}",
            root_id=outer.root_id,
            parent=outer.token,
        )
        if earlier is not None:
            dispatch.remembered = earlier.value
        super().__init__(owner.pipeline, dispatch, owner.scheduler)

    def hold(self) -> contextlib.AbstractContextManager[None]:
        """Stop the run's clock: a person is being asked, and may take long."""
        return self._request.hold()

    async def decide(self) -> None:
        await super().decide()
        if self._earlier is not None:
            self.dispatch.question = None  # what was allowed once, and is not done again, is not asked again

    def note_start(self) -> None:
        self._owner.session.append("tool/code-dispatch-start", FrozenDict(self._event()))
        self._owner.write_soon()
        if self._earlier is not None:
            self._owner.session.append(
                "run/reuse",
                {
                    "callId": self._owner.outer.id,
                    "subCallId": self.dispatch.call.id,
                    "fromSubCallId": self._earlier.id,
                },
            )

    async def end(self) -> None:
        self._reply()
        stored = await self._stored_content() if self.dispatch.hooks.stored_content else None
        if self.claim_end():
            self._log_end(stored)
        if self._owner.session.pending_bytes > _MAX_PENDING_BYTES:
            await self._owner.session.commit()

    def end_at_once(self) -> None:
        self._reply()
        self._log_end(None)

    def finished(self) -> FinishedCall:
        call, outcome = self.dispatch.call, self.dispatch.outcome
        value = outcome.value if isinstance(outcome, Success) else UNSET
        return FinishedCall(id=call.id, name=call.name, arguments=call.arguments, value=value)

    def _reply(self) -> None:
        outcome = self.dispatch.outcome
        assert outcome is not None
        if isinstance(outcome, Success):
            self._request.answer(outcome.value)
        else:
            # Of a tool's own exception the program learns the class; how this package says no is in the code.
            own = outcome.exception is not None and not isinstance(outcome.exception, CodeModeError)
            self._request.fail(outcome.error.message, outcome.error.code, outcome.error.type if own else None)
        self._owner.forget(self._request.id)

    async def _stored_content(self) -> Content | None:
        """Return other content for the log, if a hook has some; a hook that fails has none."""
        outcome: Outcome | None = self.dispatch.outcome
        stored: Content | None = None
        for hook in self.dispatch.hooks.stored_content:
            assert outcome is not None
            try:
                said = hook(self.dispatch.call, outcome)
                if inspect.isawaitable(said):
                    said = await said
                if said is not None:
                    freeze(content_to_json(tuple(said)))
                    stored = tuple(said)
                    # The next one sees what is left: what one hook took out, another does not bring back.
                    outcome = msgspec.structs.replace(outcome, content=stored)
            except Exception:
                _log.warning(
                    "a hook for stored content failed; the content is stored as it is", exc_info=True
                )
        return stored

    def _log_end(self, stored: Content | None) -> None:
        outcome = self.dispatch.outcome
        assert outcome is not None
        end = self._event()
        end["content"] = content_to_json(outcome.content if stored is None else stored)
        end["isError"] = outcome.is_error
        self._owner.session.append("tool/code-dispatch", FrozenDict(end))

    def _event(self) -> dict[str, JSON]:
        """The fields of both events, every one frozen."""
        call = self.dispatch.call
        return {
            "rootCallId": call.root_id,
            "parentCallId": self._owner.outer.id,
            "subCallId": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }
