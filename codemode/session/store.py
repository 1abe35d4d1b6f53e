"""Sessions: an append-only list of events, with one writer and many readers. The order of things is decided here.

`append` is synchronous and stays in memory; `commit` makes everything appended so far durable, in a worker
thread. How events lie in a file is `database`'s matter; what an event may hold is `events`'; what is added when
an earlier writer crashed, `recovery`'s; what `trim` may drop, `retention`'s.

Memory: a session with a file holds what is not committed yet, twice (the event and its text), and nothing
else. Whoever appends without an end looks at `pending_bytes` and commits. A session without a file holds all
its events for as long as it lives.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import chain, islice
from threading import get_ident
from time import time_ns
from types import TracebackType
from typing import TypeAlias

import trio

from codemode.errors import SessionError
from codemode.session.database import DatabaseReader, DatabaseWriter, Row
from codemode.session.events import MAX_TIME, Event, check_event, to_text
from codemode.session.pairs import KEYS, Unfinished
from codemode.session.recovery import closing_events
from codemode.session.retention import place_to_cut
from codemode.values import JSON, freeze

__all__ = ["Observer", "Session", "SessionReader"]

Observer: TypeAlias = Callable[[Event], None]

MAX_EVENT_BYTES = 512 * 1024 * 1024
"""Of an event's data as JSON text, in a session with a file. SQLite's own bound is 10⁹ bytes for a row."""

_log = logging.getLogger("codemode.session")


class Session:
    """The log of one conversation, open for writing. Get one from `Session.open`.

    Everything but `commit` is synchronous. Appending belongs to the thread that opened the session; other
    threads of a trio program go through `trio.from_thread.run_sync(session.append, type, data)`.
    """

    def __init__(
        self,
        writer: DatabaseWriter | None = None,
        reader: DatabaseReader | None = None,
        recovered: Sequence[Event] = (),
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._recovered = tuple(recovered)
        self._thread = get_ident()
        self._first_seq = writer.fact("first_seq") if writer else 0
        self._next_seq = (writer.next_seq if writer else 0) + len(recovered)
        self._last_time = writer.last_time if writer else 0
        # Recovery has closed everything, so nothing is unfinished in a session that has just been opened.
        self._unfinished = Unfinished()
        self._settled_seq = self._next_seq
        # What no commit has stored yet: the events and, with a file, their rows. A commit puts new lists in
        # place of these, so that an iterator can go on over the old ones; appending only makes them longer.
        self._pending: list[Event] = []
        self._rows: list[Row] = []
        self._pending_bytes = 0
        self._observers: tuple[Observer, ...] = ()
        self._notifying = False
        self._closed = False
        self._committing = trio.Lock()
        # Its own limiter: commits neither wait for tools that fill trio's worker threads, nor run two at a time.
        self._limiter = trio.CapacityLimiter(1)

    @classmethod
    @asynccontextmanager
    async def open(cls, path: str | os.PathLike[str] | None) -> AsyncIterator[Session]:
        """Open a session for writing, or make a new one; `None` keeps it in memory.

        What an earlier writer left unfinished, because it crashed, is closed first (see `recovery`) and can be
        seen in `recovered`. On leaving the block everything appended is committed and the file closed, also
        when the block is cancelled: that waits for the disk. The file (mode 0600) is opened and closed in a
        worker thread.

        Raises `SessionError` if the session has a writer already, here or in another process; if the file is
        something else, which is then left untouched; if it was written by a newer version, or holds events that
        this one does not know and may not skip; or if it cannot be read and written. On leaving, if the last
        commit fails; its events are then lost.
        """
        if path is None:
            session = cls()
        else:
            session = cls(*await trio.to_thread.run_sync(_open, path, limiter=trio.CapacityLimiter(1)))
        try:
            yield session
        finally:
            with trio.CancelScope(shield=True):
                await session._close()

    @staticmethod
    def read(path: str | os.PathLike[str]) -> SessionReader:
        """Open a session for reading only, beside whoever writes it; works without trio, and blocks briefly.

        Raises `SessionError` if there is no session at `path`, or it cannot be read by this version.
        """
        return SessionReader(path)

    @property
    def path(self) -> str | None:
        """The file, or None for a session in memory."""
        return self._writer.path if self._writer else None

    @property
    def recovered(self) -> tuple[Event, ...]:
        """What opening the session added to close what a crash had left unfinished; empty if there was nothing."""
        return self._recovered

    @property
    def first_seq(self) -> int:
        """The place of the first event that is kept; not 0 when `trim` has dropped those before it."""
        return self._first_seq

    @property
    def next_seq(self) -> int:
        """The place that the next event will have; also the number of events so far, with the dropped ones."""
        return self._next_seq

    @property
    def committed(self) -> int:
        """The place up to which events are durable: all with a smaller `seq`. Always 0 in memory."""
        return self._next_seq - len(self._pending)

    @property
    def pending_bytes(self) -> int:
        """How much waits for a commit: the size of its JSON text, in bytes. Always 0 for a session in memory."""
        return self._pending_bytes

    def append(self, type: str, data: JSON, *, ignorable: bool = False) -> Event:
        """Add an event and return it. Touches no disk; it becomes durable with the next `commit`.

        `data` is copied and frozen. `ignorable` is for types of your own: readers that do not know the type may
        skip it. Observers are told before this returns.

        Raises `values.InvalidValue` if `data` is not JSON; `SessionError` if the type is unknown and not
        ignorable, if the data of a known type has other fields than it should, from within an observer, in
        another thread, and on a closed session. Nothing has been added then.
        """
        self._check_may_append()
        frozen = freeze(data, root="data")
        check_event(type, frozen, ignorable)
        now = max(time_ns() // 1_000_000, self._last_time)
        event = Event(self._next_seq, now, type, frozen, ignorable)
        self._add(event, self._text(event))
        return event

    def restore(self, events: Iterable[Event], *, first_seq: int = 0) -> int:
        """Take over events of another log into this empty session, with their `seq` and `time`; return how many.

        All or none, held in memory until the next `commit`. `first_seq` is where a log begins whose earlier
        events were dropped. Raises `SessionError` if this session is not empty, the events do not count from
        `first_seq` or go back in time, or one of them could not have been appended.
        """
        self._check_may_append()
        if self._next_seq:
            raise SessionError(f"only an empty session can take over events; this one has {self._next_seq}")
        taken: list[tuple[Event, bytes]] = []
        time = 0
        for event in events:
            where = f"event {len(taken)} of what is to be taken over"
            if event.seq != first_seq + len(taken):
                raise SessionError(f"{where} has seq {event.seq}; they count from {first_seq} without gaps")
            if not time <= event.time <= MAX_TIME:
                raise SessionError(
                    f"{where} has time {event.time}, the one before it {time}; time never goes back"
                )
            frozen = freeze(event.data, root=f"event {event.seq}: data")
            check_event(event.type, frozen, event.ignorable)
            time = event.time
            copy = Event(event.seq, time, event.type, frozen, event.ignorable)
            taken.append((copy, self._text(copy)))
        if taken:
            self._first_seq = self._next_seq = first_seq
        for copy, text in taken:
            self._add(copy, text)
        return len(taken)

    def events(self, since: int = 0, types: Collection[str] | None = None) -> Iterator[Event]:
        """Iterate in order over the events from `since` on that there are now, committed or not.

        Those that `trim` has dropped are passed over; a `trim` while the iterator is under way may end it with
        an error. `types` keeps those of the given types. Stored events are read from the file in pages, as the iterator
        goes on; each page blocks for a moment, so walk a large log in a worker thread.

        Raises `SessionError` if the session is or gets closed, or the file is damaged.
        """
        if self._closed:
            raise SessionError("this session is closed; read it with Session.read")
        since = max(since, self._first_seq)
        wanted = _set_of(types)
        pending, first = self._pending, self.committed
        waiting: Iterator[Event] = islice(pending, max(since - first, 0), len(pending))
        if wanted is not None:
            waiting = filter(lambda event: event.type in wanted, waiting)
        if self._reader is None or since >= first:
            return iter(waiting)
        return chain(self._reader.events(since, first, wanted), waiting)

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` with every event from now on, as it is appended; return what ends that.

        Observers are called in the order in which they came, and cannot append. What one raises is logged
        (logger `codemode.session`) and goes no further.
        """
        self._observers = (*self._observers, observer)

        def remove() -> None:
            self._observers = tuple(other for other in self._observers if other is not observer)

        return remove

    async def commit(self) -> None:
        """Make everything appended so far durable: when this returns, it survives a crash of the machine.

        Commits that wait together become one. A session in memory has nothing to do here.

        Always a checkpoint. Cancelled before its write began, it wrote nothing; a write that has begun is waited
        for. Either way the events stay in order for the next commit, none twice.

        Raises `SessionError` if the file cannot be written (disk full, I/O error, locked, moved) or the session
        is closed; the events are kept, and the next commit tries them again.
        """
        if self._closed:
            raise SessionError("this session is closed; nothing more can be committed")
        await self._commit(self._next_seq)

    async def trim(self, *, max_age: float | None = None, max_bytes: int | None = None) -> int:
        """Drop the oldest events of a session with a file, give their space back, return how many they were.

        Dropped are whole calls and turns, from the front, that ended more than `max_age` seconds ago, and as
        many more as it takes to keep no more than `max_bytes` of JSON text (about what the file takes; each
        event costs some 40 bytes beside). What is unfinished is kept, and everything after it. Numbers do not
        change: `first_seq` says where the session begins now.

        Commits first, then reads at most the whole session, and writes what is kept anew, which needs as much
        free space. Always a checkpoint; once begun it is waited for, also when cancelled. A crash leaves either
        all of what was to be dropped or none of it; space not given back then is given back by the next trim.

        Raises `ValueError` for a bound that is negative or when there is none; `SessionError` for a session in
        memory or closed, and as `commit` does.
        """
        if max_age is None and max_bytes is None:
            raise ValueError("say how much to keep: max_age= in seconds, max_bytes=, or both")
        if not (max_age is None or max_age >= 0) or not (max_bytes is None or max_bytes >= 0):
            raise ValueError(f"max_age={max_age!r}, max_bytes={max_bytes!r}: neither can be negative")
        if self._closed:
            raise SessionError("this session is closed; nothing can be dropped from it")
        if self._writer is None or self._reader is None:
            raise SessionError(
                "a session in memory keeps all its events; only one with a file can be trimmed"
            )
        oldest = None if max_age is None else time_ns() / 1_000_000 - max_age * 1000
        await self._commit(self._next_seq)
        async with self._committing:
            before = self._first_seq
            try:
                await trio.to_thread.run_sync(
                    _trim, self._writer, self._reader, max_bytes, oldest, limiter=self._limiter
                )
            finally:  # it may have dropped events, and have failed to give back their space
                self._first_seq = self._writer.fact("first_seq")
            return self._first_seq - before

    async def _commit(self, end: int) -> None:
        async with self._committing:
            if self._writer is None or self.committed >= end:
                return
            rows, size = self._rows[:], self._pending_bytes
            facts = {"first_seq": self._first_seq, "settled_seq": self._settled_seq}
            await trio.to_thread.run_sync(self._writer.write, rows, facts, limiter=self._limiter)
            self._pending = self._pending[len(rows) :]
            self._rows = self._rows[len(rows) :]
            self._pending_bytes -= size

    async def _close(self) -> None:
        self._closed = True
        try:
            await self._commit(self._next_seq)
        finally:
            if self._writer is not None:
                await trio.to_thread.run_sync(self._close_files, limiter=self._limiter)

    def _close_files(self) -> None:
        # The writer last: the last to close a file is who clears away what SQLite keeps beside it.
        if self._reader is not None:
            self._reader.close()
        if self._writer is not None:
            self._writer.close()

    def _check_may_append(self) -> None:
        if self._closed:
            raise SessionError("this session is closed; nothing more can be appended")
        if self._notifying:
            raise SessionError("an observer cannot append: the others have not seen the event before it yet")
        if get_ident() != self._thread:
            raise SessionError(
                "only the thread that opened a session can append to it; from a worker thread use "
                "trio.from_thread.run_sync(session.append, type, data)"
            )

    def _text(self, event: Event) -> bytes:
        if self._writer is None:
            return b""
        text = to_text(event.data)
        if len(text) > MAX_EVENT_BYTES:
            raise SessionError(
                f"an event of {len(text):,} bytes; a session file takes {MAX_EVENT_BYTES:,} at most"
            )
        return text

    def _add(self, event: Event, text: bytes) -> None:
        if self._writer is not None:
            self._rows.append(_row(event, text))
            self._pending_bytes += len(text)
        self._pending.append(event)
        self._next_seq = event.seq + 1
        self._last_time = event.time
        if event.type in KEYS:
            self._unfinished.see(event.seq, event.type, event.data[KEYS[event.type]])
        if not self._unfinished:
            self._settled_seq = self._next_seq
        if self._observers:
            self._notify(event)

    def _notify(self, event: Event) -> None:
        self._notifying = True
        try:
            for observer in self._observers:
                try:
                    observer(event)
                except Exception:
                    _log.exception("an observer failed at event %d (%s)", event.seq, event.type)
        finally:
            self._notifying = False


