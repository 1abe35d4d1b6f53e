"""The chat: what is typed goes to a model, what it calls is run and shown, approvals are asked on the terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from codemode import Session
from tests.agent.server import Play, Recorded, plays, recorded, refused
from tests.conversation.checker import problems, response_problems
from tests.conversation.scripts import (
    answer,
    events,
    item_call,
    item_text,
    response,
    response_events,
    said,
    stream_bytes,
    thought,
    use,
)

REMOVE = '''
from codemode import as_text, tool

@tool(render=as_text, approval="it deletes")
def remove(path: str) -> str:
    """Remove a file."""
    return f"removed {path}"
'''


def run_code(id: str, code: str) -> Any:
    return use(id, "run_code", code=code, description="look")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "own.py").write_text(REMOVE)
    return tmp_path


def environment(server: Recorded | None) -> dict[str, str]:
    url = server.url if server is not None else "http://127.0.0.1:9"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "OPENAI"))}
    return {
        **kept,
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": url,
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": url,
        "HOME": "/nonexistent",
    }


async def chat(
    server: Recorded | None, place: Path, typed: str, *options: str, env: dict[str, str] | None = None
) -> Any:
    """Hold a chat whose messages come from a pipe, away from any terminal."""
    command = [sys.executable, "-m", "codemode", "chat", *options]
    return await trio.run_process(
        command,
        cwd=place,
        env=env or environment(server),
        stdin=typed.encode(),
        capture_stdout=True,
        capture_stderr=True,
        check=False,
        start_new_session=True,
    )


async def test_messages_from_a_pipe_are_answered_line_by_line(place: Path):
    script = [
        answer(
            thought("a program will do"),
            said("I look."),
            run_code("p", "print('hi')\nreturn tools.read('a.txt')['totalLines']"),
        ),
        answer(said("Two lines.")),
        answer(said("Bye.")),
    ]
    async with recorded(plays(*script)) as server:
        done = await chat(
            server, place, "How long is \\\na.txt?\n\n/new\nThanks\n", "--model", "m1", "--session", "c.db"
        )
    assert done.stderr == b""
    assert done.returncode == 0
    assert done.stdout.decode().splitlines() == [
        "a program will do",
        "I look.",
        "run_code look",
        "    1 | print('hi')",
        "    2 | return tools.read('a.txt')['totalLines']",
        "  hi",
        "run_code ok",
        "  2",
        "Two lines.",
        "[a new conversation begins]",
        "Bye.",
    ]
    assert server.requests[0]["messages"] == [{"role": "user", "content": [said("How long is \na.txt?")]}]
    assert [each["name"] for each in server.requests[0]["tools"]] == ["run_code"]
    assert "def read(" in server.requests[0]["tools"][0]["description"]
    assert server.requests[2]["messages"] == [{"role": "user", "content": [said("Thanks")]}]


async def test_a_session_is_gone_on_with_also_where_a_turn_did_not_come_to_its_end(place: Path):
    script = [
        Play(stream_bytes(events(answer(said("Hello."))))),
        refused(401, "authentication_error"),
        Play(stream_bytes(events(answer(said("Here I am."))))),
    ]
    options = ("--model", "m1", "--session", "c.db", "--system", "Be brief.")
    async with recorded(script) as server:
        first = await chat(server, place, "hi\nare you there?\n", *options)
        second = await chat(server, place, "\n", *options)
    assert first.stdout.decode().splitlines() == [
        "Hello.",
        "[the turn ended: error: anthropic answered with status 401: not now; an empty line lets the model go on]",
    ]
    assert (first.returncode, second.returncode) == (1, 0)  # whether the last message was answered
    assert second.stdout.decode().splitlines() == [
        "[the last turn did not come to its end; an empty line lets the model go on]",
        "Here I am.",
    ]
    assert [m["content"][0]["text"] for m in server.requests[2]["messages"]] == [
        "hi",
        "Hello.",
        "are you there?",
    ]
    assert server.requests[2]["system"] == "Be brief."
    with Session.read(place / "c.db") as reader:
        reasons = [event.data["reason"] for event in reader.events(types="turn/end")]
    assert reasons == ["completed", "error", "completed"]


async def test_the_other_provider_and_the_tools_themselves(place: Path):
    played = [response(item_call("c1", "read", file_path="a.txt")), response(item_text("Two lines."))]
    async with recorded([Play(stream_bytes(response_events(each))) for each in played]) as server:
        done = await chat(
            server,
            place,
            "How long?\n",
            "--provider",
            "openai",
            "--model",
            "m1",
            "--mode",
            "native",
            "--max-tokens",
            "99",
        )
    assert done.stdout.decode().splitlines()[:2] == ['read {"file_path": "a.txt"}', "read ok"]
    assert done.stdout.decode().splitlines()[-1] == "Two lines."
    assert sorted(each["name"] for each in server.requests[0]["tools"]) == ["glob", "grep", "read"]
    assert server.requests[0]["max_output_tokens"] == 99
    assert response_problems(server.requests[1]["input"]) == []


async def test_what_is_missing_is_said(place: Path):
    without = environment(None)
    del without["OPENAI_API_KEY"], without["ANTHROPIC_API_KEY"]
    done = await chat(None, place, "hi\n", "--provider", "openai", "--model", "m", env=without)
    assert done.returncode == 1
    assert done.stderr.decode().startswith("codemode: ")
    assert "OPENAI_API_KEY" in done.stderr.decode()
    done = await chat(None, place, "hi\n")
    assert done.returncode == 2
    assert "--model" in done.stderr.decode()
    done = await chat(None, place, "hi\n", "--model", "m", "--allow", "nothing")
    assert (done.returncode, done.stderr.decode()[:48]) == (
        2,
        "codemode: --allow nothing: there is no such tool",
    )


class Terminal:
    """A chat on a terminal of its own."""

    def __init__(self, place: Path, env: dict[str, str], *options: str) -> None:
        self.pid, self._leader = pty.fork()
        if self.pid == 0:
            os.chdir(place)
            os.execve(
                sys.executable, [sys.executable, "-m", "codemode", "chat", *options], {**env, "TERM": "dumb"}
            )
        self.text = ""

    async def until(self, words: str) -> None:
        while words not in self.text:
            await trio.lowlevel.wait_readable(self._leader)
            try:
                self.text += os.read(self._leader, 65536).decode("utf-8", "replace").replace("\r\n", "\n")
            except OSError:
                raise AssertionError(f"{words!r} never came: {self.text}") from None

    def type(self, text: str) -> None:
        self.text = ""
        os.write(self._leader, text.encode())

    async def ended(self) -> int:
        _, status = await trio.to_thread.run_sync(os.waitpid, self.pid, 0)
        os.close(self._leader)
        return os.waitstatus_to_exitcode(status)


async def test_on_a_terminal_calls_are_approved_and_a_turn_can_be_stopped(place: Path):
    endless = stream_bytes(events(answer(said("A long story. " * 20))))
    script = [
        *plays(answer(run_code("p", "return tools.remove('a.txt')")), answer(said("Gone.\x1b[31m"))),
        Play(endless, hold_at=900),
        *plays(answer(said("As you like."))),
    ]
    async with recorded(script) as server:
        screen = Terminal(
            place, environment(server), "--model", "m1", "--tools", "own:remove", "--session", "c.db"
        )
        await screen.until("\n> ")
        screen.type("Remove it.\n")
        await screen.until("Allow this call? [y] yes  [a] yes, for the whole run  [n] no: ")
        assert 'remove {"path": "a.txt"}\n  it deletes\n' in screen.text
        screen.type("y\n")
        await screen.until("\n> ")
        assert "run_code ok\n  removed a.txt\nGone.\\x1b[31m\n" in screen.text
        screen.type("Tell me a story.\n")
        await screen.until("A long")
        screen.type("\x03")
        await screen.until("[stopped]\n\n> ")
        screen.type("Enough.\n")
        await screen.until("As you like.\n\n> ")
        screen.type("\x04")
        assert await screen.ended() == 0
    assert len(server.requests) == 4
    assert [message["role"] for message in server.requests[3]["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert server.requests[3]["messages"][-1]["content"] == [said("Tell me a story."), said("Enough.")]
    assert problems(server.requests[3]["messages"]) == []


async def test_while_a_question_stands_nothing_else_is_shown_and_calls_are_told_apart(place: Path):
    program = """
