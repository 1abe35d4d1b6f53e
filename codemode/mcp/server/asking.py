"""Approval by the user of a client: the form that asks, and what its answer means. How it gets there is not known here.

No call is allowed that no form named, but by an answer for the whole run: calls that are too many for one form are
asked about in several. Of a call that is too long a form shows the beginning and the end, says how much is missing,
and offers no answer for the whole run.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, TypeAlias

import trio
from mcp_types import ClientCapabilities, ElicitRequestFormParams, ElicitResult

from codemode.errors import ToolError
from codemode.rendering import cut_middle, printable
from codemode.tools.approval import Answer, ApprovalRequest
from codemode.tools.shown import ask_in_parts, shown

__all__ = ["ClientApprover", "Elicit", "understands_forms"]

Elicit: TypeAlias = Callable[[ElicitRequestFormParams], Awaitable[ElicitResult]]
"""Puts one form to the client and returns what came back. Raises `ToolError` when nothing did."""

_FIELD = "answer"
_ANSWERS: dict[str, Answer] = {
    "allow once": "allow-once",
    "allow for this run": "allow-for-run",
    "deny": "deny",
}
_FOR_WHAT_WAS_CUT = ("allow once", "deny")
_SHOWN_BYTES = 200  # of an answer that is none


def understands_forms(capabilities: ClientCapabilities | None) -> bool:
    """Whether a client can show a form. One that names no mode has the only one of the first versions: forms."""
    asking = None if capabilities is None else capabilities.elicitation
    return asking is not None and (asking.form is not None or asking.url is None)


class ClientApprover:
    """Allows the tools named in `approved`; puts the others to the client, all that wait together as one form.

    A form that is declined, dismissed or filled with something else than it offers allows nothing.
    """

    def __init__(self, approved: Collection[str], elicit: Elicit) -> None:
        self._approved = frozenset(approved)
        self._elicit = elicit
        self._asking = trio.Lock()  # one form at a time, also for agents that work beside each other

    async def __call__(self, requests: Sequence[ApprovalRequest]) -> list[Answer]:
        """Return an answer for each. Raises `ToolError` when there is none; cancellation takes the form back."""
        return await ask_in_parts(requests, self._approved, self._ask)

    async def _ask(self, requests: Sequence[ApprovalRequest]) -> Answer:
        form, offered = _form(requests)
        async with self._asking:
            result = await self._elicit(form)
        return _meaning(result, offered)


def _form(requests: Sequence[ApprovalRequest]) -> tuple[ElicitRequestFormParams, Collection[str]]:
    """Return a form about calls, and the answers that it offers."""
    what = "A call that needs" if len(requests) == 1 else f"{len(requests)} calls that need"
    calls = [shown(each) for each in requests]
    offered = tuple(_ANSWERS) if all(each.is_whole for each in calls) else _FOR_WHAT_WAS_CUT
    listed = "\n\n".join(
        f"{request.tool.name} {call.text}" for request, call in zip(requests, calls, strict=True)
    )
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {_FIELD: {"type": "string", "title": "Your answer", "enum": list(offered)}},
        "required": [_FIELD],
    }
    message = f"{what} your approval:\n\n{listed}"
    return ElicitRequestFormParams(message=message, requested_schema=schema), offered


def _meaning(result: ElicitResult, offered: Collection[str]) -> Answer:
    if result.action == "cancel":
        return "cancelled"
    if result.action == "decline":
        return "deny"
    said = (result.content or {}).get(_FIELD)
    if not isinstance(said, str) or said not in offered:
        cut = cut_middle(json.dumps(result.content, ensure_ascii=False), _SHOWN_BYTES)
        content = printable(cut.replace("\n", " "))
        raise ToolError(
            f"the client's answer to the question for approval was {content}, which allows nothing; "
            f"{_FIELD!r} has to be one of: {', '.join(offered)}"
        )
    return _ANSWERS[said]
