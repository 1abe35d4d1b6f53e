"""A run ends one way, and says which: its kind, its message, and the lines printed before."""

from __future__ import annotations

import os
import signal

import pytest
import trio
from msgspec import UNSET

from codemode.sandbox import CallRequest, Limits, LocalSandbox, RunOutcome
from tests.sandbox.support import ECHO, Recorder, descendants, ignore

MIB = 1024 * 1024


async def run(sandbox: LocalSandbox, program: str, **limits: float) -> RunOutcome:
    return await sandbox.run(program, [ECHO], Recorder(), Limits(**limits))  # type: ignore[arg-type]


def end(outcome: RunOutcome) -> tuple[str | None, str]:
    return outcome.kind, outcome.message


async def test_a_value_comes_back_equal(bare: LocalSandbox) -> None:
    value = {"a": [1, -0.5, None, True, "é漢🎉"], "big": 2**200, "empty": {}}
    outcome = await run(bare, f"done({value!r})")
    assert (outcome.kind, outcome.message, outcome.result) == (None, "", value)


async def test_no_value_is_not_the_value_none(bare: LocalSandbox) -> None:
    assert (await run(bare, "done()")).result is UNSET
    assert (await run(bare, "done(None)")).result is None


async def test_logs_are_lines_whatever_the_pieces(bare: LocalSandbox) -> None:
    assert (await run(bare, "log('a\\nb')\nlog('c\\n')\nlog('\\nd')\ndone()")).logs == ("a", "bc", "", "d")
    assert (await run(bare, "log('a\\n')\ndone()")).logs == ("a",)
    assert (await run(bare, "log('\\n')\ndone()")).logs == ("",)
    assert (await run(bare, "done()")).logs == ()


async def test_logs_stream_while_the_program_runs(bare: LocalSandbox) -> None:
    seen: list[list[str]] = []
    recorder = Recorder(lambda request: (seen.append(list(recorder.printed)), request.answer(None))[0])
    program = "log('one')\ncall(1, 'echo', {})\nanswer()\nlog('two')\ndone()"
    outcome = await bare.run(program, [ECHO], recorder)
    assert seen == [["one"]]
    assert outcome.logs == ("onetwo",)


async def test_processor_time_runs_out(bare: LocalSandbox) -> None:
    outcome = await run(bare, "log('before\\n')\nwhile True: pass", cpu_seconds=0.2)
    assert end(outcome) == (
        "timeout",
        "the program used its 0.2 s of processor time; do less work per run, or raise cpu_seconds (--cpu)",
    )
    assert outcome.logs == ("before",)
    assert 0.2 <= outcome.usage.cpu_seconds < 0.6


async def test_processor_time_runs_out_inside_c_code(bare: LocalSandbox) -> None:
    for program in ("import re; re.match('(a+)+b', 'a' * 60)", "7 ** 7 ** 9", "sum(iter(int, 1))"):
        outcome = await run(bare, program, cpu_seconds=0.2)
        assert outcome.kind == "timeout", (program, outcome)


async def test_waiting_costs_no_processor_time_but_wall_time(bare: LocalSandbox) -> None:
    outcome = await run(bare, "log('x')\nimport time\ntime.sleep(60)", wall_seconds=0.3, cpu_seconds=0.1)
    assert end(outcome) == (
        "timeout",
        "the program ran for its 0.3 s of wall time and was stopped; do less per run, call slow tools at the same "
        "time, or raise wall_seconds (--timeout)",
    )
    assert outcome.logs == ("x",)
    assert 0.3 <= outcome.usage.wall_seconds < 1.0


async def test_a_call_that_is_never_answered_ends_with_the_wall_time(bare: LocalSandbox) -> None:
    recorder = Recorder(ignore)
    outcome = await bare.run(
        "call(1, 'echo', {'x': 1})\nanswer()", [ECHO], recorder, Limits(wall_seconds=0.2)
    )
    assert outcome.kind == "timeout"
    assert [request.arguments for request in recorder.calls] == [{"x": 1}]
    recorder.calls[0].answer(1)  # too late, and dropped


@pytest.mark.parametrize("program", ["failed('memory-limit', 'no memory')", "raise MemoryError"])
async def test_a_guest_says_that_its_memory_is_gone_and_the_host_how_much_there_was(
    bare: LocalSandbox, program: str
) -> None:
    assert end(await run(bare, program)) == (
        "memory-limit",
        "the program needed more than its 512 MiB of memory; hold less at once, or raise memory_bytes (--memory)",
    )


async def test_a_crash_near_the_memory_limit_is_the_memory_limit(bare: LocalSandbox) -> None:
    program = f"x = b'x' * {58 * MIB}\nos.abort()"
    assert end(await run(bare, program, memory_bytes=64 * MIB)) == (
        "memory-limit",
        "the program needed more than its 64 MiB of memory; hold less at once, or raise memory_bytes (--memory)",
    )


