"""Guests in advance: a few wait, confined and warm, so that a run need not wait for a fork.

A guest's memory and processor limits are set before it has a program, so spares belong to the pair of limits they
were made for. The usual pair's are made ahead; another pair's once it has been asked for twice, and only for the
few pairs used last.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from codemode.sandbox.guest import Guest, Pair
from codemode.sandbox.zygote import Zygote

__all__ = ["Pool"]

_OTHER_PAIRS = 4
_OTHER_SPARES = 1


class Pool:
    """The spares of one zygote."""

    def __init__(self, zygote: Zygote, usual: Pair, spares: int) -> None:
        self._zygote = zygote
        self._usual = usual
        self._wanted = spares
        self._usual_spares: deque[Guest] = deque()
        self._others: OrderedDict[Pair, deque[Guest]] = OrderedDict()

    def take(self, pair: Pair) -> Guest:
        """Return a guest of this pair: a waiting one, or one that is being forked.

        Raises OSError when this process has no descriptors left.
        """
        spares = self._spares(pair)
        while spares:
            guest = spares.popleft()
            if guest.usable:
                return guest
            self._discard(guest)
        return self._zygote.spawn(pair)

    def is_empty(self, pair: Pair) -> bool:
        """Whether no guest of this pair waits."""
        return not self._spares(pair)

    def refill(self, pair: Pair) -> None:
        """Ask for the spares that are missing for this pair; does not wait for them."""
        if not self._zygote.alive:
            return
        spares = self._spares(pair)
        if pair == self._usual:
            wanted = self._wanted
        else:
            # The first run of a pair leaves its empty queue behind; the second one finds it.
            wanted = min(_OTHER_SPARES, self._wanted) if pair in self._others else 0
            self._others[pair] = spares
            self._others.move_to_end(pair)
            while len(self._others) > _OTHER_PAIRS:
                _, unused = self._others.popitem(last=False)
                for guest in unused:
                    self._discard(guest)
        try:
            while len(spares) < wanted:
                spares.append(self._zygote.spawn(pair))
        except OSError:
            pass  # no descriptors: a run that needs a guest will say so

    def _spares(self, pair: Pair) -> deque[Guest]:
        if pair == self._usual:
            return self._usual_spares
        found = self._others.get(pair)
        return deque() if found is None else found

    def close(self) -> None:
        """Kill and let go of every spare; does not wait."""
        for spares in (self._usual_spares, *self._others.values()):
            for guest in spares:
                self._discard(guest)
            spares.clear()
        self._others.clear()

    @staticmethod
    def _discard(guest: Guest) -> None:
        guest.kill()
        guest.close()
