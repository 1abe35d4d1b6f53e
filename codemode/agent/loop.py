"""The loop: a model is asked, what it calls is called, the results go back, until it has said what it has to say.

    turn      what a user asks for, up to the model's last word on it   turn/start … turn/end
    step      one answer of the model and the calls in it               step/start … step/end

All of it is in the session as it happens, and durable before anything has an effect: the user's message before
the model is asked, its complete answer before a tool runs. Requests are built from those events and nothing
else, so after a crash the loop goes on where the log ends; what nobody saw the end of is said so.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import trio

from codemode.agent.closing import CUT, NOBODY_SAW, STOPPED, Why, closing
from codemode.agent.history import EVENT_TYPES, History
from codemode.agent.provider import Provider, Retry
from codemode.agent.turn import Turn, TurnResult
from codemode.agent.watcher import Watcher
from codemode.conversation import AssistantTurn, Request, UserTurn, build_request, to_message
from codemode.conversation.blocks import ToolResult, user_block
from codemode.conversation.requests import check_turns
from codemode.conversation.turns import is_blank
from codemode.direct import ModelCall
from codemode.engine import Scope
from codemode.errors import ConversationError, ProviderError, StreamError, TruncatedTurnError
from codemode.tools.call import Outcome
from codemode.values import JSON

__all__ = ["Agent", "request_over"]

_COMMIT_SECONDS = 10.0  # to make the end of a cancelled turn durable


class Agent:
    """Lets a model use the tools of a scope. One for a session; one turn at a time.

    `scope` is an entered `CodeMode`, or a scope of it; its mode says what the model can call, its session holds
    the conversation, also one from before. `system` is told to the model first. `max_tokens` bounds an answer;
    `max_steps` and `max_total_tokens` (as the provider counts: of one that does not, steps alone are bounded) a
    turn. `keep_exchanges` bounds how much of the past is sent: what a user asked and all that followed, whole,
    or not at all. `options` are further fields of the provider's requests. `is_done` is asked when the calls of
    an answer have ended: when it says so, the turn is complete, and the model is not asked for a last word
    (`lambda: output.is_recorded`, for a `toolkits.StructuredOutput`). `notices` is asked before each request
    what the model of `scope` should know that no call of it tells: lines of text, each given once (`jobs.notices`,
    for the `toolkits.Jobs` of its tools). It must not raise.

    Making one reads the session. Raises `ValueError` for a bound below 1.
    """

    def __init__(
        self,
        scope: Scope,
        provider: Provider,
        *,
        system: str = "",
        max_tokens: int = 8192,
        max_steps: int = 50,
        max_total_tokens: int | None = None,
        keep_exchanges: int | None = None,
        retry: Retry | None = None,
        options: dict[str, JSON] | None = None,
        watcher: Watcher | None = None,
        is_done: Callable[[], bool] | None = None,
        notices: Callable[[Scope], Sequence[str]] | None = None,
    ) -> None:
        bounds = {
            "max_tokens": max_tokens,
            "max_steps": max_steps,
            "max_total_tokens": max_total_tokens,
            "keep_exchanges": keep_exchanges,
        }
        for name, bound in bounds.items():
            if bound is not None and bound < 1:
                raise ValueError(f"{name}={bound!r}: must be at least 1")
        self.scope = scope
        self.provider = provider
        self.system = system
        self.max_tokens = max_tokens
        self.max_steps = max_steps
        self.max_total_tokens = max_total_tokens
        self.keep_exchanges = keep_exchanges
        self.retry = retry or Retry()
        self.options = options or {}
        self.watcher = watcher or Watcher()
        self.is_done = is_done
        self.notices = notices
        self._session = scope.session
        self._history = History(self._session.events(types=EVENT_TYPES))
        weakref.finalize(self, self._session.observe(self._history.see))
        self._is_busy = False
        self._close_calls({}, NOBODY_SAW)

    @property
    def problem(self) -> ConversationError | None:
        """What keeps the conversation in the session from going on, if anything does; `forget` leaves it behind.

        An `IncompleteStateError` for a stored turn that is not whole, a `PairingError` for calls and results that
        do not belong together, a `ConversationError` for turns of another provider, each with what and where.
        """
        try:
            check_turns(self._history.turns(), self.provider.name, self._history.names())
        except ConversationError as error:
            return error
        return None

    @property
    def is_waited_for(self) -> bool:
        """Whether the model has not had its last word: after a crash, an error or a budget, `go_on` asks it."""
        if self.problem is not None:
            return False
        turns = self._history.turns()
        return bool(turns) and (isinstance(turns[-1], UserTurn) or turns[-1].stop == "pause")

    async def run(self, message: str | Sequence[JSON]) -> TurnResult:
        """Say something to the model, and let it work until it has answered.

        `message` is text, or blocks in their wire form (text, image, document). Errors of providers, when trying
        again does not help, end the turn with the reason `error`; the message stays in the conversation.

        Cancelled, what has come of an answer is dropped, tools are stopped, every call has its result, the turn
        is `aborted` in the log, and the cancellation is passed on. Raises `SessionError` when the log cannot be
        written, `ValueError` for an empty message and for results of calls, `RuntimeError` while another turn is
        under way.
        """
        blocks = [{"type": "text", "text": message}] if isinstance(message, str) else list(message)
        said = [user_block(each) for each in blocks]
        if not said or any(map(is_blank, said)):
            raise ValueError("there is nothing to say: the message is empty")
        if any(isinstance(each, ToolResult) for each in said):
            raise ValueError(
                "results of calls are not said; the loop makes the calls and sends what they gave"
            )
        return await self._turn(blocks)

    async def go_on(self) -> TurnResult:
        """Let the model go on without saying anything to it; see `is_waited_for`.

        It ends, raises and is cancelled as `run` does.
        """
        return await self._turn([])

    def forget(self, keep: int = 0) -> None:
        """Leave out of requests, from now on, all but the last `keep` exchanges; they stay in the session.

        Raises `ValueError` for a negative number, `RuntimeError` while a turn is under way.
        """
        if keep < 0:
            raise ValueError(f"keep={keep!r}: cannot be negative")
        if self._is_busy:
            raise RuntimeError("a turn is under way; what it stands on cannot be left out")
        self._prune(keep)

    def _prune(self, keep: int) -> None:
        numbers = self._history.turns_of_users()
        if not keep or keep < len(numbers):
            kept_from = numbers[-keep] if keep else self._history.last_turn + 1
            self._session.append("context/pruned", {"keptFrom": kept_from})

    # ------------------------------------------------------------------------------------- a turn

    async def _turn(self, blocks: list[JSON]) -> TurnResult:
        if self._is_busy:
            raise RuntimeError("a turn is under way; one at a time")
        self._is_busy = True
        turn = Turn(self._history.last_turn + 1)
        try:
            self._session.append("turn/start", {"turn": turn.number})
            if blocks:
                self._say(turn, blocks)
                if self.keep_exchanges is not None:
                    self._prune(self.keep_exchanges)
            await self._steps(turn)
        except ConversationError as error:
            turn.end("error", error)
        except BaseException as error:
            turn.fail(error) if isinstance(error, Exception) else turn.end("aborted")
            self._end(turn)
            with trio.move_on_after(_COMMIT_SECONDS, shield=True):
                await self._session.commit()
            raise
        finally:
            self._is_busy = False
        self._end(turn)
        await self._session.commit()
        return turn.result()

    async def _steps(self, turn: Turn) -> None:
        while turn.reason is None:
            if turn.steps >= self.max_steps:
                return turn.end_at_budget(f"{turn.steps} steps, the most that a turn may take")
            if self.max_total_tokens is not None and turn.tokens >= self.max_total_tokens:
                return turn.end_at_budget(
                    f"{turn.tokens} tokens of {self.max_total_tokens} that a turn may take"
                )
            self._notify(turn)
            turn.step = self._history.last_step + 1
            self._session.append("step/start", turn.placed())
            await self._step(turn)
            self._session.append("step/end", turn.placed())
            turn.step = None
        return None

    async def _step(self, turn: Turn) -> None:
        request = self._request()
        await self._session.commit()
        try:
            answer = await self._answer(turn, request)
        except TruncatedTurnError as error:
            turn.steps += 1
            return turn.end("max-tokens", error)
        turn.took(answer)
        self._session.append("assistant/message", {"message": to_message(answer), **turn.placed()})
        await self._session.commit()
        self.watcher.answered(answer)
        if answer.stop in ("max-tokens", "context-full", "refusal"):
            self._close_calls(turn.placed(), CUT)
            return turn.end(answer.stop)
        if answer.calls:
            await self._call(turn, answer)
            if self.is_done is not None and self.is_done():
                turn.end("completed")
        elif answer.stop != "pause":
            turn.end("completed")
        return None

    def _request(self) -> Request:
        """Build the request over the session as it is; log its header when that differs from the last one."""
        header: dict[str, JSON] = {
            "provider": self.provider.name,
            "model": self.provider.model,
            "maxTokens": self.max_tokens,
            "system": self.system,
            "tools": self.provider.define(self.scope.describe()),
            "options": self.options,
        }
        request = request_over(header, self._history)
        if self._history.header != header:
            self._session.append("request/header", {"header": header})
        return request

    async def _answer(self, turn: Turn, request: Request) -> AssistantTurn:
        """Ask until there is a complete answer; what came of one that broke off is dropped."""
        failed = 0
        while True:
            try:
                answer = await self.provider.respond(request, self.watcher.piece)
                ids = [call.id for call in answer.calls]
                if len(set(ids)) < len(ids):
                    raise StreamError(f"the answer uses an id for two calls: {', '.join(ids)}")
                return answer
            except (StreamError, ProviderError) as error:
                failed += 1
                asked_for = getattr(error, "retry_after", None)
                if not error.retryable or self.retry.is_over(failed, asked_for):
                    raise
                wait = self.retry.wait(failed, asked_for)
                self._session.append(
                    "step/retry",
                    {**turn.placed(), "attempt": failed, "reason": str(error), "waitSeconds": wait},
                )
                self.watcher.dropped(error, wait)
                await trio.sleep(wait)

    async def _call(self, turn: Turn, answer: AssistantTurn) -> None:
        calls = [
            ModelCall(
                id=call.id, name=call.name, arguments=call.input, turn=turn.number, step=turn.step_or_unset
            )
            for call in answer.calls
        ]
        by_id = {call.id: call for call in answer.calls}

        def ended(call: ModelCall, outcome: Outcome) -> None:
            self._add_contexts(turn, call.id, outcome)
            self.watcher.called(by_id[call.id], outcome)

        await self.scope.call_all(calls, on_log=self.watcher.printed, on_end=ended)

    # ---------------------------------------------------------------------------------- the log

    def _say(self, turn: Turn, blocks: list[JSON]) -> None:
        message = {"role": "user", "source": "user", "content": blocks}
        self._session.append("user/message", {"message": message, **turn.placed()})

    def _notify(self, turn: Turn) -> None:
        """Tell the model what has happened beside the conversation, unless it is in the middle of an answer."""
        if self.notices is None or self._history.is_paused:
            return
        lines = [line for line in self.notices(self.scope) if line.strip()]
        blocks: list[JSON] = [{"type": "text", "text": line} for line in lines]
        if blocks:
            message = {"role": "user", "source": "notice", "content": blocks}
            self._session.append("user/message", {"message": message, **turn.placed()})

    def _add_contexts(self, turn: Turn, call_id: str, outcome: Outcome) -> None:
        """Log what hooks add beside a result, as soon as it is there; it is sent after the results of all calls."""
        blocks = [{"type": "text", "text": context} for context in outcome.contexts if context.strip()]
        if blocks:
            message = {"role": "user", "source": "context", "callId": call_id, "content": blocks}
            self._session.append("user/message", {"message": message, **turn.placed()})

    def _close_calls(self, placed: dict[str, JSON], why: Why) -> None:
        """Give every call of the last answer that has no result an honest one. Nothing is run for it."""
        for kind, data in closing(self._history.open_calls(), why, placed):
            self._session.append(kind, data)

    def _end(self, turn: Turn) -> None:
        """Close everything of a turn: calls without a result, the step, the turn itself."""
        self._close_calls(turn.placed(), STOPPED)
        if turn.step is not None:
            self._session.append("step/end", turn.placed())
        detail: dict[str, JSON] = {"steps": turn.steps, "tokens": turn.tokens}
        if turn.error:
            detail |= {"error": turn.error, "code": turn.error_code}
        self._session.append("turn/end", {"turn": turn.number, "reason": turn.reason, "detail": detail})


def request_over(header: dict[str, JSON], history: History) -> Request:
    """Return the request that a header and a history make: everything that is sent comes from these two.

    Raises as `conversation.build_request` does.
    """
    values: Any = header
    return build_request(
        history.turns(),
        provider=values["provider"],
        model=values["model"],
        max_tokens=values["maxTokens"],
        system=values["system"],
        tools=values["tools"],
        options=values["options"],
        names=history.names(),
    )