async def test_a_crash_far_from_it_is_a_crash(bare: LocalSandbox) -> None:
    advice = "look for very deep nesting or recursion through built-in functions"
    assert end(await run(bare, "log('a\\n')\nimport ctypes; ctypes.string_at(0)")) == (
        "worker-exit",
        f"the program crashed the interpreter (SIGSEGV); {advice}",
    )
    assert end(await run(bare, "os.abort()")) == (
        "worker-exit",
        f"the program crashed the interpreter (SIGABRT); {advice}",
    )


async def test_a_forbidden_system_call_is_said(bare: LocalSandbox) -> None:
    outcome = await run(bare, "log('a\\n')\nimport socket\nsocket.socket()")
    assert end(outcome) == ("worker-exit", "the program tried a forbidden system call and was stopped")
    assert outcome.logs == ("a",)


async def test_an_exit_without_a_word_is_said(bare: LocalSandbox) -> None:
    outcome = await run(bare, "log('a\\n')\nos._exit(73)")
    assert end(outcome) == (
        "worker-exit",
        "the process that ran the program ended without a result (exit code 73)",
    )
    assert outcome.logs == ("a",)


async def test_a_guest_that_somebody_kills_is_said(bare: LocalSandbox) -> None:
    def kill_guests(request: CallRequest) -> None:
        for pid in descendants(bare._zygote.pid):  # type: ignore[union-attr]
            if pid != inner:
                os.kill(pid, signal.SIGKILL)

    inner = min(descendants(bare._zygote.pid))  # type: ignore[union-attr]
    outcome = await bare.run("log('a\\n')\ncall(1, 'echo', {})\nanswer()", [ECHO], Recorder(kill_guests))
    assert end(outcome) == (
        "worker-exit",
        "the process that ran the program was killed (SIGKILL); run it again",
    )
    assert outcome.logs == ("a",)
    assert (await run(bare, "done(1)")).result == 1


async def test_one_call_too_many_ends_the_run(bare: LocalSandbox) -> None:
    recorder = Recorder()
    program = "log('a\\n')\nfor i in range(1, 100):\n    call(i, 'echo', {'x': i})\n    answer()\ndone()"
    outcome = await bare.run(program, [ECHO], recorder, Limits(max_calls=5))
    assert end(outcome) == (
        "call-limit",
        "the program made more than its 5 tool calls; ask for more with each call, or raise max_calls (--max-calls)",
    )
    assert [request.id for request in recorder.calls] == [1, 2, 3, 4, 5]
    assert (outcome.logs, outcome.usage.calls) == (("a",), 5)
    exact = "for i in range(1, 6):\n    call(i, 'echo', {'x': i})\n    answer()\ndone()"
    assert (await bare.run(exact, [ECHO], Recorder(), Limits(max_calls=5))).kind is None


async def test_a_call_of_an_unknown_tool_fails_and_counts(bare: LocalSandbox) -> None:
    recorder = Recorder()
    program = "call(1, 'rm', {})\nfault = answer()\ndone([fault.message, fault.code])"
    outcome = await bare.run(program, [ECHO], recorder)
    assert outcome.result == ["there is no tool of that name in this run", "UNKNOWN_TOOL"]
    assert (recorder.calls, outcome.usage.calls) == ([], 1)


async def test_printing_too_much_ends_the_run_and_keeps_what_fits(bare: LocalSandbox) -> None:
    outcome = await run(bare, "while True: log('0123456789\\n')", log_bytes=100)
    assert end(outcome) == (
        "output-limit",
        "the program printed more than its 100 bytes; print less, return the data, or raise log_bytes",
    )
    assert outcome.logs == ("0123456789",) * 9 + ("0",)
    outcome = await run(bare, "log('é' * 50)\nlog('é')\ndone()", log_bytes=99)
    assert (outcome.kind, outcome.logs) == ("output-limit", ("é" * 49,))
    outcome = await run(bare, "log('é' * 50)\ndone()", log_bytes=100)
    assert (outcome.kind, outcome.logs) == (None, ("é" * 50,))


async def test_empty_logs_do_not_go_on_for_ever(bare: LocalSandbox) -> None:
    outcome = await run(bare, "while True: log('')", log_bytes=1000)
    assert (outcome.kind, outcome.logs) == ("output-limit", ())


async def test_a_result_too_large_is_said(bare: LocalSandbox) -> None:
    outcome = await run(bare, "log('a')\ndone('x' * 1000)", result_bytes=1000)
    assert end(outcome) == (
        "output-limit",
        "the result is 1,003 bytes, over the 1,000 bytes allowed; return a part or a summary of it, "
        "or raise result_bytes",
    )
    assert outcome.logs == ("a",)
    assert (await run(bare, "done('x' * 997)", result_bytes=1000)).result == "x" * 997


