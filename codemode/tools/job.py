"""The life of one call as a job of the scheduler: decided, started, performed, settled, and ended once.

What a start and an end are in a log, and who else is told, is a subclass's matter: `note_start`, `end` and
`end_at_once`. Nothing here knows of sessions or sandboxes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import trio

from codemode.tools.bodies import GRACE_SECONDS
from codemode.tools.dispatch import Dispatch
from codemode.tools.pipeline import Pipeline
from codemode.tools.scheduler import Scheduler

__all__ = ["CallJob"]


class CallJob(ABC):
    """One call on its way through a pipeline, as a `scheduler.Job`.

    `has_ended` says that its end has been told, or is being told; nothing about it is told after that.
    """

    __slots__ = ("_is_stopped", "_scheduler", "_scope", "dispatch", "has_ended", "pipeline")

    def __init__(self, pipeline: Pipeline, dispatch: Dispatch, scheduler: Scheduler[Any]) -> None:
        self.pipeline = pipeline
        self.dispatch = dispatch
        self.has_ended = False
        self._scheduler = scheduler
        self._scope: trio.CancelScope | None = None
        self._is_stopped = False

    # ------------------------------------------------------------------------- for subclasses

    @abstractmethod
    def note_start(self) -> None:
        """Its turn has come; guards and the body are next. No checkpoint."""

    @abstractmethod
    async def end(self) -> None:
        """Tell what became of it: the outcome is there. To be told only if `claim_end` says so.

        Also called, shielded and bounded, for a call that was cancelled.
        """

    @abstractmethod
    def end_at_once(self) -> None:
        """Tell what became of it, without waiting for anything. Called when the end has been claimed."""

    def claim_end(self) -> bool:
        """Whether the end is still to be told; True for the first who asks, who then tells it."""
        if self.has_ended:
            return False
        self.has_ended = True
        # They lead back here: without them the call is let go of at once, with its arguments and its value.
        self.dispatch.before_body = self.dispatch.after_body = None
        return True

    # ------------------------------------------------------------------------- for the scheduler

    @property
    def asks(self) -> bool:
        return self.dispatch.question is not None and self.dispatch.outcome is None

    @property
    def is_undecided(self) -> bool:
        return self.pipeline.may_refuse(self.dispatch)

    @property
    def starts_at_once(self) -> bool:
        return not self.is_undecided and not self.dispatch.hooks.guards

    def may_overlap(self) -> bool:
        call = self.dispatch.call
        tool = self.pipeline.registry.get(call.name)
        return tool is not None and tool.may_overlap(call.arguments)

    def stop(self) -> None:
        self._is_stopped = True
        if self._scope is not None:
            self._scope.cancel()

    async def decide(self) -> None:
        with self._stoppable():
            await self.pipeline.decide(self.dispatch)

    def start_now(self) -> None:
        self.note_start()

    async def start(self) -> None:
        self.note_start()
        if not self.dispatch.hooks.guards:
            return
        try:
            with self._stoppable():
                await self.pipeline.guard(self.dispatch)
        except BaseException:
            await self.abort(None)
            raise

    async def complete(self, turn: trio.Lock) -> None:
        pipeline, dispatch = self.pipeline, self.dispatch
        if not dispatch.hooks.around:  # one may have the body run again
            dispatch.after_body = self._make_room
        try:
            with self._stoppable() as scope:
                await trio.lowlevel.checkpoint_if_cancelled()
                await pipeline.perform(dispatch)
                if self.has_ended:
                    return  # nobody waited any longer; it was told as one that did not stop
                try:
                    turn.acquire_nowait()
                except trio.WouldBlock:
                    await turn.acquire()
                try:
                    await pipeline.settle(dispatch)
                finally:
                    turn.release()
        except Exception:
            # What a body raised while it was cancelled, once the cancellation is taken out of it.
            await self.abort(turn)
            return
        except BaseException:
            await self.abort(turn)
            raise
        if scope.cancelled_caught:
            await self.abort(turn)
        else:
            await self.end()

    # ------------------------------------------------------------------------- unusual ends

    async def abort(self, turn: trio.Lock | None) -> None:
        """End a call that was cancelled, unless it has ended. Shielded, and bounded.

        Its last stage does not go on beside that of another call, unless that one hangs.
        """
        if self.has_ended:
            return
        with trio.CancelScope(shield=True):
            held = turn is not None
            if turn is not None:
                with trio.move_on_after(GRACE_SECONDS) as limit:
                    await turn.acquire()
                held = not limit.cancelled_caught
            try:
                await self.pipeline.settle_aborted(self.dispatch)
            finally:
                if held and turn is not None:
                    turn.release()
            with trio.move_on_after(GRACE_SECONDS):
                await self.end()
        if self.claim_end():
            self.end_at_once()

    async def leave(self) -> None:
        """Give up waiting for this call: it was cancelled and goes on all the same."""
        if not self.claim_end():
            return
        self.dispatch.fail(
            f"tool call aborted: it was cancelled and did not stop within {GRACE_SECONDS:g} s",
            code="ABORTED",
            is_final=True,
        )
        await self.pipeline.settle_aborted(self.dispatch)
        self.end_at_once()

    def _stoppable(self) -> trio.CancelScope:
        """A scope for one stage; `stop` cancels it, also when it came before."""
        self._scope = trio.CancelScope()
        if self._is_stopped:
            self._scope.cancel()
        return self._scope

    async def _make_room(self) -> None:
        await self._scheduler.make_room(self)
