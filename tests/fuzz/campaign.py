"""One fuzzer over many cases: makes them from seed and number, says what was found and how to see it again."""

from __future__ import annotations

import importlib
import itertools
import platform
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Protocol

import trio

__all__ = ["Examine", "campaign"]

Examine = Callable[[Random], Awaitable[None]]
"""Makes up one case from a source of chance and examines it. Raises, whatever it likes, when something is wrong."""


class _Fuzzer(Protocol):
    def examiner(self) -> AbstractAsyncContextManager[Examine]: ...


async def campaign(
    what: str,
    seed: int,
    seconds: float | None,
    numbers: Iterable[int] | None = None,
    *,
    most: int = 20,
    quiet: bool = False,
) -> list[str]:
    """Examine the cases of these numbers (by default all), for at most so many seconds; return what was found.

    Stops at `most` findings. `quiet` prints nothing.
    """
    fuzzer: _Fuzzer = importlib.import_module(f"tests.fuzz.{what}")
    found: list[str] = []
    started = time.monotonic()
    done = 0
    async with fuzzer.examiner() as examine:
        for number in itertools.count() if numbers is None else numbers:
            if seconds is not None and time.monotonic() - started > seconds:
                break
            try:
                await examine(Random(f"{what}:{seed}:{number}"))
            except Exception:
                again = f"python -m tests.fuzz {what} --seed {seed} --case {number}"
                found.append(f"FOUND: {again}\n{traceback.format_exc()}")
                if not quiet:
                    print(found[-1], flush=True)
                if len(found) == most:
                    break
            done += 1
            await trio.lowlevel.checkpoint()
    if not quiet:
        print(
            f"{what}, Python {platform.python_version()}, seed {seed}: {done:,} cases in "
            f"{time.monotonic() - started:.0f} s, {len(found)} found"
        )
    return found
