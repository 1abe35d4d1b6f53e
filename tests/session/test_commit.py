"""Commits: what is durable and when, what failure, cancellation and a killed process leave behind."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from codemode.errors import SessionError
from codemode.session import Session, database, store
from codemode.session.database import DatabaseWriter, Row
from tests.session.conftest import END, START, Child


def stored(path: Path) -> list[Any]:
    """Return what a reader finds: `n` of every event."""
    with Session.read(path) as log:
        return [event.data["n"] for event in log.events()]


def note(session: Session, *numbers: int) -> None:
    for n in numbers:
        session.append("note", {"n": n}, ignorable=True)


async def test_what_is_committed_is_in_the_file_and_what_is_not_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        note(session, 0, 1)
        assert (stored(path), session.committed) == ([], 0)
        assert session.pending_bytes == len('{"n":0}{"n":1}')
        await session.commit()
        note(session, 2)
        assert (stored(path), session.committed, session.next_seq) == ([0, 1], 2, 3)
        assert session.pending_bytes == len('{"n":2}')
        assert [event.data["n"] for event in session.events()] == [0, 1, 2]
        assert [event.data["n"] for event in session.events(since=1)] == [1, 2]
        assert [event.data["n"] for event in session.events(since=2, types=["note"])] == [2]
    assert stored(path) == [0, 1, 2]


async def test_an_iterator_goes_on_over_a_commit(tmp_path: Path) -> None:
    async with Session.open(tmp_path / "a.session") as session:
        note(session, *range(300))
        await session.commit()
        note(session, *range(300, 600))
        events = session.events()
        seen = [next(events).data["n"] for _ in range(10)]
        await session.commit()
        note(session, 600)
        assert seen + [event.data["n"] for event in events] == list(range(600))


async def test_a_commit_is_a_checkpoint_also_when_there_is_nothing_to_do(tmp_path: Path) -> None:
    async with Session.open(tmp_path / "a.session") as session:
        with trio.testing.assert_checkpoints():
            await session.commit()


async def test_a_reopened_session_goes_on_where_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "time_ns", lambda: 9_000_000_000)
    async with Session.open(tmp_path / "a.session") as session:
        note(session, 0)
    monkeypatch.setattr(store, "time_ns", lambda: 8_000_000_000)
    async with Session.open(tmp_path / "a.session") as session:
        assert (session.next_seq, session.committed) == (1, 1)
        note(session, 1)
        assert [(event.seq, event.time) for event in session.events()] == [(0, 9000), (1, 9000)]


async def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    async with Session.open(tmp_path / "a.session") as session:
        assert session._writer is not None
        ask = session._writer._connection.execute
        assert ask("PRAGMA synchronous").fetchone() == (2,)  # FULL: the log is synchronised at every commit
        assert ask("PRAGMA journal_mode").fetchone() == ("wal",)


# -------------------------------------------------------------------------------- a slow or busy disk


class Gate:
    """Holds the writer's thread at its first write until it is told to go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go_on = threading.Event()
        self.entered = trio.Event()
        self.batches: list[int] = []
        write = DatabaseWriter.write

        def gated(writer: DatabaseWriter, rows: Sequence[Row], facts: Mapping[str, int]) -> None:
            self.batches.append(len(rows))
            trio.from_thread.run_sync(self.entered.set)
            assert self.go_on.wait(10)
            write(writer, rows, facts)

        monkeypatch.setattr(DatabaseWriter, "write", gated)


async def test_the_loop_goes_on_while_the_disk_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    async with Session.open(tmp_path / "a.session") as session, trio.open_nursery() as nursery:
        note(session, 0)
        nursery.start_soon(session.commit)
        await gate.entered.wait()
        note(session, 1)
        assert [event.data["n"] for event in session.events()] == [0, 1]
        assert session.committed == 0
        gate.go_on.set()
    assert stored(tmp_path / "a.session") == [0, 1]


async def test_commits_that_wait_together_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    async with Session.open(tmp_path / "a.session") as session:
        async with trio.open_nursery() as nursery:
            note(session, 0)
            nursery.start_soon(session.commit)
            await gate.entered.wait()
            for n in range(1, 11):
                note(session, n)
                nursery.start_soon(session.commit)
            await trio.testing.wait_all_tasks_blocked()
            gate.go_on.set()
        assert session.committed == 11
    assert gate.batches == [1, 10]


