"""Approval: who is asked when a call may go on only if somebody says so, and what the answers mean.

Asks that wait at the same moment go to the approver together, so that many can be answered once. An
answer for the whole run is remembered for that tool and that run, and for nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from codemode.errors import ToolError
from codemode.tools.call import Call
from codemode.tools.definition import Tool

__all__ = ["Answer", "ApprovalRequest", "Approvals", "Approver"]

Answer: TypeAlias = Literal["allow-once", "allow-for-run", "deny", "cancelled"]

_ANSWERS: tuple[str, ...] = Answer.__args__  # type: ignore[attr-defined]


class ApprovalRequest(Struct, frozen=True, eq=False):
    """One call that waits for an answer: the tool, the frozen arguments and why it is asked."""

    call: Call
    tool: Tool
    reason: str

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments of the call, frozen."""
        return self.call.arguments


Approver: TypeAlias = Callable[
    [Sequence[ApprovalRequest]], Answer | Sequence[Answer] | Awaitable[Answer | Sequence[Answer]]
]
"""Answers the requests that wait together: one answer for all of them, or one for each, in their order.

It may take as long as it likes; when the calls are cancelled meanwhile, it is cancelled too. It may raise
`ToolError` to deny all of them in its own words."""


class Approvals:
    """Asks an approver, and remembers what holds for a run."""

    def __init__(self, approver: Approver | None) -> None:
        """Raises `TypeError` for an approver that cannot be called."""
        if approver is not None and not callable(approver):
            raise TypeError(f"approver={approver!r}: must be a function of a list of requests")
        self.approver = approver
        self._allowed: dict[str, set[str]] = {}

    async def ask(self, requests: Sequence[ApprovalRequest]) -> list[str | None]:
        """Return, for each request, None when it may go on, else the reason why it may not.

        An approver that fails, or answers with something else, has not approved anything.
        """
        answers = await self._answers(requests)
        return [self._take(request, answer) for request, answer in zip(requests, answers, strict=True)]

    def is_allowed(self, call: Call) -> bool:
        """Return whether an earlier answer holds for this call too."""
        return call.name in self._allowed.get(call.root_id, ())

    def forget(self, root_id: str) -> None:
        """A run is over: what was allowed for it is allowed no more."""
        self._allowed.pop(root_id, None)

    def _take(self, request: ApprovalRequest, answer: str) -> str | None:
        call = request.call
        if answer == "allow-for-run":
            self._allowed.setdefault(call.root_id, set()).add(call.name)
            return None
        if answer == "allow-once":
            return None
        if answer == "deny":
            return f"the call of tool {call.name!r} was not approved ({request.reason})"
        if answer == "cancelled":
            return f"the question whether tool {call.name!r} may be called was cancelled ({request.reason})"
        return answer

    async def _answers(self, requests: Sequence[ApprovalRequest]) -> Sequence[str]:
        """One answer for each request; a text that is no answer is the reason for a denial."""
        if self.approver is None:
            return [
                f"{each.reason} (tool {each.call.name!r} needs approval, and nobody is there to give it)"
                for each in requests
            ]
        try:
            said = self.approver(requests)
            if inspect.isawaitable(said):
                said = await said
            answers = [said] * len(requests) if isinstance(said, str) else list(said)
        except ToolError as error:
            return [str(error)] * len(requests)
        except Exception as error:
            return [f"asking for approval failed: {type(error).__name__}: {error}"] * len(requests)
        if len(answers) != len(requests) or any(answer not in _ANSWERS for answer in answers):
            wrong = f"the approver answered {said!r}, which is none of {', '.join(_ANSWERS)}"
            return [wrong] * len(requests)
        return answers
