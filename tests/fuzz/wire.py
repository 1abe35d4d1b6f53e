"""What a guest may send, against a model of the protocol; and every decoder against arbitrary bytes.

The model here is written from the rules and not from the code: it is told what each frame means and says what the
host must have seen, answered and decided after it. Frames that were damaged on purpose have no meaning to the model;
of those it is only asked that the host lives, keeps its bounds, and ends the run in one of the ways it may.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any, NamedTuple
from unittest import mock

from msgspec import UNSET, Raw

from codemode import control, values, wire
from codemode.sandbox import CallRequest, Limits, bulk, conversation, ending
from codemode.sandbox.conversation import Conversation
from tests.fuzz import values as made_up
from tests.fuzz.campaign import Examine

__all__ = ["examiner"]

LIMITS = {"max_calls": 6, "max_calls_in_flight": 3, "log_bytes": 120, "result_bytes": 400, "error_bytes": 80}
HEAVY_BYTES = 100
MAX_PARTS = 60
NAMES = ("echo", "other", "nobody", "", "é", "__class__")
KINDS = (
    "exception",
    "memory-limit",
    "output-limit",
    "invalid-output",
    "timeout",
    "abort",
    "ok",
    "worker-exit",
    "",
)
ENDS = {"exception", "memory-limit", "output-limit", "invalid-output", "call-limit", "worker-exit"}


@asynccontextmanager
async def examiner() -> AsyncIterator[Examine]:
    async def examine(random: Random) -> None:
        random.choice((told, told, damaged, damaged, decoders, large))(random)

    with (
        mock.patch.object(conversation, "_HEAVY_BYTES", HEAVY_BYTES),
        mock.patch.object(bulk, "MAX_PARTS", MAX_PARTS),
    ):
        yield examine


# ------------------------------------------------------------------------------- msgpack, by hand


def packed(value: Any, random: Random) -> bytes:
    """A value in one of the ways in which msgpack can write it, the shortest or not."""
    if value is None:
        return b"\xc0"
    if value is True or value is False:
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return _integer(value, random)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        data = value.encode()
        return _head(len(data), random, (0xA0, 32), (0xD9, 0xDA, 0xDB)) + data
    if isinstance(value, list | tuple):
        parts = b"".join(packed(item, random) for item in value)
        return _head(len(value), random, (0x90, 16), (None, 0xDC, 0xDD)) + parts
    parts = b"".join(packed(key, random) + packed(item, random) for key, item in value.items())
    return _head(len(value), random, (0x80, 16), (None, 0xDE, 0xDF)) + parts


def _head(size: int, random: Random, short: tuple[int, int], long: tuple[int | None, int, int]) -> bytes:
    fits = [bytes([short[0] + size])] * 3 if size < short[1] else []
    for first, width in zip(long, (1, 2, 4), strict=True):
        if first is not None and size < 1 << 8 * width:
            fits.append(bytes([first]) + size.to_bytes(width, "big"))
    return random.choice(fits)


def _integer(value: int, random: Random, *, tagged: bool = True) -> bytes:
    fits = []
    if 0 <= value < 128 or -32 <= value < 0:
        fits.append(struct.pack(">b", value))
    for unsigned, signed, width in ((0xCC, 0xD0, 1), (0xCD, 0xD1, 2), (0xCE, 0xD2, 4), (0xCF, 0xD3, 8)):
        if 0 <= value < 1 << 8 * width:
            fits.append(bytes([unsigned]) + value.to_bytes(width, "big"))
        if -(1 << 8 * width - 1) <= value < 1 << 8 * width - 1:
            fits.append(bytes([signed]) + value.to_bytes(width, "big", signed=True))
    if not fits or (tagged and random.random() < 0.05):
        data = value.to_bytes(value.bit_length() // 8 + 1 + random.randrange(3), "little", signed=True)
        if len(data) in (1, 2, 4, 8, 16):
            return bytes([0xD4 + (1, 2, 4, 8, 16).index(len(data)), 1]) + data
        width = 1 if len(data) < 256 else 2
        return bytes([0xC7 if width == 1 else 0xC8]) + len(data).to_bytes(width, "big") + b"\x01" + data
    return random.choice(fits)


_WELL_FORMED = (  # msgpack, and no JSON value
    b"\xc4\x01x",  # bytes
    b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00",  # not a number
    b"\xca\x7f\x80\x00\x00",  # infinity
    b"\xd4\x07\x00",  # an extension that nobody knows
    b"\xd6\xff\x00\x00\x00\x00",  # a timestamp
    b"\x81\x01\x02",  # a key that is no text
    b"\x81\x90\x02",  # a key that is a list
    b"\x81\x81\xa1a\x01\x02",  # a key that is a dict
    b"\xa2\xff\xfe",  # no UTF-8
    b"\xa3\xed\xa0\x80",  # a surrogate in UTF-8
)
_NO_VALUE = (
    *_WELL_FORMED,
    b"\xc1",
    b"\xc7\x00\x01",  # an integer of no bytes; whatever that is, nothing breaks on it
    b"\xdd\xff\xff\xff\xff\x01",  # a length that lies
    b"\xdf\xff\xff\xff\xff\xa1a",
    b"\xdb\xff\xff\xff\xffx",
    b"\x91" * (values.MAX_DEPTH + 1) + b"\x01",
    b"\x91" * 5000,
    b"\xc8\x27\x10\x01" + b"\x7f" * 10_000,  # an integer of 80,000 bits
    b"",
)


# ------------------------------------------------------------------------------- the model


class Told(NamedTuple):
    """A frame whose meaning is known: its bytes, and what kind it is with what it carries."""

    data: bytes
    kind: str
    id: int = 0
    name: str = ""
    text: str = ""
    value: Any = None
    length: int = 0
    is_value: bool = True


class Model:
    """What the host must make of the frames it is told of."""

    def __init__(self) -> None:
        self.calls = 0
        self.open: set[int] = set()
        self.cancelled: set[int] = set()
        self.heard: list[tuple[Any, ...]] = []
        self.log = ""
        self.log_room = LIMITS["log_bytes"]
        self.end: str | None = None
        self.result: Any = UNSET

    def take(self, told: Told) -> None:
        if self.end is None:
            getattr(self, told.kind)(told)

    def call(self, told: Told) -> None:
        if told.id != self.calls + 1:
            self.end = "worker-exit"
        elif self.calls == LIMITS["max_calls"] or len(self.open) == LIMITS["max_calls_in_flight"]:
            self.end = "call-limit"
        elif told.length > LIMITS["result_bytes"]:
            self.calls += 1
            self.end = "output-limit"
        elif not told.is_value or not isinstance(told.value, dict):
            self.calls += 1
            self.end = "worker-exit"
        else:
            self.calls += 1
            if told.name in ("echo", "other"):
                self.open.add(told.id)
                self.heard.append(("call", told.id, told.name, told.value))
            else:
                self.heard.append(("unknown", told.id))

    def cancel(self, told: Told) -> None:
        if not 0 < told.id <= self.calls or told.id in self.cancelled:
            self.end = "worker-exit"
            return
        self.cancelled.add(told.id)
        if told.id in self.open:
            self.open.discard(told.id)
            self.heard.append(("cancel", told.id))

    def print(self, told: Told) -> None:
        data = told.text.encode()
        kept = data[: self.log_room].decode(errors="ignore")
        self.log += kept
        if len(data) > self.log_room:
            self.end = "output-limit"
        self.log_room -= max(1, len(data))

    def done(self, told: Told) -> None:
        if told.length > LIMITS["result_bytes"]:
            self.end = "output-limit"
        elif not told.is_value:
            self.end = "worker-exit"
        else:
            self.result, self.end = told.value, "ok"

    def failed(self, told: Told) -> None:
        self.end = told.name if told.name in KINDS[:4] else "worker-exit"


def frame(random: Random, calls: int) -> Told:
    """A frame that keeps to the form, whatever it says."""
    kind = random.choice(
        ("call", "call", "call", "cancel", "cancel", "print", "print", "print", "done", "failed")
    )
    if kind == "done" and random.random() < 0.5:
        kind = "print"
    if kind == "call":
        id = (
            calls + 1
            if random.random() < 0.93
            else random.choice((0, -1, calls, calls + 2, 2**63 - 1, -(2**63)))
        )
        data, value, is_value = carried(random, is_object=random.random() < 0.95)
        name = random.choice(NAMES)
        body = _map(random, type=1, id=id, name=name, arguments=data)
        return Told(body, kind, id, name, value=value, length=len(data), is_value=is_value)
    if kind == "cancel":
        id = random.randrange(1, calls + 1) if calls and random.random() < 0.9 else random.choice((0, -1, 99))
        return Told(_map(random, type=2, id=id), kind, id)
    if kind == "print":
        text = made_up.text(random) + ("\n" if random.random() < 0.5 else "")
        return Told(_map(random, type=3, text=text), kind, text=text)
    if kind == "done":
        if random.random() < 0.2:
            return Told(_map(random, type=4), kind, value=UNSET)
        data, value, is_value = carried(random, is_object=False)
        return Told(_map(random, type=4, value=data), kind, value=value, length=len(data), is_value=is_value)
    name, text = random.choice(KINDS), made_up.text(random) * random.choice((1, 1, 9))
    return Told(_map(random, type=5, kind=name, message=text), kind, name=name, text=text)


def carried(random: Random, *, is_object: bool) -> tuple[bytes, Any, bool]:
    """A value inside a frame: its bytes, what it is, and whether it is one."""
    if random.random() < 0.04:
        data = random.choice(_WELL_FORMED)
        return (b"\x81\xa1k" + data if random.random() < 0.5 else b"\x91" + data), None, False
    value = made_up.value(random, random.randrange(4))
    if is_object and not isinstance(value, dict):
        value = {made_up.text(random): value}
    value = made_up.plain(value)
    return packed(value, random), value, True


def _map(random: Random, **fields: Any) -> bytes:
    """The body of a frame, the tag first as it must be, the other fields in any order; bytes are values as they are."""
    first, *rest = fields.items()
    random.shuffle(rest)
    parts = [
        packed(name, random) + (value if isinstance(value, bytes) else _field(value, random))
        for name, value in (first, *rest)
    ]
    return _head(len(parts), random, (0x80, 16), (None, 0xDE, 0xDF)) + b"".join(parts)


def _field(value: Any, random: Random) -> bytes:
    """A field of a frame; its numbers are never extensions, which only values may hold."""
    return _integer(value, random, tagged=False) if isinstance(value, int) else packed(value, random)


def prefixed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "little") + body


class Host:
    """Carries bytes into a conversation as the sandbox does, keeps what comes of it, and answers now and then."""

    def __init__(self, random: Random, *, answers: bool = False) -> None:
        self.random = random
        self.answers = answers
        self.heard: list[tuple[Any, ...]] = []
        self.requests: dict[int, CallRequest] = {}
        self.answered: set[int] = set()
        self.relieved = 0
        self.conversation = Conversation(
            ["echo", "other"],
            Limits(**LIMITS),
            self,
            self.send,
            relieved=self.relieve,  # type: ignore[arg-type]
            stop_clock=lambda stops: None,
        )

    def relieve(self) -> None:
        self.relieved += 1

    def send(self, data: bytes) -> None:
        (body,) = wire.FrameReader(1 << 20).feed(data)
        answer = wire.from_host(body)
        assert isinstance(answer, wire.Value | wire.Fault)
        assert not self.conversation.over, "an answer after the end"
        assert answer.id not in self.answered, "two answers to one call"
        self.answered.add(answer.id)
        if answer.id not in self.requests:
            assert isinstance(answer, wire.Fault)
            assert answer.code == "UNKNOWN_TOOL"
            self.heard.append(("unknown", answer.id))

    def log(self, text: str) -> None:
        assert text
        self.heard.append(("print", text))

    def call(self, request: CallRequest) -> None:
        assert made_up.frozen_through(request.arguments)
        self.requests[request.id] = request
        self.heard.append(("call", request.id, request.name, request.arguments))

    def cancel(self, id: int) -> None:
        assert id in self.requests
        self.heard.append(("cancel", id))

    def answer_some(self) -> None:
        for request in list(self.requests.values()):
            if self.random.random() < 0.3:
                if self.random.random() < 0.5:
                    request.answer(values.freeze(made_up.value(self.random, 2)))
                else:
                    request.fail(
                        self.random.choice(("no", "\ud800", "é" * 50)),
                        self.random.choice((None, "", "E\udfff")),
                    )

    def feed(self, data: bytes) -> None:
        talk = self.conversation
        more = talk.receive(data)
        while more:
            if talk.heavy is not None:
                assert len(talk.heavy) > HEAVY_BYTES
                talk.resume(self.decoded(talk.heavy))
            if self.answers:
                self.answer_some()
            more = talk.receive(b"")

    @staticmethod
    def decoded(body: bytes) -> Any:
        try:
            return bulk.decode_frame([body], LIMITS["result_bytes"])
        except wire.WireError as error:
            return ending.protocol(str(error))
        except bulk.TooManyParts:
            return ending.too_many_parts(MAX_PARTS)


def parts(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + len(value) + sum(map(parts, value.values()))
    return 1 + sum(map(parts, value)) if isinstance(value, list) else 1


def told(random: Random) -> None:
    """Well-formed frames in any order and cut: the host sees, answers and decides what the model says."""
    model, frames, calls = Model(), [], 0
    for _ in range(random.randrange(1, 14)):
        one = frame(random, calls)
        is_heavy = len(one.data) > HEAVY_BYTES
        if is_heavy and one.length <= LIMITS["result_bytes"] and parts(one.value) > MAX_PARTS:
            continue  # the model knows nothing of weights; `large` does
        frames.append(one)
        if is_heavy and not one.is_value:
            one = one._replace(kind="junk_in_bulk")
            model.end = model.end or "worker-exit"
        model.take(one) if one.kind != "junk_in_bulk" else None
        calls += one.kind == "call" and one.id == calls + 1
    host = Host(random)
    stream = b"".join(prefixed(one.data) for one in frames)
    while stream:
        size = random.choice((1, 3, 40, 4096))
        host.feed(stream[:size])
        stream = stream[size:]
    talk = host.conversation
    heard = [each for each in host.heard if each[0] != "print"]
    assert heard == model.heard, (heard, model.heard)
    assert "".join(each[1] for each in host.heard if each[0] == "print") == model.log
    assert "\n".join(talk.logs) == model.log.removesuffix("\n")
    assert talk.over == (model.end is not None)
    decided = "ok" if talk.over and talk.ending is None else talk.ending and talk.ending.kind
    assert decided == model.end, (talk.ending, model.end)
    assert (talk.result is UNSET) == (model.result is UNSET)
    assert talk.result is UNSET or made_up.same(talk.result, model.result)
    check_bounds(host)


def damaged(random: Random) -> None:
    """Frames with something wrong in them, and junk between them."""
    host = Host(random, answers=True)
    stream = bytearray()
    for _ in range(random.randrange(1, 12)):
        stream += (
            prefixed(frame(random, host.conversation.calls).data) if random.random() < 0.8 else junk(random)
        )
    for _ in range(random.choice((0, 1, 1, 2, 5))):
        damage(stream, random)
    data, stop_at = bytes(stream), random.randrange(200) if random.random() < 0.3 else -1
    piece = random.choice((1, 7, 100, 10_000))
    for number, start in enumerate(range(0, len(data), piece)):
        host.feed(data[start : start + piece])
        if random.random() < 0.3:
            host.answer_some()
        if number == stop_at:
            host.conversation.stop(ending.protocol("enough"))
            more = host.conversation.last_words(data[start:])
            while more:
                more = host.conversation.last_words(b"")
            break
    heard = len(host.heard)
    host.answer_some()
    check_bounds(host)
    if host.conversation.over:
        host.feed(prefixed(frame(random, 0).data) * 3)
        host.answer_some()
        assert len(host.heard) == heard, "something was heard after the end"


def junk(random: Random) -> bytes:
    kind = random.randrange(4)
    if kind == 0:
        return random.randbytes(random.randrange(30))
    if kind == 1:
        return prefixed(random.randbytes(random.randrange(60)))
    if kind == 2:
        return prefixed(random.choice(_NO_VALUE))
    return random.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\x80", (10**6).to_bytes(4, "little")))


def damage(stream: bytearray, random: Random) -> None:
    if not stream:
        return
    at = random.randrange(len(stream))
    kind = random.randrange(5)
    if kind == 0:
        stream[at] ^= 1 << random.randrange(8)
    elif kind == 1:
        stream[at:at] = random.choice(_NO_VALUE)
    elif kind == 2:
        del stream[at : at + random.randrange(1, 9)]
    elif kind == 3:
        stream[at:at] = stream[at : at + random.randrange(1, 40)]
    else:
        stream[at : at + 4] = random.randbytes(4)


def check_bounds(host: Host) -> None:
    talk = host.conversation
    assert talk.calls <= LIMITS["max_calls"]
    assert [*host.requests] == sorted(host.requests)
    assert len("".join(each[1] for each in host.heard if each[0] == "print").encode()) <= LIMITS["log_bytes"]
    assert len("\n".join(talk.logs).encode()) <= LIMITS["log_bytes"]
    assert talk.heavy is None
    assert not (talk.over and talk.ending and talk.result is not UNSET)
    assert talk._reader.pending <= max(LIMITS.values()) + conversation._OVERHEAD_BYTES + 10_000
    if talk.ending is not None:
        assert talk.ending.kind in ENDS, talk.ending
        assert len(talk.ending.message.encode()) <= LIMITS["error_bytes"] or talk.ending.kind != "exception"
    if talk.over:
        assert not talk._open


# ------------------------------------------------------------------------------- the decoders


_JUDGES: tuple[tuple[Callable[[bytes], Any], type[Exception]], ...] = (
    (wire.from_guest, wire.WireError),
    (wire.from_host, wire.WireError),
    (wire.decode_untrusted, wire.WireError),
    (control.from_host, control.ControlError),
    (control.from_zygote, control.ControlError),
)
_SENT: tuple[Callable[[Random], bytes], ...] = (
    lambda random: wire.pack(
        wire.Value(random.getrandbits(40), Raw(packed(made_up.value(random, 2), random)))
    )[4:],
    lambda random: wire.pack(
        wire.Fault(random.getrandbits(40), made_up.text(random), random.choice((None, "E")))
    )[4:],
    lambda random: wire.pack(
        wire.Program(
            made_up.text(random),
            (wire.ToolName(made_up.text(random), (made_up.text(random),), True, ""),),
            wire.GuestLimits(1, 2, 3),
        )
    )[4:],
    lambda random: control.pack(
        control.Spawn(random.getrandbits(40), random.getrandbits(62), random.random())
    ),
    lambda random: control.pack(control.Kill(random.getrandbits(40))),
    lambda random: control.pack(control.Ready((control.Layer(made_up.text(random), True, False, ""),), 1)),
    lambda random: control.pack(control.Broken(made_up.text(random))),
    lambda random: control.pack(control.Spawned(random.getrandbits(40))),
    lambda random: control.pack(control.Refused(random.getrandbits(40), made_up.text(random))),
    lambda random: control.pack(
        control.Ended(random.getrandbits(40), random.getrandbits(16), random.random(), 1)
    ),
    lambda random: frame(random, 1).data,
)


def decoders(random: Random) -> None:
    """Any bytes are a frame, message or value, or the one error that says that they are none."""
    data = bytearray(random.choice(_SENT)(random) if random.random() < 0.8 else junk(random))
    if random.random() < 0.3:
        data += random.choice(_NO_VALUE)
    for _ in range(random.randrange(4)):
        damage(data, random)
    for decode, error in _JUDGES:
        try:
            decode(bytes(data))
        except error as problem:
            str(problem).encode()  # can be told


def large(random: Random) -> None:
    """Weighing and decoding in pieces agree with decoding at once."""
    value = [made_up.value(random, random.randrange(5)) for _ in range(random.randrange(12))]
    value = made_up.plain(value if random.random() < 0.5 else {str(n): part for n, part in enumerate(value)})
    data = bytearray(packed(value, random))
    if random.random() < 0.4:
        damage(data, random)
    whole: Any = None
    try:
        whole = wire.decode_untrusted(bytes(data))
    except wire.WireError:
        whole = UNSET
    try:
        pieces = bulk.decode(Raw(bytes(data)))
    except wire.WireError:
        assert whole is UNSET, "a value was refused"
    except bulk.TooManyParts:
        assert whole is UNSET or parts(whole) > MAX_PARTS
    else:
        assert whole is not UNSET, "what is no value was taken"
        assert made_up.same(pieces, whole)
        assert made_up.frozen_through(pieces)
        assert parts(pieces) <= MAX_PARTS
