"""Guests in advance: a few wait, confined and warm, so that a run need not wait for a fork.

A guest's memory and processor limits are set before it has a program, so spares belong to the pair of limits they
were made for. The usual pair's are made ahead; another pair's once it has been asked for twice, and only for the
few pairs used last.

How many of the usual pair wait goes by how many were taken in a row, without a quiet moment between: so many are there
for the next such burst, up to a bound, and for a while. Those above the least are forked while nothing runs, since a
fork takes a processor from the runs that are going on.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque

import trio

from codemode.sandbox.guest import Guest, Pair
from codemode.sandbox.zygote import Zygote

__all__ = ["Pool"]

_OTHER_PAIRS = 4
_OTHER_SPARES = 1

_QUIET_SECONDS = 0.002
"""How long nothing must have run before it is quiet; then more than the least are forked, one in each such time."""

_KEPT_SECONDS = 30.0
"""How long so many are kept without another burst that needs them."""


class _Queue:
    """The spares of one pair, and how many there should be: at least, and once there is time for it."""

    __slots__ = ("guests", "least", "wanted")

    def __init__(self, least: int) -> None:
        self.guests: deque[Guest] = deque()
        self.least = least
        self.wanted = least


class Pool:
    """The spares of one zygote: at least `least` of the usual pair, and at most `most` after bursts."""

    def __init__(self, zygote: Zygote, usual: Pair, least: int, most: int) -> None:
        self._zygote = zygote
        self._usual_pair = usual
        self._usual = _Queue(least)
        self._most = most
        self._running = 0
        self._burst = 0  # guests taken since it was quiet
        self._ended_at = -math.inf
        self._needed_at = -math.inf
        self._others: OrderedDict[Pair, _Queue] = OrderedDict()
        self._short: dict[Pair, None] = {}
        self._noted = trio.lowlevel.ParkingLot()
        self._closed = False

    def take(self, pair: Pair) -> Guest:
        """Return a guest of this pair: a waiting one, or one that is being forked.

        Raises OSError when this process has no descriptors left.
        """
        queue = self._queue(pair)
        guest = self._waiting(queue) or self._zygote.spawn(pair)
        now = trio.current_time()
        if not self._running and now > self._ended_at + _QUIET_SECONDS:
            self._burst = 0
        self._running += 1
        if queue is self._usual:
            self._burst += 1
            if self._burst > queue.least and self._burst >= queue.wanted:
                queue.wanted = max(queue.least, min(self._burst, self._most))
                self._needed_at = now
        return guest

    @staticmethod
    def _waiting(queue: _Queue) -> Guest | None:
        while queue.guests:
            guest = queue.guests.popleft()
            if guest.usable:
                return guest
            _discard(guest)
        return None

    def is_empty(self, pair: Pair) -> bool:
        """Whether no guest of this pair waits."""
        queue = self._usual if pair == self._usual_pair else self._others.get(pair)
        return queue is None or not queue.guests

    def refill(self, pair: Pair) -> None:
        """Ask for the spares that are missing for this pair; does not wait for them."""
        queue = self._usual if pair == self._usual_pair else self._others.get(pair)
        if queue is None or not self._zygote.alive:
            return
        try:
            while len(queue.guests) < queue.least:
                queue.guests.append(self._zygote.spawn(pair))
        except OSError:
            pass  # no descriptors: a run that needs a guest will say so

    def done(self, pair: Pair) -> None:
        """A run that took a guest is over: have `keep_filled` refill, after whoever says so has gone on."""
        self._running -= 1
        self._ended_at = trio.current_time()
        self._short[pair] = None
        self._noted.unpark_all()

    async def keep_filled(self) -> None:
        """Refill as runs end, until the pool is closed. Cancellation stops it and nothing else."""
        while not self._closed:
            while self._short:
                self.refill(self._short.popitem()[0])
            with trio.move_on_at(self._next_look()):
                await self._noted.park()
                continue
            self._use_the_quiet()

    def _next_look(self) -> float:
        """When there is something to do that nobody asks for, in trio's time."""
        usual = self._usual
        if self._running or usual.wanted == usual.least or not self._zygote.alive:
            return math.inf
        if len(usual.guests) < usual.wanted:
            return trio.current_time() + _QUIET_SECONDS
        return self._needed_at + _KEPT_SECONDS

    def _use_the_quiet(self) -> None:
        """Fork one spare more where there should be more, or let go of those that are not needed any more."""
        usual = self._usual
        if self._running:
            return
        if trio.current_time() >= self._needed_at + _KEPT_SECONDS:
            usual.wanted = usual.least
            while len(usual.guests) > usual.least:
                _discard(usual.guests.pop())
        elif len(usual.guests) < usual.wanted and self._zygote.alive:
            try:
                usual.guests.append(self._zygote.spawn(self._usual_pair))
            except OSError:  # no descriptors: none to spare for this either
                usual.wanted = usual.least

    def _queue(self, pair: Pair) -> _Queue:
        """Return the queue that a run with this pair takes from, and remember that it was asked for."""
        if pair == self._usual_pair:
            return self._usual
        queue = self._others.get(pair)
        if queue is None:
            queue = self._others[pair] = _Queue(0)
            if len(self._others) > _OTHER_PAIRS:
                _, unused = self._others.popitem(last=False)
                _empty(unused)
        else:
            queue.least = queue.wanted = min(_OTHER_SPARES, self._usual.least)
            self._others.move_to_end(pair)
        return queue

    def close(self) -> None:
        """Kill and let go of every spare; does not wait."""
        self._closed = True
        self._short.clear()
        self._noted.unpark_all()
        for queue in (self._usual, *self._others.values()):
            queue.least = queue.wanted = 0
            _empty(queue)
        self._others.clear()


def _empty(queue: _Queue) -> None:
    while queue.guests:
        _discard(queue.guests.popleft())


def _discard(guest: Guest) -> None:
    guest.kill()
    guest.close()
