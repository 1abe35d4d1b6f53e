"""The wire: what is sent is received equal; what is no frame is an error and nothing else."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode import wire
from codemode.values import FrozenDict, FrozenList
from codemode.wire import WireError
from tests.test_values import json_values, same

LIMITS = wire.GuestLimits(1, 2, 3)
FROM_HOST = [
    wire.Program("return 1", (wire.ToolName("read", ("path",), False, "read(path: str)"),), LIMITS),
    wire.Value(1, msgspec.Raw(wire.encode_value({"a": 1}))),
    wire.Fault(2, "no such file", "FS_NOT_FOUND"),
    wire.Fault(2, "no such file", None),
]
FROM_GUEST = [
    wire.Call(1, "read", msgspec.Raw(wire.encode_value({"path": "x"}))),
    wire.Cancel(1),
    wire.Log("é\n"),
    wire.Done(),
    wire.Done(msgspec.Raw(wire.encode_value(None))),
    wire.Failed("exception", "ValueError"),
]


def bodies(data, size=1 << 20):
    return list(wire.FrameReader(size).feed(data))


@pytest.mark.parametrize("frame", FROM_HOST, ids=lambda f: type(f).__name__)
def test_frames_of_the_host_arrive_as_they_were_sent(frame):
    (body,) = bodies(wire.pack(frame))
    assert wire.from_host(body) == frame


@pytest.mark.parametrize("frame", FROM_GUEST, ids=lambda f: type(f).__name__)
def test_frames_of_the_guest_arrive_as_they_were_sent(frame):
    (body,) = bodies(wire.pack(frame))
    assert wire.from_guest(body) == frame


def test_no_result_and_null_are_told_apart():
    (nothing,) = bodies(wire.pack(wire.Done()))
    (null,) = bodies(wire.pack(wire.Done(msgspec.Raw(wire.encode_value(None)))))
    assert wire.from_guest(nothing).value is msgspec.UNSET
    assert wire.decode_untrusted(wire.from_guest(null).value) is None


@given(json_values)
def test_every_value_crosses_equal_in_both_directions(value):
    data = wire.encode_value(value)
    assert same(value, wire.decode_frozen(data))
    assert same(value, wire.decode_untrusted(data))


@given(st.integers())
def test_integers_of_any_size_cross(number):
    for value in (number, number * 2**200, [{"n": -number * 2**64}]):
        assert wire.decode_untrusted(wire.encode_value(value)) == value


def test_decoded_values_are_frozen_deeply():
    for decode in (wire.decode_frozen, wire.decode_untrusted):
        value = decode(wire.encode_value({"a": [{"b": 1}]}))
        assert (type(value), type(value["a"]), type(value["a"][0])) == (FrozenDict, FrozenList, FrozenDict)


@given(st.lists(st.sampled_from(FROM_GUEST), max_size=5), st.data())
def test_frames_survive_any_cut_of_the_stream(frames, data):
    stream = b"".join(map(wire.pack, frames))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    reader = wire.FrameReader(1 << 20)
    received = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        received += [wire.from_guest(body) for body in reader.feed(stream[start:end])]
    assert received == frames
    assert reader.pending == 0


def test_an_oversized_frame_is_refused_before_its_bytes_are_there():
    with pytest.raises(WireError, match="over the 100 allowed"):
        bodies((101).to_bytes(4, "little"), 100)
    assert bodies((100).to_bytes(4, "little") + b"x" * 100, 100) == [b"x" * 100]


@given(st.binary(max_size=200))
def test_junk_is_a_wire_error_and_nothing_else(data):
    for decode in (wire.from_guest, wire.from_host, wire.decode_untrusted):
        try:
            decode(data)
        except WireError:
            pass


@given(st.sampled_from(FROM_GUEST), st.data())
def test_a_damaged_frame_is_a_wire_error_or_another_frame(frame, data):
    (body,) = bodies(wire.pack(frame))
    place = data.draw(st.integers(0, len(body) - 1))
    damaged = body[:place] + bytes([data.draw(st.integers(0, 255))]) + body[place + 1 :]
    try:
        again = wire.from_guest(damaged)
    except WireError:
        return
    assert isinstance(again, wire.Call | wire.Cancel | wire.Log | wire.Done | wire.Failed)


HOSTILE_VALUES = {
    "not a number": msgspec.msgpack.encode(float("nan")),
    "bytes": msgspec.msgpack.encode(b"x"),
    "a timestamp": b"\xd6\xff\x00\x00\x00\x00",
    "an unknown extension": msgspec.msgpack.encode(msgspec.msgpack.Ext(5, b"x")),
    "an integer of a million bits": msgspec.msgpack.encode(msgspec.msgpack.Ext(1, b"\x7f" * 125_000)),
    "a key that is no string": msgspec.msgpack.encode({1: 2}),
    "nesting without end": b"\x91" * 100_000 + b"\xc0",
    "nesting past the bound": b"\x91" * 300 + b"\xc0",
    "a length that lies": b"\xdd\xff\xff\xff\xff\x01",
    "bytes after the end": msgspec.msgpack.encode(1) + b"\x01",
    "text that is no UTF-8": b"\xa2\xff\xfe",
    "nothing": b"",
}


@pytest.mark.parametrize("data", HOSTILE_VALUES.values(), ids=HOSTILE_VALUES)
def test_what_is_no_value_is_refused(data):
    with pytest.raises(WireError):
        wire.decode_untrusted(data)
