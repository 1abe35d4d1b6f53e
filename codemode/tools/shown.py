"""A call that waits for approval, as text for whoever is asked. No I/O, and nothing of where it is shown.

A program chooses the arguments, and so what stands where a cut would be: of what is too long the beginning and the end
are shown, and how much is not.
"""

from __future__ import annotations

import json

from msgspec import Struct

from codemode.rendering import cut_middle, printable
from codemode.tools.approval import ApprovalRequest

__all__ = ["Shown", "shown"]

_ARGUMENTS_BYTES = 2_000
_REASON_BYTES = 500


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
