"""Bytes of an event stream give the same events wherever they are cut, and no event that has not ended."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.conversation import sse
from codemode.conversation.sse import EventLines

STREAM = (
    "\ufeff: comment\nevent: ping\ndata: {}\n\ndata: one é\r\ndata: two\r\n\r\n"
    "id: 1\rdata:three\r\rdata\n\nretry: 5\n\ndata: lost"
)
EVENTS = ["{}", "one é\ntwo", "three", ""]


def fed(*pieces: bytes) -> list[str]:
    lines = EventLines()
    return [data for piece in pieces for data in lines.feed(piece)]


def test_the_data_of_events_that_have_ended():
    assert fed(STREAM.encode()) == EVENTS


def test_the_same_cut_at_every_byte():
    data = STREAM.encode()
    for at in range(len(data) + 1):
        assert fed(data[:at], data[at:]) == EVENTS
    assert fed(*[data[at : at + 1] for at in range(len(data))]) == EVENTS


@given(st.lists(st.sampled_from(["data: a", "data: é b", ":c", "event: x", ""]), max_size=20), st.data())
def test_line_ends_make_no_difference(lines: list[str], data: st.DataObject):
    text = "".join(line + data.draw(st.sampled_from(["\n", "\r\n"])) for line in lines)
    encoded = text.encode()
    at = data.draw(st.integers(0, len(encoded)))
    assert fed(encoded[:at], encoded[at:]) == fed(text.replace("\r\n", "\n").encode())


def test_an_event_without_an_end_is_refused_at_its_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 100)
    with pytest.raises(ValueError, match="an event of more than 100 bytes"):
        fed(b"data: " + b"x" * 200)
    assert fed(*[b"data: " + b"x" * 90 + b"\n\n"] * 3) == ["x" * 90] * 3
