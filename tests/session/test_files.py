"""Session files: who may open which, what is refused untouched, readers beside a writer, nothing left open."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from codemode.errors import SessionError
from codemode.session import Session, schema
from tests.session.conftest import END, Child


async def make(path: Path, count: int = 1) -> None:
    async with Session.open(path) as session:
        for n in range(count):
            session.append("note", {"n": n}, ignorable=True)


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def names(directory: Path) -> list[str]:
    return sorted(file.name for file in directory.iterdir())


# --------------------------------------------------------------------------------------------- opening


async def test_a_new_file_is_for_its_owner_only_and_marked(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with Session.open(str(path)) as session:
        session.append("note", {}, ignorable=True)
        await session.commit()
        assert session.path == str(path)
        modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in names(tmp_path)}
        assert modes == dict.fromkeys(
            ["a.session", "a.session-shm", "a.session-wal", "a.session.lock"], 0o600
        )
    assert names(tmp_path) == ["a.session"]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA application_id").fetchone() == (0x636D6F64,)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()


async def test_data_is_readable_json_text_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        session.append("note", {"text": "é", "big": 2**80, "zero": -0.0}, ignorable=True)
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT seq, type, ignorable, data FROM events").fetchall()
    connection.close()
    assert rows == [(0, "note", 1, '{"text":"é","big":1208925819614629174706176,"zero":-0.0}')]


@pytest.mark.parametrize("name", ["with space ?#%.session", "ünï.session", os.fsdecode(b"\xff.session")])
async def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    await make(tmp_path / name)
    with Session.read(tmp_path / name) as log:
        assert [event.data for event in log.events()] == [{"n": 0}]
    assert names(tmp_path) == [name]


async def test_an_empty_file_becomes_a_session(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    path.touch()
    with pytest.raises(SessionError, match="has not become a session yet"):
        Session.read(path)
    await make(path, 2)
    with Session.read(path) as log:
        assert [event.data["n"] for event in log.events()] == [0, 1]


def rollback_database(path: Path) -> None:
    change(path, "CREATE TABLE mine (x)", "INSERT INTO mine VALUES (1)")


def wal_database(path: Path) -> None:
    rollback_database(path)
    sqlite3.connect(path).execute("PRAGMA journal_mode = WAL").connection.close()


def other_mark(path: Path) -> None:
    change(path, "PRAGMA application_id = 7")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (rollback_database, "is an SQLite database, but not a session"),
        (wal_database, "is an SQLite database, but not a session"),
        (other_mark, "is an SQLite database, but not a session"),
        (lambda path: path.write_text("Dear diary, " * 500), "is not a session; choose another"),
        (lambda path: path.write_text("x"), "is not a session; choose another"),
        (lambda path: path.mkdir(), "is not a file; choose another path"),
        (os.mkfifo, "is not a file; choose another path"),
    ],
)
async def test_what_is_no_session_is_refused_untouched(
    tmp_path: Path, write: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "a.session"
    write(path)
    before = path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b""
    with pytest.raises(SessionError, match=message):
        Session.read(path)
    with pytest.raises(SessionError, match=message):
        await make(path)
    assert (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") == before
    assert names(tmp_path) == ["a.session"]


async def test_a_crashed_foreign_database_is_left_for_its_owner(tmp_path: Path, child: Child) -> None:
    path = tmp_path / "other.db"
    source = (
        "import sqlite3, sys, time\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('PRAGMA journal_mode = WAL')\n"
        "connection.execute('CREATE TABLE mine (x)')\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = child(source, path)
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.wait()
    log = tmp_path / "other.db-wal"
    before = path.read_bytes(), log.read_bytes()
    assert before[1] != b""
    with pytest.raises(SessionError, match="not a session"):
        await make(path)
    assert (path.read_bytes(), log.read_bytes()) == before


async def test_a_missing_file_or_directory_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="there is no session at"):
        Session.read(tmp_path / "a.session")
    with pytest.raises(SessionError, match=r"No such file or directory.*choose a directory that exists"):
        await make(tmp_path / "nowhere" / "a.session")
    assert names(tmp_path) == []


# ------------------------------------------------------------------------------- versions and types


async def test_a_newer_file_is_refused_saying_so(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    await make(path)
    change(path, "PRAGMA user_version = 3")
    before = path.read_bytes()
    message = r"written by a newer version of codemode \(format 3; this one knows formats up to 2\)"
    with pytest.raises(SessionError, match=message):
        await make(path)
    with pytest.raises(SessionError, match=message):
        Session.read(path)
    assert path.read_bytes() == before


def version_1(path: Path) -> None:
    """Write a session as version 1 did; what it did is never edited."""
    change(
        path,
        "PRAGMA journal_mode = WAL",
        "CREATE TABLE events (seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, type TEXT NOT NULL, "
        "ignorable INTEGER NOT NULL, data TEXT NOT NULL)",
        "CREATE TABLE event_types (type TEXT NOT NULL, ignorable INTEGER NOT NULL, "
        "PRIMARY KEY (type, ignorable)) WITHOUT ROWID",
        "PRAGMA application_id = 0x636D6F64",
        "PRAGMA user_version = 1",
        """INSERT INTO events VALUES (0, 5000, 'tool/call', 0,
            '{"callId":"c","name":"run_code","arguments":{"code":"return 1","description":"d"}}')""",
        """INSERT INTO events VALUES (1, 5001, 'run/start', 0, '{"callId":"c","programHash":"00"}')""",
        """INSERT INTO events VALUES (2, 5002, 'note', 1, '{"n":2}')""",
        """INSERT INTO event_types VALUES ('tool/call', 0), ('run/start', 0), ('note', 1)""",
    )


async def test_a_session_that_version_1_wrote_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    version_1(path)
    before = path.read_bytes()
    with Session.read(path) as log:
        assert [(event.seq, event.time, event.type) for event in log.events()] == [
            (0, 5000, "tool/call"),
            (1, 5001, "run/start"),
            (2, 5002, "note"),
        ]
        assert log.first_seq == 0
    assert path.read_bytes() == before
    assert names(tmp_path) == ["a.session"]


async def test_a_session_that_version_1_wrote_is_opened_closed_off_and_can_be_trimmed(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    version_1(path)
    with Session.read(path) as log:
        async with Session.open(path) as session:
            assert [(event.seq, event.time, event.type) for event in session.recovered] == [
                (3, 5002, "run/end"),
                (4, 5002, "tool/result"),
                (5, 5002, "session/recovered"),
            ]
            note = session.append("note", {"n": 6}, ignorable=True)
            assert note.seq == 6
            assert len(list(log.events())) == 6  # a reader from before goes on
            assert await session.trim(max_bytes=10) == 6
            assert [event.data for event in log.events()] == [{"n": 6}]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    facts = dict(connection.execute("SELECT name, value FROM facts"))
    assert facts == {"first_seq": 6, "settled_seq": 7, "dropped_time": 5002}
    connection.close()


async def test_an_older_file_is_brought_up_to_date_by_its_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.session"
    await make(path, 3)

    def version_3(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE labels (seq INTEGER PRIMARY KEY, label TEXT)")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, version_3))
    with Session.read(path) as log:
        assert [event.data["n"] for event in log.events()] == [0, 1, 2]
    monkeypatch.setattr("codemode.session.database.OLDEST_READABLE", 3)
    with pytest.raises(SessionError, match="older format 2; open it for writing once"):
        Session.read(path)
    async with Session.open(path) as session:
        assert [event.data["n"] for event in session.events()] == [0, 1, 2]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (3,)
    assert connection.execute("SELECT * FROM labels").fetchall() == []
    connection.close()


async def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.session"
    await make(path, 3)

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM events")
        connection.execute("INSERT INTO nowhere VALUES (1)")

    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, broken))
        with pytest.raises(SessionError, match="no such table: nowhere"):
            await make(path)
    with Session.read(path) as log:
        assert [event.data["n"] for event in log.events()] == [0, 1, 2]
    assert names(tmp_path) == ["a.session"]


async def test_unknown_events_are_refused_unless_they_are_ignorable(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    await make(path)
    change(
        path,
        "INSERT INTO events VALUES (1, 2e12, 'turn/rewind', 0, '{}')",
        "INSERT INTO event_types VALUES ('turn/rewind', 0)",
    )
    with pytest.raises(SessionError, match="unknown type of event 'turn/rewind'"):
        Session.read(path)
    with pytest.raises(SessionError, match="unknown type of event 'turn/rewind'"):
        await make(path)
    change(path, "UPDATE events SET ignorable = 1", "DELETE FROM event_types WHERE ignorable = 0")
    with Session.read(path) as log:
        assert [(event.type, event.ignorable) for event in log.events()] == [
            ("note", True),
            ("turn/rewind", True),
        ]


async def test_an_unknown_event_that_arrives_later_is_refused_where_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    await make(path, 2)
    with Session.read(path) as log:
        change(path, "INSERT INTO events VALUES (2, 2e12, 'turn/rewind', 0, '{}')")
        events = log.events()
        assert [next(events).seq, next(events).seq] == [0, 1]
        with pytest.raises(SessionError, match=r"a\.session, event 2: unknown type of event 'turn/rewind'"):
            next(events)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("UPDATE events SET data = '{\"n\":' WHERE seq = 1", "is damaged: event 1"),
        (
            "UPDATE events SET data = '[]' WHERE seq = 1",
            r"is damaged: event 1 \(its data is not a JSON object\)",
        ),
        ("UPDATE events SET data = x'00ff' WHERE seq = 1", "is damaged: event 1"),
        ("DELETE FROM events WHERE seq = 1", "is damaged: event 1 is missing"),
        ("DROP TABLE events", "no such table: events"),
    ],
)
async def test_damage_is_said_where_it_is(tmp_path: Path, damage: str, message: str) -> None:
    path = tmp_path / "a.session"
    await make(path, 3)
    change(path, damage)
    with Session.read(path) as log, pytest.raises(SessionError, match=message):
        list(log.events())


async def test_a_writer_misses_events_that_were_taken_from_its_file(tmp_path: Path) -> None:
    async with Session.open(tmp_path / "a.session") as session:
        for n in range(3):
            session.append("note", {"n": n}, ignorable=True)
        await session.commit()
        change(tmp_path / "a.session", "DELETE FROM events WHERE seq = 2")
        with pytest.raises(SessionError, match="is damaged: event 2 is missing"):
            list(session.events())


# ------------------------------------------------------------------------------------------ one writer


async def test_a_second_writer_is_refused_and_the_first_goes_on(tmp_path: Path, child: Child) -> None:
    path = tmp_path / "a.session"
    (tmp_path / "link.session").symlink_to(path)
    async with Session.open(path) as session:
        for name in ("a.session", "link.session"):
            with pytest.raises(SessionError, match="is open for writing in this process"):
                await make(tmp_path / name)
        source = (
            "import sys, trio\n"
            "from codemode.session import Session\n"
            "async def main():\n"
            "    try:\n"
            "        async with Session.open(sys.argv[1]): pass\n"
            "    except Exception as error: print(type(error).__name__, error)\n"
            "trio.run(main)\n"
        )
        output, _ = await trio.to_thread.run_sync(child(source, path).communicate)
        assert output.startswith(
            f"SessionError session {path} is open for writing by process {os.getpid()}, "
        )
        assert "Session.read" in output
        session.append("note", {"n": 0}, ignorable=True)
        await session.commit()
    await make(path)
    assert names(tmp_path) == ["a.session", "link.session"]


HOLDER = r"""
import os, sys, time
from codemode.session.database import DatabaseWriter

