"""What the calls of a run are doing, for somebody who waits for it: how many ended, which goes on and for how long.

Taking note never blocks and never fails a call. Who is told, and when, is not known here.
"""

from __future__ import annotations

import weakref
from collections.abc import Awaitable, Callable

import trio

from codemode.tools.call import Call, Outcome, Token
from codemode.tools.hooks import Hooks

__all__ = ["Tally"]


class Tally:
    """Counts the calls that programs make where `hooks` are. `changed` is called when one has ended."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.hooks = Hooks(guards=(self._started,), around=(self._around,), observers=(self._ended,))
        self.ended = 0
        self._last = ""
        self._running: dict[str, tuple[str, float]] = {}
        self._stopped: weakref.WeakSet[Token] = weakref.WeakSet()
        self._changed = changed

    def __str__(self) -> str:
        """One line, for example `2 calls, read ended, fetch running for 3 s`."""
        parts = [f"{self.ended} call{'' if self.ended == 1 else 's'}"]
        if self._last:
            parts.append(self._last)
        if self._running:
            name, since = next(iter(self._running.values()))  # the one that takes longest
            others = f" and {len(self._running) - 1} more" if len(self._running) > 1 else ""
            parts.append(f"{name}{others} running for {trio.current_time() - since:.0f} s")
        return ", ".join(parts)

    def _started(self, call: Call) -> None:
        if not call.is_direct:
            self._running[call.id] = (call.name, trio.current_time())

    async def _around(self, call: Call, proceed: Callable[[], Awaitable[Outcome]]) -> Outcome:
        try:
            return await proceed()
        except trio.Cancelled:  # observers may not be reached: what comes before them has a few seconds only
            if not call.is_direct:
                self._stopped.add(call.token)
                self._count(call, "failed")
            raise

    def _ended(self, call: Call, outcome: Outcome) -> None:
        if not call.is_direct and call.token not in self._stopped:
            self._count(call, "failed" if outcome.is_error else "ended")

    def _count(self, call: Call, how: str) -> None:
        self._running.pop(call.id, None)
        self.ended += 1
        self._last = f"{call.name} {how}"
        self._changed()
