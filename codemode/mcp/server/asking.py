"""Approval by the user of a client: the form that asks, and what its answer means. How it gets there is not known here.

Nothing is allowed that was not shown: calls that are too many for one form are asked about in several.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, TypeAlias

import trio
from mcp_types import ClientCapabilities, ElicitRequestFormParams, ElicitResult

from codemode.errors import ToolError
from codemode.rendering import printable
from codemode.tools.approval import Answer, ApprovalRequest

__all__ = ["ClientApprover", "Elicit", "understands_forms"]

Elicit: TypeAlias = Callable[[ElicitRequestFormParams], Awaitable[ElicitResult]]
"""Puts one form to the client and returns what came back. Raises `ToolError` when nothing did."""

_FIELD = "answer"
_ANSWERS: dict[str, Answer] = {
    "allow once": "allow-once",
    "allow for this run": "allow-for-run",
    "deny": "deny",
}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {_FIELD: {"type": "string", "title": "Your answer", "enum": list(_ANSWERS)}},
    "required": [_FIELD],
}
_SHOWN_ARGUMENTS = 1_000  # characters of the arguments of one call
_SHOWN_REASON = 500
_SHOWN_CALLS = 20  # in one form


def understands_forms(capabilities: ClientCapabilities | None) -> bool:
    """Whether a client can show a form. One that names no mode has the only one of the first versions: forms."""
    asking = None if capabilities is None else capabilities.elicitation
    return asking is not None and (asking.form is not None or asking.url is None)


class ClientApprover:
    """Allows the tools named in `approved`; puts the others to the client, all that wait together as one form.

    A form that is declined, dismissed or filled with something else allows nothing.
    """

    def __init__(self, approved: Collection[str], elicit: Elicit) -> None:
        self._approved = frozenset(approved)
        self._elicit = elicit
        self._asking = trio.Lock()  # one form at a time, also for agents that work beside each other

    async def __call__(self, requests: Sequence[ApprovalRequest]) -> list[Answer]:
        """Return an answer for each. Raises `ToolError` when there is none; cancellation takes the form back."""
        answers: dict[int, Answer] = {
            index: "allow-for-run" for index, each in enumerate(requests) if each.tool.name in self._approved
        }
        async with self._asking:
            while part := [index for index in range(len(requests)) if index not in answers][:_SHOWN_CALLS]:
                result = await self._elicit(_form([requests[index] for index in part]))
                answer = _meaning(result)
                answers.update(dict.fromkeys(part, answer))
                if answer == "allow-for-run":  # which holds for the calls that are still to be shown, too
                    names = {requests[index].tool.name for index in part}
                    for index, each in enumerate(requests):
                        if each.tool.name in names:
                            answers.setdefault(index, answer)
        return [answers[index] for index in range(len(requests))]


def _form(requests: Sequence[ApprovalRequest]) -> ElicitRequestFormParams:
    what = "A call that needs" if len(requests) == 1 else f"{len(requests)} calls that need"
    shown = "\n\n".join(_described(each) for each in requests)
    return ElicitRequestFormParams(message=f"{what} your approval:\n\n{shown}", requested_schema=_SCHEMA)


def _described(request: ApprovalRequest) -> str:
    """A call and the reason, in one line each: no text of a program can look like another call."""
    arguments = _cut(json.dumps(request.arguments, ensure_ascii=False), _SHOWN_ARGUMENTS)
    reason = _cut(" ".join(request.reason.split()), _SHOWN_REASON)
    return f"{request.tool.name} {arguments}\n  {reason}"


def _cut(text: str, most: int) -> str:
    shown = printable(text[:most]).encode("utf-8", "backslashreplace").decode()
    return shown if len(text) <= most else f"{shown}… ({len(text):,} characters)"


def _meaning(result: ElicitResult) -> Answer:
    if result.action == "cancel":
        return "cancelled"
    if result.action == "decline":
        return "deny"
    said = (result.content or {}).get(_FIELD)
    answer = _ANSWERS.get(said) if isinstance(said, str) else None
    if answer is None:
        shown = _cut(json.dumps(result.content, ensure_ascii=False), 200)
        raise ToolError(
            f"the client's answer to the question for approval was {shown}, which allows nothing; "
            f"{_FIELD!r} has to be one of: {', '.join(_ANSWERS)}"
        )
    return answer
