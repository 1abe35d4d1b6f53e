"""What opening a session closes that a crash left unfinished, and what it says of it."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.errors import SessionError
from codemode.session import Event, Session, database
from codemode.session.events import to_text
from codemode.session.pairs import KEYS, Unfinished, key_in_text
from codemode.session.recovery import closing_events
from codemode.values import freeze
from tests.session.conftest import END, START

Log = list[tuple[str, dict[str, Any]]]

CALL = {"callId": "call-1", "name": "write", "arguments": {"path": "a"}}
RUN = {"callId": "call-1", "programHash": "00"}
RESULT = {"callId": "call-1", "content": [], "isError": False}


async def crashed(path: Path, log: Log) -> None:
    """Write a log and leave it as a killed process does: committed, and not closed in an orderly way."""
    async with Session.open(path) as session:
        for kind, data in log:
            session.append(kind, data, ignorable=kind == "note")


async def recovered(path: Path, log: Log) -> list[tuple[str, dict[str, Any]]]:
    """Return what opening such a log adds to it, after checking that a second opening adds nothing."""
    await crashed(path, log)
    with Session.read(path) as reader:
        before = list(reader.events())
    async with Session.open(path) as session:
        added = session.recovered
        assert list(session.events()) == [*before, *added]
        assert session.next_seq == session.committed == len(before) + len(added)
    async with Session.open(path) as session:
        assert session.recovered == ()
        assert list(session.events()) == [*before, *added]
    assert [event.seq for event in added] == list(range(len(before), len(before) + len(added)))
    assert {event.time for event in added} <= {before[-1].time if before else 0}
    return [(event.type, event.data) for event in added]


def words(data: dict[str, Any]) -> str:
    return "".join(block["text"] for block in data["content"])


async def test_a_log_in_which_everything_has_ended_is_left_as_it_is(tmp_path: Path) -> None:
    log: Log = [
        ("turn/start", {"turn": 1}),
        ("user/message", {"message": {"role": "user", "content": "go"}, "turn": 1}),
        ("tool/call", CALL),
        ("tool/start", {"callId": "call-1"}),
        ("tool/result", RESULT),
        ("turn/end", {"turn": 1, "reason": "completed"}),
        ("tool/start", {"callId": "nobody's"}),
        ("tool/result", {**RESULT, "callId": "nobody's"}),
        ("note", {}),
    ]
    assert await recovered(tmp_path / "a.session", log) == []
    assert await recovered(tmp_path / "b.session", []) == []


async def test_a_call_that_promised_to_log_its_start_and_did_not_has_never_started(tmp_path: Path) -> None:
    result, mark = await recovered(tmp_path / "a.session", [("tool/call", {**CALL, "startLogged": True})])
    assert result == (
        "tool/result",
        {
            "callId": "call-1",
            "content": [
                {
                    "type": "text",
                    "text": "Error: the host ended before this call of tool 'write' started; nothing was done; "
                    "call it again if it is still needed",
                }
            ],
            "isError": True,
            "error": {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"},
            "recovered": True,
        },
    )
    assert mark == ("session/recovered", {"closed": 1})


async def test_a_call_whose_start_was_logged_has_an_unknown_outcome(tmp_path: Path) -> None:
    log: Log = [
        ("tool/call", {**CALL, "startLogged": True, "turn": 3, "step": 2}),
        ("tool/start", {"callId": "call-1"}),
    ]
    (_, data), _ = await recovered(tmp_path / "a.session", log)
    assert data["error"] == {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"}
    assert (data["turn"], data["step"], data["isError"], data["recovered"]) == (3, 2, True, True)
    assert words(data) == (
        "Error: the host ended while tool 'write' was at work; the outcome of this call is unknown; call it again "
        "only if that does no harm when it was done already; otherwise look first what was done"
    )


async def test_a_call_without_that_promise_may_have_started(tmp_path: Path) -> None:
    (_, data), _ = await recovered(tmp_path / "a.session", [("tool/call", CALL)])
    assert data["error"]["code"] == "TOOL_OUTCOME_UNKNOWN"
    assert "whether it had started is not in the log" in words(data)


async def test_everything_that_is_open_is_closed_from_the_inside_outwards(tmp_path: Path) -> None:
    second = {**START, "subCallId": "call-1.2"}
    log: Log = [
        ("turn/start", {"turn": 7}),
        ("tool/call", {**CALL, "name": "run_code"}),
        ("tool/start", {"callId": "call-1"}),
        ("run/start", RUN),
        ("tool/code-dispatch-start", START),
        ("tool/code-dispatch-start", second),
        ("tool/code-dispatch", END),
    ]
    nested, run, call, turn, mark = await recovered(tmp_path / "a.session", log)
    text = "Error: the host ended while this call of tool 'read' was under way; its outcome is unknown"
    content = [{"type": "text", "text": text}]
    assert nested == (
        "tool/code-dispatch",
        {**second, "content": content, "isError": True, "recovered": True},
    )
    assert run == ("run/end", {"callId": "call-1", "outcome": "interrupted", "recovered": True})
    assert (call[0], call[1]["callId"], call[1]["error"]["code"]) == (
        "tool/result",
        "call-1",
        "TOOL_OUTCOME_UNKNOWN",
    )
    assert "what it printed is lost" in words(call[1])
    assert "some may have been made that are not in the log" in words(call[1])
    assert turn == ("turn/end", {"turn": 7, "reason": "interrupted", "recovered": True})
    assert mark == ("session/recovered", {"closed": 4})


async def test_ids_that_were_used_twice_are_each_closed(tmp_path: Path) -> None:
    log: Log = [("tool/call", CALL), ("tool/call", CALL), ("tool/result", RESULT), ("tool/call", CALL)]
    added = await recovered(tmp_path / "a.session", log)
    assert [kind for kind, _ in added] == ["tool/result", "tool/result", "session/recovered"]


async def test_a_session_that_goes_on_after_recovery_keeps_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    await crashed(path, [("tool/call", CALL)])
    async with Session.open(path) as session:
        session.append("tool/call", CALL)
        session.append("tool/result", RESULT)
    with Session.read(path) as log:
        assert [event.type for event in log.events()] == [
            *("tool/call", "tool/result", "session/recovered", "tool/call", "tool/result")
        ]


async def test_readers_recover_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    await crashed(path, [("tool/call", CALL)])
    with Session.read(path) as log:
        assert [event.type for event in log.events()] == ["tool/call"]
    assert len(path.read_bytes()) == path.stat().st_size


async def test_only_what_came_after_the_last_quiet_moment_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        for _ in range(100):
            session.append("tool/call", CALL)
            session.append("tool/result", RESULT)
        session.append("tool/call", CALL)
        session.append("note", {}, ignorable=True)
    asked: list[int] = []
    outline = database.DatabaseReader.outline

    def watched(reader: database.DatabaseReader, since: int, end: int | None = None) -> Any:
        asked.append(since)
        return outline(reader, since, end)

    monkeypatch.setattr(database.DatabaseReader, "outline", watched)
    async with Session.open(path) as session:
        assert [event.type for event in session.recovered] == ["tool/result", "session/recovered"]
    async with Session.open(path):
        pass
    assert asked == [200, 204]


async def test_a_log_that_was_imported_unfinished_is_closed_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        session.restore([Event(0, 5_000, "tool/call", CALL), Event(1, 6_000, "note", {}, True)])
    async with Session.open(path) as session:
        assert [(event.seq, event.time, event.type) for event in session.recovered] == [
            (2, 6_000, "tool/result"),
            (3, 6_000, "session/recovered"),
        ]


async def test_damage_in_the_unfinished_part_is_said_and_the_file_let_go(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    await crashed(path, [("tool/call", CALL), ("note", {})])
    connection = sqlite3.connect(path)
    connection.execute("UPDATE events SET data = '{' WHERE seq = 0")
    connection.commit()
    connection.close()
    for _ in range(2):
        with pytest.raises(SessionError, match=r"is damaged: event 0 \(Input data was truncated\)"):
            await crashed(path, [])
    assert os.listdir(tmp_path) == ["a.session"]


async def test_a_recovery_that_cannot_be_stored_changes_nothing_and_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.session"
    await crashed(path, [("turn/start", {"turn": 1}), ("tool/call", CALL)])
    with monkeypatch.context() as patch:

        def full(writer: database.DatabaseWriter, *written: object) -> None:
            raise SessionError("the disk is full")

        patch.setattr(database.DatabaseWriter, "write", full)
        with pytest.raises(SessionError, match="the disk is full"):
            await crashed(path, [])
    with Session.read(path) as log:
        assert len(list(log.events())) == 2
    async with Session.open(path) as session:
        assert [event.type for event in session.recovered] == ["tool/result", "turn/end", "session/recovered"]


# ------------------------------------------------------------------------------------- every sequence

_ids = st.integers(0, 2)


def _event(kind: str, n: int) -> tuple[str, dict[str, Any]]:
    call, sub = f"call-{n}", f"call-{n % 2}.{n}"
    data: dict[str, dict[str, Any]] = {
        "turn/start": {"turn": n},
        "turn/end": {"turn": n, "reason": "completed"},
        "step/start": {"turn": 0, "step": n},
        "step/end": {"turn": 0, "step": n},
        "tool/call": {**CALL, "callId": call},
        "tool/start": {"callId": call},
        "tool/result": {**RESULT, "callId": call},
        "run/start": {**RUN, "callId": call},
        "run/end": {"callId": call, "outcome": "ok"},
        "tool/code-dispatch-start": {**START, "subCallId": sub},
        "tool/code-dispatch": {**END, "subCallId": sub},
        "user/message": {"message": {}},
        "note": {},
    }
    return kind, data[kind]


logs = st.lists(st.builds(_event, st.sampled_from([*KEYS, "user/message", "note"]), _ids), max_size=14)
STARTS = {
    "turn/start": "turn/end",
    "step/start": "step/end",
    "tool/call": "tool/result",
    "run/start": "run/end",
    "tool/code-dispatch-start": "tool/code-dispatch",
}


def ends_missing(events: list[tuple[str, dict[str, Any]]]) -> Counter[Any]:
    """Return how often what has begun has no end, counted with no help from what is tested."""
    open_: Counter[Any] = Counter()
    for kind, data in events:
        if kind in STARTS:
            open_[STARTS[kind], data[KEYS[kind]]] += 1
        elif kind in STARTS.values() and open_[kind, data[KEYS[kind]]]:
            open_[kind, data[KEYS[kind]]] -= 1
    return +open_


def check_closed(log: Log, added: list[tuple[str, dict[str, Any]]]) -> None:
    missing = ends_missing(log)
    assert Counter((kind, data[KEYS[kind]]) for kind, data in added[:-1]) == missing
    assert ends_missing([*log, *added]) == Counter()
    assert all(data["recovered"] is True for _, data in added[:-1])
    assert added[-1:] == ([("session/recovered", {"closed": missing.total()})] if missing else [])


@settings(max_examples=200, deadline=None)
@given(logs)
def test_a_crash_after_any_event_leaves_every_start_with_exactly_one_end(log: Log) -> None:
    events = [Event(seq, seq, kind, freeze(data)) for seq, (kind, data) in enumerate(log)]
    for length in range(len(log) + 1):
        unfinished = Unfinished()
        for event in events[:length]:
            unfinished.see(event.seq, event.type, event.data.get(KEYS.get(event.type, "")))
        added = closing_events(unfinished, events.__getitem__, length, 77)
        check_closed(log[:length], [(event.type, event.data) for event in added])
        assert [(event.seq, event.time) for event in added] == [(length + n, 77) for n in range(len(added))]
        for event in added:
            unfinished.see(event.seq, event.type, event.data.get(KEYS.get(event.type, "")))
        assert closing_events(unfinished, events.__getitem__, 0, 0) == []


@settings(max_examples=15, deadline=None)
@given(logs)
def test_so_does_opening_a_file_and_opening_it_again_adds_nothing(log: Log) -> None:
    with tempfile.TemporaryDirectory() as directory:
        check_closed(log, trio.run(recovered, Path(directory, "a.session"), log))


@settings(max_examples=40, deadline=None)
@given(logs)
def test_what_a_session_knows_as_it_goes_is_what_reading_it_again_finds(log: Log) -> None:
    async def go(path: Path) -> None:
        async with Session.open(path) as session:
            for kind, data in log:
                session.append(kind, data, ignorable=kind == "note")
            seen = Unfinished()
            for event in session.events():
                key = key_in_text(event.type, to_text(event.data).decode()) if event.type in KEYS else None
                seen.see(event.seq, event.type, key)
            kept = session._unfinished
            assert {kind: kept.begun(kind) for kind in STARTS} == {kind: seen.begun(kind) for kind in STARTS}
            assert bool(seen) == bool(ends_missing(log))
            settled = [n for n in range(len(log) + 1) if not ends_missing(log[:n])]
            assert session._settled_seq == settled[-1]

    with tempfile.TemporaryDirectory() as directory:
        trio.run(go, Path(directory, "a.session"))


KILLED_IN_RECOVERY = """
import os, signal, sqlite3, sys
from codemode.session import database, store

