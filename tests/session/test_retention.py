"""Trimming a session: what goes, what stays, what the numbers mean afterwards, and that space comes back."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.errors import SessionError
from codemode.session import Session, database, export_lines, import_lines, store
from codemode.session.events import to_text
from codemode.session.pairs import KEYS
from codemode.session.retention import place_to_cut
from tests.session.test_recovery import Log, ends_missing, logs

NOW = 1_000_000  # seconds since 1970


def call(n: int, text: str = "") -> Log:
    content = [{"type": "text", "text": text}]
    return [
        ("tool/call", {"callId": f"c{n}", "name": "read", "arguments": {}}),
        ("tool/result", {"callId": f"c{n}", "content": content, "isError": False}),
    ]


def turn(n: int, *inside: Log) -> Log:
    calls = [event for log in inside for event in log]
    return [("turn/start", {"turn": n}), *calls, ("turn/end", {"turn": n, "reason": "completed"})]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The time that sessions see, in seconds since 1970; set its only item."""
    now = [NOW]
    monkeypatch.setattr(store, "time_ns", lambda: now[0] * 1_000_000_000)
    return now


def append(session: Session, log: Log) -> None:
    for kind, data in log:
        session.append(kind, data, ignorable=kind not in KEYS)


def numbers(path: Path) -> list[int]:
    with Session.read(path) as log:
        return [event.seq for event in log.events()]


async def test_calls_that_ended_too_long_ago_are_dropped_whole(tmp_path: Path, clock: list[int]) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        append(session, call(0))
        append(session, call(1)[:1])
        clock[0] += 100
        append(session, call(1)[1:])
        append(session, call(2))
        assert await session.trim(max_age=100) == 0
        assert await session.trim(max_age=99) == 2  # of call 1 the start is old, and its end is not
        assert (session.first_seq, session.next_seq, session.committed) == (2, 6, 6)
        assert [event.seq for event in session.events()] == [2, 3, 4, 5]
        clock[0] += 50
        append(session, call(3))
        clock[0] += 50
        assert await session.trim(max_age=99) == 4
        assert await session.trim(max_age=99) == 0
    assert numbers(path) == [6, 7]


async def test_turns_are_dropped_whole(tmp_path: Path, clock: list[int]) -> None:
    async with Session.open(tmp_path / "a.session") as session:
        append(session, turn(1, call(0), call(1)))
        append(session, turn(2, call(2))[:-1])
        clock[0] += 1000
        assert await session.trim(max_age=10) == 6
        assert [event.type for event in session.events()] == ["turn/start", "tool/call", "tool/result"]
        append(session, [("turn/end", {"turn": 2, "reason": "completed"})])
        assert await session.trim(max_age=10) == 0
        clock[0] += 1000
        assert await session.trim(max_age=10) == 4


