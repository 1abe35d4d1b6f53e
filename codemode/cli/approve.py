"""Approval on a terminal: shows what waits for an answer, reads one, and says how to allow without a terminal."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

import trio

from codemode.cli.terminal import paint
from codemode.errors import ToolError
from codemode.tools.approval import Answer, ApprovalRequest
from codemode.tools.shown import ask_in_parts, shown

__all__ = ["CommandLineApprover", "Terminal", "open_terminal"]

_ANSWERS: dict[str, Answer] = {"y": "allow-once", "a": "allow-for-run", "n": "deny", "": "deny"}
_FOR_WHAT_WAS_CUT: dict[str, Answer] = {key: each for key, each in _ANSWERS.items() if key != "a"}


class CommandLineApprover:
    """Allows the tools named in `allowed`; asks about others on `terminal`, if there is one, twenty at most at once.

    `otherwise` says why nobody is asked where there is none, and what to do beside allowing them beforehand.
    """

    def __init__(
        self,
        allowed: Collection[str],
        terminal: Terminal | None,
        otherwise: str = "there is no terminal to ask on; run the command on one, or with",
    ) -> None:
        self._otherwise = otherwise
        self._allowed = frozenset(allowed)
        self._terminal = terminal
        self._asking = trio.Lock()  # agents that work beside each other are asked for one after the other

    async def __call__(self, requests: Sequence[ApprovalRequest]) -> list[Answer]:
        terminal = self._terminal
        if terminal is not None:
            return await ask_in_parts(requests, self._allowed, partial(self._ask, terminal))
        asked = [each for each in requests if each.tool.name not in self._allowed]
        if asked:
            options = " ".join(f"--allow {name}" for name in sorted({each.tool.name for each in asked}))
            raise ToolError(f"{asked[0].reason}: this needs approval, and {self._otherwise} {options}")
        return ["allow-for-run"] * len(requests)

    async def _ask(self, terminal: Terminal, requests: Sequence[ApprovalRequest]) -> Answer:
        async with self._asking:
            with terminal.asking():
                return await _asked(terminal, requests)


async def _asked(terminal: Terminal, requests: Sequence[ApprovalRequest]) -> Answer:
    """Show the calls, and read an answer. For what is not shown whole there is none that holds for the run."""
    answers = _ANSWERS
    for each in requests:
        call = shown(each)
        answers = answers if call.is_whole else _FOR_WHAT_WAS_CUT
        name = paint(each.tool.name, "bold", terminal.writer)
        terminal.writer.write(f"\n{name} {call.text}\n")
    what = "this call" if len(requests) == 1 else f"these {len(requests)} calls"
    for_run = "  [a] yes, for the whole run" if "a" in answers else ""
    while True:
        terminal.writer.write(f"Allow {what}? [y] yes{for_run}  [n] no: ")
        terminal.writer.flush()
        line = await terminal.read_line(first=True)
        answer: Answer | None = "cancelled" if line is None else answers.get(line.strip().lower()[:1])
        if answer is not None:
            return answer


class Terminal:
    """The terminal that a command runs on, whatever its standard streams are."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.writer = open(descriptor, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        self.around_asking: Callable[[], None] = lambda: None
        """Called before and after something is asked; takes away what must not stand beside a question."""
        self._askers = 0  # of agents that work beside each other several may ask
        self._reading = trio.Lock()
        self._patient = trio.CancelScope()  # around the wait of one that lets others go first

    @property
    def is_asking(self) -> bool:
        """Whether a question stands on the terminal."""
        return self._askers > 0

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """While this is entered, a question stands on the terminal, and nothing else is to be written there."""
        self.around_asking()
        self._askers += 1
        try:
            yield
        finally:
            self._askers -= 1
            self.around_asking()

    async def read_line(self, *, first: bool = False) -> str | None:
        """Wait for a line that somebody types; None when the terminal is gone. Cancellation reads nothing.

        Of several who wait, each gets a line of its own; who is to be `first` comes before those who are not.
        """
        if first:
            self._patient.cancel()
            async with self._reading:
                return await self._read_line()
        while True:
            async with self._reading:
                with trio.CancelScope() as self._patient:
                    return await self._read_line()

    async def _read_line(self) -> str | None:
        await trio.lowlevel.wait_readable(self._descriptor)
        try:
            typed = os.read(self._descriptor, 4096)  # a terminal gives whole lines
        except OSError:
            return None
        return typed.decode("utf-8", "replace") if typed else None

    def close(self) -> None:
        self.writer.close()
        os.close(self._descriptor)


def open_terminal() -> Terminal | None:
    """Open the terminal that this command runs on; None if it runs on none."""
    try:
        return Terminal(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return None
