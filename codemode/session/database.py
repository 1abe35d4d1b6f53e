"""The session file: opening it, and rows in and out, through SQLite.

Everything here blocks and knows no trio; `store` decides in which thread it runs. Everything that goes wrong
leaves as a `SessionError` that says what was being done, to which file, and what can be done about it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import quote

from codemode.errors import SessionError
from codemode.session.events import Event, check_type, from_text
from codemode.session.lock import WriterLock
from codemode.session.pairs import KEYS, Outline, key_in_text
from codemode.session.schema import OLDEST_READABLE, migrate, version_of

__all__ = ["DatabaseReader", "DatabaseWriter", "Row"]

Row: TypeAlias = tuple[int, int, str, int, str]
"""`seq, time, type, ignorable, data`, the data as JSON text."""

_PAGE = 256  # rows fetched at a time, so that no read transaction lives longer than that takes

_SET_FACT = "INSERT OR REPLACE INTO facts VALUES (?, ?)"

_BUSY_SECONDS = 5.0  # how long another program's lock is waited for

_CURES = (
    ("SQLITE_FULL", "free some space on that disk, then commit again"),
    ("SQLITE_BUSY", "another program (a backup, an SQLite shell) has locked the file: end it and try again"),
    ("SQLITE_READONLY", "give yourself permission to write the file and its directory"),
    ("SQLITE_CANTOPEN", "check that the directory exists and that you may read and write in it"),
    ("SQLITE_PERM", "give yourself permission to read and write the file"),
    ("SQLITE_AUTH", "give yourself permission to read and write the file"),
    ("SQLITE_NOTADB", "the file is not a session; choose another"),
    ("SQLITE_CORRUPT", "the file is damaged; `sqlite3 FILE .recover` saves what can be read"),
    ("SQLITE_IOERR", "check the disk: its health, its free space, the limits on the size of files"),
    ("SQLITE_NOMEM", "the machine is out of memory"),
)


class DatabaseReader:
    """Read a session file. Any number may do so while one writer writes; close each from the thread that ends it.

    Raises `SessionError` if the file does not exist, is no session, or is of another version.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        with _explained("read", path):
            version = _inspect(path)
        if version == 0:
            raise SessionError(f"{path} is empty; it has not become a session yet")
        if version < OLDEST_READABLE:
            raise SessionError(
                f"session {path} has the older format {version}; open it for writing once, which updates it"
            )
        with _explained("read", path):
            self._connection = _connect(path)
            try:
                self._connection.execute("PRAGMA query_only = ON")
                _refuse_unknown_types(self._connection, path)
            except BaseException:
                self._connection.close()
                raise

    def events(self, since: int, end: int | None, types: Collection[str] | None) -> Iterator[Event]:
        """Yield the stored events with `since <= seq < end` (all there are when `end` is None), in order.

        What retention has dropped is passed over. Raises `SessionError` for an event that is unknown and not
        ignorable, damaged, missing, or dropped by retention while the ones around it were being read.
        """
        for row in self._rows("seq, time, type, ignorable, data", since, end, types):
            yield self._event(row)

    def outline(self, since: int, end: int | None = None) -> Iterator[Outline]:
        """Yield what is needed to see which stored events belong together, in order; as `events` does."""
        paired = ", ".join(f"'{kind}'" for kind in KEYS)
        columns = f"seq, time, type, length(CAST(data AS BLOB)), CASE WHEN type IN ({paired}) THEN data END"
        for seq, time, kind, size, text in self._rows(columns, since, end, None):
            try:
                yield seq, time, kind, size, None if text is None else key_in_text(kind, text)
            except (ValueError, TypeError) as error:
                raise self._damaged(seq, error) from error

    def fact(self, name: str) -> int:
        """Return what is known of the events as a whole, by its name in `schema`; 0 when nothing is."""
        with _explained("read", self._path):
            return _fact(self._connection, name)

    def next_seq(self) -> int:
        """Return the place after the last stored event, or where the session begins when none is stored."""
        with _explained("read", self._path):
            (last,) = self._connection.execute("SELECT max(seq) FROM events").fetchone()
        return self.fact("first_seq") if last is None else int(last) + 1

    def close(self) -> None:
        """Close the file. Harmless when it is closed."""
        self._connection.close()

    def _rows(
        self, columns: str, since: int, end: int | None, types: Collection[str] | None
    ) -> Iterator[tuple[Any, ...]]:
        started = False
        expected = max(since, self.fact("first_seq"))
        while True:
            rows = self._page(columns, expected, end, types)
            for row in rows:
                if types is None and row[0] != expected:
                    self._check_gap(expected, row[0], started)
                expected = row[0] + 1
                started = True
                yield row
            if len(rows) < _PAGE:
                break
        if types is None and end is not None and expected < end:
            self._check_gap(expected, end, started)

    def _page(self, columns: str, since: int, end: int | None, types: Collection[str] | None) -> list[Any]:
        query = f"SELECT {columns} FROM events WHERE seq >= ?"
        values: list[int | str] = [since]
        if end is not None:
            query += " AND seq < ?"
            values.append(end)
        if types is not None:
            query += f" AND type IN ({', '.join('?' * len(types))})"
            values.extend(types)
        with _explained("read", self._path):
            return self._connection.execute(f"{query} ORDER BY seq LIMIT {_PAGE}", values).fetchall()

    def _check_gap(self, expected: int, found: int, started: bool) -> None:
        """Raise `SessionError` unless retention explains why nothing is there from `expected` to `found`."""
        first = self.fact("first_seq")
        if first < found:
            raise SessionError(f"session {self._path} is damaged: event {max(expected, first)} is missing")
        if started:
            raise SessionError(
                f"events of session {self._path} were dropped by retention while they were being read; read again"
            )

    def _damaged(self, seq: int, error: Exception) -> SessionError:
        return SessionError(f"session {self._path} is damaged: event {seq} ({error})")

    def _event(self, row: Row) -> Event:
        seq, time, kind, ignorable, text = row
        try:
            check_type(kind, bool(ignorable))
            data = from_text(text)
            if not isinstance(data, dict):
                raise TypeError("its data is not a JSON object")
            return Event(seq, time, kind, data, bool(ignorable))
        except SessionError as error:
            raise SessionError(f"session {self._path}, event {seq}: {error}") from None
        except (ValueError, TypeError) as error:
            raise self._damaged(seq, error) from error


