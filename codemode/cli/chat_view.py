"""How a chat looks: the model's text as it comes, its calls and what they gave, each in a line or few.

Display only: nothing here is kept, and everything that a model or a tool wrote is made safe for a terminal.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from codemode.agent import TurnResult, Watcher
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


class ChatView(Watcher):
    """Writes to standard output."""

    def __init__(self) -> None:
        self._kind = ""  # of what was written last on a line that is still open
        self._is_open = False

    def prompt(self) -> None:
        """Show that it is the user's turn."""
        self._end_line()
        if sys.stdin.isatty():
            sys.stdout.write(paint("\n> ", "bold", sys.stdout))
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Say something about the chat itself."""
        self._end_line()
        for line in text.split("\n"):
            self._paint(f"[{line}]" if "\n" not in text else line, "dim")
            self._end_line()

    def end(self) -> None:
        """The chat is over."""
        if sys.stdin.isatty():
            write("\n")

    def ended(self, result: TurnResult) -> None:
        """A turn is over."""
        self._end_line()
        if result.reason != "completed":
            self.note(f"the turn ended: {result.reason}" + (f": {result.error}" if result.error else ""))

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

    def printed(self, call_id: str, text: str) -> None:
        if self._kind != call_id:
            self._end_line()
            self._kind = call_id
        for line in text.splitlines(keepends=True):
            self._write(("" if self._is_open else "  ") + line)

    def called(self, call: ToolUse, outcome: Outcome) -> None:
        self._end_line()
        head = paint("failed", "red", sys.stdout) if outcome.is_error else paint("ok", "green", sys.stdout)
        sys.stdout.write(f"{paint(printable(call.name), 'bold', sys.stdout)} {head}\n")
        lines = text_of(outcome.content).split("\n")
        for line in lines[:_LINES]:
            self._paint("  " + _short(line), "dim")
            self._end_line()
        if len(lines) > _LINES:
            self._paint(f"  … {len(lines) - _LINES} more lines", "dim")
            self._end_line()

    # ------------------------------------------------------------------------------------- writing

    def _show_call(self, call: ToolUse) -> None:
        arguments: Any = call.input
        name = paint(printable(call.name), "bold", sys.stdout)
        if call.name == RUN_CODE and isinstance(arguments, dict) and isinstance(arguments.get("code"), str):
            sys.stdout.write(f"{name} {printable(_short(str(arguments.get('description', ''))))}\n")
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
