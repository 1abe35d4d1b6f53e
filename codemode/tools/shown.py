"""Calls that wait for approval, as a person is shown them: as text, and so many at once. Nothing of where that is.

A program chooses the arguments, and so what stands where a cut would be: of what is too long the beginning and the end
are shown, and how much is not.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Sequence

from msgspec import Struct

from codemode.rendering import cut_middle, printable
from codemode.tools.approval import Answer, ApprovalRequest

__all__ = ["Shown", "ask_in_parts", "shown"]

_ARGUMENTS_BYTES = 2_000
_REASON_BYTES = 500
_AT_ONCE = 20  # calls; what stands before more of them is out of sight


class Shown(Struct, frozen=True):
    """`text` is the arguments and, on a line of its own, the reason. `is_whole` says that nothing was left out.

    Where something was, the last line says how much. No text of a program begins a line.
    """

    text: str
    is_whole: bool


def shown(request: ApprovalRequest) -> Shown:
    """Return what somebody is shown of a call, beside the name of its tool."""
    written = json.dumps(request.arguments, ensure_ascii=False)
    arguments, missing = _shown(written, _ARGUMENTS_BYTES, "arguments")
    reason, missing_reason = _shown(" ".join(request.reason.split()), _REASON_BYTES, "reason")
    left_out = [each for each in (missing, missing_reason) if each]
    text = f"{arguments}\n  {reason}"
    if left_out:
        text += f"\n  NOT SHOWN: {' and '.join(left_out)}"
    return Shown(text, not left_out)


def _shown(text: str, most: int, what: str) -> tuple[str, str]:
    """Return a text of one line, or its head and tail on one line, and what is missing."""
    cut = cut_middle(text, most)
    head, newline, rest = cut.partition("\n")  # which the text has none of; only what stands where it was cut
    if not newline:
        return printable(cut), ""
    tail = rest.partition("\n")[2]
    size = len(text.encode("utf-8", "backslashreplace"))
    missing = f"{size - len(head.encode()) - len(tail.encode()):,} of {size:,} bytes"
    return f"{printable(head)} […{missing} left out…] {printable(tail)}", f"{missing} of the {what}"


async def ask_in_parts(
    requests: Sequence[ApprovalRequest],
    allowed: Collection[str],
    ask: Callable[[Sequence[ApprovalRequest]], Awaitable[Answer]],
) -> list[Answer]:
    """Return an answer for each: the tools named in `allowed` are, the others are asked about, a few at once.

    An answer for the run holds for calls of the same tools that are still to be shown, too. Raises what `ask` raises.
    """
    answers: dict[int, Answer] = {
        index: "allow-for-run" for index, each in enumerate(requests) if each.tool.name in allowed
    }
    while part := [index for index in range(len(requests)) if index not in answers][:_AT_ONCE]:
        answer = await ask([requests[index] for index in part])
        answers.update(dict.fromkeys(part, answer))
        if answer == "allow-for-run":
            names = {requests[index].tool.name for index in part}
            for index, each in enumerate(requests):
                if each.tool.name in names:
                    answers.setdefault(index, answer)
    return [answers[index] for index in range(len(requests))]