class DatabaseWriter:
    """Write a session file: the one writer, from here to `close`. Creates the file (mode 0600) if there is none.

    Raises `SessionError` if there is a writer already, or the file is no session, newer, or cannot be written;
    a file that is refused has not been touched.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = WriterLock(path)
        try:
            with _explained("open", path):
                self._open()
        except BaseException:
            self._lock.release()
            raise

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    def _open(self) -> None:
        _create(self._path)
        _inspect(self._path)
        self._identity = os.stat(self._path)
        self._connection = _connect(self._path)
        try:
            (mode,) = self._connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise SessionError(
                    f"cannot write session {self._path}: no write-ahead log on this file system"
                )
            self._connection.execute("PRAGMA synchronous = FULL")
            # Only macOS has more than one kind of fsync; the ordinary one stops at the drive's cache there.
            self._connection.execute("PRAGMA fullfsync = ON")
            migrate(self._connection, self._path)
            _refuse_unknown_types(self._connection, self._path)
            self._types = set(self._connection.execute("SELECT type, ignorable FROM event_types"))
            self._facts: dict[str, int] = dict(self._connection.execute("SELECT name, value FROM facts"))
            last = self._connection.execute(
                "SELECT seq, time FROM events ORDER BY seq DESC LIMIT 1"
            ).fetchone()
        except BaseException:
            self._connection.close()
            raise
        self.next_seq: int = last[0] + 1 if last else self.fact("first_seq")
        """The place of the first event to come, as found on opening."""
        self.last_time: int = last[1] if last else self.fact("dropped_time")
        """When the last stored event happened, in milliseconds, as found on opening."""

    def fact(self, name: str) -> int:
        """Return what is known of the events as a whole, by its name in `schema`; 0 when nothing is."""
        return self._facts.get(name, 0)

    def write(self, rows: Sequence[Row], facts: Mapping[str, int] = MappingProxyType({})) -> None:
        """Store rows and facts, durably, all or none. Writing rows again that are stored changes nothing.

        Raises `SessionError`; the rows may then be written again, whether or not they had reached the disk.
        """
        with _explained("write", self._path):
            self._check_place()
            connection = self._connection
            types = {(row[2], row[3]) for row in rows} - self._types
            changed = facts.items() - self._facts.items()
            with _transaction(connection):
                connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", self._unstored(rows))
                connection.executemany("INSERT OR IGNORE INTO event_types VALUES (?, ?)", types)
                connection.executemany(_SET_FACT, changed)
            self._types |= types
            self._facts.update(facts)

    def drop(self, before: int) -> None:
        """Drop the events with `seq < before`, durably, all or none.

        Raises `SessionError`; all of them are still there then, unless it was the answer that got lost.
        """
        with _explained("write", self._path):
            self._check_place()
            connection = self._connection
            with _transaction(connection):
                (time,) = connection.execute(
                    "SELECT max(time) FROM events WHERE seq < ?", (before,)
                ).fetchone()
                connection.execute("DELETE FROM events WHERE seq < ?", (before,))
                connection.execute("DELETE FROM event_types")
                connection.execute("INSERT INTO event_types SELECT DISTINCT type, ignorable FROM events")
                facts = {"first_seq": before, "dropped_time": time or self.fact("dropped_time")}
                connection.executemany(_SET_FACT, facts.items())
            self._types = set(connection.execute("SELECT type, ignorable FROM event_types"))
            self._facts.update(facts)

    def give_back_space(self) -> None:
        """Give the disk what dropped events have left, if anything; it needs room for a copy of what is kept.

        Raises `SessionError`, as for a disk that is too full for the copy; no event is lost, and it can be
        done again.
        """
        with _explained("compact", self._path):
            self._check_place()
            (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
            if free:
                self._connection.execute("VACUUM")
            # Readers may hold it up; what is left of the log then goes when the session is closed.
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _unstored(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the rows that are not in the file: all, unless an earlier attempt failed after it had succeeded."""
        stored = self._connection.execute("SELECT * FROM events WHERE seq >= ?", (rows[0][0],)).fetchall()
        if stored != list(rows[: len(stored)]):
            raise SessionError(
                f"cannot write session {self._path}: another program has added events to it, although this "
                "one is its writer; reopen it"
            )
        return rows[len(stored) :]

    def _check_place(self) -> None:
        if not self._lock.held:
            raise SessionError(
                f"cannot write session {self._path} from a forked process; the process that opened it is its writer"
            )
        try:
            moved = not os.path.samestat(self._identity, os.stat(self._path))
        except FileNotFoundError:
            moved = True
        if moved:
            raise SessionError(
                f"cannot write session {self._path}: the file was moved, replaced or deleted; put it back and "
                "commit again"
            )

    def close(self) -> None:
        """Close the file and give the writer's place back. Harmless when it is closed."""
        try:
            self._connection.close()
        finally:
            self._lock.release()


