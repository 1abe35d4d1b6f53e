"""`codemode run` where a required layer of the wall does not stand: not at all, or as accepted and with a warning."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from codemode.cli import main
from codemode.sandbox import zygote
from tests.cli.test_doctor import NO_SECCOMP


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(zygote, "BOOTSTRAP", NO_SECCOMP + zygote.BOOTSTRAP)
    path = tmp_path / "program.py"
    path.write_text("return 1 + 2", encoding="utf-8")
    return path


def test_without_a_word_nothing_runs(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(program), "--workspace", str(program.parent)]) == 1
    seen = capfd.readouterr()
    assert seen.out == ""
    assert "no seccomp: [Errno 38] Function not implemented" in seen.err
    assert "--accept-missing" in seen.err


def test_accepted_by_its_name_it_runs_and_says_so_everywhere(
    program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = program.with_name("log.sqlite")
    line = ["run", str(program), "--workspace", str(program.parent), "--accept-missing", "seccomp"]
    assert main([*line, "--session", str(log)]) == 0
    seen = capfd.readouterr()
    assert seen.out == "3\n"
    assert seen.err == (
        "warning: the program ran behind a weaker wall: seccomp missing on this machine, as accepted; "
        "see `codemode doctor`\n"
    )
    with sqlite3.connect(log) as database:
        (stored,) = database.execute("SELECT data FROM events WHERE type = 'run/end'").fetchone()
    assert json.loads(stored)["missingLayers"] == ["seccomp"]
    assert main([*line, "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == {"logs": [], "result": 3, "missingLayers": ["seccomp"]}


@pytest.mark.parametrize("name", ["all", "landlock", "seccomp,resource limits"])
def test_there_is_no_word_for_all_of_them(
    program: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", str(program), "--accept-missing", name])
    assert caught.value.code == 2
    assert "invalid choice" in capfd.readouterr().err