async def test_the_oldest_go_until_no_more_than_max_bytes_are_left(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        for n in range(10):
            append(session, call(n, "x" * 1000))
        size = session.pending_bytes // 10
        assert await session.trim(max_bytes=10 * size) == 0
        assert await session.trim(max_bytes=10 * size - 1) == 2
        assert await session.trim(max_bytes=4 * size) == 10
        assert await session.trim(max_bytes=0) == 8
        assert (list(session.events()), session.first_seq, session.next_seq) == ([], 20, 20)


async def test_what_is_open_stays_and_everything_after_it(tmp_path: Path, clock: list[int]) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        append(session, call(0))
        append(session, call(1)[:1])
        append(session, call(2))
        clock[0] += 1000
        assert await session.trim(max_age=0, max_bytes=0) == 2
        append(session, call(1)[1:])
        assert await session.trim(max_bytes=0) == 4
        assert list(session.events()) == []


async def test_numbers_and_time_go_on_after_everything_was_dropped(tmp_path: Path, clock: list[int]) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        append(session, call(0))
        await session.trim(max_bytes=0)
    clock[0] -= 500
    async with Session.open(path) as session:
        assert (session.first_seq, session.next_seq, session.recovered) == (2, 2, ())
        event = session.append("note", {}, ignorable=True)
        assert (event.seq, event.time) == (2, NOW * 1000)
    with Session.read(path) as log:
        assert (log.first_seq, [event.seq for event in log.events()]) == (2, [2])
        assert [event.seq for event in log.events(since=1)] == [2]


async def test_space_is_given_back_to_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        for n in range(20):
            append(session, call(n, "x" * 50_000))
        await session.commit()
        await session.trim(max_bytes=110_000)
        assert path.stat().st_size < 150_000
        assert (tmp_path / "a.session-wal").stat().st_size == 0
        append(session, call(20))
    assert numbers(path) == [36, 37, 38, 39, 40, 41]
    assert path.stat().st_size < 150_000
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


async def test_space_that_could_not_be_given_back_is_given_back_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        append(session, call(0, "x" * 500_000))
        append(session, call(1))
        with monkeypatch.context() as patch:

            def full(writer: database.DatabaseWriter) -> None:
                raise SessionError("cannot compact: the disk is full")

            patch.setattr(database.DatabaseWriter, "give_back_space", full)
            with pytest.raises(SessionError, match="the disk is full"):
                await session.trim(max_bytes=1000)
        assert session.first_seq == 2
        append(session, call(2))
        await session.commit()
        assert await session.trim(max_bytes=1000) == 0
        assert path.stat().st_size < 50_000
    assert numbers(path) == [2, 3, 4, 5]


async def test_types_that_are_gone_are_no_reason_to_refuse_the_file_any_more(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        append(session, [("note", {})])
        append(session, call(0))
        await session.trim(max_bytes=len(to_text(call(0)[0][1])) + len(to_text(call(0)[1][1])))
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT type FROM event_types ORDER BY type").fetchall() == [
        ("tool/call",),
        ("tool/result",),
    ]
    connection.close()


async def test_a_trimmed_session_is_exported_and_imported_with_its_numbers(tmp_path: Path) -> None:
    async with Session.open(tmp_path / "a.session") as session:
        append(session, [*call(0, "x" * 1000), *call(1)])
        await session.trim(max_bytes=500)
        events = list(session.events())
        lines = list(export_lines(events))
    assert lines[0] == '{"type":"session","version":1,"firstSeq":2}'
    async with Session.open(tmp_path / "b.session") as session:
        assert import_lines(session, lines) == 2
        assert (session.first_seq, session.next_seq) == (2, 4)
        assert list(session.events()) == events
    async with Session.open(tmp_path / "b.session") as session:
        assert (session.first_seq, session.next_seq) == (2, 4)
        assert list(session.events()) == events
    async with Session.open(None) as memory:
        import_lines(memory, lines)
        assert list(memory.events()) == events
        assert memory.append("note", {}, ignorable=True).seq == 4


# --------------------------------------------------------------------------------- readers meanwhile


async def test_a_reader_that_has_begun_is_told_and_one_that_has_not_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        append(session, [("note", {"n": n}) for n in range(600)])
        await session.commit()
        with Session.read(path) as log:
            begun, fresh, ours = log.events(), log.events(), session.events()
            assert next(begun).seq == 0
            assert next(ours).seq == 0
            await session.trim(max_bytes=100)
            first = session.first_seq
            assert first > 512
            assert next(fresh).seq == first
            for events in (begun, ours):
                with pytest.raises(
                    SessionError, match="were dropped by retention while they were being read"
                ):
                    list(events)
            assert [event.seq for event in log.events()] == list(range(first, 600))


async def test_events_that_are_missing_for_no_reason_are_damage_also_in_a_trimmed_session(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        append(session, [("note", {"n": n}) for n in range(10)])
        await session.trim(max_bytes=len('{"n":0}') * 6)
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM events WHERE seq IN (4, 5)")
    connection.commit()
    connection.close()
    with Session.read(path) as log, pytest.raises(SessionError, match="is damaged: event 4 is missing"):
        list(log.events())


async def test_events_appended_while_it_trims_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        append(session, call(0))
        async with trio.open_nursery() as nursery:

            async def trim() -> None:
                assert await session.trim(max_bytes=0) == 2

            nursery.start_soon(trim)
            for n in range(1, 30):
                await trio.sleep(0.0005)
                append(session, call(n)) if session.committed else None
        left = [event.seq for event in session.events()]
    assert left == numbers(path) == list(range(2, session.next_seq))


# --------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({}, "say how much to keep"),
        ({"max_age": -1}, "neither can be negative"),
        ({"max_bytes": -1}, "neither can be negative"),
        ({"max_age": float("nan")}, "neither can be negative"),
    ],
)
async def test_bounds_that_say_nothing_are_refused(
    tmp_path: Path, bounds: dict[str, Any], message: str
) -> None:
    async with Session.open(tmp_path / "a.session") as session:
        with pytest.raises(ValueError, match=message):
            await session.trim(**bounds)


