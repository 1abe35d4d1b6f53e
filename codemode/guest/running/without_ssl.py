"""`asyncio`, imported without `ssl`: a program cannot use that, and every guest would carry its pages.

Whoever needs asyncio on the guests' side takes it from here, so that it is here that it is imported first.
"""

from __future__ import annotations

import sys

# asyncio does without `ssl` where it cannot be imported.
_is_loaded = "ssl" in sys.modules
if not _is_loaded:
    sys.modules["ssl"] = None  # type: ignore[assignment]
import asyncio  # noqa: E402

if not _is_loaded:
    del sys.modules["ssl"]

__all__ = ["asyncio"]
