from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.toolkits.support import Tools


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace, beside which there is something that must not be reached."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret\n")
    return workspace


@pytest.fixture
def tools(root: Path) -> Tools:
    return Tools(root)


@pytest.fixture
def no_descriptor_stays_open():
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) == before
