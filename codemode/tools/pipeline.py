"""The life of one call, in this order:

    prepare   1  mint the token; snapshot and freeze the arguments
              2  mode: in `code` mode a direct call of anything but run_code fails, and says the way
              3  cancelled already
              4  pre-execute hooks; whether somebody is asked; guards
    perform   5  around hooks, innermost the body: validate arguments, execute
              6  make the outcome: snapshot, validate, freeze, render, metadata for a direct call
              7  an outcome that an around hook brought is made again, unless it is this call's own
    settle    8  post-execute hooks
              9  finalize the content, once, for every outcome; then observers

The three parts are separate so that a scheduler can run the first and the last one at a time while bodies
overlap, and put asks together; `finish` is all of them. Whatever is raised or cancelled on the way, a call
ends in exactly one outcome. Nothing here knows of sessions or sandboxes.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec
import trio
from msgspec import UNSET

from codemode.content import Content, Image, Text
from codemode.errors import (
    CodeModeError,
    ToolArgumentsError,
    ToolError,
    ToolOutputError,
    UnknownToolError,
)
from codemode.rendering import encodable
from codemode.schemas import frozen_arguments, has_more_parts
from codemode.tools.approval import ApprovalRequest, Approvals
from codemode.tools.bodies import Bodies, BodyTimeout
from codemode.tools.call import (
    Call,
    Failure,
    Outcome,
    Recorder,
    Success,
    Token,
    failure,
)
from codemode.tools.definition import Tool
from codemode.tools.dispatch import Dispatch
from codemode.tools.hooks import Accept, Allow, Ask, Block, Deny
from codemode.tools.registry import RUN_CODE, Registry
from codemode.values import FrozenDict, InvalidValue, freeze

__all__ = ["DENIED", "Pipeline"]

DENIED = "DENIED"
"""Code of a call that a hook, a guard or an approver refused."""

_LARGE_PARTS = 5_000
"""A value of more parts takes milliseconds to be checked, frozen and rendered."""

_SETTLE_SECONDS = 5.0  # for finalizers and observers of a call that was cancelled

_log = logging.getLogger("codemode.tools")
_T = TypeVar("_T")


class Pipeline:
    """Executes calls of the tools in a registry, under its hooks and its mode.

    `run_code` is the tool of that name, if there is one; it stands outside the registry. `approvals` answers
    asks. `bodies` are where bodies run that may not stop; without it a body holds its caller. `recorder` is
    where tools put events of their own; `scope` is what calls say they were made in.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        run_code: Tool | None = None,
        approvals: Approvals | None = None,
        bodies: Bodies | None = None,
        recorder: Recorder | None = None,
        scope: object = None,
    ) -> None:
        self.registry = registry
        self.run_code = run_code
        self.approvals = approvals or Approvals(None)
        self.bodies = bodies
        self.recorder = recorder
        self.scope = scope

    async def execute(
        self,
        name: str,
        arguments: object,
        *,
        id: str,
        root_id: str | None = None,
        parent: Token | None = None,
    ) -> Outcome:
        """Make one call and return its outcome; a failure is an outcome, never an exception.

        Cancellation reaches the body, ends the call as aborted for its observers, and is passed on.
        """
        return await self.finish(self.begin(name, arguments, id=id, root_id=root_id, parent=parent))

    async def finish(
        self, dispatch: Dispatch, before_body: Callable[[], Awaitable[None]] | None = None
    ) -> Outcome:
        """Take a call that has begun through all the other stages. Cancellation is as in `execute`.

        `before_body` is awaited once, when everything is in order and the body is about to run; what it
        raises fails the call.
        """
        dispatch.before_body = before_body
        try:
            await self.decide(dispatch)
            await self.answer([dispatch])
            await self.guard(dispatch)
            await self.perform(dispatch)
            await self.settle(dispatch)
        except BaseException:
            await self.settle_aborted(dispatch)
            raise
        assert dispatch.outcome is not None
        return dispatch.outcome

    # -------------------------------------------------------------------------------- 1 to 4

    def begin(
        self,
        name: str,
        arguments: object,
        *,
        id: str,
        root_id: str | None = None,
        parent: Token | None = None,
    ) -> Dispatch:
        """Stages 1 and 2: what can be decided at once, without asking anybody."""
        try:
            frozen, problem = frozen_arguments(arguments), None
        except InvalidValue as error:
            frozen, problem = FrozenDict(), str(error)
        tool = self._find(name, is_direct=parent is None)
        call = Call(
            token=Token(),
            id=id,
            root_id=root_id or id,
            name=name,
            arguments=frozen,
            parent=parent,
            read_only=tool is not None and tool.read_only,
            recorder=self.recorder,
            scope=self.scope,
        )
        dispatch = Dispatch(call, tool, self.registry.hooks)
        if problem is not None:
            dispatch.fail(problem, code=ToolArgumentsError.code, is_final=True)
        elif call.is_direct and name != RUN_CODE and self.registry.mode == "code":
            where = f"tools.{name}(…)" if name.isidentifier() else f"tools[{name!r}](…)"
            dispatch.fail(
                f"unknown tool {name!r}: only {RUN_CODE} can be called directly; "
                f"call {where} inside a {RUN_CODE} program instead",
                code="UNKNOWN_TOOL",
                is_final=True,
            )
        return dispatch

    def may_refuse(self, dispatch: Dispatch) -> bool:
        """Whether there is anything in stages 3 and 4 for `decide` to do with this call."""
        tool = dispatch.tool
        return bool(dispatch.hooks.pre_execute) or (tool is not None and tool.approval is not None)

    async def decide(self, dispatch: Dispatch) -> None:
        """Stages 3 and 4, as far as they go without an answer from somebody: sets `question` or an outcome.

        Raises nothing but cancellation.
        """
        if dispatch.outcome is not None:
            return
        await trio.lowlevel.checkpoint_if_cancelled()
        call, tool = dispatch.call, dispatch.tool
        if not self.may_refuse(dispatch):
            return
        try:
            question: str | None = None
            for hook in dispatch.hooks.pre_execute:
                said = await _result(hook(call))
                if isinstance(said, Deny):
                    dispatch.fail(said.reason, code=DENIED)
                    return
                if isinstance(said, Ask):
                    question = question or said.reason
                elif said is not None and not isinstance(said, Allow):
                    raise TypeError(f"a pre-execute hook returns Allow, Deny, Ask or None, not {said!r}")
            if question is None and tool is not None:
                question = tool.reason_to_ask(call.arguments)
            if question is not None and tool is not None and not self.approvals.is_allowed(call):
                with contextlib.suppress(ToolArgumentsError):  # nobody is asked about what can only fail
                    tool.parameters.accept(call.arguments)
                    dispatch.question = encodable(str(question))
        except BaseException as error:
            if _must_propagate(error):
                raise
            dispatch.outcome = self._failed(call, error, "a hook before the call failed: ")
            dispatch.is_final = True

    async def answer(self, dispatches: Sequence[Dispatch]) -> None:
        """Ask for all calls that wait for an answer, together; those that are refused have their outcome then.

        Raises nothing but cancellation.
        """
        waiting: list[Dispatch] = []
        requests: list[ApprovalRequest] = []
        for each in dispatches:
            if each.question is not None and each.tool is not None and each.outcome is None:
                waiting.append(each)
                requests.append(ApprovalRequest(each.call, each.tool, each.question))
        if not requests:
            return
        reasons = await self.approvals.ask(requests)
        for each, reason in zip(waiting, reasons, strict=True):
            each.question = None
            if reason is not None:
                each.fail(reason, code=DENIED)

    async def guard(self, dispatch: Dispatch) -> None:
        """The end of stage 4: guards, which can only deny. Raises nothing but cancellation."""
        if dispatch.outcome is not None:
            return
        try:
            for guard in dispatch.hooks.guards:
                reason = await _result(guard(dispatch.call))
                if reason is not None:
                    dispatch.fail(reason, code=DENIED)
                    return
        except BaseException as error:
            if _must_propagate(error):
                raise
            dispatch.outcome = self._failed(dispatch.call, error, "a guard of the call failed: ")
            dispatch.is_final = True

    # -------------------------------------------------------------------------------- 5 to 7

    async def perform(self, dispatch: Dispatch) -> None:
        """Stages 5 to 7. Raises nothing but cancellation."""
        if dispatch.outcome is not None:
            return
        call = dispatch.call
        proceed: Callable[[], Awaitable[Outcome]] = lambda: self._dispatch_body(dispatch)  # noqa: E731
        if not dispatch.hooks.around:
            dispatch.outcome = await proceed()
            return
        for hook in reversed(dispatch.hooks.around):
            proceed = _wrapped(hook, call, proceed)
        try:
            dispatch.outcome = self._own(dispatch, await proceed())
        except BaseException as error:
            self._keep_failure(dispatch, error)
            dispatch.outcome = self._failed(call, error, "a hook around the call failed: ")
            dispatch.is_final = True

    async def _dispatch_body(self, dispatch: Dispatch) -> Outcome:
        call = dispatch.call
        try:
            # Looked up now: a tool that was removed since the call was made does not run any more.
            tool = self._require(call)
            if dispatch.tool is None:
                dispatch.tool = tool
            elif tool is not dispatch.tool:
                raise ToolError(
                    f"tool {call.name!r} was replaced while this call was under way; call it again",
                    code="TOOL_REPLACED",
                )
            try:
                accepted = tool.parameters.accept(call.arguments)
            except ToolArgumentsError as error:
                raise ToolArgumentsError(
                    f"invalid arguments: {error}; the signature is {tool.signature}", error.violations
                ) from None
            if dispatch.remembered is not UNSET:
                return await self._make(dispatch, tool, dispatch.remembered)
            await trio.lowlevel.checkpoint_if_cancelled()
            if dispatch.before_body is not None:
                before_body, dispatch.before_body = dispatch.before_body, None
                await before_body()
            dispatch.body_started = True
            if tool.lifespan is not None and self.bodies is not None:
                await self.bodies.lifespans.enter(call.name, tool.lifespan)
            # A run keeps bounds of its own, and always ends by itself.
            may_hold = call.is_direct and tool is not self.run_code
            if self.bodies is not None and (may_hold or tool.timeout is not None):
                body = functools.partial(tool.execute, accepted, call)
                returned = await self.bodies.run(call.name, body, tool.timeout)
            else:
                returned = await _in_time(tool.execute(accepted, call), tool.timeout)
            if dispatch.after_body is not None:
                after_body, dispatch.after_body = dispatch.after_body, None
                await after_body()
            return await self._make(dispatch, tool, returned)
        except BaseException as error:
            self._keep_failure(dispatch, error)
            return self._failed(call, error)

    def _keep_failure(self, dispatch: Dispatch, error: BaseException) -> None:
        """Let cancellation and interrupts go on; what else was raised beside them is the call's own failure."""
        if not _must_propagate(error):
            return
        if isinstance(error, BaseExceptionGroup):
            going_on, rest = error.split(
                lambda member: isinstance(member, trio.Cancelled | KeyboardInterrupt)
            )
            if rest is not None:
                dispatch.outcome = self._failed(dispatch.call, rest)
            if going_on is not None:
                raise going_on
        raise error

    async def _make(self, dispatch: Dispatch, tool: Tool, returned: object) -> Success:
        """Stage 6, in a worker thread for a large value, so that everything else goes on meanwhile.

        Raises `ToolOutputError`. Cancellation waits for the thread.
        """
        if not has_more_parts(returned, _LARGE_PARTS):
            return self._succeed(dispatch, tool, returned)
        return await trio.to_thread.run_sync(self._succeed, dispatch, tool, returned)

    def _succeed(self, dispatch: Dispatch, tool: Tool, returned: object) -> Success:
        """Stage 6. Raises `ToolOutputError`."""
        call, output = dispatch.call, tool.output
        try:
            value = output.schema.accept(returned)
        except ToolOutputError as error:
            raise ToolOutputError(f"tool {call.name!r} returned invalid output: {error}") from None
        try:
            content = _checked_content(output.render(call.arguments, value))
        except Exception as error:
            raise ToolOutputError(
                f"tool {call.name!r} returned a value that its render could not show: {_message(error)}"
            ) from error
        meta: Any = UNSET
        if call.is_direct and output.presentation_meta is not None:
            try:
                meta = freeze(output.presentation_meta(call.arguments, value), root="meta")
            except Exception as error:
                raise ToolOutputError(
                    f"tool {call.name!r} returned a value for which its presentation_meta failed: {_message(error)}"
                ) from error
        success = Success(token=call.token, value=value, content=content, meta=meta)
        dispatch.made.append(success)
        return success

    def _own(self, dispatch: Dispatch, outcome: Outcome) -> Outcome:
        """Stage 7. A success counts as it is only if it is one that was made for this very call."""
        call = dispatch.call
        if isinstance(outcome, Success):
            if any(outcome is made for made in dispatch.made):
                return outcome
            try:
                made = self._succeed(dispatch, self._require(call), outcome.value)
            except CodeModeError as error:
                return self._failed(call, error)
            return msgspec.structs.replace(made, contexts=outcome.contexts)
        if isinstance(outcome, Failure):
            reason = msgspec.structs.replace(outcome.error, message=encodable(str(outcome.error.message)))
            content = _checked_content(outcome.content) or (Text(f"Error: {reason.message}"),)
            return msgspec.structs.replace(outcome, token=call.token, error=reason, content=content)
        raise TypeError(f"an around hook returns an outcome, not {type(outcome).__name__}")

    # -------------------------------------------------------------------------------- 8 and 9

    async def settle(self, dispatch: Dispatch) -> None:
        """Stages 8 and 9. Raises nothing but cancellation."""
        assert dispatch.outcome is not None
        if not dispatch.is_final:
            for hook in dispatch.hooks.post_execute:
                try:
                    said = await _result(hook(dispatch.call, dispatch.outcome))
                    dispatch.outcome = self._after(dispatch, dispatch.outcome, said)
                except BaseException as error:
                    if _must_propagate(error):
                        raise
                    dispatch.outcome = self._failed(dispatch.call, error, "a hook after the call failed: ")
                    break
        dispatch.settled = True
        await self._finish(dispatch)

    async def settle_aborted(self, dispatch: Dispatch) -> None:
        """What is left of stage 9 for a call that was cancelled. Shielded, and bounded by a few seconds."""
        dispatch.abort()
        with trio.move_on_after(_SETTLE_SECONDS, shield=True):
            await self._finish(dispatch)

    def _after(self, dispatch: Dispatch, outcome: Outcome, said: object) -> Outcome:
        call = dispatch.call
        if said is None:
            return outcome
        if isinstance(said, Block):
            feedback = encodable(str(said.feedback)) or "blocked after the call"
            blocked = failure(call.token, feedback, code="BLOCKED", contexts=said.contexts)
            return msgspec.structs.replace(blocked, content=(Text(feedback),))
        if not isinstance(said, Accept):
            raise TypeError(f"a post-execute hook returns Accept, Block or None, not {said!r}")
        contexts = outcome.contexts + said.contexts
        if said.content is not UNSET and said.value is not UNSET:
            raise TypeError("Accept replaces the content or the value, not both")
        if said.value is not UNSET:
            if isinstance(outcome, Failure):
                raise TypeError("Accept cannot give a value to a call that failed")
            made = self._succeed(dispatch, self._require(call), said.value)
            return msgspec.structs.replace(made, contexts=contexts)
        if said.content is not UNSET:
            content = _checked_content(said.content)
            return msgspec.structs.replace(outcome, content=content, contexts=contexts)
        return msgspec.structs.replace(outcome, contexts=contexts) if said.contexts else outcome

    async def _finish(self, dispatch: Dispatch) -> None:
        call = dispatch.call
        if dispatch.finalized is None:
            dispatch.finalized = False
            await self._finalize(dispatch)
            dispatch.finalized = True
        if dispatch.observed:
            return
        dispatch.observed = True
        for observer in dispatch.hooks.observers:
            assert dispatch.outcome is not None
            try:
                await _result(observer(call, dispatch.outcome))
            except BaseException as error:
                if _must_propagate(error):
                    raise
                _log.warning("an observer of tool calls failed", exc_info=True)

    async def _finalize(self, dispatch: Dispatch) -> None:
        call = dispatch.call
        finalizers = dispatch.hooks.finalize_content
        if dispatch.tool is not None and dispatch.tool.finalize_content is not None:
            finalizers = (dispatch.tool.finalize_content, *finalizers)
        for finalize in finalizers:
            assert dispatch.outcome is not None
            try:
                blocks = await _result(finalize(call, dispatch.outcome))
                if blocks is not None:
                    content = _checked_content(blocks)
                    dispatch.outcome = msgspec.structs.replace(dispatch.outcome, content=content)
            except BaseException as error:
                if _must_propagate(error):
                    raise
                dispatch.outcome = self._failed(call, error, "finalizing the content failed: ")
                break

    # ----------------------------------------------------------------------------------------

    def _find(self, name: str, *, is_direct: bool) -> Tool | None:
        if name != RUN_CODE:
            return self.registry.get(name)
        return self.run_code if is_direct and self.registry.mode != "native" else None

    def _require(self, call: Call) -> Tool:
        tool = self._find(call.name, is_direct=call.is_direct)
        if tool is None and call.name == RUN_CODE:
            where = "inside a program" if not call.is_direct else "here: the mode is 'native'"
            raise UnknownToolError(f"{RUN_CODE} cannot be called {where}")
        return tool or self.registry.require(call.name)

    @staticmethod
    def _failed(call: Call, error: BaseException, prefix: str = "") -> Failure:
        error = _only_member(error)
        code = getattr(error, "code", None)
        return failure(
            call.token,
            prefix + _message(error),
            code=code if isinstance(code, str) else None,
            type=type(error).__name__,
            exception=error,
        )


