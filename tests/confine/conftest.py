from __future__ import annotations

from tests.sandbox.conftest import bare, no_language_wall

__all__ = ["bare", "no_language_wall"]
