"""One forge for all tests of the language."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from running import Forge


@pytest.fixture(scope="session")
def guest() -> Iterator[Forge]:
    forge = Forge()
    yield forge
    forge.close()