import asyncio
async def ask():
    return await tools.remove('a.txt')
async def talk():
    await asyncio.sleep(0.05)
    print('I talk')
await asyncio.gather(ask(), talk())
print('end')
"""
    calls = answer(
        run_code("p", program),
        use(
            "q",
            "run_code",
            code="print('resting')\nimport asyncio\nawait asyncio.sleep(60)",
            description="rest",
        ),
    )
    async with recorded(plays(calls, answer(said("Well.")))) as server:
        screen = Terminal(place, environment(server), "--model", "m1", "--tools", "own:remove")
        await screen.until("\n> ")
        screen.type("Go.\n")
        await screen.until("[n] no: ")
        await trio.sleep(0.3)
        screen.type("y\n")
        await screen.until("resting\n")
        assert screen.text == "y\n  I talk\n  end\nrun_code ok look\n  resting\n"
        screen.type("\x03")  # in the second program
        await screen.until("[stopped]\n\n> ")
        assert screen.text.startswith("^C\nrun_code failed rest\n  Error: ")
        screen.type("\x04")
        assert await screen.ended() == 0


async def test_an_interrupt_at_the_prompt_ends_the_chat_with_its_log_complete(place: Path):
    async with recorded(plays(answer(said("Hello.")))) as server:
        screen = Terminal(place, environment(server), "--model", "m1", "--session", "c.db")
        await screen.until("\n> ")
        screen.type("hi\n")
        await screen.until("Hello.\n\n> ")
        screen.type("\x03")
        await screen.until("^C\n")  # what comes next begins on a line of its own
        assert await screen.ended() == 130
    with Session.read(place / "c.db") as reader:
        assert [event.type for event in reader.events()][-2:] == ["step/end", "turn/end"]


async def test_a_signal_while_nothing_is_typed_ends_the_chat(place: Path):
    command = [sys.executable, "-m", "codemode", "chat", "--model", "m1", "--session", "c.db"]
    async with recorded(plays(answer(said("Hello.")))) as server:
        process = await trio.lowlevel.open_process(
            command,
            cwd=place,
            env=environment(server),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        await process.stdin.send_all(b"hi\n")
        shown = b""
        while b"Hello." not in shown:
            shown += await process.stdout.receive_some()
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 128 + signal.SIGTERM
        assert await process.stderr.receive_some() == b""
        for pipe in (process.stdin, process.stdout, process.stderr):
            await pipe.aclose()


def test_the_help_of_the_command_names_what_it_needs():
    command = [sys.executable, "-m", "codemode", "chat", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for word in ("--model", "--provider", "--mode", "--session", "ANTHROPIC_API_KEY", "--allow"):
        assert word in shown