class SessionReader:
    """A session open for reading only: a context manager, without trio. Get one from `Session.read`.

    It sees what has been committed, including what a writer commits while it is open.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.path.realpath(os.fspath(path))
        self._reader = DatabaseReader(self._path)

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    @property
    def first_seq(self) -> int:
        """The place of the first event that is kept; not 0 when the session was trimmed."""
        return self._reader.fact("first_seq")

    @property
    def next_seq(self) -> int:
        """The place that the next event will have that is committed."""
        return self._reader.next_seq()

    def events(self, since: int = 0, types: Collection[str] | None = None) -> Iterator[Event]:
        """Iterate in order over the committed events from `since` on, of the given types or of all.

        Ends after the last event that is committed by then. Raises `SessionError` if the reader is or gets
        closed, or the file is damaged or holds an event that this version does not know and may not skip.
        """
        wanted = _set_of(types)
        return self._reader.events(max(since, 0), None, wanted)

    def close(self) -> None:
        """Close the file. Harmless when it is closed."""
        self._reader.close()

    def __enter__(self) -> SessionReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _set_of(types: Collection[str] | None) -> frozenset[str] | None:
    if isinstance(types, str):  # a collection of characters, to Python
        return frozenset([types])
    return None if types is None else frozenset(types)


def _open(path: str | os.PathLike[str]) -> tuple[DatabaseWriter, DatabaseReader, list[Event]]:
    writer = DatabaseWriter(os.path.realpath(os.fspath(path)))
    try:
        reader = DatabaseReader(writer.path)
        try:
            return writer, reader, _recover(writer, reader)
        except BaseException:
            reader.close()
            raise
    except BaseException:
        writer.close()
        raise


def _recover(writer: DatabaseWriter, reader: DatabaseReader) -> list[Event]:
    """Close what a crash left unfinished, in one transaction, and return what was added for that."""
    unfinished = Unfinished()
    for seq, _, kind, _, key in reader.outline(writer.fact("settled_seq")):
        unfinished.see(seq, kind, key)

    def event_at(seq: int) -> Event:
        return next(reader.events(seq, seq + 1, None))

    events = closing_events(unfinished, event_at, writer.next_seq, writer.last_time)
    if events:
        rows = [_row(event, to_text(event.data)) for event in events]
        writer.write(rows, {"settled_seq": events[-1].seq + 1})
    return events


def _trim(
    writer: DatabaseWriter, reader: DatabaseReader, max_bytes: int | None, oldest: float | None
) -> None:
    total = sum(size for _, _, _, size, _ in reader.outline(0)) if max_bytes is not None else 0
    cut = place_to_cut(reader.outline(0), total_bytes=total, max_bytes=max_bytes, oldest=oldest)
    if cut:
        writer.drop(cut)
    writer.give_back_space()


def _row(event: Event, text: bytes) -> Row:
    return event.seq, event.time, event.type, int(event.ignorable), text.decode()
