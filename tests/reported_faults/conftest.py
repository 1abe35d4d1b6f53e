"""One engine for each test, with the tools of `support`."""

from __future__ import annotations

import pytest

from codemode import CodeMode
from tests.reported_faults.support import TOOLS


@pytest.fixture
async def cm():
    async with CodeMode(TOOLS) as engine:
        yield engine
