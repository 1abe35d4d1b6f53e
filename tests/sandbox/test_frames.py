"""A guest that does not keep to the protocol ends its own run, and nothing else."""

from __future__ import annotations

import pytest

from codemode.sandbox import CallRequest, Limits, LocalSandbox
from tests.sandbox.support import ECHO, Recorder, ignore

# Each ends as worker-exit with a message that contains the text.
FORGERIES = {
    "junk": ("body(b'junk')", "not a frame"),
    "an empty frame": ("body(b'')", "not a frame"),
    "a number": ("body(b'\\x05')", "not a frame"),
    "a frame for guests": ("frame(wire.Value(1, raw_none))", "not a frame"),
    "an unknown tag": ("body(msgspec.msgpack.encode({'type': 99}))", "not a frame"),
    "a field too many": ("body(msgspec.msgpack.encode({'type': 3, 'text': 'a', 'more': 1}))", "not a frame"),
    "a field of another type": ("body(msgspec.msgpack.encode({'type': 3, 'text': 5}))", "not a frame"),
    "text that is not UTF-8": ("body(b'\\x82\\xa4type\\x03\\xa4text\\xa2\\xff\\xfe')", "not a frame"),
    "bytes after the frame": ("body(msgspec.msgpack.encode({'type': 3, 'text': 'a'}) + b'\\x00')", "not a frame"),
    "a very deep value": ("body(b'\\x91' * 100_000)", "not a frame"),
    "a length of 4 GiB": ("send(b'\\xff\\xff\\xff\\xff')", "a frame of 4294967295 bytes"),
    "a call that skips": ("call(2, 'echo', {})", "call 2 where call 1 was due"),
    "a call twice": ("call(1, 'echo', {})\ncall(1, 'echo', {})", "call 1 where call 2 was due"),
    "call nought": ("call(0, 'echo', {})", "call 0 where call 1 was due"),
    "a negative call": ("call(-1, 'echo', {})", "call -1 where call 1 was due"),
    "arguments that are a list": ("call(1, 'echo', [1])", "no object"),
    "arguments that are not JSON": ("body(msgspec.msgpack.encode({'type': 1, 'id': 1, 'name': 'echo',"
                                    " 'arguments': {'x': float('nan')}}))", "not a value"),
    "arguments with a key that is no text": ("body(msgspec.msgpack.encode({'type': 1, 'id': 1, 'name': 'echo',"
                                             " 'arguments': {1: 2}}))", "not a value"),
    "a result that is not JSON": ("body(msgspec.msgpack.encode({'type': 4, 'value': b'x'}))", "not a value"),
    "a result with an odd extension": ("body(b'\\x82\\xa4type\\x04\\xa5value\\xd4\\x07\\x00')", "not a value"),
    "a result too deep": ("body(b'\\x82\\xa4type\\x04\\xa5value' + b'\\x91' * 500 + b'\\x01')", "not a value"),
    "a large result that is not JSON": ("body(b'\\x82\\xa4type\\x04\\xa5value\\xdc\\xff\\xff' +"
                                        " b'\\xc4\\x01x' * 65535)", "not a value"),
    "cancelling what was never called": ("cancel(1)", "cancelled call 1, which was never made"),
    "half a frame": ("send(b'\\x10\\x00\\x00\\x00half')\nos._exit(0)", "ended without a result (exit code 0)"),
    "half a length": ("send(b'\\x10')\nos._exit(0)", "ended without a result (exit code 0)"),
}  # fmt: skip

HELPERS = "cancel = lambda id: frame(wire.Cancel(id))\nraw_none = msgspec.Raw(b'\\xc0')\nlog('before\\n')\n"


@pytest.mark.parametrize("name", FORGERIES)
async def test_what_is_no_frame_ends_the_run(bare: LocalSandbox, name: str) -> None:
    program, said = FORGERIES[name]
    outcome = await bare.run(HELPERS + program + "\nimport time\ntime.sleep(30)", [ECHO], Recorder())
    assert outcome.kind == "worker-exit", outcome
    assert said in outcome.message
    assert outcome.logs == ("before",)
    assert (await bare.run("done(1)", (), Recorder())).result == 1


async def test_silence_is_ended_by_the_wall_time(bare: LocalSandbox) -> None:
    for program in ("import time\ntime.sleep(30)", "send(b'\\x10\\x00')\nimport time\ntime.sleep(30)"):
        assert (await bare.run(program, (), Recorder(), Limits(wall_seconds=0.1))).kind == "timeout"


async def test_frames_that_come_byte_by_byte_are_frames(bare: LocalSandbox) -> None:
    program = (
        "data = wire.pack(wire.Log('slow'))\nfor i in range(len(data)):\n    send(data[i : i + 1])\ndone(1)"
    )
    outcome = await bare.run(program, (), Recorder())
    assert (outcome.logs, outcome.result) == (("slow",), 1)


