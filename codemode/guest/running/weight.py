"""Whether a value is too large to send, found out before it is walked and encoded in full.

A list may hold itself a million times over through shared parts; its JSON would never end. Nothing here
judges whether a value is JSON.
"""

from __future__ import annotations

from typing import Any

from codemode.values import MAX_DEPTH, FrozenDict, FrozenList

__all__ = ["is_heavier"]

_MAPPINGS = (dict, FrozenDict)
_SEQUENCES = (list, tuple, FrozenList)


def is_heavier(value: Any, limit: int) -> bool:
    """Whether the encoding of `value` surely takes more than `limit` bytes.

    Counts at least one byte for each item. A value nested too deeply, or in itself, is not judged: the
    check of values finds that at once.
    """
    weight = 0
    waiting: list[Any] = [iter((value,))]
    while waiting:
        for item in waiting[-1]:
            weight += 1
            kind = type(item)
            if kind is str:
                weight += len(item)
            elif kind in _MAPPINGS:
                waiting.append(iter([*item, *item.values()]))
                break
            elif kind in _SEQUENCES:
                waiting.append(iter(list(item)))
                break
            if weight > limit:
                return True
        else:
            waiting.pop()
        if len(waiting) > MAX_DEPTH + 2:
            return False
    return weight > limit
