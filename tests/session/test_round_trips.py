"""Properties: what goes into a file or into lines comes out equal, and order holds whatever is mixed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.errors import SessionError
from codemode.session import Event, Session, export_lines, import_lines
from codemode.values import MAX_INTEGER_BITS
from tests.session.conftest import END

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_largest = 2**MAX_INTEGER_BITS - 1
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, -(2**63) - 1, 2**64, 10**400, _largest, -_largest])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([-0.0, 5e-324, 1.7976931348623157e308, 1e16, 1e22])
    | _text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=4),
    max_leaves=15,
)
_data = st.dictionaries(_text, _json, max_size=4)


def same(left: Any, right: Any) -> bool:
    """Tell whether two JSON values are the same, `1` and `1.0`, `0.0` and `-0.0` being different."""
    return json.dumps(left) == json.dumps(right) and left == right


async def filled(path: Path | None, datas: Iterable[Any]) -> list[Event]:
    async with Session.open(path) as session:
        return [session.append("note", data, ignorable=True) for data in datas]


@settings(max_examples=80, deadline=None)
@given(st.lists(_data, min_size=1, max_size=8))
def test_events_come_out_of_a_file_as_they_went_in(datas: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "a.session")
        appended = trio.run(filled, path, datas)
        with Session.read(path) as log:
            read = list(log.events())
    assert read == appended
    assert all(same(event.data, data) for event, data in zip(read, datas, strict=True))


@settings(max_examples=80, deadline=None)
@given(st.lists(_data, max_size=8))
def test_events_come_out_of_lines_as_they_went_in(datas: list[Any]) -> None:
    async def through() -> list[Event]:
        async with Session.open(None) as session:
            assert import_lines(session, lines) == len(appended)
            return list(session.events())

    appended = trio.run(filled, None, datas)
    lines = list(export_lines(appended))
    assert all("\n" not in line for line in lines)
    read = trio.run(through)
    assert read == appended
    assert all(same(event.data, data) for event, data in zip(read, datas, strict=True))


def test_data_nested_as_deep_as_values_go_comes_back(tmp_path: Path) -> None:
    data: dict[str, Any] = {}
    for _ in range(199):
        data = {"in": data}
    trio.run(filled, tmp_path / "a.session", [data])
    with Session.read(tmp_path / "a.session") as log:
        events = list(log.events())
    assert same(events[0].data, data)

    async def back() -> None:
        async with Session.open(None) as session:
            import_lines(session, export_lines(events))
            assert list(session.events()) == events

    trio.run(back)


_steps = st.lists(
    st.sampled_from(["append", "append", "append", "commit", "commit in the background", "read", "reopen"]),
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(_steps, st.integers(0, 10))
def test_order_holds_whatever_is_mixed(steps: list[str], since: int) -> None:
    async def go(path: Path) -> list[Event]:
        model: list[Event] = []
        rest = iter(steps)
        more = True
        while more:
            async with Session.open(path) as session, trio.open_nursery() as nursery:
                more = False
                for step in rest:
                    if step == "append":
                        model.append(session.append("note", {"n": len(model)}, ignorable=True))
                    elif step == "commit":
                        await session.commit()
                        assert session.committed == len(model)
                    elif step == "commit in the background":
                        nursery.start_soon(session.commit)
                    elif step == "read":
                        assert list(session.events(since)) == model[since:]
                        assert session.committed <= session.next_seq == len(model)
                    else:
                        more = True
                        break
        return model

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "a.session")
        model = trio.run(go, path)
        with Session.read(path) as log:
            assert list(log.events()) == model
    assert [event.seq for event in model] == list(range(len(model)))
    assert [event.time for event in model] == sorted(event.time for event in model)


# ---------------------------------------------------------------------------------------------- lines

HEADER = '{"type":"session","version":1}'


async def test_lines_are_a_header_and_then_one_event_each(tmp_path: Path) -> None:
    async with Session.open(None) as session:
        session.append("tool/code-dispatch", END)
        session.append("note", {"text": "é\n"}, ignorable=True)
        header, first, second = export_lines(session.events())
        time, again = (event.time for event in session.events())
    assert header == HEADER
    assert json.loads(first) == {"seq": 0, "time": time, "type": "tool/code-dispatch", "data": END}
    assert second == (f'{{"seq":1,"time":{again},"type":"note","data":{{"text":"é\\n"}},"ignorable":true}}')


async def test_imported_lines_are_durable_after_a_commit_and_can_be_added_to(tmp_path: Path) -> None:
    lines = [HEADER, '{"seq":0,"time":9000000000000,"type":"note","data":{},"ignorable":true}\n']
    async with Session.open(tmp_path / "a.session") as session:
        assert import_lines(session, lines) == 1
        await session.commit()
        assert session.committed == 1
        assert session.append("run/end", {"callId": "c", "outcome": "ok"}).time == 9_000_000_000_000


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "line 1: not an exported session"),
        (["{}"], "line 1: not an exported session"),
        (['{"type":"session","version":2}'], "line 1: exported as version 2; this version reads 1"),
        ([HEADER, "{"], "line 2: not an event"),
        ([HEADER, "[" * 100_000], "line 2: not an event .nested too deeply"),
        ([HEADER, '{"seq":0,"time":1,"type":"note","data":{"s":"\\ud800"}}'], "line 2: not an event"),
        ([HEADER, '{"seq":0,"time":1,"type":"note","data":{"f":NaN}}'], "line 2: not an event"),
        (
            [HEADER, f'{{"seq":0,"time":1,"type":"note","data":{{"n":{"9" * 4000},"f":NaN}}}}'],
            "line 2: not an event",
        ),
        ([HEADER, f'{{"seq":0,"time":1,"type":"note","data":{{"n":{"9" * 5000}}}}}'], "line 2: not an event"),
        ([HEADER, '{"seq":0,"time":1,"type":"note","data":[]}'], r"line 2: not an event .*\$\.data"),
        ([HEADER, '{"seq":0,"time":1,"type":"note","data":{},"extra":1}'], "line 2: .*unknown field `extra`"),
        ([HEADER, '{"seq":0,"time":99999999999999999999,"type":"note","data":{}}'], "line 2: not an event"),
        ([HEADER, '{"seq":0,"time":-1,"type":"note","data":{}}'], "line 2: not an event"),
        ([HEADER, '{"seq":1,"time":1,"type":"note","data":{}}'], "has seq 1; they count from 0"),
        ([HEADER, '{"seq":0,"time":1,"type":"note","data":{}}'], "unknown type of event 'note'"),
        (
            [HEADER, '{"seq":0,"time":1,"type":"tool/code-dispatch","data":{"value":1}}'],
            "'tool/code-dispatch'",
        ),
        (
            [
                HEADER,
                '{"seq":0,"time":2,"type":"note","data":{},"ignorable":true}',
                '{"seq":1,"time":1,"type":"note","data":{},"ignorable":true}',
            ],
            "time never goes back",
        ),
    ],
)
async def test_lines_that_are_wrong_are_refused_and_nothing_is_imported(
    lines: list[str], message: str
) -> None:
    async with Session.open(None) as session:
        with pytest.raises(SessionError, match=message):
            import_lines(session, lines)
        assert list(session.events()) == []


async def test_lines_go_into_an_empty_session_only() -> None:
    async with Session.open(None) as session:
        session.append("note", {}, ignorable=True)
        with pytest.raises(SessionError, match="only an empty session can take over events; this one has 1"):
            import_lines(session, [HEADER])
