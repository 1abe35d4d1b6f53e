"""Messages as lines: split, bounded, and told apart when they are none."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.mcp.lines import LineSplitter, Overlong, request_id


@settings(deadline=None, max_examples=40)
@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line)), st.integers(1, 17))
def test_lines_are_the_same_however_the_bytes_arrive(lines, size):
    data = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter(100)
    found = [
        line for start in range(0, len(data), size) for line in splitter.feed(data[start : start + size])
    ]
    assert found == lines


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 5000), st.integers(1, 700))
def test_a_line_beyond_the_bound_is_only_seen_at_its_ends(length, size):
    data = bytes(index % 251 + 1 if index % 251 != 9 else 1 for index in range(length))
    splitter = LineSplitter(1500)
    stream = data + b"\nnext\n"
    found = [
        line for start in range(0, len(stream), size) for line in splitter.feed(stream[start : start + size])
    ]
    if length > 1500:
        assert found[0] == Overlong(length, data[:1024], data[-1024:])
    else:
        assert found[0] == data
    assert found[1] == b"next"


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10**15 - 1),
    st.recursive(
        st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    ),
)
def test_the_request_an_answer_belongs_to_is_seen_in_every_order_of_writing(number, value):
    for message in (
        {"jsonrpc": "2.0", "id": number, "result": value},
        {"id": number, "jsonrpc": "2.0", "result": value},
        {"jsonrpc": "2.0", "result": {"v": value}, "id": number},
        {"result": [value], "jsonrpc": "2.0", "id": number},
        {"result": value, "id": number, "jsonrpc": "2.0"},
    ):
        for separators in ((",", ":"), (", ", ": ")):
            line = json.dumps(message, separators=separators).encode()
            assert request_id(line[:1024], line[-1024:]) == number


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","result":{"content":[],"id":3}}',
        b'{"jsonrpc":"2.0","result":"\\",\\"id\\":3}"}',
        b'{"jsonrpc":"2.0","method":"x","params":{"id":3}}',
        b'{"jsonrpc":"2.0","id":"3","result":{}}',
        b"nothing",
        b"",
    ],
)
def test_an_id_that_stands_elsewhere_counts_for_nothing(line):
    assert request_id(line, line) is None
