"""Large values are weighed rightly, and without being made."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from codemode import wire
from codemode.sandbox import bulk
from codemode.values import JSON

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40)
    | st.integers(30, 70_000).map(lambda size: "é\x90" * (size // 3)),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=40), inner, max_size=20),
    max_leaves=30,
)


def parts(value: JSON) -> int:
    if isinstance(value, list):
        return 1 + sum(map(parts, value))
    if isinstance(value, dict):
        return 1 + len(value) + sum(map(parts, value.values()))
    return 1


@settings(max_examples=200, deadline=None)
@given(values)
def test_the_count_is_the_number_of_parts(value: JSON) -> None:
    assert bulk.count_parts(wire.encode_value(value)) == parts(value)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_counting_ends_whatever_the_bytes(data: bytes) -> None:
    assert 0 <= bulk.count_parts(data) <= len(data)


@settings(max_examples=100, deadline=None)
@given(values)
def test_what_is_light_enough_comes_through_equal(value: JSON) -> None:
    assert bulk.decode(Raw(wire.encode_value(value))) == value


@pytest.mark.parametrize("size", [0, 15, 16, 65535, 65536])
def test_containers_of_every_length_are_counted(size: int) -> None:
    assert bulk.count_parts(msgspec.msgpack.encode([[]] * size)) == size + 1
    assert bulk.count_parts(msgspec.msgpack.encode({f"{n}": {} for n in range(size)})) == 2 * size + 1


def test_a_value_that_would_be_a_thousand_times_its_size_is_refused() -> None:
    data = b"\xdd\x00\xf0\x00\x00" + b"\x90" * 0xF00000
    with pytest.raises(bulk.TooManyParts):
        bulk.decode(Raw(data))


def test_text_that_looks_like_containers_is_not_refused() -> None:
    text = "\U00010410" * 1_000_000  # every character has three bytes that might begin a list
    assert bulk.decode(Raw(wire.encode_value([text]))) == [text]


@pytest.mark.parametrize(
    "value", [[0] * 499_999, [0.5] * 499_999, {f"{n}": n for n in range(249_999)}, [["é" * 20]] * 249_999]
)
def test_the_bound_is_exact_for_whatever_the_parts_are(value: JSON) -> None:
    data = wire.encode_value(value)
    assert bulk.count_parts(data) in (499_999, 500_000)
    assert bulk.decode(Raw(data)) == value
    more = wire.encode_value([value, [0, 0]])
    with pytest.raises(bulk.TooManyParts):
        bulk.decode(Raw(more))


def test_a_frame_whose_value_was_decoded_holds_none_of_its_bytes() -> None:
    value = ["x" * 100_000, {"a": 1}]
    data = wire.encode_value(value)
    for frame in (wire.Done(Raw(data)), wire.Call(3, "echo", Raw(data))):
        taken = [wire.pack(frame)[wire.PREFIX :]]
        decoded = bulk.decode_frame(taken, len(data))
        assert (taken, decoded.value, decoded.length) == ([], value, len(data))
        raw = decoded.frame.value if isinstance(decoded.frame, wire.Done) else decoded.frame.arguments  # type: ignore[union-attr]
        assert bytes(raw) == b""  # type: ignore[arg-type]
        too_large = bulk.decode_frame([wire.pack(frame)[wire.PREFIX :]], len(data) - 1)
        assert (too_large.value, too_large.length) == (UNSET, len(data))
