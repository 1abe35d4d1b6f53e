"""What a user interface may see of a turn while it goes on. Nothing is kept here, and nothing decided."""

from __future__ import annotations

from codemode.conversation import AssistantTurn
from codemode.conversation.blocks import ToolUse
from codemode.conversation.streams import Piece
from codemode.errors import ConversationError
from codemode.tools.call import Outcome

__all__ = ["Watcher"]


class Watcher:
    """Sees what happens, for display. Every method does nothing here; each must return at once."""

    def piece(self, piece: Piece) -> None:
        """A part of an answer has come; it may still be dropped."""

    def dropped(self, error: ConversationError, wait_seconds: float) -> None:
        """What had come of an answer is dropped; after a while it is asked for again."""

    def answered(self, turn: AssistantTurn) -> None:
        """An answer is complete and durable."""

    def printed(self, call_id: str, text: str) -> None:
        """A program printed something."""

    def called(self, call: ToolUse, outcome: Outcome) -> None:
        """A call has ended."""
