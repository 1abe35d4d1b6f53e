"""Who gets the line that is typed, when several wait for one."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from codemode.cli.approve import CommandLineApprover, Terminal


@pytest.fixture
def terminal() -> Iterator[tuple[Terminal, int]]:
    leader, follower = pty.openpty()
    made = Terminal(follower)
    yield made, leader
    made.close()
    os.close(leader)


async def test_an_approval_is_read_before_the_next_line_of_a_chat(terminal):
    lines, keyboard = terminal
    got: list[Any] = []

    async def chat() -> None:
        got.append(("chat", await lines.read_line()))

    async def ask() -> None:
        got.append(("ask", await lines.read_line(first=True)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(chat)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        os.write(keyboard, b"y\n")
        while not got:
            await trio.sleep(0.001)
        os.write(keyboard, b"hello\n")
    assert got == [("ask", "y\n"), ("chat", "hello\n")]


async def test_a_chat_that_is_cancelled_leaves_the_line_to_others(terminal):
    lines, keyboard = terminal
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lines.read_line)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    os.write(keyboard, b"y\n")
    assert await lines.read_line(first=True) == "y\n"


async def test_agents_that_ask_at_once_are_answered_one_after_the_other(terminal):
    lines, keyboard = terminal
    approver = CommandLineApprover((), lines)
    answers: dict[str, Any] = {}

    async def ask(name: str) -> None:
        request: Any = SimpleNamespace(tool=SimpleNamespace(name=name), arguments={}, reason="it writes")
        answers[name] = await approver([request])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, "one")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask, "two")
        await trio.testing.wait_all_tasks_blocked()
        os.write(keyboard, b"y\n")
        while not answers:
            await trio.sleep(0.001)
        os.write(keyboard, b"n\n")
    assert answers == {"one": ["allow-once"], "two": ["deny"]}


async def test_what_is_not_shown_whole_shows_its_end_and_is_not_allowed_for_a_run(terminal):
    lines, keyboard = terminal
    tool = SimpleNamespace(name="send")
    long: Any = SimpleNamespace(tool=tool, arguments={"text": "x" * 9_000 + " to all"}, reason="it\nsends")
    short: Any = SimpleNamespace(tool=tool, arguments={}, reason="it sends")
    approver = CommandLineApprover((), lines)
    os.write(keyboard, b"a\n")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(approver, [long, short])
        seen = ""
        while seen.count("[n] no: ") < 2:
            await trio.lowlevel.wait_readable(keyboard)
            seen += os.read(keyboard, 65536).decode().replace("\r\n", "\n")
        os.write(keyboard, b"n\n")
    assert 'x to all"}\n  it sends\n  NOT SHOWN: ' in seen
    assert seen.count("Allow these 2 calls? [y] yes  [n] no: ") == 2  # `a` was no answer
    os.write(keyboard, b"a\n")
    assert await approver([short]) == ["allow-for-run"]


def test_a_question_stands_until_the_last_asker_is_done(terminal):
    lines, _ = terminal
    one, two = lines.asking(), lines.asking()
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert lines.is_asking
    two.__exit__(None, None, None)
    assert not lines.is_asking


async def test_more_calls_than_stay_in_sight_are_asked_about_in_several_questions(terminal):
    lines, keyboard = terminal
    drop, keep = SimpleNamespace(name="drop"), SimpleNamespace(name="keep")
    requests: list[Any] = [
        SimpleNamespace(tool=drop if n < 41 else keep, arguments={"n": n}, reason="why") for n in range(60)
    ]
    answers: list[Any] = []
    async with trio.open_nursery() as nursery:

        async def ask() -> None:
            answers.extend(await CommandLineApprover(("keep",), lines)(requests))

        nursery.start_soon(ask)
        for typed in (b"n\n", b"a\n"):
            seen = b""
            while not seen.endswith(b"[n] no: "):
                await trio.lowlevel.wait_readable(keyboard)
                seen += os.read(keyboard, 65536)
            assert seen.count(b"why") == 20
            os.write(keyboard, typed)
    assert answers == ["deny"] * 20 + ["allow-for-run"] * 40
