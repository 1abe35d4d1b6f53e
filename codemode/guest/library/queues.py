"""`queue` for a program of one thread: the same classes, and a wait that nothing could end is an error at once.

Nothing here blocks; what would, says so.
"""

from __future__ import annotations

import heapq
import queue
from collections import deque
from typing import Any

__all__ = ["QUEUE"]


class Queue:
    """First in, first out."""

    def __init__(self, maxsize: int = 0) -> None:
        self.maxsize = maxsize
        self.unfinished_tasks = 0
        self._items: Any = self._make()

    def _make(self) -> Any:
        return deque()

    def _add(self, item: Any) -> None:
        self._items.append(item)

    def _take(self) -> Any:
        return self._items.popleft()

    def qsize(self) -> int:
        return len(self._items)

    def empty(self) -> bool:
        return not self._items

    def full(self) -> bool:
        return 0 < self.maxsize <= len(self._items)

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        if self.full():
            if block and timeout is None:
                raise RuntimeError("this queue is full, and there is no other thread to take from it")
            raise queue.Full
        self._add(item)
        self.unfinished_tasks += 1

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if not self._items:
            if block and timeout is None:
                raise RuntimeError(
                    "this queue is empty, and there is no other thread to fill it; fill it first, or test empty()"
                )
            raise queue.Empty
        return self._take()

    def put_nowait(self, item: Any) -> None:
        self.put(item, block=False)

    def get_nowait(self) -> Any:
        return self.get(block=False)

    def task_done(self) -> None:
        if self.unfinished_tasks <= 0:
            raise ValueError("task_done() called too many times")
        self.unfinished_tasks -= 1

    def join(self) -> None:
        if self.unfinished_tasks:
            raise RuntimeError(
                f"{self.unfinished_tasks} items of this queue are not done, and there is no other thread to do them"
            )


class LifoQueue(Queue):
    """Last in, first out."""

    def _make(self) -> Any:
        return []

    def _take(self) -> Any:
        return self._items.pop()


class PriorityQueue(LifoQueue):
    """The smallest first."""

    def _add(self, item: Any) -> None:
        heapq.heappush(self._items, item)

    def _take(self) -> Any:
        return heapq.heappop(self._items)


class SimpleQueue(Queue):
    """First in, first out, without bound."""

    def __init__(self) -> None:
        super().__init__()


for _class in (Queue, LifoQueue, PriorityQueue, SimpleQueue):
    _class.__module__ = "queue"

QUEUE: dict[str, Any] = {
    "Empty": queue.Empty,
    "Full": queue.Full,
    "LifoQueue": LifoQueue,
    "PriorityQueue": PriorityQueue,
    "Queue": Queue,
    "SimpleQueue": SimpleQueue,
}
