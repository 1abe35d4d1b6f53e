"""A working host is killed a few times, at random moments; `python -m tests.session.kill9` does it often."""

from __future__ import annotations

import os
from pathlib import Path

from tests.session.kill9 import kill_often


def test_whenever_the_host_is_killed_the_session_keeps_its_promises(tmp_path: Path) -> None:
    report = kill_often(tmp_path / "a.session", kills=12, seed=7)
    assert report.kills == 12
    assert report.durable_events > 0
    assert report.done_calls > 0
    assert os.listdir(tmp_path) == ["a.session"]