writer = DatabaseWriter(sys.argv[1])
if os.fork() == 0:
    try:
        writer.write([(0, 0, "note", 1, "{}")])
    except Exception as error:
        os.write(1, f"forked {os.getpid()} {error}\n".encode())
    time.sleep(20)
    os._exit(0)
os.write(1, f"ready {os.getpid()}\n".encode())
time.sleep(20)
"""


async def test_the_writers_place_ends_with_its_process_though_a_forked_child_lives_on(
    tmp_path: Path, child: Child
) -> None:
    path = tmp_path / "a.session"
    process = child(HOLDER, path)
    assert process.stdout is not None
    lines = {process.stdout.readline(), process.stdout.readline()}
    assert f"ready {process.pid}\n" in lines
    assert any("from a forked process" in line for line in lines)
    with pytest.raises(SessionError, match=f"by process {process.pid}"):
        await make(path)
    forked = next(int(line.split()[1]) for line in lines if line.startswith("forked"))
    try:
        process.kill()
        process.wait()
        await make(path)
    finally:
        os.kill(forked, signal.SIGKILL)
    with Session.read(path) as log:
        assert [event.data for event in log.events()] == [{"n": 0}]


# ------------------------------------------------------------------------------------------- readers

FOLLOWER = """
import sys, time
from codemode.session import Session

