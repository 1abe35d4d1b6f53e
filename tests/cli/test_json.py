"""`--json`: one document of every command for a script, errors too, with the exit codes of always."""

import json
import sqlite3
from contextlib import closing

import pytest

from codemode.cli import main
from codemode.cli.main import COMMANDS, parser_of

TOOLS = '''
from codemode import as_json, tool

@tool(render=as_json)
def double(n: int) -> int:
    """Twice a number."""
    return 2 * n
'''
OWN = ["--tools", "json_tools:double"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "json_tools.py").write_text(TOOLS)
    (tmp_path / "good.py").write_text("return tools.double(2)\n")
    return tmp_path


@pytest.fixture
def told(place, capsys):
    """Run a command in this process and return its exit code and the one document that it printed."""

    def run(*arguments):
        try:
            code = main([*arguments, "--json"])
        except SystemExit as end:
            code = end.code
        said = capsys.readouterr()
        assert said.err == ""
        return code, json.loads(said.out)

    return run


def test_every_command_but_those_for_people_and_shells_has_it():
    def has(parser):
        return "--json" in parser._option_string_actions

    (commands,) = [action for action in parser_of(COMMANDS)._actions if action.dest == "==SUPPRESS=="]
    found = {name for name, parser in commands.choices.items() if has(parser)}
    assert set(COMMANDS) - found == {"chat", "completions", "log"}
    (actions,) = [action for action in commands.choices["log"]._actions if action.dest == "==SUPPRESS=="]
    assert {name for name, parser in actions.choices.items() if not has(parser)} == {"html", "export"}


def test_prompt(told):
    code, card = told("prompt", *OWN)
    assert (code, list(card)) == (0, ["prompt"])
    assert "async def double(n: int) -> int:" in card["prompt"]


def test_stubs(told, place):
    code, written = told("stubs", "-o", "out", *OWN)
    assert (code, written["typeshedPath"], written["stubPath"]) == (0, "out/typeshed", "out/stubs")
    assert "out/stubs/codemode_tools.pyi" in written["files"]
    assert "out/typeshed/stdlib/json/__init__.pyi" in written["files"]
    assert all((place / each).is_file() for each in written["files"])


def test_demo(told, place):
    (place / "one.py").write_text("def f():\n    return 1\n")
    code, shown = told("demo", "--workspace", ".")
    assert (code, shown["workspace"]) == (0, ".")
    assert {call["name"] for call in shown["calls"]} == {"glob", "read", "grep"}
    assert not any(call["isError"] for call in shown["calls"])
    assert '"files": 3' in shown["shown"]


def test_log(told, place, monkeypatch):
    assert told("run", "good.py", "--session", "s.db", *OWN) == (0, {"logs": [], "result": 4})
    code, listed = told("log", "list", "s.db")
    assert (code, [row["name"] for row in listed["calls"]]) == (0, ["run_code"])
    code, shown = told("log", "show", "s.db")
    assert (code, len(shown["entries"])) == (0, 1)


def test_a_log_that_turns_out_wrong_half_way_is_still_one_document(told, place):
    for _ in range(2):
        told("run", "good.py", "--session", "s.db", *OWN)
    with closing(sqlite3.connect("s.db")) as file, file:
        file.execute("UPDATE events SET data = '[' WHERE seq = (SELECT max(seq) FROM events)")
    code, shown = told("log", "show", "s.db")
    assert (code, len(shown["entries"]), shown["error"]["kind"]) == (1, 1, "session")


@pytest.mark.parametrize(
    ("arguments", "code", "kind", "says"),
    [
        (["run", "absent.py"], 2, "usage", "cannot read the program absent.py"),
        (["run", "good.py", "--timeout", "soon"], 2, "usage", "argument --timeout: 'soon' is no time"),
        (["run"], 2, "usage", "the following arguments are required: PROGRAM"),
        (["run", "good.py", "--nonsense"], 2, "usage", "unrecognized arguments: --nonsense"),
        (["run", "good.py", "--session", "json_tools.py"], 1, "session", "json_tools.py"),
        (["nonsense"], 2, "usage", "invalid choice: 'nonsense'"),
        (["check", "absent.py"], 2, "usage", "cannot read the program absent.py"),
        (["stubs", "-o", "good.py"], 2, "usage", "--output good.py"),
        (["prompt", "--workspace", "absent"], 2, "usage", "no such directory"),
        (["capabilities", "--allow", "x"], 2, "usage", "there is no such tool"),
        (["demo", "--workspace", "absent"], 2, "usage", "no such directory"),
        (["serve"], 2, "usage", "--json is for --http"),
        (["serve", "--http", "nowhere"], 2, "usage", "write HOST:PORT"),
        (["serve", "--http", "0.0.0.0:0"], 2, "usage", "--token TOKEN"),
        (["serve", "--http", "127.0.0.1:0", "--token", ""], 2, "usage", "--token is empty"),
        (["log", "list", "absent.db"], 1, "session", "absent.db"),
        (["log", "show", "good.py"], 1, "session", "good.py"),
        (["log", "show"], 2, "usage", "required: FILE"),
        (["log", "follow", "absent.db"], 1, "session", "absent.db"),
    ],
)
def test_an_error_is_an_object_too(told, monkeypatch, arguments, code, kind, says):
    monkeypatch.delenv("CODEMODE_TOKEN", raising=False)
    ended, failed = told(*arguments)
    assert (ended, failed["error"]["kind"]) == (code, kind)
    assert says in failed["error"]["message"]


def test_what_is_said_without_it_is_for_people(place, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["run", "good.py", "--nonsense"])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("usage: codemode")
    assert said.err.endswith("error: unrecognized arguments: --nonsense\n")
