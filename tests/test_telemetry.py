"""Spans, where a program takes a trace; nothing where it does not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def spans():
    done = subprocess.run(
        [sys.executable, str(HERE / "traced.py")], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def those(spans, name):
    return [span for span in spans if span["name"] == name]


def test_a_run_is_a_span_under_what_its_caller_is_doing(spans):
    runs = those(spans, "execute_tool run_code")
    assert [(run["parent"], run["failed"]) for run in runs] == [("outer", False), (None, True), (None, True)]
    assert [run["attributes"].get("error.type") for run in runs] == [None, "exception", "ABORTED"]
    assert runs[0]["attributes"]["gen_ai.operation.name"] == "execute_tool"
    assert runs[0]["attributes"]["gen_ai.tool.name"] == "run_code"
    assert runs[0]["attributes"]["gen_ai.tool.call.id"].startswith("call_")


def test_calls_that_a_program_makes_are_spans_under_its_run(spans):
    found = those(spans, "execute_tool ok")
    assert [span["parent"] for span in found] == [*["execute_tool run_code"] * 3, None]
    ids = [span["attributes"]["gen_ai.tool.call.id"] for span in found]
    assert len(set(ids)) == 4
    assert ids[0].count(":") == 1


def test_what_a_body_does_comes_under_its_call_also_in_a_thread(spans):
    assert [span["parent"] for span in those(spans, "inside")] == ["execute_tool ok"] * 3
    assert [span["parent"] for span in those(spans, "in thread")] == ["execute_tool in_thread"]


def test_a_call_that_fails_is_refused_or_is_cancelled_says_so(spans):
    for name, error in (("secret", "NO"), ("forbidden", "DENIED"), ("slow", "ABORTED")):
        (span,) = those(spans, f"execute_tool {name}")
        assert (span["attributes"]["error.type"], span["failed"]) == (error, True)
        assert span["parent"] == "execute_tool run_code"
    assert [span["attributes"].get("error.type") for span in those(spans, "execute_tool ok")].count(
        "INVALID_ARGUMENTS"
    ) == 1


def test_the_start_of_each_guest_is_a_span(spans):
    starts = those(spans, "codemode.guest start")
    assert [start["parent"] for start in starts] == ["execute_tool run_code"] * 3
    for start in starts:
        assert start["attributes"]["codemode.guest.spare"] is (start["nanoseconds"] == 0)


def test_no_span_holds_arguments_or_values(spans):
    assert "sesame" not in json.dumps(spans)


def test_where_nobody_takes_a_trace_nothing_is_imported_and_no_hook_is_there():
    program = """
import sys, trio
from codemode import CodeMode
async def main():
    async with CodeMode() as engine:
        assert (await engine.run("return 1")).result == 1
        assert engine.registry.hooks.around == ()
trio.run(main)
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
import opentelemetry.trace
assert CodeMode().registry.hooks.around == ()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
