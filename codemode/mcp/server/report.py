"""What a client is told while its program runs: printed lines as log messages, calls as progress.

Taking note never blocks, so that a client that reads slowly delays no program; what has come together since the
last message goes in the next one. Everything that was printed is sent before the result is.
"""

from __future__ import annotations

from typing import Any

import trio
from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp_types import LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParams

from codemode.rendering import encodable
from codemode.tools.tally import Tally

__all__ = ["LEVELS", "Report"]

LEVELS: tuple[LoggingLevel, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
_LEVEL: LoggingLevel = "info"
_LOGGER = "run_code"
_HEARTBEAT_SECONDS = 5.0
"""How often a client hears of a program that does nothing new, so that it does not give up waiting."""


class Report:
    """What is told of one call. `printed` takes note, also while no request waits for the call.

    `turn_to` begins a request, `send` sends to it until `pause` or `close`. `hooks` let it see the calls.
    """

    def __init__(self) -> None:
        self._tally = Tally(self._note)
        self.hooks = self._tally.hooks
        self.waits_for = ""
        """What the program cannot go on without; said with the heartbeat."""
        self._context: ServerRequestContext[Any, Any]
        self._logs = True
        self._printed: list[str] = []
        self._told = 0.0
        self._news = trio.Event()
        self._paused = False
        self._closed = False

    def turn_to(self, context: ServerRequestContext[Any, Any]) -> None:
        """From now on, tell this request, at the level that its client has asked for."""
        self._context = context
        least: LoggingLevel = context.session._connection.state.get("level", "debug")
        allowed = allowed_log_levels(context.protocol_version, context.meta)
        self._logs = _LEVEL in allowed and LEVELS.index(_LEVEL) >= LEVELS.index(least)
        if not self._logs:
            self._printed.clear()
        self._paused = False

    def printed(self, text: str) -> None:
        """A program has printed `text`, whole lines or parts of them."""
        if self._logs:
            self._printed.append(text)
            if "\n" in text:
                self._news.set()

    def _note(self) -> None:
        self._news.set()

    def pause(self) -> None:
        """The request ends before the call does: `send` sends the whole lines that are there, and returns."""
        self._paused = True
        self._news.set()

    def close(self) -> None:
        """Nothing new will come: `send` sends what is left, and returns."""
        self._closed = True
        self._news.set()

    async def send(self) -> None:
        """Send what comes until `pause` or `close`. Cancellation leaves the rest unsent."""
        reported = self._tally.ended
        while True:
            with trio.move_on_after(_HEARTBEAT_SECONDS) as waiting:
                await self._news.wait()
            self._news = trio.Event()
            is_last = self._closed or self._paused
            await self._send_lines(whole=self._closed)
            if self._tally.ended > reported or waiting.cancelled_caught:
                reported = self._tally.ended
                await self._send_progress()
            if is_last:
                return

    async def _send_lines(self, *, whole: bool) -> None:
        text = "".join(self._printed)
        lines, _, rest = text.rpartition("\n")
        if whole and rest:
            lines, rest = text, ""
        self._printed = [rest] if rest else []
        if lines or (text and not rest):
            params = LoggingMessageNotificationParams(level=_LEVEL, logger=_LOGGER, data=encodable(lines))
            await self._context.session.send_notification(
                LoggingMessageNotification(params=params), related_request_id=self._context.request_id
            )

    async def _send_progress(self) -> None:
        # Progress has to grow with every message; a heartbeat is a little more of nothing.
        self._told = max(float(self._tally.ended), self._told + 0.001)
        message = str(self._tally)
        if self.waits_for:
            message += f", waiting for {self.waits_for}"
        await self._context.session.report_progress(self._told, message=encodable(message))
