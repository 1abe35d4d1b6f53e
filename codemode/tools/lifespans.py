"""What tools need while they may be called: entered at the first call, left when its engine closes.

Each lifespan is held by a task of its own in the nursery that owns all bodies, so that what it opens outlives
calls and runs, and ends with the engine.
"""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import trio

from codemode.errors import ToolError

__all__ = ["Lifespan", "Lifespans"]

Lifespan: TypeAlias = AbstractAsyncContextManager[Any, Any]
"""An async context manager, shared by the tools that need the same thing. It is left in a cancelled scope: what it
has to finish, it shields, with a bound. It may be entered again later."""

_log = logging.getLogger("codemode.tools")


class Lifespans:
    """Holds lifespans open in a nursery, each until the nursery is cancelled."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self._held: dict[Lifespan, _Held] = {}

    async def enter(self, name: str, lifespan: Lifespan) -> None:
        """Return when a lifespan is entered; tool `name` needs it. Raises `ToolError`, or what it raises.

        Cancellation leaves it entered. One that failed is entered afresh the next time.
        """
        held = self._held.get(lifespan)
        if held is None:
            held = self._held[lifespan] = _Held()
            self._nursery.start_soon(self._hold, name, lifespan, held)
        await held.settled.wait()
        if held.error is not None:
            raise held.error
        if not held.is_open:
            raise ToolError(
                f"what tool {name!r} needs was closed, with it or with the engine", code="ABORTED"
            )

    def leave(self, lifespan: Lifespan) -> None:
        """Begin to leave a lifespan that no tool needs any more. No checkpoint."""
        held = self._held.get(lifespan)
        if held is not None:
            held.is_open = False
            held.scope.cancel()

    async def _hold(self, name: str, lifespan: Lifespan, held: _Held) -> None:
        try:
            with held.scope:
                async with lifespan:
                    held.is_open = True
                    held.settled.set()
                    await trio.sleep_forever()
        except Exception as error:
            # Nobody is left to be told, unless it failed before it was open.
            _log.warning("what tool %r needs has failed: %s: %s", name, type(error).__name__, error)
            held.error = error
        finally:
            del self._held[lifespan]
            held.is_open = False
            held.settled.set()


class _Held:
    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.settled = trio.Event()
        self.is_open = False
        self.error: Exception | None = None
