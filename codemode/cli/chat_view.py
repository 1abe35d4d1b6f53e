"""How a chat looks: the model's text as it comes, its calls and what they gave, each in a line or few.

Display only: nothing here is kept, and everything that a model or a tool wrote is made safe for a terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from codemode.agent import TurnResult, Watcher
from codemode.cli.approve import Terminal
from codemode.cli.terminal import paint, printable, write
from codemode.content import text_of
from codemode.conversation import AssistantTurn
from codemode.conversation.blocks import ToolUse
from codemode.conversation.streams import Piece
from codemode.errors import ConversationError
from codemode.tools.call import Outcome
from codemode.tools.registry import RUN_CODE

__all__ = ["ChatView"]

_LINES = 8  # of what a call gave; the model sees all of it
_WIDTH = 200  # characters of a line that stands for something longer
_LABEL = 60  # characters that tell a call from others beside it


class ChatView(Watcher):
    """Writes to standard output. While a question stands on the `terminal`, what there is to show waits."""

    def __init__(self, terminal: Terminal | None = None) -> None:
        self._kind = ""  # of what was written last on a line that is still open
        self._is_open = False
        self._printed: dict[str, list[str]] = {}  # by programs, which is shown as it comes
        self._labels: dict[str, str] = {}  # of calls of one answer, where there are several
        self._waiting: list[Callable[[], None]] = []
        self._terminal = terminal
        if terminal is not None:
            terminal.around_asking = self._around_question

    def prompt(self) -> None:
        """Show that it is the user's turn."""
        self._show_waiting()
        self._end_line()
        if sys.stdin.isatty():
            sys.stdout.write(paint("\n> ", "bold", sys.stdout))
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Say something about the chat itself."""
        self._show_waiting()
        self._end_line()
        for line in text.split("\n"):
            self._paint(f"[{line}]" if "\n" not in text else line, "dim")
            self._end_line()

    def end(self) -> None:
        """The chat is over."""
        if sys.stdin.isatty():
            write("\n")

    def interrupted(self) -> None:
        """Somebody typed Ctrl-C, which a terminal shows where its cursor is."""
        self._is_open = self._is_open or (sys.stdin.isatty() and sys.stdout.isatty())

    def ended(self, result: TurnResult, then: str) -> None:
        """A turn is over; `then` says what can be done when it did not complete."""
        self._end_line()
        if result.reason != "completed":
            said = [f"the turn ended: {result.reason}", result.error]
            self.note("; ".join(filter(None, [": ".join(filter(None, said)), then])))

    # ------------------------------------------------------------------------------------- Watcher

    def piece(self, piece: Piece) -> None:
        if piece.kind == "call":
            return  # shown when the answer is complete, with its arguments
        if self._kind != piece.kind:
            self._end_line()
            self._kind = piece.kind
        if piece.kind == "thinking":
            self._paint(piece.text, "dim")
        else:
            self._write(piece.text)

    def dropped(self, error: ConversationError, wait_seconds: float) -> None:
        self.note(f"{error}; what had come is dropped, and asked for again in {wait_seconds:.1f} s")

    def answered(self, turn: AssistantTurn) -> None:
        self._end_line()
        for call in turn.calls:
            self._show_call(call)
        self._printed = {}
        self._labels = {call.id: _label(call) for call in turn.calls} if len(turn.calls) > 1 else {}

    def printed(self, call_id: str, text: str) -> None:
        self._printed.setdefault(call_id, []).append(text)
        self._when_nothing_is_asked(lambda: self._show_printed(call_id, text))

    def called(self, call: ToolUse, outcome: Outcome) -> None:
        self._when_nothing_is_asked(lambda: self._show_outcome(call, outcome))

    # ------------------------------------------------------------------------------------- writing

    def _when_nothing_is_asked(self, show: Callable[[], None]) -> None:
        self._waiting.append(show)
        if self._terminal is None or not self._terminal.is_asking:
            self._show_waiting()

    def _around_question(self) -> None:
        if self._terminal is not None and not self._terminal.is_asking:
            self._show_waiting()
        self._end_line()

    def _show_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for show in waiting:
            show()

    def _show_printed(self, call_id: str, text: str) -> None:
        if self._kind != call_id:
            self._end_line()
            self._kind = call_id
        for line in text.splitlines(keepends=True):
            self._write(("" if self._is_open else "  ") + line)

    def _show_outcome(self, call: ToolUse, outcome: Outcome) -> None:
        self._end_line()
        head = paint("failed", "red", sys.stdout) if outcome.is_error else paint("ok", "green", sys.stdout)
        label = printable(self._labels.get(call.id, ""))
        beside = f" {paint(label, 'dim', sys.stdout)}" if label else ""
        sys.stdout.write(f"{paint(printable(call.name), 'bold', sys.stdout)} {head}{beside}\n")
        lines = _lines_after(text_of(outcome.content), "".join(self._printed.pop(call.id, ())))
        for line in lines[:_LINES]:
            self._paint("  " + _short(line), "dim")
            self._end_line()
        if len(lines) > _LINES:
            self._paint(f"  … {len(lines) - _LINES} more lines", "dim")
            self._end_line()

    def _show_call(self, call: ToolUse) -> None:
        arguments: Any = call.input
        name = paint(printable(call.name), "bold", sys.stdout)
        if call.name == RUN_CODE and isinstance(arguments, dict) and isinstance(arguments.get("code"), str):
            sys.stdout.write(
                f"{name} {printable(_short(str(arguments.get('description', ''))))}".rstrip() + "\n"
            )
            for number, line in enumerate(arguments["code"].rstrip("\n").split("\n"), start=1):
                self._paint(f"  {number:3} | {line}", "cyan")
                self._end_line()
            return
        sys.stdout.write(f"{name} {printable(_short(json.dumps(arguments, ensure_ascii=False)))}\n")

    def _write(self, text: str) -> None:
        write(text)
        if text:
            self._is_open = not text.endswith("\n")

    def _paint(self, text: str, colour: str) -> None:
        sys.stdout.write(paint(printable(text), colour, sys.stdout))
        sys.stdout.flush()
        if text:
            self._is_open = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._is_open:
            sys.stdout.write("\n")
        sys.stdout.flush()
        self._is_open = False
        self._kind = ""


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}… ({len(text)} characters)"


def _label(call: ToolUse) -> str:
    """What tells a call from the others of its answer: what a program is for, or the arguments."""
    arguments: Any = call.input
    what = arguments.get("description") if call.name == RUN_CODE and isinstance(arguments, dict) else None
    text = what if isinstance(what, str) else json.dumps(arguments, ensure_ascii=False)
    return text if len(text) <= _LABEL else f"{text[:_LABEL]}…"


def _lines_after(text: str, printed: str) -> list[str]:
    """The lines of what a call gave, without what its program printed, if it begins with all of that."""
    if text in (printed, printed.removesuffix("\n")):
        return []
    return (text.removeprefix(printed) if printed.endswith("\n") else text).split("\n")
