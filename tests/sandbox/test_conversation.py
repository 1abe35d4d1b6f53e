"""The host's side of the protocol by itself: no process, bytes in, calls and logs out."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from codemode import wire
from codemode.rendering import cut_middle
from codemode.sandbox import Limits, bulk
from codemode.sandbox.conversation import Conversation
from codemode.sandbox.ending import too_many_parts
from tests.sandbox.support import Recorder, ignore


def converse(recorder: Recorder, **limits: int) -> tuple[Conversation, list[wire.FromHost]]:
    """A conversation with a tool named echo, and the frames that it sends."""
    sent: list[wire.FromHost] = []
    conversation = Conversation(
        ["echo"],
        Limits(**limits),  # type: ignore[arg-type]
        recorder,
        lambda data: sent.append(wire.from_host(data[4:])),
        relieved=lambda: None,
        stop_clock=lambda stops: None,
    )
    return conversation, sent


def feed(conversation: Conversation, data: bytes) -> None:
    """Carry bytes in, as the sandbox does."""
    while conversation.receive(data):
        data = b""
        if conversation.heavy is not None:
            try:
                conversation.resume(bulk.decode_frame([conversation.heavy], 10**9))
            except bulk.TooManyParts:
                conversation.resume(too_many_parts(bulk.MAX_PARTS))


def raw(value: Any) -> Raw:
    return Raw(wire.encode_value(value))


def test_calls_logs_and_the_end_come_out_in_order() -> None:
    recorder = Recorder()
    conversation, sent = converse(recorder)
    data = b"".join(
        map(
            wire.pack,
            [
                wire.Log("a\n"),
                wire.Call(1, "echo", raw({"x": [1]})),
                wire.Log("b"),
                wire.Done(raw({"y": None})),
            ],
        )
    )
    feed(conversation, data)
    assert (conversation.over, conversation.ending, conversation.result) == (True, None, {"y": None})
    assert (conversation.logs, recorder.printed) == (("a", "b"), ["a\n", "b"])
    assert sent == [wire.Value(1, raw({"x": [1]}))]


def test_a_round_is_bounded_and_says_that_there_is_more() -> None:
    recorder = Recorder()
    conversation, _ = converse(recorder)
    data = wire.pack(wire.Log("x")) * 1000
    rounds = 1
    more = conversation.receive(data)
    assert len(recorder.printed) == 16
    while more:
        more = conversation.receive(b"")
        rounds += 1
    assert (rounds, len(recorder.printed)) == (63, 1000)


def test_the_first_reason_to_stop_is_the_one_that_counts() -> None:
    conversation, sent = converse(Recorder(ignore))
    feed(conversation, wire.pack(wire.Call(1, "echo", raw({}))))
    feed(conversation, b"\x01\x00\x00\x00x")
    first = conversation.ending
    conversation.stop(too_many_parts(1))
    feed(conversation, wire.pack(wire.Log("late")))
    assert conversation.ending is first
    assert first is not None
    assert first.kind == "worker-exit"
    assert (conversation.logs, sent) == ((), [])


def test_last_words_are_kept_and_nothing_else_is_done() -> None:
    recorder = Recorder()
    conversation, sent = converse(recorder, log_bytes=8)
    conversation.stop(too_many_parts(1))
    words = [
        wire.Log("one\n"),
        wire.Call(1, "echo", raw({})),
        wire.Log("two\n"),
        wire.Log("three"),
        wire.Done(),
    ]
    assert not conversation.last_words(b"".join(map(wire.pack, words)) + b"\xff\xff\xff\xff")
    assert conversation.logs == ("one", "two")
    assert (recorder.calls, sent) == ([], [])


frames = st.one_of(
    st.builds(wire.Log, st.text(max_size=20)),
    st.builds(wire.Cancel, st.integers(-1, 5)),
    st.builds(wire.Done),
    st.builds(lambda value: wire.Done(raw(value)), st.integers() | st.lists(st.text(max_size=5), max_size=5)),
    st.builds(
        wire.Failed, st.sampled_from(["exception", "timeout", "memory-limit", "?"]), st.text(max_size=20)
    ),
    st.builds(
        lambda id, name, arguments: wire.Call(id, name, raw(arguments)),
        st.integers(0, 4),
        st.sampled_from(["echo", "other"]),
        st.dictionaries(st.text(max_size=3), st.integers(), max_size=3) | st.lists(st.integers(), max_size=2),
    ),
).map(wire.pack)
junk = st.binary(max_size=40)
mutated = st.tuples(frames, st.integers(0, 60), st.binary(min_size=1, max_size=3)).map(
    lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + 1 :]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(frames | frames | mutated | junk, max_size=12), st.integers(1, 50))
def test_whatever_a_guest_sends_the_host_lives_and_the_end_is_one_it_may_have(
    parts: list[bytes], piece: int
) -> None:
    recorder = Recorder()
    conversation, sent = converse(recorder, max_calls=3, log_bytes=100, result_bytes=200, error_bytes=50)
    data = b"".join(parts)
    for start in range(0, len(data), piece):
        feed(conversation, data[start : start + piece])
    assert [request.id for request in recorder.calls] == sorted({request.id for request in recorder.calls})
    assert conversation.calls <= 3
    assert len(sent) <= 3
    assert len("\n".join(conversation.logs).encode()) <= 100
    if conversation.ending is not None:
        assert conversation.over
        assert conversation.ending.kind in (
            *("exception", "memory-limit", "output-limit", "invalid-output", "call-limit", "worker-exit"),
        )
        if conversation.ending.kind == "exception":
            assert len(conversation.ending.message.encode()) <= 50


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.integers(1, 400))
def test_a_cut_text_fits_and_a_fitting_one_is_not_cut(text: str, most: int) -> None:
    cut = cut_middle(text, most)
    assert len(cut.encode("utf-8", "backslashreplace")) <= most
    if len(text.encode("utf-8", "replace")) <= most:
        assert cut == text


def test_an_answer_is_encoded_once_and_integers_of_any_size_survive() -> None:
    recorder = Recorder(lambda request: request.answer([2**70, -1, 0.5]))
    conversation, sent = converse(recorder)
    feed(conversation, wire.pack(wire.Call(1, "echo", raw({}))))
    (answer,) = sent
    assert isinstance(answer, wire.Value)
    assert wire.decode_frozen(answer.value) == [2**70, -1, 0.5]
    assert msgspec.msgpack.decode(bytes(raw([1]))) == [1]


def test_the_clock_stands_still_as_long_as_anybody_holds_it() -> None:
    stopped: list[bool] = []
    recorder = Recorder()
    requests: list[Any] = []
    recorder.call = requests.append  # type: ignore[method-assign]
    conversation = Conversation(
        ["echo"], Limits(), recorder, ignore, relieved=lambda: None, stop_clock=stopped.append
    )
    for number in (1, 2):
        feed(conversation, wire.pack(wire.Call(number, "echo", raw({}))))
    with requests[0].hold():
        with requests[1].hold():
            assert stopped == [True]
        assert stopped == [True]
    assert stopped == [True, False]


def test_a_call_is_cancelled_once() -> None:
    recorder = Recorder(ignore)
    conversation, _ = converse(recorder)
    feed(conversation, wire.pack(wire.Call(1, "echo", raw({}))) + wire.pack(wire.Cancel(1)))
    assert (recorder.cancelled, conversation.over) == ([1], False)
    feed(conversation, wire.pack(wire.Cancel(1)))
    assert conversation.ending is not None
    assert conversation.ending.kind == "worker-exit"
    assert "cancelled call 1 twice" in conversation.ending.message
    assert recorder.cancelled == [1]
