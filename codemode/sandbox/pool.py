"""Guests in advance: a few wait, confined and warm, so that a run need not wait for a fork.

A guest's memory and processor limits are set before it has a program, so spares belong to the pair of limits they
were made for. The usual pair's are made ahead; another pair's once it has been asked for twice, and only for the
few pairs used last.
"""

from __future__ import annotations

from collections import OrderedDict, deque

import trio

from codemode.sandbox.guest import Guest, Pair
from codemode.sandbox.zygote import Zygote

__all__ = ["Pool"]

_OTHER_PAIRS = 4
_OTHER_SPARES = 1


class _Queue:
    """The spares of one pair, and how many there should be."""

    __slots__ = ("guests", "wanted")

    def __init__(self, wanted: int) -> None:
        self.guests: deque[Guest] = deque()
        self.wanted = wanted


class Pool:
    """The spares of one zygote."""

    def __init__(self, zygote: Zygote, usual: Pair, spares: int) -> None:
        self._zygote = zygote
        self._usual_pair = usual
        self._usual = _Queue(spares)
        self._others: OrderedDict[Pair, _Queue] = OrderedDict()
        self._short: dict[Pair, None] = {}
        self._noted = trio.lowlevel.ParkingLot()
        self._closed = False

    def take(self, pair: Pair) -> Guest:
        """Return a guest of this pair: a waiting one, or one that is being forked.

        Raises OSError when this process has no descriptors left.
        """
        spares = self._queue(pair).guests
        while spares:
            guest = spares.popleft()
            if guest.usable:
                return guest
            _discard(guest)
        return self._zygote.spawn(pair)

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
            while len(queue.guests) < queue.wanted:
                queue.guests.append(self._zygote.spawn(pair))
        except OSError:
            pass  # no descriptors: a run that needs a guest will say so

    def refill_soon(self, pair: Pair) -> None:
        """Have `keep_filled` do it, after whoever asks has gone on."""
        self._short[pair] = None
        self._noted.unpark_all()

    async def keep_filled(self) -> None:
        """Refill as `refill_soon` asks for it, until the pool is closed. Cancellation stops it and nothing else."""
        while not self._closed:
            while self._short:
                self.refill(self._short.popitem()[0])
            await self._noted.park()

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
            queue.wanted = min(_OTHER_SPARES, self._usual.wanted)
            self._others.move_to_end(pair)
        return queue

    def close(self) -> None:
        """Kill and let go of every spare; does not wait."""
        self._closed = True
        self._short.clear()
        self._noted.unpark_all()
        for queue in (self._usual, *self._others.values()):
            queue.wanted = 0
            _empty(queue)
        self._others.clear()


def _empty(queue: _Queue) -> None:
    while queue.guests:
        _discard(queue.guests.popleft())


def _discard(guest: Guest) -> None:
    guest.kill()
    guest.close()
