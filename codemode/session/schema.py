"""What a session file looks like inside: its marks, its tables, and how older files are brought up to date.

Only SQL about structure lives here; what is written into the tables and read from them is in `database`.

A file is marked with an application id and with the version of its tables (`PRAGMA user_version`). Each
migration brings a file one version further, in one transaction; none is ever edited once released.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from codemode.errors import SessionError

__all__ = ["APPLICATION_ID", "MIGRATIONS", "OLDEST_READABLE", "migrate", "version_of"]

APPLICATION_ID = 0x636D6F64  # "cmod"


def _version_1(connection: sqlite3.Connection) -> None:
    connection.execute(
        """
        CREATE TABLE events (
            seq       INTEGER PRIMARY KEY,  -- from 0, without gaps
            time      INTEGER NOT NULL,     -- milliseconds since 1970, never going back
            type      TEXT    NOT NULL,
            ignorable INTEGER NOT NULL,     -- 1: readers that do not know the type may skip the event
            data      TEXT    NOT NULL      -- a JSON object
        )
        """
    )
    # Which types occur at all, so that a file with unknown ones is refused without reading all of it.
    connection.execute(
        """
        CREATE TABLE event_types (
            type      TEXT    NOT NULL,
            ignorable INTEGER NOT NULL,
            PRIMARY KEY (type, ignorable)
        ) WITHOUT ROWID
        """
    )


def _version_2(connection: sqlite3.Connection) -> None:
    # What is known of the events as a whole. A name that is not there stands for 0, as in version 1:
    #   first_seq     the place of the first event that is kept; retention has dropped those before it
    #   dropped_time  when the last of the dropped ones happened
    #   settled_seq   everything that began before this place has ended before it
    connection.execute("CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_version_1, _version_2)
"""The n-th brings a file from version n to n + 1; a new file starts at 0."""

OLDEST_READABLE = 1
"""The oldest version that can be read as it is, without being brought up to date first."""


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of a session file's tables; 0 means an empty database, to become a session.

    Changes nothing. Raises `SessionError` for a database that is something else, or newer than this code.
    """
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark == 0 and version == 0 and objects == 0:
        return 0
    if mark != APPLICATION_ID:
        raise SessionError(f"{path} is an SQLite database, but not a session; choose another file")
    if version > len(MIGRATIONS):
        raise SessionError(
            f"session {path} was written by a newer version of codemode (format {version}; this one knows "
            f"formats up to {len(MIGRATIONS)}); use that version, or export it there as JSON lines"
        )
    return int(version)


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring a session file, or an empty one, to the current version; each step happens whole or not at all.

    Raises `SessionError` as `version_of` does, and whatever SQLite raises; the file is then at the last
    version it reached.
    """
    version = version_of(connection, path)
    for reached, step in enumerate(MIGRATIONS[version:], start=version + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            step(connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {reached}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
