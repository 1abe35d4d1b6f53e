"""What a client is told while its program runs: printed lines as log messages, ended calls as progress.

Taking note never blocks, so that a client that reads slowly delays no program; what has come together since the
last message goes in the next one. Everything that was printed is sent before the result is.
"""

from __future__ import annotations

from typing import Any

import trio
from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp_types import LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParams

from codemode.tools.call import Call, Outcome

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
    """What one request is told. `line` and `call_ended` take note; `send` sends, until `close`."""

    def __init__(self, context: ServerRequestContext[Any, Any], least: LoggingLevel) -> None:
        self._session = context.session
        self._request_id = context.request_id
        allowed = allowed_log_levels(context.protocol_version, context.meta)
        self._logs = _LEVEL in allowed and LEVELS.index(_LEVEL) >= LEVELS.index(least)
        self._printed: list[str] = []
        self._ended = 0
        self._last = ""
        self._told = 0.0
        self._news = trio.Event()
        self._closed = False

    def printed(self, text: str) -> None:
        """A program has printed `text`, whole lines or parts of them."""
        if self._logs:
            self._printed.append(text)
            if "\n" in text:
                self._news.set()

    def call_ended(self, call: Call, outcome: Outcome) -> None:
        """An observer of calls: one that the program made has ended."""
        if not call.is_direct:
            self._ended += 1
            self._last = f"{call.name} {'failed' if outcome.is_error else 'ended'}"
            self._news.set()

    def close(self) -> None:
        """Nothing new will come: `send` sends what is left, and returns."""
        self._closed = True
        self._news.set()

    async def send(self) -> None:
        """Send what comes until `close`. Cancellation leaves the rest unsent."""
        reported = 0
        while True:
            with trio.move_on_after(_HEARTBEAT_SECONDS) as waiting:
                await self._news.wait()
            self._news = trio.Event()
            is_last = self._closed
            await self._send_lines(whole=is_last)
            if self._ended > reported or waiting.cancelled_caught:
                reported = self._ended
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
            params = LoggingMessageNotificationParams(level=_LEVEL, logger=_LOGGER, data=_sendable(lines))
            await self._session.send_notification(
                LoggingMessageNotification(params=params), related_request_id=self._request_id
            )

    async def _send_progress(self) -> None:
        # Progress has to grow with every message; a heartbeat is a little more of nothing.
        self._told = max(float(self._ended), self._told + 0.001)
        calls = f"{self._ended} call{'' if self._ended == 1 else 's'}"
        message = f"{calls}; {self._last}" if self._last else f"running, {calls}"
        await self._session.report_progress(self._told, message=_sendable(message))


def _sendable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