async def _in_time(body: Awaitable[object], seconds: float | None) -> object:
    if seconds is None:
        return await body
    with trio.move_on_after(seconds) as limit:
        return await body
    assert limit.cancelled_caught
    raise BodyTimeout(f"tool call timed out after {seconds:g} s")


def _wrapped(
    hook: Callable[[Call, Callable[[], Awaitable[Outcome]]], Awaitable[Outcome]],
    call: Call,
    proceed: Callable[[], Awaitable[Outcome]],
) -> Callable[[], Awaitable[Outcome]]:
    return lambda: hook(call, proceed)


async def _result(said: _T | Awaitable[_T]) -> _T:
    return await said if inspect.isawaitable(said) else said


def _checked_content(blocks: Sequence[Text | Image]) -> Content:
    if isinstance(blocks, str | bytes) or not isinstance(blocks, Sequence):
        raise TypeError(f"content is a list of blocks, such as [text('…')], not {type(blocks).__name__}")
    for block in blocks:
        if not isinstance(block, Text | Image):
            raise TypeError(f"a content block is Text or Image, not {type(block).__name__}")
        freeze(block.text if isinstance(block, Text) else [block.data, block.media_type], root="content")
    return tuple(blocks)


def _must_propagate(error: BaseException) -> bool:
    """Cancellation and the user's interrupt are not a tool's failure, also inside a group."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_must_propagate, error.exceptions))
    return isinstance(error, trio.Cancelled | KeyboardInterrupt)


def _only_member(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _message(error: BaseException) -> str:
    """The error's own text, also where it has none or cannot give it."""
    try:
        return encodable(str(error)) or type(error).__name__
    except Exception:
        return f"{type(error).__name__}, whose message could not be read"
