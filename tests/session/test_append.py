"""Appending and reading back, in memory: what an event holds, what is refused, who is told."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio
import trio.testing

from codemode.errors import SessionError
from codemode.session import Event, Session, store
from codemode.values import FrozenDict, FrozenValueError, InvalidValue
from tests.session.conftest import END, START


async def test_events_count_from_zero_and_come_back_in_order() -> None:
    async with Session.open(None) as session:
        appended = [session.append("note", {"n": n}, ignorable=True) for n in range(5)]
        assert [event.seq for event in appended] == [0, 1, 2, 3, 4]
        assert [event.data for event in session.events()] == [{"n": n} for n in range(5)]
        assert list(session.events()) == appended
        assert session.next_seq == 5


async def test_events_can_be_asked_for_from_a_place_on_and_by_type() -> None:
    async with Session.open(None) as session:
        session.append("tool/code-dispatch-start", START)
        session.append("note", {}, ignorable=True)
        session.append("tool/code-dispatch", END)
        assert [event.seq for event in session.events(since=1)] == [1, 2]
        assert [event.seq for event in session.events(types=["tool/code-dispatch", "note"])] == [1, 2]
        assert [event.seq for event in session.events(since=2, types={"note"})] == []
        assert [event.seq for event in session.events(types="note")] == [1]
        assert [event.seq for event in session.events(since=7)] == []


async def test_an_iterator_yields_the_events_there_were_when_it_was_asked_for() -> None:
    async with Session.open(None) as session:
        session.append("note", {"n": 0}, ignorable=True)
        events = session.events()
        session.append("note", {"n": 1}, ignorable=True)
        assert [event.data["n"] for event in events] == [0]


async def test_data_is_a_detached_frozen_copy() -> None:
    async with Session.open(None) as session:
        data: dict[str, Any] = {"list": [1, 2]}
        event = session.append("note", data, ignorable=True)
        data["list"].append(3)
        assert event.data == {"list": [1, 2]}
        assert type(event.data) is FrozenDict
        with pytest.raises(FrozenValueError):
            event.data["list"].append(3)


async def test_time_is_in_milliseconds_and_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([5_000_999_999, 4_000_000_000, 6_000_000_000])
    monkeypatch.setattr(store, "time_ns", lambda: next(clock))
    async with Session.open(None) as session:
        assert [session.append("note", {}, ignorable=True).time for _ in range(3)] == [5000, 5000, 6000]


# ------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        ("tool/code-dispatch", {**END, "value": 1}, "unknown field `value`"),
        ("tool/code-dispatch", {**END, "meta": {}}, "unknown field `meta`"),
        ("tool/code-dispatch-start", {**START, "isError": False}, "unknown field `isError`"),
        ("tool/code-dispatch", START, "missing required field `content`"),
        ("tool/code-dispatch", {**END, "isError": 0}, r"Expected `bool`, got `int` - at `\$.isError`"),
        ("tool/code-dispatch", {**END, "content": [{"type": "video"}]}, r"at `\$.content\[0\].type`"),
        (
            "tool/call",
            {"callId": "c", "name": "read"},
            "its fields are callId, name, arguments, turn\\?, step\\?, startLogged\\?",
        ),
        ("run/start", {"callId": "c", "program_hash": "00"}, "unknown field `program_hash`"),
        ("run/end", [], "Expected `object`, got `array`"),
        ("turn/start", {"turn": "1"}, r"Expected `int`, got `str` - at `\$\.turn`"),
        ("user/message", {"message": "go"}, r"Expected `object`, got `str` - at `\$\.message`"),
        ("assistant/message", {"message": {}, "usage": {}}, "unknown field `usage`"),
    ],
)
async def test_data_of_a_known_type_has_its_fields_and_no_others(kind: str, data: Any, message: str) -> None:
    async with Session.open(None) as session:
        with pytest.raises(SessionError, match=message):
            session.append(kind, data)
        assert session.next_seq == 0


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("run/start", {"callId": "c", "programHash": "00"}),
        ("run/start", {"callId": "c", "programHash": "00", "signaturesHash": "ff"}),
        ("run/end", {"callId": "c", "outcome": "timeout"}),
        ("run/end", {"callId": "c", "outcome": "interrupted", "recovered": True}),
        ("run/reuse", {"callId": "c", "subCallId": "c:1", "fromSubCallId": "b:1"}),
        ("turn/start", {"turn": 1}),
        ("turn/end", {"turn": 1, "reason": "completed"}),
        ("turn/end", {"turn": 1, "reason": "error", "detail": {"message": "no", "code": None}}),
        ("user/message", {"message": {"id": "m", "role": "user", "content": [{}]}}),
        ("assistant/message", {"message": {"content": []}, "turn": 1, "step": 2}),
        ("session/recovered", {"closed": 3}),
        ("tool/call", {"callId": "c", "name": "read", "arguments": {}, "startLogged": True}),
        ("tool/start", {"callId": "c"}),
        ("tool/call", {"callId": "c", "name": "read", "arguments": "{not json"}),
        ("tool/call", {"callId": "c", "name": "read", "arguments": {}, "turn": 0, "step": 1}),
        ("tool/result", {"callId": "c", "content": [], "isError": False, "meta": None}),
        (
            "tool/result",
            {"callId": "c", "content": [], "isError": True, "error": {"name": "E", "code": None}},
        ),
        ("tool/code-dispatch-start", START),
        ("tool/code-dispatch", END),
        (
            "tool/code-dispatch",
            {**END, "content": [{"type": "image", "data": "aGk=", "mediaType": "image/png"}]},
        ),
    ],
)
async def test_data_of_a_known_type_is_stored_as_it_was_given(kind: str, data: Any) -> None:
    async with Session.open(None) as session:
        assert session.append(kind, data).data == data


async def test_an_unknown_type_is_accepted_only_as_ignorable() -> None:
    async with Session.open(None) as session:
        with pytest.raises(SessionError, match=r"unknown type of event 'note'.*ignorable=True"):
            session.append("note", {})
        assert session.append("note", {}, ignorable=True).ignorable is True
        with pytest.raises(SessionError, match="'run/end' cannot be ignorable"):
            session.append("run/end", {"callId": "c", "outcome": "ok"}, ignorable=True)


@pytest.mark.parametrize("kind", ["", "\ud800", 5, None])
async def test_a_type_is_text(kind: Any) -> None:
    async with Session.open(None) as session:
        with pytest.raises(SessionError, match="the type of an event is text"):
            session.append(kind, {}, ignorable=True)


async def test_data_that_is_no_json_object_is_refused_and_leaves_nothing() -> None:
    async with Session.open(None) as session:
        with pytest.raises(InvalidValue, match=r"data\.rows\[1\]: set is not a JSON value"):
            session.append("note", {"rows": [1, set()]}, ignorable=True)
        with pytest.raises(SessionError, match="is a JSON object"):
            session.append("note", [1], ignorable=True)
        assert list(session.events()) == []


async def test_a_closed_session_refuses_everything() -> None:
    async with Session.open(None) as session:
        session.append("note", {}, ignorable=True)
    with pytest.raises(SessionError, match="closed"):
        session.append("note", {}, ignorable=True)
    with pytest.raises(SessionError, match="closed"):
        session.events()
    with pytest.raises(SessionError, match="closed"):
        await session.commit()


async def test_another_thread_is_told_how_to_append() -> None:
    async with Session.open(None) as session:

        def directly() -> None:
            session.append("note", {"way": "directly"}, ignorable=True)

        def through_trio() -> None:
            trio.from_thread.run_sync(lambda: session.append("note", {"way": "trio"}, ignorable=True))

        with pytest.raises(SessionError, match=r"trio\.from_thread\.run_sync"):
            await trio.to_thread.run_sync(directly)
        await trio.to_thread.run_sync(through_trio)
        assert [event.data for event in session.events()] == [{"way": "trio"}]


# ------------------------------------------------------------------------------------------ observers


async def test_observers_are_told_in_order_until_removed() -> None:
    seen: list[tuple[str, int]] = []
    async with Session.open(None) as session:
        remove = session.observe(lambda event: seen.append(("first", event.seq)))
        session.observe(lambda event: seen.append(("second", event.seq)))
        session.append("note", {}, ignorable=True)
        remove()
        session.append("note", {}, ignorable=True)
    assert seen == [("first", 0), ("second", 0), ("second", 1)]


async def test_an_observer_that_raises_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Event] = []

    def broken(event: Event) -> None:
        raise RuntimeError("no screen")

    async with Session.open(None) as session:
        session.observe(broken)
        session.observe(seen.append)
        with caplog.at_level(logging.ERROR, "codemode.session"):
            event = session.append("note", {}, ignorable=True)
    assert seen == [event]
    assert "an observer failed at event 0 (note)" in caplog.text
    assert "no screen" in caplog.text


async def test_an_observer_cannot_append(caplog: pytest.LogCaptureFixture) -> None:
    def again(event: Event) -> None:
        session.append("note", {"again": True}, ignorable=True)

    async with Session.open(None) as session:
        session.observe(again)
        session.append("note", {}, ignorable=True)
        session.append("note", {}, ignorable=True)
        assert [event.data for event in session.events()] == [{}, {}]
    assert "an observer cannot append" in caplog.text


async def test_a_commit_in_memory_is_a_checkpoint_and_stores_nothing() -> None:
    async with Session.open(None) as session:
        session.append("note", {}, ignorable=True)
        with trio.testing.assert_checkpoints():
            await session.commit()
        assert (session.path, session.committed, session.pending_bytes) == (None, 0, 0)
