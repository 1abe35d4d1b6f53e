"""`codemode check`, `stubs`, `prompt`, `capabilities` and `run --check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codemode.cli import main
from codemode.sdk.signatures import document

TOOLS = '''
from codemode import as_json, tool

@tool(render=as_json)
def double(n: int) -> int:
    """Twice a number."""
    return 2 * n
'''


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "describe_tools.py").write_text(TOOLS)
    (tmp_path / "good.py").write_text("return tools.double(2)\n")
    (tmp_path / "bad.py").write_text("x = 1\nreturn tools.duoble(2)\n")
    (tmp_path / "broken.py").write_text("x = (\n")
    return tmp_path


OWN = ["--tools", "describe_tools:double"]


def test_check_names_file_line_and_column(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "good.py", "bad.py", *OWN]) == 1
    assert capsys.readouterr().out == "bad.py:2:8: there is no tool 'duoble'; did you mean 'double'?\n"
    assert main(["check", "good.py", *OWN]) == 0
    assert capsys.readouterr().out == ""


def test_check_says_of_what_is_no_python_that_it_is_none(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "broken.py", *OWN]) == 0
    assert capsys.readouterr().out == "broken.py:1:5: perhaps: this is not Python: '(' was never closed\n"


def test_check_as_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "good.py", "bad.py", "--json", *OWN]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["good.py"] == []
    assert shown["bad.py"][0]["line"] == 2
    assert shown["bad.py"][0]["certain"] is True


def test_run_with_a_strict_check_starts_no_wrong_program(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "bad.py", "--check", "strict", *OWN]) == 1
    assert "line 2: there is no tool 'duoble'" in capsys.readouterr().err
    assert main(["run", "good.py", "--check", "strict", *OWN]) == 0
    assert capsys.readouterr().out == "4\n"


def test_run_with_a_warning_runs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "half.py").write_text("if len(tools) > 99:\n    tools.duoble(1)\nreturn 3\n")
    assert main(["run", "half.py", "--check", "warn", *OWN]) == 0
    said = capsys.readouterr()
    assert said.out == "3\n"
    assert said.err == "check: line 2: there is no tool 'duoble'; did you mean 'double'?\n"
    assert main(["run", "half.py", "--check", "warn", "--json", *OWN]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == [
        "line 2: there is no tool 'duoble'; did you mean 'double'?"
    ]


def test_prompt_is_what_a_model_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prompt", "--timeout", "9", *OWN]) == 0
    text = capsys.readouterr().out
    assert 'async def double(n: int) -> int:\n    """Twice a number."""' in text
    assert "Limits: 9 s," in text
    assert main(["prompt", "--budget", "0", *OWN]) == 0
    assert 'tools.search("words")' in capsys.readouterr().out


def test_capabilities_are_one_object(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capabilities", "--json", "--max-calls", "7", *OWN]) == 0
    card = json.loads(capsys.readouterr().out)
    assert set(card) == {
        "versions", "walls", "limits", "modules", "packages", "elsewhere", "builtins", "unavailable", "refused", "tools"
    }  # fmt: skip
    assert card["limits"]["max_calls"] == 7
    assert {layer["name"] for layer in card["walls"]} >= {"seccomp", "resource limits"}
    assert "loads" in card["modules"]["json"]
    (double,) = [each for each in card["tools"] if each["name"] == "double"]
    assert double["call"] == "tools.double(n: int)"
    assert len(double["signature_hash"]) == 64
    assert main(["capabilities", *OWN]) == 0
    assert f"tools.double  {double['signature_hash'][:12]}  Twice a number" in capsys.readouterr().out


def test_a_signatures_hash_changes_with_it(place: Path) -> None:
    import describe_tools

    from codemode.sdk.capabilities import capabilities

    (card,) = capabilities([describe_tools.double]).tools
    assert document(describe_tools.double).call == card.call
    (other,) = capabilities([describe_tools.double]).tools
    assert other == card


def test_stubs_are_written_with_the_tools(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stubs", "-o", "out", *OWN]) == 0
    assert "pyrightconfig.json" in capsys.readouterr().out
    stub = (place / "out" / "stubs" / "codemode_tools.pyi").read_text("utf-8")
    assert "def double(self, /, n: int) -> int:" in stub
    assert main(["stubs", "-o", "out", "--style", "async", *OWN]) == 0
    stub = (place / "out" / "stubs" / "codemode_tools.pyi").read_text("utf-8")
    assert "def double(self, /, n: int) -> Pending[int]:" in stub
    (place / "file").write_text("")
    assert main(["stubs", "-o", "file", *OWN]) == 2
    assert "--output file" in capsys.readouterr().err
