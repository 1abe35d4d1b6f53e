from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from codemode.sandbox import LocalSandbox, zygote
from tests.sandbox.support import WITHOUT_LANGUAGE_WALL


@pytest.fixture
def no_language_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zygotes started in this test make guests that execute plain Python with every builtin."""
    monkeypatch.setattr(zygote, "BOOTSTRAP", WITHOUT_LANGUAGE_WALL + zygote.BOOTSTRAP)


@pytest.fixture
async def bare(no_language_wall: None) -> AsyncIterator[LocalSandbox]:
    """A sandbox whose language wall has fallen, with two guests in advance at all times."""
    async with LocalSandbox(max_spares=2) as sandbox:
        yield sandbox