class Dies:
    def __init__(self, connection, statement):
        self._connection, self._statement = connection, statement
    def __getattr__(self, name):
        return getattr(self._connection, name)
    def execute(self, statement, *values):
        if statement == self._statement:
            os.kill(os.getpid(), signal.SIGKILL)
        return self._connection.execute(statement, *values)
    def executemany(self, statement, *values):
        self._connection.executemany(statement, *values)
        if "events" in statement and self._statement == "half":
            os.kill(os.getpid(), signal.SIGKILL)

write = database.DatabaseWriter.write
def dying(writer, *written):
    writer._connection = Dies(writer._connection, sys.argv[2])
    write(writer, *written)
    os.kill(os.getpid(), signal.SIGKILL)
database.DatabaseWriter.write = dying
store._open(sys.argv[1])
"""


@pytest.mark.parametrize(
    ("at", "done"), [("BEGIN IMMEDIATE", False), ("half", False), ("COMMIT", False), ("the end", True)]
)
async def test_a_crash_during_recovery_is_recovered_from(
    tmp_path: Path, child: Any, at: str, done: bool
) -> None:
    path = tmp_path / "a.session"
    await crashed(path, [("turn/start", {"turn": 1}), ("tool/call", CALL)])
    process = child(KILLED_IN_RECOVERY, path, at)
    assert process.wait() == -9, process.stderr.read()
    async with Session.open(path) as session:
        assert len(session.recovered) == (0 if done else 3)
        assert [event.type for event in session.events()] == [
            *("turn/start", "tool/call", "tool/result", "turn/end", "session/recovered")
        ]
