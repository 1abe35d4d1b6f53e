"""Replay: what was shown comes back from the log alone, equal to the last byte, and no more than that."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from codemode import CodeMode, Image, Session, Text, ToolError, text, tool
from codemode.content import content_to_json
from codemode.session import ErrorInfo, Event
from codemode.session.replay import (
    NOT_REBUILT,
    ReplayedCall,
    ReplayedMessage,
    ReplayedNestedCall,
    ReplayedRun,
    ReplayedTurn,
    replay,
)
from codemode.session.shown import render
from tests.session.conftest import END, START
from tests.session.test_recovery import CALL, RESULT, RUN, Log, logs

SECRET = "the value that nobody was shown"


@tool(
    render=lambda arguments, value: [
        text(f"é {value['n']}\r\n\x1b[31m"),
        Image("aGk=", "image/png"),
        text(""),
    ],
    presentation_meta=lambda arguments, value: {"card": value["n"], "big": 2**70, "zero": -0.0},
)
async def show(n: int) -> dict[str, Any]:
    """Show a number; the value holds more than is shown."""
    return {"n": n, "secret": SECRET}


@tool(render=lambda arguments, value: [text("never")])
def refuse() -> None:
    """Fail with a code."""
    raise ToolError("not today", code="CLOSED")


def built(log: Log) -> list[Any]:
    events = [
        Event(seq, 1000 + seq, kind, data, ignorable=kind == "note") for seq, (kind, data) in enumerate(log)
    ]
    return list(replay(events))


def plain(entries: list[Any]) -> str:
    return "\n".join(line.text for entry in entries for line in render(entry))


# --------------------------------------------------------------------------------------- what was shown

PROGRAM = """\
print("printed é")
first = tools.show(n=1)
try:
    tools.refuse()
except ToolCallError as error:
    print(error.code)