async def test_arguments_too_large_are_said(bare: LocalSandbox) -> None:
    outcome = await run(bare, "call(1, 'echo', {'x': 'x' * 1000})", result_bytes=1000)
    assert end(outcome) == (
        "output-limit",
        "the arguments of a call of echo are 1,006 bytes, over the 1,000 bytes allowed; pass them in parts, "
        "or raise result_bytes",
    )


async def test_a_value_of_too_many_parts_is_said(bare: LocalSandbox) -> None:
    outcome = await run(
        bare, "body(b'\\x82\\xa4type\\x04\\xa5value\\xdd\\x00\\x90\\x00\\x00' + b'\\x90' * 0x900000)"
    )
    assert end(outcome) == (
        "output-limit",
        "a value holds more than 500,000 parts (each list, dict, key, string and number is one); pass or return a "
        "part or a summary of it, or join rows into text (csv, json.dumps), which counts as one",
    )


async def test_a_large_result_and_large_arguments_come_through(bare: LocalSandbox) -> None:
    recorder = Recorder()
    program = (
        "rows = [{'id': i} for i in range(50_000)]\ncall(1, 'echo', {'x': rows})\ndone(answer() and rows)"
    )
    rows = [{"id": i} for i in range(50_000)]
    outcome = await bare.run(program, [ECHO], recorder)
    assert outcome.result == rows
    assert recorder.calls[0].arguments == {"x": rows}


@pytest.mark.parametrize("kind", ["exception", "output-limit", "invalid-output"])
async def test_an_end_that_a_guest_can_know_is_taken_from_it(bare: LocalSandbox, kind: str) -> None:
    outcome = await run(bare, f"log('a')\nfailed({kind!r}, 'ValueError: x')")
    assert (*end(outcome), outcome.logs) == (kind, "ValueError: x", ("a",))


@pytest.mark.parametrize("kind", ["timeout", "call-limit", "abort", "worker-exit", "ok", "", "x" * 1000])
async def test_an_end_that_a_guest_cannot_know_is_not_believed(bare: LocalSandbox, kind: str) -> None:
    outcome = await run(bare, f"failed({kind!r}, 'lies')")
    assert end(outcome) == (
        "worker-exit",
        "the program broke the protocol with its host (an end that a guest cannot know of) and was stopped",
    )


async def test_an_error_text_too_long_is_cut_in_the_middle(bare: LocalSandbox) -> None:
    outcome = await run(bare, "failed('exception', 'head' + 'é' * 1000 + 'tail')", error_bytes=200)
    assert len(outcome.message.encode()) <= 200
    assert outcome.message.startswith("headéé")
    assert outcome.message.endswith("éétail")
    assert "[… 2,008 bytes in all, cut here …]" in outcome.message


async def test_a_source_too_long_needs_no_guest_to_fail(bare: LocalSandbox) -> None:
    outcome = await run(bare, "#" * 1001, source_bytes=1000)
    assert end(outcome) == (
        "exception",
        "the program is 1,001 bytes long, over the 1,000 allowed; send data through tools instead of writing it "
        "into the program, or raise source_bytes",
    )


async def test_a_source_that_is_no_text_is_said(bare: LocalSandbox) -> None:
    outcome = await run(bare, "a = 1\nb = '\ud800'")
    assert end(outcome) == (
        "exception",
        "the program is not valid text: line 2 holds a lone surrogate (\\ud800), half of a character; "
        "write the whole character, or an escape",
    )


async def test_a_source_with_a_null_character_reaches_the_guest(bare: LocalSandbox) -> None:
    outcome = await run(bare, "done(1)\0")
    assert outcome.kind == "worker-exit"  # the stand-in lets Python's own refusal out
    assert (await run(bare, "done(1)")).result == 1


async def test_use_is_the_kernels_word(bare: LocalSandbox) -> None:
    outcome = await run(
        bare, f"x = b'x' * {64 * MIB}\nimport time\nwhile time.process_time() < 0.2: pass\ndone()"
    )
    assert 0.2 <= outcome.usage.cpu_seconds < 0.5
    assert 60 * MIB <= outcome.usage.max_memory_bytes < 80 * MIB


async def test_closing_the_sandbox_ends_a_run_as_an_abort(no_language_wall: None) -> None:
    outcomes: list[RunOutcome] = []

    async def start(sandbox: LocalSandbox) -> None:
        outcomes.append(await run(sandbox, "log('a\\n')\nwhile True: pass"))

    async with trio.open_nursery() as nursery, LocalSandbox() as sandbox:
        nursery.start_soon(start, sandbox)
        await trio.sleep(0.1)
    assert [end(outcome) for outcome in outcomes] == [
        ("abort", "the sandbox was closed while the program ran")
    ]
    assert outcomes[0].logs == ("a",)