# -------------------------------------------------------------------------------------------- opening


def _create(path: str) -> None:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return


def _inspect(path: str) -> int:
    """Return the version of a session file (0: empty), leaving what is in it and beside it as it was.

    Raises `SessionError` for anything that is not a session.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise SessionError(f"there is no session at {path}") from None
    if not stat.S_ISREG(found.st_mode):
        raise SessionError(f"{path} is not a file; choose another path")
    # What a crash left beside the file is for its owner to work in, so it is opened unwritable. Otherwise it is
    # opened writable, though never written, for only then does SQLite remove its own two side files again.
    left = any(os.path.exists(path + suffix) for suffix in ("-wal", "-journal"))
    with closing(_connect(path, "ro" if left else "rw")) as connection:
        connection.execute("PRAGMA query_only = ON")
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        if found.st_size and not pages:  # SQLite takes a file of one byte for an empty one
            raise SessionError(f"{path} is not a session; choose another file")
        return version_of(connection, path)


def _connect(path: str, mode: str = "rw") -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode={mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,  # transactions are begun and ended by name
        check_same_thread=False,  # worker threads take turns; `store` lets one in at a time
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _fact(connection: sqlite3.Connection, name: str) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < 2:
        return 0
    found = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return int(found[0]) if found else 0


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        raise


def _refuse_unknown_types(connection: sqlite3.Connection, path: str) -> None:
    for kind, ignorable in connection.execute("SELECT type, ignorable FROM event_types"):
        try:
            check_type(kind, bool(ignorable))
        except SessionError as error:
            raise SessionError(f"session {path}: {error}") from None


@contextmanager
def _explained(action: str, path: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        cure = next((cure for prefix, cure in _CURES if name.startswith(prefix)), "")
        raise SessionError(
            f"cannot {action} session {path}: {error}" + (f"; {cure}" if cure else "")
        ) from error
    except OSError as error:
        raise SessionError(
            f"cannot {action} session {path}: {error.strerror}; check the path and your permissions"
        ) from error
