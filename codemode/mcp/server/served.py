"""One call of a tool that a client made: it goes on beside the requests that wait for it.

A client of the older protocol is asked while its request waits. One of the newer protocol gets the question as the
answer to its request, and makes the request again with what its user said: until then no request waits for the call.
Here is how the two meet; what is asked, and what is called, is not known here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import trio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, ElicitRequestFormParams, ElicitResult
from pydantic import ValidationError

from codemode.errors import ToolError
from codemode.mcp.server.report import Report
from codemode.rendering import cut_middle
from codemode.tools.call import Outcome

__all__ = ["ServedCall"]

_SHOWN_BYTES = 500  # of what a client says is wrong


class ServedCall:
    """A call: `go_on` makes it, `attend` waits for it on behalf of a request.

    `answer_seconds` bounds the time that a user has for an answer.
    """

    def __init__(self, params: CallToolRequestParams, answer_seconds: float) -> None:
        self.params = params
        self.report = Report()
        self.outcome: Outcome | None = None
        self.error: Exception | None = None
        self.question: ElicitRequestFormParams | None = None
        """What the next request has to answer; None when nothing is asked so."""
        self._answer_seconds = answer_seconds
        self._reply: ElicitResult | None = None
        self._replied = trio.Event()
        self._scope = trio.CancelScope()
        self._news = trio.Event()
        self._over = trio.Event()
        self._questions: set[trio.CancelScope] = set()  # around each wait for an answer

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs any more."""
        return self._over.is_set()

    async def wait_over(self) -> None:
        """Wait until nothing of it runs any more. Cancellation ends the wait alone."""
        await self._over.wait()

    def is_same(self, params: CallToolRequestParams) -> bool:
        """Whether a request is for this call: the same tool with the same arguments."""
        return (params.name, params.arguments) == (self.params.name, self.params.arguments)

    def cancel(self) -> None:
        """End the call; nobody waits for it any more."""
        self._scope.cancel()

    async def go_on(self, make: Callable[[], Awaitable[Outcome]]) -> None:
        """Make the call, to its end. Raises nothing but cancellation that is not its own."""
        try:
            with self._scope:
                self.outcome = await make()
        except Exception as error:
            self.error = error  # for whoever attends
        finally:
            self.question = None
            self._over.set()
            self._news.set()
            for each in self._questions:
                each.cancel()

    async def attend(self, context: ServerRequestContext[Any, Any]) -> None:
        """Tell a request what happens until there is an `outcome`, an `error`, or a `question`.

        None of them: the call was cancelled. Cancellation ends the call, and is passed on when nothing of it runs any
        more.
        """
        self.report.turn_to(context)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.report.send)
                await self._news.wait()
                if self._over.is_set():
                    self.report.close()
                else:
                    self.report.pause()
        except BaseException:
            self.cancel()
            with trio.CancelScope(shield=True):  # which the engine bounds
                await self._over.wait()
            raise

    # -------------------------------------------------------------------------------- asking

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        """Bound a question by the call: what a call has left behind in the background can ask nobody.

        Raises `ToolError` at once when the call is over, and as soon as it is.
        """
        if not self.is_over:
            with trio.CancelScope() as scope:
                self._questions.add(scope)
                try:
                    yield
                finally:
                    self._questions.discard(scope)
            if not scope.cancelled_caught:
                return
        raise ToolError("the request that started this is over; nobody can be asked for approval")

    async def elicit_later(self, form: ElicitRequestFormParams) -> ElicitResult:
        """Answer the request that waits with a form, and wait for the request that brings it back.

        Raises `ToolError` when it brings none, and when the call is over; cancellation leaves the form unanswered.
        """
        with self._asking():
            self._replied = trio.Event()
            self.question = form
            self._news.set()
            await self._replied.wait()
        if self._reply is None:
            raise ToolError(
                "the client made its request again without an answer to the question for approval"
            )
        return self._reply

    def reply(self, result: ElicitResult | None) -> None:
        """Take what a request brought back; None when it brought nothing of use."""
        if self.question is not None:
            self.question = None
            self._news = trio.Event()
            self._reply = result
            self._replied.set()

    async def elicit_now(
        self, context: ServerRequestContext[Any, Any], form: ElicitRequestFormParams
    ) -> ElicitResult:
        """Ask the client that waits. Raises `ToolError` when it gives no answer, and when the call is over.

        Cancellation takes the form back.
        """
        session = context.session
        self.report.waits_for = "the user's approval"
        try:
            with self._asking(), trio.move_on_after(self._answer_seconds):
                return await session.elicit_form(form.message, form.requested_schema, context.request_id)
        except MCPError as error:
            why = cut_middle(str(error), _SHOWN_BYTES)
            raise ToolError(f"the client could not ask its user for approval: {why}") from None
        except ValidationError:
            raise ToolError(
                "the client's answer to the question for approval is not of the protocol"
            ) from None
        finally:
            self.report.waits_for = ""
        raise ToolError(f"nobody answered the question for approval within {self._answer_seconds:g} s")
