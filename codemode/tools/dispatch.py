"""The state of one call on its way through the pipeline, and the outcome of one that was stopped on the way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import UNSET, UnsetType

from codemode.rendering import encodable
from codemode.tools.call import ABORTED, ABORTED_BEFORE_DISPATCH, Call, Failure, Outcome, Success, failure
from codemode.tools.definition import Tool
from codemode.tools.hooks import Hooks
from codemode.values import JSON

__all__ = ["Dispatch"]


class Dispatch:
    """The state of one call on its way through the pipeline. `outcome` is None until there is one.

    `before_body` and `after_body` are awaited around the tool's own work, in the call's task.
    `question` is the reason why somebody has to be asked before it may go on, None when nobody has to.
    `remembered` is a value from an earlier run that stands in for the body, to be made again; UNSET for none.
    """

    __slots__ = (
        "after_body",
        "before_body",
        "body_started",
        "call",
        "finalized",
        "hooks",
        "is_final",
        "made",
        "observed",
        "outcome",
        "question",
        "remembered",
        "settled",
        "tool",
    )

    def __init__(self, call: Call, tool: Tool | None, hooks: Hooks) -> None:
        self.call = call
        self.tool = tool
        self.hooks = hooks
        self.question: str | None = None
        self.remembered: JSON | UnsetType = UNSET
        self.outcome: Outcome | None = None
        self.is_final = False  # post-execute hooks do not see it
        self.settled = False  # stage 8 is complete
        self.finalized: bool | None = (
            None  # whether stage 9's finalizers are complete; None before they begin
        )
        self.observed = False  # observers have been called
        self.before_body: Callable[[], Awaitable[None]] | None = None
        self.after_body: Callable[[], Awaitable[None]] | None = None
        self.body_started = False
        self.made: list[Success] = []  # the successes that were made under this call's token

    def fail(self, message: object, *, code: str | None, is_final: bool = False) -> None:
        self.outcome = failure(self.call.token, encodable(str(message)), code=code)
        self.is_final = is_final

    def abort(self) -> None:
        """Give a call that was cancelled its outcome.

        One that it has already stands only if every hook that may change or block it has seen it; a failure
        also where there are no such hooks.
        """
        outcome = self.outcome
        if outcome is not None and self.finalized is not False:
            if self.settled or self.is_final:
                return
            if isinstance(outcome, Failure) and not self.hooks.post_execute:
                return
        started = self.body_started
        text = "tool call aborted" if started else "tool call aborted before it was dispatched"
        self.fail(text, code=ABORTED if started else ABORTED_BEFORE_DISPATCH, is_final=True)
