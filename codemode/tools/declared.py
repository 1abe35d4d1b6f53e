"""What may be said of a tool besides its schemas: its name, its timeout and the like, each checked when it is said.

Every function here takes what a definition says and returns it as it is kept, or raises `ToolDefinitionError`.
"""

from __future__ import annotations

import builtins
import keyword
import math
import unicodedata
from collections.abc import Callable
from typing import TypeAlias

from codemode.errors import ToolDefinitionError
from codemode.tools.lifespans import Lifespan
from codemode.values import JSON

__all__ = [
    "Approval",
    "checked_approval",
    "checked_lifespan",
    "checked_method",
    "checked_name",
    "checked_timeout",
]

Approval: TypeAlias = str | Callable[[dict[str, JSON]], str | None]
"""The reason to ask before a call, or a function of the frozen arguments that returns one, or None."""

_TAKEN = frozenset({"tools", "ToolCallError"})


def checked_name(name: object) -> str:
    """Return a tool's name in its normal form."""
    if not isinstance(name, str) or not name.strip():
        raise ToolDefinitionError(f"a tool needs a name, not {name!r}")
    normal = unicodedata.normalize("NFKC", name)
    if not normal.isprintable() or normal != normal.strip() or len(normal) > 256:
        raise ToolDefinitionError(
            f"tool {name[:80]!r}: a name is at most 256 printable characters without outer blanks"
        )
    return normal


def checked_approval(approval: Approval | None) -> Approval | None:
    """Return the reason to ask."""
    if approval is None or callable(approval) or (isinstance(approval, str) and approval.strip()):
        return approval
    raise ToolDefinitionError(
        f"approval={approval!r} must be the reason to ask, as text, a function of the arguments that returns "
        "one or None, or None"
    )


def checked_lifespan(lifespan: Lifespan | None) -> Lifespan | None:
    """Return the lifespan."""
    if lifespan is None or (hasattr(lifespan, "__aenter__") and hasattr(lifespan, "__aexit__")):
        return lifespan
    raise ToolDefinitionError(f"lifespan={lifespan!r} must be an async context manager, or None")


def checked_method(method: str | None) -> str | None:
    """Return the method that programs reach a tool by."""
    if method is None:
        return None
    parts = method.split(".") if isinstance(method, str) else []
    if len(parts) != 2 or not all(
        each.isascii() and each.isidentifier() and not each.startswith("_") and not keyword.iskeyword(each)
        for each in parts
    ):
        raise ToolDefinitionError(f"method={method!r} must be two names with a dot between: 'agents.run'")
    if parts[0] in _TAKEN or hasattr(builtins, parts[0]):
        raise ToolDefinitionError(f"method={method!r}: {parts[0]!r} is something else in a program")
    return method


def checked_timeout(timeout: float | None) -> float | None:
    """Return a timeout in seconds."""
    if timeout is None:
        return None
    if (
        isinstance(timeout, bool)
        or not isinstance(timeout, int | float)
        or not math.isfinite(timeout)
        or timeout <= 0
    ):
        raise ToolDefinitionError(f"timeout={timeout!r} must be a positive, finite number of seconds")
    return float(timeout)
