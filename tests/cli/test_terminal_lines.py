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
