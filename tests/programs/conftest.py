from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.programs.engine import Engine, Plain


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """One engine for all programs; each still runs in a guest of its own."""
    made = Engine()
    yield made
    made.close()


@pytest.fixture(scope="session")
def plain() -> Iterator[Plain]:
    """Plain CPython."""
    made = Plain()
    yield made
    made.close()
