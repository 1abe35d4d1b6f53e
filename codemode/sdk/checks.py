"""When programs are checked, and what becomes of what was found: a refusal, or a note below the result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

from codemode.errors import CheckUnavailable, ToolError
from codemode.tools.definition import Tool

if TYPE_CHECKING:
    from codemode.sdk.checking import Checker

__all__ = ["CHECK_FAILED", "Check", "Checks"]

Check: TypeAlias = Literal["off", "warn", "strict"]
"""Whether programs are checked before they run: not at all, with what was found said beside the result, or so that
one with a certain finding does not start."""

CHECK_FAILED = "CHECK_FAILED"
"""The code of a program that was not started, because a check found that it would fail."""

_CHOICES = ("off", "warn", "strict")


class Checks:
    """The checks of one engine. `default` holds for runs that say nothing of their own.

    Raises `ValueError` for a wrong choice, `CheckUnavailable` when there is no checker.
    """

    def __init__(self, default: Check) -> None:
        self._default = default
        self._checker: Checker | None = None
        self._notes: dict[str, str] = {}
        self.require(default)

    def require(self, check: Check | None) -> None:
        """Make sure that programs can be checked in this way; see the class for what is raised."""
        if check is not None and check not in _CHOICES:
            raise ValueError(f"check={check!r}: choose 'off', 'warn' or 'strict'")
        if check not in (None, "off") and self._checker is None:
            from codemode.sdk.checking import Checker  # which most engines never need

            self._checker = Checker()

    async def before(
        self, source: str, call_id: str, tools: Iterable[Tool], check: Check | None
    ) -> tuple[str, ...]:
        """Check a program that is about to run; return what is to be warned of, a line each.

        Raises `ToolError` under `strict` for a program that is certain to fail. A check that fails itself stops
        nothing, and is warned of. Cancellation ends the check and is passed on.
        """
        check = check or self._default
        if check == "off" or self._checker is None:
            return ()
        try:
            found = await self._checker.check(source, list(tools))
        except CheckUnavailable as error:
            self._notes[call_id] = f"Not checked: {error}"
            return (f"not checked: {error}",)
        findings = [each for each in found if each.perhaps != "unsure"]
        if not findings:
            return ()
        text = "\n".join(each.said() for each in findings)
        if check == "strict" and any(each.certain for each in findings):
            raise ToolError(
                f"the program was not started, no tool was called; correct it first:\n{text}",
                code=CHECK_FAILED,
            )
        self._notes[call_id] = f"The check before the run said:\n{text}"
        return tuple(text.split("\n"))

    def note(self, call_id: str) -> str:
        """Take what is to be shown below the result of a call."""
        return self._notes.pop(call_id, "")