async def test_a_session_in_memory_or_closed_is_not_trimmed(tmp_path: Path) -> None:
    async with Session.open(None) as session:
        with pytest.raises(SessionError, match="in memory keeps all its events"):
            await session.trim(max_age=1)
    async with Session.open(tmp_path / "a.session") as session:
        append(session, call(0))
        with trio.testing.assert_checkpoints():
            assert await session.trim(max_age=float("inf")) == 0
    with pytest.raises(SessionError, match="closed"):
        await session.trim(max_age=1)


# -------------------------------------------------------------------------------------- every sequence


@settings(max_examples=200, deadline=None)
@given(logs, st.integers(0, 20), st.integers(0, 600))
def test_a_cut_never_parts_a_pair_and_goes_no_further_than_it_must(
    log: Log, oldest: int, max_bytes: int
) -> None:
    sizes = [len(to_text(data)) for _, data in log]
    outline = [
        (seq, seq, kind, sizes[seq], data.get(KEYS.get(kind, ""))) for seq, (kind, data) in enumerate(log)
    ]
    cut = place_to_cut(outline, total_bytes=sum(sizes), max_bytes=max_bytes, oldest=oldest)
    quiet = [n for n in range(len(log) + 1) if not ends_missing(log[:n])]
    assert cut in quiet
    wanted = [n for n in quiet if n <= oldest or sum(sizes[_before(quiet, n) :]) > max_bytes]
    assert cut == max(wanted, default=0)


def _before(places: list[int], place: int) -> int:
    return max((other for other in places if other < place), default=0)


KILLED = """
import sys, trio
from codemode.session import Session

async def main(path):
    async with Session.open(path) as session:
        while True:
            for _ in range(4):
                call = {"callId": f"c{session.next_seq}", "name": "n", "arguments": "x" * 3000}
                session.append("tool/call", call)
                result = {"callId": call["callId"], "content": [], "isError": False}
                session.append("tool/result", result)
            await session.commit()
            print(session.committed, session.first_seq, flush=True)
            await session.trim(max_bytes=20_000)
            print(session.committed, session.first_seq, flush=True)

trio.run(main, sys.argv[1])
"""


async def test_a_process_killed_while_it_trims_leaves_whole_calls_and_all_it_reported(
    tmp_path: Path, child: Any
) -> None:
    path = tmp_path / "a.session"
    for delay in (0.0, 0.003, 0.006, 0.011, 0.017, 0.024):
        process = child(KILLED, path)
        process.stdout.readline()
        await trio.sleep(delay)
        process.kill()
        lines = [
            line.split() for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")
        ]
        with Session.read(path) as log:
            events = list(log.events())
            first = log.first_seq
        if lines:
            assert events[-1].seq + 1 >= int(lines[-1][0])
            assert first >= int(lines[-1][1])
        assert [event.seq for event in events] == list(range(first, first + len(events)))
        assert first % 2 == 0
        assert len(events) % 2 == 0
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    async with Session.open(path) as session:
        await session.trim(max_bytes=20_000)
    assert path.stat().st_size < 60_000
    assert os.listdir(tmp_path) == ["a.session"]
