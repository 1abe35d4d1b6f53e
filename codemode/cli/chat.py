"""`codemode chat`: a plain terminal chat over a workspace. What the model sees and does is in `codemode.agent`.

Messages come from the terminal, or line by line from standard input when that is something else; approvals are
asked on the terminal in either case. Ctrl-C stops the turn that is under way; without one it ends the chat.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import trio

from codemode.agent import Agent, Provider
from codemode.cli.approve import CommandLineApprover, Terminal, open_terminal
from codemode.cli.chat_view import ChatView
from codemode.cli.options import add_tools, count
from codemode.cli.providers import PROVIDERS
from codemode.cli.set_up import Tooling, set_up
from codemode.cli.terminal import printable, write
from codemode.engine import CodeMode
from codemode.errors import ConversationError, SandboxUnavailable, SessionError

__all__ = ["DESCRIPTION", "add_arguments", "command"]

_HELP = """\
/new   leave out all that was said so far (it stays in the session)
/quit  end; so does Ctrl-D
A line that ends with \\ goes on in the next one. Ctrl-C stops what the model is doing.
"""


DESCRIPTION = (
    "Talk with a model that has tools over a workspace, on the terminal or line by line from standard "
    "input. Keys and addresses come from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, …_BASE_URL). Exit "
    "code: 0 at the end of input, 1 it could not go on (from standard input also: the last message was not answered), "
    "2 wrong usage."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--model", metavar="NAME", required=True, help="the model, by its provider's name")
    parser.add_argument(
        "--provider",
        choices=sorted(PROVIDERS),
        default="anthropic",
        help="whose API is spoken (default: %(default)s); each needs the extra of that name",
    )
    parser.add_argument(
        "--mode",
        choices=["code", "native", "both"],
        default="code",
        help="what the model can call: run_code, the tools themselves, or both (default: %(default)s)",
    )
    add_tools(parser)
    parser.add_argument(
        "--session", metavar="FILE", help="keep the conversation in this SQLite file, and go on with it"
    )
    parser.add_argument("--system", metavar="TEXT", default="", help="what the model is told before all else")
    parser.add_argument(
        "--max-tokens",
        metavar="N",
        type=count,
        default=8192,
        help="tokens of one answer (default: %(default)d)",
    )
    parser.add_argument(
        "--max-steps",
        metavar="N",
        type=count,
        default=50,
        help="answers until the model has its last word (default: %(default)d)",
    )


def command(options: argparse.Namespace) -> int:
    """Run the command and return its exit code: 0 at the end of input, 1 when it cannot go on or the last message
    of a pipe was not answered, 130 interrupted.

    Raises `UsageError`, and OSError when nothing can be written.
    """
    return trio.run(_set_up, options)


async def _set_up(options: argparse.Namespace) -> int:
    terminal = open_terminal()
    try:
        async with AsyncExitStack() as stack:
            try:
                provider = await stack.enter_async_context(PROVIDERS[options.provider](options.model))
            except ConversationError as error:
                return _say_no(error)
            async with set_up(options, terminal, provider) as tooling:
                return await _chat(tooling, options, provider, terminal)
    finally:
        if terminal is not None:
            terminal.close()


async def _chat(
    tooling: Tooling, options: argparse.Namespace, provider: Provider, terminal: Terminal | None
) -> int:
    approver = CommandLineApprover(options.allow, terminal)
    code = 1
    try:
        async with CodeMode(
            tooling.registry, session=options.session, approver=approver, mode=options.mode
        ) as cm:
            tooling.begin(cm.session)
            view = ChatView(terminal)
            agent = Agent(
                cm,
                provider,
                system=options.system,
                max_tokens=options.max_tokens,
                max_steps=options.max_steps,
                watcher=view,
                notices=tooling.notices,
            )
            async with trio.open_nursery() as nursery:
                talk = _Talk(agent, view, _lines(terminal), nursery.cancel_scope)
                await nursery.start(talk.watch_interrupts)
                code = await talk.go()
                nursery.cancel_scope.cancel()
            if talk.code is not None:
                view.end()
                code = talk.code
            return code
    except* (SandboxUnavailable, SessionError, ConversationError) as group:
        code = _say_no(group)
    return code


class _Talk:
    """The talk itself: what is typed goes to the model, until there is no more."""

    def __init__(
        self, agent: Agent, view: ChatView, lines: AsyncIterator[str], scope: trio.CancelScope
    ) -> None:
        self._agent = agent
        self._view = view
        self._lines = lines
        self._scope = scope
        self._turn: trio.CancelScope | None = None
        self._is_answered = True  # the last message
        self.code: int | None = None

    async def watch_interrupts(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """SIGINT stops a turn, or else the chat; SIGTERM and SIGHUP the chat, with its log complete."""
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            task_status.started()
            async for number in signals:
                if number == signal.SIGINT:
                    self._view.interrupted()
                if number == signal.SIGINT and self._turn is not None:
                    self._turn.cancel()
                else:
                    self.code = 128 + number
                    self._scope.cancel()

    async def go(self) -> int:
        if self._agent.problem is not None:
            self._view.note(f"{self._agent.problem}; this conversation cannot go on: /new begins another")
        elif self._agent.is_waited_for:
            self._view.note("the last turn did not come to its end; an empty line lets the model go on")
        while True:
            self._view.prompt()
            line = await self._message()
            if line is None or line == "/quit":
                self._view.end()
                return 0 if self._is_answered or sys.stdin.isatty() else 1
            if line == "/new":
                self._agent.forget()
                await self._agent.scope.session.commit()
                self._view.note("a new conversation begins")
            elif line in ("/help", "/?"):
                self._view.note(_HELP.rstrip())
            elif line or self._agent.is_waited_for:
                await self._say(line)

    async def _message(self) -> str | None:
        """Return what was typed, over several lines if they end with a backslash; None at the end of input."""
        parts: list[str] = []
        async for line in self._lines:
            text = line.rstrip("\r\n")
            if not text.endswith("\\"):
                return "\n".join([*parts, text]).strip()
            parts.append(text[:-1])
        return "\n".join(parts).strip() or None

    async def _say(self, line: str) -> None:
        self._turn = trio.CancelScope()
        self._is_answered = False
        try:
            with self._turn:
                result = await (self._agent.run(line) if line else self._agent.go_on())
                self._is_answered = result.reason == "completed"
                self._view.ended(result, self._how_to_go_on())
        finally:
            stopped, self._turn = self._turn.cancelled_caught, None
        if stopped:
            self._view.note("stopped")

    def _how_to_go_on(self) -> str:
        if self._agent.problem is not None:
            return "this conversation cannot go on: /new begins another"
        return "an empty line lets the model go on" if self._agent.is_waited_for else ""


async def _lines(terminal: Terminal | None) -> AsyncIterator[str]:
    """What is typed on the terminal, or what comes on standard input if that is something else; line by line."""
    if terminal is not None and sys.stdin.isatty():
        while line := await terminal.read_line():
            yield line
        return
    rest = b""
    # Not through `sys.stdin`: a thread that is left waiting in it would hold a lock that the interpreter needs to end.
    while data := await trio.to_thread.run_sync(os.read, sys.stdin.fileno(), 65536, abandon_on_cancel=True):
        *lines, rest = (rest + data).split(b"\n")
        for each in lines:
            yield each.decode("utf-8", "replace") + "\n"
    if rest:
        yield rest.decode("utf-8", "replace")


def _say_no(error: BaseException) -> int:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    sys.stdout.flush()
    write(f"codemode: {printable(str(error))}\n", sys.stderr)
    return 1
