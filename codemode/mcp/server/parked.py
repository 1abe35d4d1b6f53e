"""Calls that no request waits for: each is kept for the request that brings the answer of its user.

A call that is kept holds its turn. It is ended when the answer does not come in time, and, after a while, when other
calls wait for a turn. What is asked, and how a call is made, is not known here.
"""

from __future__ import annotations

import math
import secrets
from collections import deque

import trio
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams
from msgspec import Struct

from codemode.mcp.server.served import ServedCall

__all__ = ["ParkedCalls"]

_MAX_PARKED = 100
_UNDISTURBED_SECONDS = 60.0
"""How long a user has for an answer also where others wait: enough to read a form and to decide."""


class _Parked(Struct, frozen=True):
    call: ServedCall
    since: float


class ParkedCalls:
    """The calls, each under a key that only its client knows. `watch` has to go on while there are any.

    An answer has to come within `answer_seconds`. `turns` is what calls wait for.
    """

    def __init__(self, answer_seconds: float, turns: trio.Semaphore) -> None:
        self._answer_seconds = answer_seconds
        self._turns = turns
        self._parked: dict[str, _Parked] = {}  # the longest there first
        self._gave_way: deque[str] = deque(maxlen=_MAX_PARKED)
        self._news = trio.Event()

    def __len__(self) -> int:
        return len(self._parked)

    def keep(self, call: ServedCall) -> str:
        """Keep a call and return its key. Of too many, one that is over gives way, or the one that is there longest."""
        while len(self._parked) >= _MAX_PARKED:
            over = (key for key, each in self._parked.items() if each.call.is_over)
            self._end(next(over, next(iter(self._parked))))
        key = secrets.token_urlsafe()
        self._parked[key] = _Parked(call, trio.current_time())
        self._news.set()
        return key

    def take(self, params: CallToolRequestParams) -> ServedCall:
        """Return the call that a request brings an answer for; it is kept no more. Raises `MCPError`."""
        key = params.request_state or ""
        if key in self._gave_way:
            raise MCPError(
                INVALID_PARAMS,
                "the call that waited for this answer has given way to others that waited for a turn or a place; make "
                "the call anew, without requestState",
            )
        parked = self._parked.get(key)
        if parked is None or not parked.call.is_same(params):
            raise MCPError(
                INVALID_PARAMS,
                "no call waits for this answer: it was given already, came later than "
                f"{self._answer_seconds:g} s, or is for other arguments; make the call anew, without requestState",
            )
        del self._parked[key]
        return parked.call

    def make_room(self) -> None:
        """Say that a call is about to wait for a turn."""
        self._news.set()

    async def watch(self) -> None:
        """End the calls whose time is over, and those that have to give way, until cancelled."""
        while True:
            self._news = trio.Event()
            with trio.move_on_at(self._next()):
                await self._news.wait()
            now = trio.current_time()
            for key, each in list(self._parked.items()):
                if now >= each.since + self._answer_seconds:
                    del self._parked[key]
                    each.call.cancel()
            first = self._first()
            if first is not None and self._is_crowded() and now >= self._undisturbed_until(first):
                call = self._parked[first].call
                self._end(first)
                await call.wait_over()  # then its turn is another's, and those who wait are counted anew

    def _next(self) -> float:
        """When there is something to do, if nothing new happens."""
        times = [each.since + self._answer_seconds for each in self._parked.values()][:1]
        key = self._first()
        if key is not None and self._is_crowded():
            times.append(self._undisturbed_until(key))
        return min(times, default=math.inf)

    def _first(self) -> str | None:
        """The call that holds a turn and is there longest."""
        return next((key for key, each in self._parked.items() if not each.call.is_over), None)

    def _undisturbed_until(self, key: str) -> float:
        return self._parked[key].since + _UNDISTURBED_SECONDS

    def _is_crowded(self) -> bool:
        return self._turns.statistics().tasks_waiting > 0

    def _end(self, key: str) -> None:
        self._parked.pop(key).call.cancel()
        self._gave_way.append(key)
