"""Each fuzzer over its first cases; and each finds a fault that is put in on purpose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from codemode import values, wire
from codemode.guest.language import names
from codemode.sandbox import conversation
from tests.fuzz import policy
from tests.fuzz.campaign import campaign

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("what", "cases"), [("wire", 2500), ("values", 300), ("policy", 15)])
async def test_the_first_cases_find_nothing(what: str, cases: int) -> None:
    assert await campaign(what, 1, None, range(cases), quiet=True) == []


def _no_check_of_surrogates(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(values, "_check_text", lambda text: None)


def _a_list_that_grows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(values.FrozenList, "append", list.append)


def _a_cycle_watch_one_too_deep(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(values, "_enter", lambda container, depth, active: False)


def _an_end_that_only_the_host_knows(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(conversation._CLAIMS, "timeout", "timeout")


def _a_cancelled_call_that_is_still_answered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(conversation.Conversation, "_cancel", lambda self, id: self._handler.cancel(id))


def _an_error_that_is_none_of_the_wires(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(wire, "from_guest", wire._from_guest.decode)


FAULTS: dict[str, list[Any]] = {
    "values": [_no_check_of_surrogates, _a_list_that_grows, _a_cycle_watch_one_too_deep],
    "wire": [
        _an_end_that_only_the_host_knows,
        _a_cancelled_call_that_is_still_answered,
        _an_error_that_is_none_of_the_wires,
    ],
}


@pytest.mark.parametrize(
    ("what", "fault"), [(what, fault) for what, faults in FAULTS.items() for fault in faults]
)
async def test_a_fault_is_found(what: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    found = await campaign(what, 1, None, range(3000), most=1, quiet=True)
    assert found
    assert found[0].startswith(f"FOUND: python -m tests.fuzz {what} --seed 1 --case ")


async def test_a_name_that_is_let_through_is_found_by_running(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = policy._first_lines
    fault = (
        "sound = standin.prepare\n"
        "def prepare(*arguments):\n"
        "    sound(*arguments)\n"
        "    from codemode.guest.language import names\n"
        "    names._KINDS.update(gi_frame=names.PLAIN, f_globals=names.PLAIN, __globals__=names.PLAIN)\n"
        "standin.prepare = prepare\n"
    )
    monkeypatch.setattr(policy, "_first_lines", lambda: shipped() + fault)
    monkeypatch.setitem(names._KINDS, "gi_frame", names.PLAIN)
    monkeypatch.setitem(names._KINDS, "__globals__", names.PLAIN)
    monkeypatch.setattr(policy, "NEVER_READ", frozenset())  # the look at the code would find it first
    found = await campaign("policy", 1, None, range(200), most=1, quiet=True)
    assert any("ESCAPED: a frame" in each or "ESCAPED: a namespace" in each for each in found)


def test_a_name_that_is_let_through_is_found_in_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> set[str]:
        chance = Random(1)
        codes = (policy.accepted(policy.statement(chance, awaits=False)) for _ in range(1500))
        return {name for code in codes if code is not None for name in policy.forbidden_names(code)}

    assert found() == set()
    monkeypatch.setitem(names._KINDS, "mro", names.PLAIN)
    assert found() == {"reads .mro"}


def test_it_is_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "values", "--seed", "3", "--case", "5"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "seed 3: 1 cases" in done.stdout