return first["secret"] and {"n": first["n"]}
"""


async def test_calls_and_programs_are_shown_again_exactly_from_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with CodeMode([show, refuse], session=path) as cm:
        direct = await cm.call("show", {"n": 7})
        failed = await cm.call("refuse", {})
        run = await cm.run(PROGRAM, "print and return")
        broken = await cm.run("print('before')\nraise ValueError('no')")
    with Session.read(path) as log:
        first, second, third, fourth = replay(log.events())
    assert isinstance(first, ReplayedCall)
    assert (first.name, first.arguments, first.is_error, first.error) == ("show", {"n": 7}, False, None)
    assert (
        first.content
        == direct.content
        == (
            Text("é 7\r\n\x1b[31m"),
            Image("aGk=", "image/png"),
            Text(""),
        )
    )
    assert json.dumps(first.meta) == json.dumps({"card": 7, "big": 2**70, "zero": -0.0})
    assert isinstance(second, ReplayedCall)
    assert (second.content, second.is_error, second.meta) == (failed.content, True, UNSET)
    assert second.error == ErrorInfo("ToolError", "CLOSED")
    assert isinstance(third, ReplayedCall)
    assert third.content == (Text(run.text),)
    assert third.run is not None
    assert (third.run.program, third.run.outcome) == (PROGRAM, "ok")
    shown, refused = third.run.calls
    assert (shown.name, shown.arguments, shown.is_error) == ("show", {"n": 1}, False)
    assert shown.content == (Text("é 1\r\n\x1b[31m"), Image("aGk=", "image/png"), Text(""))
    assert (refused.name, refused.is_error, refused.content) == ("refuse", True, (Text("Error: not today"),))
    assert (shown.root_id, shown.parent_id) == (third.id, third.id)
    assert isinstance(fourth, ReplayedCall)
    assert fourth.content == (Text(broken.text),)
    assert "before" in broken.text
    assert fourth.run is not None
    assert (fourth.run.outcome, fourth.run.calls) == ("exception", ())


async def test_values_and_metadata_of_nested_calls_are_nowhere_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    async with CodeMode([show, refuse], session=path) as cm:
        await cm.run(PROGRAM)
        await cm.call("show", {"n": 1})
    with Session.read(path) as log:
        entries = list(replay(log.events()))
    assert SECRET not in msgspec.json.encode(entries).decode()
    assert b"card" not in msgspec.json.encode(entries[0])
    assert "values" in NOT_REBUILT[0]
    assert not {"value", "result", "logs"} & {name for entry in entries for name in entry.__struct_fields__}
    assert SECRET.encode() not in path.read_bytes()


def test_replay_needs_no_tool_no_engine_and_no_sandbox(tmp_path: Path) -> None:
    path = tmp_path / "a.session"

    async def write() -> None:
        async with Session.open(path) as session:
            session.append("tool/call", CALL)
            session.append("tool/result", RESULT)

    trio.run(write)
    source = (
        "import sys, types\n"
        "package = types.ModuleType('codemode'); package.__path__ = [sys.argv[2]]; sys.modules['codemode'] = package\n"
        "from codemode.session import Session\n"
        "from codemode.session.replay import replay\n"
        "with Session.read(sys.argv[1]) as log: print([entry.id for entry in replay(log.events())])\n"
        "print([name for name in sys.modules if name.startswith(('codemode.tools', 'codemode.engine', "
        "'codemode.sandbox', 'codemode.run_code'))])\n"
    )
    package = str(Path(__file__).parents[2] / "codemode")
    done = subprocess.run(
        [sys.executable, "-c", source, str(path), package], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['call-1']\n[]\n"


_blocks = st.lists(
    st.builds(Text, st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
    | st.builds(Image, st.text("abc=", max_size=8), st.sampled_from(["image/png", "a/b"])),
    max_size=4,
)


@settings(max_examples=100, deadline=None)
@given(_blocks, st.booleans())
def test_any_content_comes_back_equal_and_cannot_pass_for_a_title(blocks: list[Any], is_error: bool) -> None:
    content = content_to_json(tuple(blocks))
    result = {**RESULT, "content": content, "isError": is_error}
    (call,) = built([("tool/call", CALL), ("tool/result", result)])
    assert call.content == tuple(blocks)
    assert content_to_json(call.content) == content
    lines = list(render(call))
    assert [line.style for line in lines if not line.text.startswith(" ") and line.text] == ["title"]
    assert not any("\n" in line.text for line in lines)


# --------------------------------------------------------------------------------- turns and messages


def test_messages_and_turns_come_in_the_order_in_which_they_were() -> None:
    turn, user, call, assistant, end = built(
        [
            ("turn/start", {"turn": 4}),
            ("user/message", {"message": {"role": "user", "content": "go"}, "turn": 4}),
            ("tool/call", {**CALL, "turn": 4, "step": 1}),
            ("assistant/message", {"message": {"content": []}, "turn": 4, "step": 2}),
            ("tool/result", {**RESULT, "turn": 4, "step": 1}),
            ("turn/end", {"turn": 4, "reason": "aborted", "detail": {"by": "user"}}),
        ]
    )
    assert turn == ReplayedTurn(turn=4, time=1000)
    assert user == ReplayedMessage(role="user", message={"role": "user", "content": "go"}, time=1001, turn=4)
    assert (call.turn, call.step, call.started, call.ended) == (4, 1, 1002, 1004)
    assert (assistant.role, assistant.step) == ("assistant", 2)
    assert end == ReplayedTurn(turn=4, time=1005, reason="aborted", detail={"by": "user"})


# --------------------------------------------------------------------------------- what is not there


def test_what_has_no_end_is_shown_as_unfinished() -> None:
    (call,) = built(
        [("tool/call", {**CALL, "name": "run_code"}), ("run/start", RUN), *[(k, d) for k, d in NESTED]]
    )
    assert (call.content, call.is_error, call.ended) == (None, None, None)
    assert call.run.outcome is None
    assert [nested.ended for nested in call.run.calls] == [None]
    said = plain([call])
    assert "call-1  run_code  unfinished  1970-01-01 00:00:01.000 UTC" in said
    assert "run ended: unfinished: no end was logged" in said
    assert said.count("shown: nothing; no end was logged") == 2


NESTED: Log = [("tool/code-dispatch-start", START)]


async def test_what_recovery_added_is_shown_as_that(tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    for _ in range(2):
        async with Session.open(path) as session:
            events = list(session.events())
            if not events:
                session.append("tool/call", {**CALL, "startLogged": True})
    (call,) = replay(events)
    assert isinstance(call, ReplayedCall)
    assert call.recovered
    assert "(added on recovery: the host ended before this did)" in plain([call])


def test_a_program_is_shown_only_if_it_is_the_one_that_ran() -> None:
    arguments = {"code": "return 1", "description": "d"}
    call = {**CALL, "name": "run_code", "arguments": arguments}
    (other,) = built([("tool/call", call), ("run/start", {**RUN, "programHash": "0" * 64})])
    assert other.run.program is None
    assert f"its text is not in the log (SHA-256 {'0' * 64})" in plain([other])
    assert "return 1" in plain([other])  # among the arguments, where it was
    (run,) = built([("run/start", RUN), ("tool/code-dispatch-start", START), ("run/end", RUN_END)])
    assert isinstance(run, ReplayedRun)
    assert (run.program, len(run.calls), run.outcome) == (None, 1, "ok")
    (nested,) = built([("tool/code-dispatch-start", START), ("tool/code-dispatch", END)])
    assert isinstance(nested, ReplayedNestedCall)
    assert nested.content == (Text("1 line"),)


RUN_END = {"callId": "call-1", "outcome": "ok"}


def test_a_reused_call_says_where_its_content_is_from() -> None:
    reuse = {"callId": "call-1", "subCallId": START["subCallId"], "fromSubCallId": "call-0:3"}
    (run,) = built(
        [
            ("run/start", RUN),
            ("tool/code-dispatch-start", START),
            ("run/reuse", reuse),
            ("tool/code-dispatch", END),
            ("run/end", RUN_END),
        ]
    )
    assert run.calls[0].reused_from == "call-0:3"
    assert "answered from call-0:3 of an earlier run" in plain([run])


def test_names_cannot_break_out_of_their_line() -> None:
    (call,) = built([("tool/call", {**CALL, "callId": "a\nb", "name": "x\u2028\x1b[0m"})])
    (title, *_) = render(call)
    assert title.text.startswith(r"a\nb  x\u2028\x1b[0m  unfinished")


@pytest.mark.parametrize("time", [0, 2**63 - 1])
def test_any_time_can_be_shown(time: int) -> None:
    (call,) = replay([Event(0, time, "tool/call", CALL)])
    assert "call-1" in plain([call])


@settings(max_examples=200, deadline=None)
@given(logs)
def test_every_start_is_shown_once_whatever_is_missing(log: Log) -> None:
    entries = built(log)
    shown: list[tuple[str, int]] = []

    def walk(entry: Any) -> None:
        if isinstance(entry, ReplayedCall):
            shown.append(("tool/call", entry.started))
            if entry.run is not None:
                walk(entry.run)
        elif isinstance(entry, ReplayedRun):
            shown.append(("run/start", entry.started))
            for nested in entry.calls:
                walk(nested)
        elif isinstance(entry, ReplayedNestedCall):
            shown.append(("tool/code-dispatch-start", entry.started))
        elif isinstance(entry, ReplayedTurn):
            shown.append(("turn/start" if entry.reason is None else "turn/end", entry.time))
        else:
            shown.append((f"{entry.role}/message", entry.time))

    for entry in entries:
        walk(entry)
    counted = {"turn/start", "turn/end", "tool/call", "run/start", "tool/code-dispatch-start", "user/message"}
    assert sorted(shown) == sorted((k, 1000 + n) for n, (k, _) in enumerate(log) if k in counted)
    plain(entries)
