"""`codemode log follow`: another process writes, this one prints."""

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
import trio

from codemode.session import Session
from tests.cli.test_command_line import PROJECT, codemode

FIRST = ("turn/end", {"turn": 1, "reason": "completed"})  # which leaves nothing for recovery to close
CALL = ("tool/call", {"callId": "c1", "name": "run_code", "arguments": {"code": "x = 1\n\x1b[31mx"}})
START = (
    *("tool/code-dispatch-start",),
    {
        "rootCallId": "c1",
        "parentCallId": "c1",
        "subCallId": "c1:1",
        "name": "read",
        "arguments": {"path": "a"},
    },
)
END = ("tool/code-dispatch", {**START[1], "content": [{"type": "text", "text": "é\nfake"}], "isError": True})


async def write(path, *events):
    async with Session.open(path) as session:
        for kind, data in events:
            session.append(kind, data, ignorable=kind.startswith("my/"))
        await session.commit()


@contextmanager
def following(place, *arguments):
    process = subprocess.Popen(
        [sys.executable, "-m", "codemode", "log", "follow", "a.session", *arguments],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def place(tmp_path):
    trio.run(write, tmp_path / "a.session", FIRST)
    return tmp_path


async def add_while_open(process, path):
    """Add events one commit at a time; return each line of JSON that came while the session stayed open."""
    got = []
    async with Session.open(path) as session:
        for kind, data in (CALL, START, END):
            session.append(kind, data)
            await session.commit()
            got.append(json.loads(await trio.to_thread.run_sync(process.stdout.readline)))
    return got


def test_each_event_comes_while_the_writer_is_still_at_work(place):
    with following(place, "--since", "0", "--json") as process:
        assert json.loads(process.stdout.readline())["type"] == "turn/end"
        got = trio.run(add_while_open, process, place / "a.session")
        assert [(event["seq"], event["type"]) for event in got] == [
            *((1, "tool/call"), (2, "tool/code-dispatch-start"), (3, "tool/code-dispatch")),
        ]
        assert got[2]["data"] == END[1]
        process.send_signal(signal.SIGINT)
        rest, error = process.communicate(timeout=30)
        assert (process.returncode, rest, error) == (130, "", "codemode: interrupted\n")


def test_a_person_reads_what_began_what_was_shown_and_what_failed(place):
    trio.run(write, place / "a.session", CALL, START, END, ("my/note", {"content": 5}))
    with following(place, "--since", "1") as process:
        lines = [process.stdout.readline().rstrip("\n") for _ in range(12)]
    times, bare = zip(
        *((line[:29], line[29:]) if line[:1] == "2" else ("", line) for line in lines), strict=True
    )
    assert list(bare) == [
        "tool/call  c1  run_code",
        "  code",
        "      1 | x = 1",
        "      2 | \x1b[31mx",
        "tool/code-dispatch-start  c1:1  read",
        '  arguments {"path": "a"}',
        "tool/code-dispatch  c1:1  read  failed",
        "  shown",
        "    é",
        "    fake",
        *bare[10:],
    ]
    assert bare[10] == "my/note"
    assert bare[11] == "  {"
    assert times[0].endswith(" UTC  ")


def test_without_since_only_what_is_added_comes(place):
    with following(place, "--json") as process:
        for turn in range(2, 400):  # until it has begun to follow
            trio.run(write, place / "a.session", ("turn/end", {"turn": turn, "reason": "completed"}))
            if select.select([process.stdout], [], [], 0.05)[0]:
                break
        got = process.stdout.readline()
    assert json.loads(got)["data"]["turn"] > 1


def test_a_file_that_goes_away_ends_it_and_says_so(place):
    with following(place, "--since", "0", "--json") as process:
        process.stdout.readline()
        os.rename(place / "a.session", place / "b.session")
        rest, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (1, "")
    said = json.loads(rest)["error"]["message"]
    assert said.endswith("a.session was moved, replaced or deleted; nothing more comes from it")


def test_dropped_events_are_said(place):
    async def trim():
        async with Session.open(place / "a.session") as session:
            for turn in range(5):
                session.append("turn/end", {"turn": turn, "reason": "completed"})
            await session.trim(max_bytes=60)
            return session.first_seq

    first = trio.run(trim)
    assert first > 0
    with following(place, "--since", "0") as process:
        assert process.stdout.readline() == f"({first} events before this one were dropped)\n"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["none.session"], 1, "there is no session at"),
        (["a.session", "--since", "-1"], 2, "'-1' is not the number of an event"),
        (["a.session", "--since", "x"], 2, "'x' is not the number of an event; they count from 0"),
        (["a.session", "--since", str(2**63)], 2, "is not the number of an event"),
    ],
)
def test_what_cannot_be_followed_says_why(place, arguments, code, says):
    done = codemode("log", "follow", *arguments, cwd=place)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
