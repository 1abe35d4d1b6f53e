"""The honest ends of calls that nothing came of: what is logged for each, and what the model is told. Pure.

Nothing is run here, and no result is made up: a call that was not made is said not to have been made, and of one
that was, and has no end, it is said that nothing more is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from codemode.conversation.blocks import ToolUse
from codemode.session import TOOL_NOT_STARTED, TOOL_OUTCOME_UNKNOWN
from codemode.tools.call import ABORTED_BEFORE_DISPATCH
from codemode.values import JSON

__all__ = ["CUT", "NOBODY_SAW", "STOPPED", "Why", "closing"]


class Why(Struct, frozen=True):
    """Why a call was not made: the code of its error, and what the model is told, with `{name}` for the tool."""

    code: str
    words: str


NOBODY_SAW = Why(
    TOOL_NOT_STARTED,
    "the host ended before this call of tool {name!r} started; nothing was done; call it again if it is still needed",
)
CUT = Why(
    TOOL_NOT_STARTED,
    "tool {name!r} was not called, for the answer that calls it was cut short; call it again if it is needed",
)
STOPPED = Why(ABORTED_BEFORE_DISPATCH, "tool {name!r} was not called: the turn was stopped before")
_UNKNOWN = Why(
    TOOL_OUTCOME_UNKNOWN,
    "the outcome of this call of tool {name!r} is unknown; look first what was done before calling it again",
)


def closing(
    open_calls: Iterable[tuple[ToolUse, bool]], why: Why, placed: dict[str, JSON]
) -> Iterator[tuple[str, dict[str, JSON]]]:
    """Yield the events, as type and data, that end calls without a result, each with whether it was made.

    `placed` are the turn and step that they stand in.
    """
    for call, was_made in open_calls:
        name, said = ("ToolOutcomeUnknownError", _UNKNOWN) if was_made else ("ToolNotStartedError", why)
        if not was_made:
            yield (
                "tool/call",
                {
                    "callId": call.id,
                    "name": call.name,
                    "arguments": call.input,
                    "startLogged": True,
                    **placed,
                },
            )
        text = f"Error: {said.words.format(name=call.name)}"
        yield (
            "tool/result",
            {
                "callId": call.id,
                "content": [{"type": "text", "text": text}],
                "isError": True,
                "error": {"name": name, "code": said.code},
                **placed,
            },
        )