async def test_a_commit_cancelled_while_it_writes_is_whole_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        note(session, 0, 1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.commit)
            await gate.entered.wait()
            nursery.cancel_scope.cancel()
            gate.go_on.set()
        assert (stored(path), session.committed) == ([0, 1], 2)
        note(session, 2)
        await session.commit()
    assert stored(path) == [0, 1, 2]
    assert gate.batches == [2, 1]


async def test_a_commit_cancelled_while_it_waits_leaves_its_events_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        async with trio.open_nursery() as nursery:
            note(session, 0)
            nursery.start_soon(session.commit)
            await gate.entered.wait()
            note(session, 1)
            with trio.CancelScope() as scope:
                scope.cancel()
                await session.commit()
            assert scope.cancelled_caught
            gate.go_on.set()
        assert (session.committed, session.next_seq) == (1, 2)
        await session.commit()
        assert (stored(path), session.committed) == ([0, 1], 2)
    assert gate.batches == [1, 1]


async def test_leaving_the_block_commits_also_when_cancelled(tmp_path: Path) -> None:
    with trio.CancelScope() as scope:
        async with Session.open(tmp_path / "a.session") as session:
            note(session, 0)
            scope.cancel()
            await trio.sleep_forever()
    assert stored(tmp_path / "a.session") == [0]


async def test_tools_that_fill_the_worker_threads_do_not_hold_up_a_commit(tmp_path: Path) -> None:
    limiter = trio.to_thread.current_default_thread_limiter()
    async with Session.open(tmp_path / "a.session") as session:
        borrowers = [object() for _ in range(int(limiter.available_tokens))]
        for borrower in borrowers:
            limiter.acquire_on_behalf_of_nowait(borrower)
        try:
            note(session, 0)
            with trio.fail_after(5):
                await session.commit()
        finally:
            for borrower in borrowers:
                limiter.release_on_behalf_of(borrower)
        assert session.committed == 1


# ------------------------------------------------------------------------------------- failed writes


class Faulty:
    """A connection that fails at one statement, before or after having executed it."""

    def __init__(self, connection: sqlite3.Connection, statement: str, *, after: bool) -> None:
        self._connection = connection
        self._statement = statement
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement == self._statement and not self._after:
            raise sqlite3.OperationalError("disk I/O error")
        cursor = self._connection.execute(statement, *values)
        if statement == self._statement:
            raise sqlite3.OperationalError("disk I/O error")
        return cursor


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "COMMIT"])
async def test_a_failed_write_keeps_its_events_once(tmp_path: Path, statement: str, after: bool) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        note(session, 0)
        await session.commit()
        note(session, 1, 2)
        writer: Any = session._writer
        connection = writer._connection
        writer._connection = Faulty(connection, statement, after=after)
        with pytest.raises(SessionError, match=r"cannot write session .*a\.session: disk I/O error"):
            await session.commit()
        assert (session.committed, session.next_seq) == (1, 3)
        assert [event.data["n"] for event in session.events()] == [0, 1, 2]
        writer._connection = connection
        note(session, 3)
        await session.commit()
        assert (stored(path), session.committed) == ([0, 1, 2, 3], 4)


async def test_a_locked_file_is_waited_for_and_then_said_to_be_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        note(session, 0)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SessionError, match=r"is locked; another program .* has locked the file"):
            await session.commit()
        other.execute("ROLLBACK")
        other.close()
        await session.commit()
    assert stored(path) == [0]