async def test_nothing_after_the_end_is_looked_at(bare: LocalSandbox) -> None:
    recorder = Recorder()
    program = (
        "end = wire.pack(wire.Done(msgspec.Raw(b'\\x01')))\n"
        "more = wire.pack(wire.Call(1, 'echo', msgspec.Raw(b'\\x80'))) + wire.pack(wire.Log('late'))\n"
        "send(end + more)\nwhile True: pass"
    )
    outcome = await bare.run(program, [ECHO], recorder)
    assert (outcome.result, outcome.logs, recorder.calls) == (1, (), [])


async def test_a_guest_that_does_not_read_its_answers_is_stopped(
    bare: LocalSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codemode.sandbox.local._BACKLOG_BYTES", 1024 * 1024)
    recorder = Recorder(lambda request: request.answer("x" * 100_000))
    program = "for i in range(1, 1000):\n    call(i, 'echo', {})\nimport time\ntime.sleep(30)"
    outcome = await bare.run(program, [ECHO], recorder)
    assert outcome.message == (
        "the program broke the protocol with its host (it does not read its answers) and was stopped"
    )
    assert outcome.kind == "worker-exit"


async def test_a_busy_guest_gets_all_its_answers_later(bare: LocalSandbox) -> None:
    recorder = Recorder(lambda request: request.answer("x" * 100_000))
    program = (
        "import time\nfor i in range(1, 101):\n    call(i, 'echo', {})\ntime.sleep(0.2)\n"
        "done(sum(len(answer().value) for i in range(100)))"
    )
    outcome = await bare.run(program, [ECHO], recorder)
    assert outcome.result == 100 * (100_000 + 5)


async def test_an_answer_larger_than_the_kernels_buffer_arrives_whole(bare: LocalSandbox) -> None:
    recorder = Recorder(lambda request: request.answer(["é" * 1_000_000, request.id]))
    program = (
        "call(1, 'echo', {})\nfirst = answer()\ncall(2, 'echo', {})\ndone([len(first.value), answer().id])"
    )
    assert (await bare.run(program, [ECHO], recorder)).result == [2_000_000 + 7, 2]


async def test_calls_in_flight_hold_a_bounded_amount_of_arguments(bare: LocalSandbox) -> None:
    waiting: list[CallRequest] = []
    most = 0

    def keep(request: CallRequest) -> None:
        nonlocal most
        waiting.append(request)
        most = max(most, len(waiting))
        if request.id >= 3:  # answer the oldest, as a tool that is slower than the program would
            waiting.pop(0).answer(1)

    program = "for i in range(1, 21):\n    call(i, 'echo', {'x': 'x' * 40_000})\ndone([answer().id for i in range(20)])"
    recorder = Recorder(keep)
    limits = Limits(result_bytes=100_000, wall_seconds=0.5)
    outcome = await bare.run(program, [ECHO], recorder, limits)
    assert outcome.kind == "timeout"  # the last two are never answered here
    assert (len(recorder.calls), most) == (20, 3)
    recorder = Recorder(ignore)
    await bare.run(program, [ECHO], recorder, limits)
    assert len(recorder.calls) <= 4


async def test_a_cancelled_call_is_told_once_and_its_answer_dropped(bare: LocalSandbox) -> None:
    recorder = Recorder(ignore)

    def cancel(id: int) -> None:
        recorder.cancelled.append(id)
        recorder.calls[0].answer("too late")
        recorder.calls[1].answer("in time")

    recorder.cancel = cancel  # type: ignore[method-assign]
    program = "call(1, 'echo', {})\ncall(2, 'echo', {})\nframe(wire.Cancel(1))\ndone(answer().id)"
    outcome = await bare.run(program, [ECHO], recorder)
    assert (outcome.result, recorder.cancelled) == (2, [1])


async def test_a_failed_call_reaches_the_program_with_message_and_code(bare: LocalSandbox) -> None:
    recorder = Recorder(lambda request: request.fail("quota 0 left", "QUOTA"))
    program = "call(1, 'echo', {})\nfault = answer()\ndone([fault.id, fault.message, fault.code])"
    assert (await bare.run(program, [ECHO], recorder)).result == [1, "quota 0 left", "QUOTA"]


async def test_a_failure_whose_message_is_no_text_arrives_readable(bare: LocalSandbox) -> None:
    recorder = Recorder(lambda request: request.fail("é \udcff", "\udcff"))
    program = "call(1, 'echo', {})\nfault = answer()\ndone([fault.message, fault.code])"
    assert (await bare.run(program, [ECHO], recorder)).result == ["é \\udcff", "\\udcff"]


async def test_an_answer_that_is_no_value_is_the_handlers_error_and_can_be_made_good(
    bare: LocalSandbox,
) -> None:
    def answer_twice(request: CallRequest) -> None:
        with pytest.raises(TypeError):
            request.answer(object())
        request.answer("better")

    program = "call(1, 'echo', {})\ndone(bytes(answer().value)[1:].decode())"
    assert (await bare.run(program, [ECHO], Recorder(answer_twice))).result == "better"


async def test_an_answer_after_the_end_is_dropped(bare: LocalSandbox) -> None:
    recorder = Recorder(ignore)
    assert (await bare.run("call(1, 'echo', {})\ndone(1)", [ECHO], recorder)).result == 1
    recorder.calls[0].answer(1)
    recorder.calls[0].fail("late")
