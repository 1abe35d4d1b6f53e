"""`codemode log`, as a shell and a terminal see it."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from codemode.session import Session
from codemode.session.events import to_text
from tests.cli.test_command_line import codemode

PROJECT = Path(__file__).parents[2]

EVENTS = [
    ("turn/start", {"turn": 1}),
    ("user/message", {"message": {"role": "user", "content": "go"}, "turn": 1}),
    ("tool/call", {"callId": "c1", "name": "read", "arguments": {"path": "a"}}),
    (
        "tool/result",
        {
            "callId": "c1",
            "content": [
                {"type": "text", "text": "é\n\x1b]0;owned\x07\u202e\nc9  fake  ok"},
                {"type": "image", "data": "aGk=", "mediaType": "image/png"},
            ],
            "isError": False,
            "meta": {"card": 1},
        },
    ),
    ("turn/end", {"turn": 1, "reason": "completed"}),
    ("tool/call", {"callId": "c2", "name": "run\x1b[31m", "arguments": {"code": "x"}}),
    ("run/start", {"callId": "c2", "programHash": "00"}),
    (
        "tool/code-dispatch-start",
        {"rootCallId": "c2", "parentCallId": "c2", "subCallId": "c2:1", "name": "grep", "arguments": {}},
    ),
]


async def write(path, events):
    async with Session.open(path) as session:
        for kind, data in events:
            session.append(kind, data)


@pytest.fixture
def place(tmp_path):
    trio.run(write, tmp_path / "a.session", EVENTS)
    return tmp_path


def log(place, *arguments, **options):
    return codemode("log", *arguments, cwd=place, **options)


def test_show_prints_everything_in_order_as_it_was_shown(place):
    done = log(place, "show", "a.session")
    assert (done.returncode, done.stderr) == (0, "")
    titles = [line.split("  ")[:3] for line in done.stdout.splitlines() if line and line[0] != " "]
    assert [title[0] for title in titles] == [
        *("turn 1 begins", "message from user", "c1", "turn 1 ends: completed", "c2"),
        "Not in any session, and so not here:",
    ]
    assert titles[2][1:] == ["read", "ok"]
    assert titles[4][1:] == ["run\\x1b[31m", "unfinished"]
    assert (
        "  shown\n    é\n    \x1b]0;owned\x07\u202e\n    c9  fake  ok\n    [image image/png, 4 characters"
        in done.stdout
    )
    assert "\n    go\n" in done.stdout
    assert '"role"' not in done.stdout  # the whole message stays with --json
    assert "    c2:1  grep  unfinished" in done.stdout
    assert "  - the values that tools returned" in done.stdout


@pytest.mark.parametrize(("call", "says"), [("c1", "fake"), ("c2:1", "grep")])
def test_one_call_can_be_shown_also_one_of_a_program(place, call, says):
    done = log(place, "show", "a.session", "--call", call)
    assert done.returncode == 0
    assert done.stdout.startswith(f"{call}  ")
    assert says in done.stdout
    assert "turn 1" not in done.stdout


def test_json_holds_the_same_exactly(place):
    done = log(place, "show", "a.session", "--json")
    shown = json.loads(done.stdout)
    assert done.returncode == 0
    assert [entry["kind"] for entry in shown["entries"]] == ["turn", "message", "call", "turn", "call"]
    assert shown["entries"][2]["content"] == EVENTS[3][1]["content"]
    assert shown["entries"][1]["message"] == {"role": "user", "content": "go"}
    assert shown["entries"][2]["meta"] == {"card": 1}
    assert shown["entries"][4]["run"]["calls"][0]["id"] == "c2:1"
    assert "the values that tools returned" in shown["notRebuilt"][0]
    one = json.loads(log(place, "show", "a.session", "--json", "--call", "c1").stdout)
    assert [entry["id"] for entry in one["entries"]] == ["c1"]


def test_list_has_one_line_for_each_direct_call(place):
    done = log(place, "list", "a.session")
    head, first, second = done.stdout.splitlines()
    assert head.split() == ["CALL", "STARTED", "(UTC)", "TOOL", "STATE", "TOOK", "CALLS", "SHOWN"]
    assert first.split()[0:1] + first.split()[3:5] == ["c1", "read", "ok"]
    assert second.split()[0:1] + second.split()[3:5] == ["c2", "run\\x1b[31m", "unfinished"]
    rows = json.loads(log(place, "list", "a.session", "--json").stdout)["calls"]
    assert [(row["id"], row["state"], row["calls"]) for row in rows] == [
        ("c1", "ok", 0),
        ("c2", "unfinished", 1),
    ]


def test_export_and_import_give_the_same_session(place):
    lines = log(place, "export", "a.session").stdout
    assert len(lines.splitlines()) == 1 + len(EVENTS)
    done = log(place, "import", "b.session", stdin=lines)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "8 events imported into b.session\n")
    assert log(place, "export", "b.session").stdout == lines


def test_a_trimmed_session_says_what_is_gone_and_keeps_its_numbers(place):
    async def trim():
        async with Session.open(place / "a.session") as session:
            size = sum(len(to_text(event.data)) for event in session.events())
            await session.trim(max_bytes=size - 1)
            return session.first_seq

    first = trio.run(trim)
    assert first == 5
    assert log(place, "show", "a.session").stdout.startswith("(the first 5 events were dropped")
    lines = log(place, "export", "a.session").stdout
    assert log(place, "import", "b.session", stdin=lines).returncode == 0
    assert log(place, "export", "b.session").stdout == lines


def test_an_unfinished_session_is_looked_at_without_being_changed(place):
    before = (place / "a.session").read_bytes()
    for action in ("show", "list", "export"):
        assert log(place, action, "a.session").returncode == 0
    assert (place / "a.session").read_bytes() == before
    assert os.listdir(place) == ["a.session"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "says"),
    [
        (["show", "none.session"], "", 1, "there is no session at"),
        (["show", "text"], "", 1, "is not a session; choose another"),
        (["show", "a.session", "--call", "c7"], "", 1, "`codemode log list a.session` shows the calls"),
        (["import", "a.session"], "", 1, "a.session holds a session already; import into a new file"),
        (["import", "b.session"], "nonsense", 1, "line 1: not an exported session"),
        (["import", "b.session"], '{"type":"session","version":1}\n{}', 1, "line 2: not an event"),
        (["import", "no/b.session"], '{"type":"session","version":1}', 1, "choose a directory that exists"),
        (["show"], "", 2, "the following arguments are required: FILE"),
        (["print", "a.session"], "", 2, "invalid choice"),
        ([], "", 2, "the following arguments are required: ACTION"),
    ],
)
def test_what_cannot_be_done_says_why_and_leaves_nothing(place, arguments, stdin, code, says):
    (place / "text").write_text("Dear diary, " * 500)
    done = log(place, *arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(os.listdir(place)) == ["a.session", "text"]


def test_lines_that_are_no_text_are_refused(place):
    done = subprocess.run(
        [sys.executable, "-m", "codemode", "log", "import", "b.session"],
        cwd=place,
        input=b'{"type":"session","version":1}\n\xff\n',
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        check=False,
    )
    assert done.returncode == 1
    assert b"line 2: no UTF-8 text" in done.stderr
    assert os.listdir(place) == ["a.session"]


def on_terminal(place, *arguments):
    """Run `codemode log` on a terminal of its own; return the exit code and the bytes that reached it."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "codemode", "log", *arguments],
        cwd=place,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "TERM": "xterm", "NO_COLOR": ""},
    )
    os.close(follower)
    got = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:  # the other side has gone
            break
        if not chunk:
            break
        got += chunk
    os.close(leader)
    return process.wait(), got


@pytest.mark.parametrize("action", ["show", "list"])
def test_a_terminal_gets_colours_and_nothing_that_content_could_steer_it_with(place, action):
    code, got = on_terminal(place, action, "a.session")
    assert code == 0
    own = [b"\x1b[1m", b"\x1b[2m", b"\x1b[36m", b"\x1b[0m"]
    assert own[3] in got
    for escape in own:
        got = got.replace(escape, b"")
    assert not {*range(32), 127} - {*b"\r\n\t"} & {*got}
    assert "\u202e".encode() not in got
    if action == "show":
        assert b"\\x1b]0;owned\\x07\\u202e" in got


def test_import_on_a_terminal_says_where_lines_come_from(place):
    code, got = on_terminal(place, "import", "b.session")
    assert code == 2
    assert b"codemode log import b.session < LINES" in got