async def test_a_file_that_was_moved_away_is_not_written_until_it_is_back(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "a.session", tmp_path / "b.session"
    async with Session.open(path) as session:
        note(session, 0)
        path.rename(elsewhere)
        with pytest.raises(SessionError, match="moved, replaced or deleted; put it back"):
            await session.commit()
        path.write_bytes(b"")
        with pytest.raises(SessionError, match="moved, replaced or deleted; put it back"):
            await session.commit()
        elsewhere.rename(path)
        await session.commit()
    assert stored(path) == [0]


async def test_a_second_program_that_wrote_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    other = sqlite3.connect(path, isolation_level=None)
    async with Session.open(path) as session:
        note(session, 0)
        other.execute("INSERT INTO events VALUES (0, 1, 'note', 1, '{}')")
        with pytest.raises(SessionError, match="another program has added events"):
            await session.commit()
        other.execute("DELETE FROM events")
        other.close()
    assert stored(path) == [0]


async def test_a_last_commit_that_fails_is_reported_and_everything_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.session"

    async def lose() -> None:
        async with Session.open(path) as session:
            note(session, 0)
            path.unlink()

    with pytest.raises(SessionError, match="moved, replaced or deleted"):
        await lose()
    async with Session.open(path) as session:
        assert session.next_seq == 0


async def test_an_event_too_large_for_the_file_is_refused_on_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_EVENT_BYTES", 20)
    async with Session.open(tmp_path / "a.session") as session:
        with pytest.raises(SessionError, match="an event of 1,008 bytes; a session file takes 20 at most"):
            session.append("note", {"n": "x" * 1000}, ignorable=True)
        note(session, 0)
    assert stored(tmp_path / "a.session") == [0]


FULL_DISK = """
import resource, sys, trio
from codemode.session import Session

async def main(path):
    async with Session.open(path) as session:
        session.append("note", {"n": 0}, ignorable=True)
        await session.commit()
        session.append("note", {"n": 1, "text": "x" * 1_000_000}, ignorable=True)
        session.append("note", {"n": 2}, ignorable=True)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        for _ in range(2):
            try:
                await session.commit()
            except Exception as error:
                print(type(error).__name__, error, session.committed, session.next_seq)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        await session.commit()
        print(session.committed)

trio.run(main, sys.argv[1])
"""


def test_a_full_disk_keeps_the_events_until_there_is_room(tmp_path: Path, child: Child) -> None:
    path = tmp_path / "a.session"
    output, errors = child(FULL_DISK, path).communicate(timeout=20)
    first, second, last = output.splitlines()
    assert first == second
    assert first.startswith(f"SessionError cannot write session {path}: ")
    assert "free" in first
    assert first.endswith(" 1 3")
    assert last == "3"
    assert errors == ""
    assert stored(path) == [0, 1, 2]


# --------------------------------------------------------------------------------- a killed process

KILLED = """
import sys, trio
from codemode.session import Session

async def main(path, batch):
    async with Session.open(path) as session:
        while True:
            for _ in range(batch):
                session.append("note", {"n": session.next_seq, "text": "x" * 500}, ignorable=True)
            await session.commit()
            print(session.committed, flush=True)
            session.append("note", {"n": session.next_seq, "text": "x" * 500}, ignorable=True)
            if sys.argv[3] == "once":
                await trio.sleep_forever()

trio.run(main, sys.argv[1], int(sys.argv[2]))
"""


async def test_a_process_killed_after_a_commit_leaves_what_it_committed_and_nothing_else(
    tmp_path: Path, child: Child
) -> None:
    path = tmp_path / "a.session"
    process = child(KILLED, path, 7, "once")
    assert process.stdout is not None
    assert process.stdout.readline() == "7\n"
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert stored(path) == list(range(7))
    async with Session.open(path) as session:
        assert session.next_seq == 7
        note(session, 7)
    assert stored(path) == list(range(8))
    assert sorted(os.listdir(tmp_path)) == ["a.session"]


def test_a_process_killed_at_any_moment_leaves_a_whole_log_with_all_it_reported(
    tmp_path: Path, child: Child
) -> None:
    path = tmp_path / "a.session"
    chance = random.Random(20)
    reported = 0
    for _ in range(8):
        process = child(KILLED, path, 3, "on")
        assert process.stdout is not None
        reported = int(process.stdout.readline())
        time.sleep(chance.random() * 0.05)
        process.kill()
        for line in process.stdout.read().splitlines(keepends=True):
            reported = int(line) if line.endswith("\n") else reported
        there = stored(path)
        assert there == list(range(len(there)))
        assert len(there) >= reported
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


async def test_nested_calls_and_their_ends_are_durable_in_the_order_they_were_appended(
    tmp_path: Path,
) -> None:
    async with Session.open(tmp_path / "a.session") as session:
        session.append("tool/code-dispatch-start", START)
        session.append("tool/code-dispatch", END)
    with Session.read(tmp_path / "a.session") as log:
        events = [(event.seq, event.type, event.data) for event in log.events()]
    assert events == [(0, "tool/code-dispatch-start", START), (1, "tool/code-dispatch", END)]