with Session.read(sys.argv[1]) as log:
    print("ready", flush=True)
    seen = []
    until = time.monotonic() + 10
    while len(seen) < 400 and time.monotonic() < until:
        seen = [event.data["n"] for event in log.events()]
        assert seen == list(range(len(seen))), seen
        assert len(seen) % 4 == 0, len(seen)
print(len(seen))
"""


async def test_readers_in_other_processes_see_whole_commits_while_they_are_made(
    tmp_path: Path, child: Child
) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        processes = [child(FOLLOWER, path) for _ in range(2)]
        for process in processes:
            assert process.stdout is not None
            assert await trio.to_thread.run_sync(process.stdout.readline) == "ready\n"
        for n in range(0, 400, 4):
            for part in range(4):
                session.append("note", {"n": n + part}, ignorable=True)
            await session.commit()
        for process in processes:
            output, errors = await trio.to_thread.run_sync(process.communicate)
            assert (output, errors) == ("400\n", "")
    assert names(tmp_path) == ["a.session"]


async def test_a_reader_that_is_the_last_to_leave_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        log = Session.read(path)
        session.append("tool/code-dispatch", END)
    assert [event.data for event in log.events()] == [END]
    log.close()
    log.close()
    with pytest.raises(SessionError, match="closed"):
        next(log.events())
    assert names(tmp_path) == ["a.session"]


async def test_a_reader_pages_through_many_events_by_place_and_type(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with Session.open(path) as session:
        for n in range(1500):
            session.append("even" if n % 2 == 0 else "odd", {"n": n}, ignorable=True)
    with Session.read(path) as log:
        assert log.path == str(path)
        assert [event.seq for event in log.events()] == list(range(1500))
        assert [event.seq for event in log.events(since=700, types=["odd"])] == list(range(701, 1500, 2))
        assert [event.seq for event in log.events(types={"odd", "even"})] == list(range(1500))
        assert [event.seq for event in log.events(types=[])] == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are counted through /proc")
async def test_nothing_stays_open(tmp_path: Path) -> None:
    await make(tmp_path / "warm-up.session")
    (tmp_path / "foreign").write_text("Dear diary, " * 500)
    before = set(os.listdir("/proc/self/fd"))
    for n in range(20):
        async with Session.open(tmp_path / f"{n}.session") as session:
            session.append("note", {}, ignorable=True)
            with pytest.raises(SessionError):
                await make(tmp_path / f"{n}.session")
            with Session.read(tmp_path / f"{n}.session"):
                pass
        for path in (tmp_path / "foreign", tmp_path, tmp_path / "missing" / "a"):
            with pytest.raises(SessionError):
                await make(path)
            with pytest.raises(SessionError):
                Session.read(path)
    assert set(os.listdir("/proc/self/fd")) == before
    assert names(tmp_path) == sorted(["foreign", "warm-up.session", *(f"{n}.session" for n in range(20))])
