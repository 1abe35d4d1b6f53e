"""The small interface behind which a run happens. Nothing above it may depend on where the guest is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from codemode.sandbox.limits import Limits
from codemode.sandbox.outcome import RunOutcome
from codemode.values import JSON
from codemode.wire import ToolName

__all__ = ["CallRequest", "RunHandler", "Sandbox"]


class CallRequest(Protocol):
    """One call that a program made. Exactly one of `answer` and `fail` is to be called, at any time.

    An answer that comes after the run's end, or after the program has cancelled the call, is dropped.
    Neither method blocks or is a checkpoint.
    """

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> dict[str, JSON]:
        """The arguments, checked and frozen."""
        ...

    def answer(self, value: JSON) -> None: ...
    def fail(self, message: str, code: str | None = None, type: str | None = None) -> None: ...

    def hold(self) -> AbstractContextManager[None]:
        """Stop the clock of the run's wall time for as long as it is entered: somebody is being asked."""
        ...


class RunHandler(Protocol):
    """What a run reports while it goes on. Each method is called from the task that awaits the run, must
    return at once, and must not raise."""

    def log(self, text: str) -> None:
        """The program printed `text` (a piece of a line, a line, or several)."""
        ...

    def call(self, request: CallRequest) -> None:
        """The program made a call; requests come in the order in which they were made."""
        ...

    def cancel(self, id: int) -> None:
        """The program no longer waits for call `id`."""
        ...


class Sandbox(Protocol):
    """Runs programs, each in a fresh guest."""

    async def run(
        self, source: str, tools: Sequence[ToolName], handler: RunHandler, limits: Limits | None = None
    ) -> RunOutcome:
        """Run one program to its end.

        Returns how it ended; a program's failure is never an exception here. When it returns, the guest
        is gone. Cancellation kills the guest, waits until it is gone, and is then passed on.
        Raises `SandboxUnavailable` when no guest can be started.
        """
        ...
