"""The six terminal tools: what they take, do and return. A failed program is no failed call."""

from __future__ import annotations

import math
import signal
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import trio
from msgspec import UNSET, Meta, Struct, UnsetType

from codemode import Tool, ToolArgumentsError, ToolError, tool
from codemode.toolkits.jobs import Job, Settled
from codemode.toolkits.processes.output import Piece
from codemode.toolkits.terminal import showing
from codemode.toolkits.terminal.session import Session, WaitReason
from codemode.toolkits.terminal.sessions import Sessions

__all__ = ["terminal_tools"]

MAX_BYTES = 256 * 1024
"""How much text one call returns."""
DEFAULT_TIMEOUT_MS = 30_000
MAX_TIMEOUT_MS = 600_000
MAX_TYPED = 65_536
MAX_LINES = 10_000

_OPEN_SECONDS = 10.0  # for what a program shows when it starts
_LONG_SECONDS = MAX_TIMEOUT_MS / 1000 + 10

Type = Annotated[str, Meta(min_length=1, description="which program")]
Name = Annotated[str, Meta(min_length=1, max_length=80, description="a name of your own for it")]
Cwd = Annotated[str, Meta(min_length=1, description="a directory of the workspace, its root if not given")]
SessionId = Annotated[str, Meta(min_length=1, description="as terminal_open or terminal_list gave it")]
Typed = Annotated[
    str, Meta(max_length=MAX_TYPED, description=r"what to type; \u001b is Escape, \u0003 Ctrl-C, \u001b[A Up")
]
Submit = Annotated[bool, Meta(description="press the return key after it")]
WaitFor = Annotated[
    str, Meta(min_length=1, max_length=1000, description="return when this is shown, taken literally")
]
TimeoutMs = Annotated[float, Meta(description="how long to wait, default 30000, at most 600000")]
InBackground = Annotated[bool, Meta(description="return a jobId at once; follow it with job_output")]
SignalName = Annotated[
    Literal["SIGINT", "SIGTERM", "SIGKILL", "SIGTSTP", "SIGHUP"], Meta(description="which signal")
]
Offset = Annotated[int, Meta(ge=0, description="how many of the last lines to leave out")]
Count = Annotated[int, Meta(ge=1, le=MAX_LINES, description="how many lines to read at most")]


class Status(Struct, frozen=True, forbid_unknown_fields=True):
    """`running`, or `exited` with an exit code or the name of a signal."""

    kind: Literal["running", "exited"]
    exitCode: int | UnsetType | None = UNSET
    signal: str | UnsetType | None = UNSET


class SessionValue(TypedDict):
    sessionId: str
    name: NotRequired[str]
    type: str
    pid: NotRequired[int]
    status: Status


class OpenValue(SessionValue):
    motd: str


class Sent(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="foreground"):
    viewport: str
    waitReason: WaitReason
    sessionStatus: Status
    truncated: bool


class Background(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="background"):
    jobId: str


class ReadValue(TypedDict):
    text: str
    totalLines: int
    lineBegin: int
    lineEnd: int
    truncated: bool


class SignalValue(TypedDict):
    delivered: Literal[True]
    targetPgid: int


class CloseValue(TypedDict):
    sessionId: str
    outcome: Literal["closed", "already-closing"]


def terminal_tools(sessions: Sessions, *, with_jobs: bool) -> list[Tool]:
    """Return the tools; `terminal_send` has `run_in_background` only where there are tools to follow a job with."""
    jobs = sessions.jobs
    how = sessions.confinement.describe()

    @tool(
        render=showing.render_open,
        approval=f"it opens a terminal; what is typed there runs {how}",
        timeout=_OPEN_SECONDS + 20,
        lifespan=jobs,
        description=f"Open a terminal (40 rows, 160 columns) in which a program runs: {', '.join(sessions.types)}.",
    )
    async def terminal_open(type: Type, name: Name | None = None, cwd: Cwd | None = None) -> OpenValue:
        session = await sessions.open(type, name, cwd)
        await session.settled(_OPEN_SECONDS, None, 0, 0)
        shown, _ = await _shown_since(session, 0)
        _note_seen(session)
        return {**_session(session), "motd": shown}

    @tool(render=showing.render_list, parallel=True, read_only=True, timeout=10.0, lifespan=jobs)
    async def terminal_list() -> list[SessionValue]:
        """List the terminals, also those whose program has ended and that were not closed."""
        return [_session(each) for each in sessions.all()]

    async def send(
        session_id: str, text: str, submit: bool, wait_for: str | None, timeout_ms: float, in_background: bool
    ) -> Sent | Background:
        seconds = _seconds(timeout_ms)
        typed = text + ("\n" if submit else "")
        if wait_for is not None and wait_for in text:
            raise ToolArgumentsError(
                "wait_for is part of what is typed, which the terminal shows at once; wait for something that only "
                "the answer has"
            )
        session = sessions.find(session_id)
        if session.is_busy:
            raise ToolError(
                f"terminal session {session.id!r} is waiting for the answer to earlier input; wait for that call, or "
                "close the session",
                code="TERMINAL_BUSY",
            )
        if not in_background:
            return await _send(session, typed, wait_for, seconds)
        answer = _Answer()

        async def run(job: Job) -> Settled:
            sent: list[Sent] = []
            async with trio.open_nursery() as nursery:

                async def wait() -> None:
                    sent.append(await _send(session, typed, wait_for, seconds))
                    nursery.cancel_scope.cancel()

                nursery.start_soon(wait)
                await job.stop.wait()
                nursery.cancel_scope.cancel()
            if not sent:
                return Settled("completed")
            answer.piece = Piece(sent[0].viewport, sent[0].truncated, None)
            return Settled("completed", f"wait: {sent[0].waitReason}")

        label = f"{session.name or session.id}: {text}"
        return Background(jobs.start("pty-send", label, answer, run).id)

    about_sending = r"""Type into a terminal and return what it shows then.

    It waits until the program waits for input or has been silent for three seconds, or with `wait_for` until that text
    is shown; at most `timeout_ms`. `viewport` has the lines since the input, or the whole screen of a full-screen
    program. Empty text without `submit` only waits. Line breaks are typed as the return key.
    """

    if with_jobs:

        @tool(
            render=showing.render_send,
            presentation_meta=_send_meta,
            timeout=_LONG_SECONDS,
            lifespan=jobs,
            description=about_sending,
        )
        async def terminal_send(
            sessionId: SessionId,
            text: Typed,
            submit: Submit = True,
            wait_for: WaitFor | None = None,
            timeout_ms: TimeoutMs = DEFAULT_TIMEOUT_MS,
            run_in_background: InBackground = False,
        ) -> Sent | Background:
            return await send(sessionId, text, submit, wait_for, timeout_ms, run_in_background)

    else:

        @tool(
            render=showing.render_send,
            presentation_meta=_send_meta,
            timeout=_LONG_SECONDS,
            lifespan=jobs,
            description=about_sending,
        )
        async def terminal_send(
            sessionId: SessionId,
            text: Typed,
            submit: Submit = True,
            wait_for: WaitFor | None = None,
            timeout_ms: TimeoutMs = DEFAULT_TIMEOUT_MS,
        ) -> Sent | Background:
            return await send(sessionId, text, submit, wait_for, timeout_ms, False)

    @tool(render=showing.render_read, parallel=True, read_only=True, timeout=30.0, lifespan=jobs)
    async def terminal_read(sessionId: SessionId, offset: Offset = 0, count: Count = 500) -> ReadValue:
        """Read lines that a terminal has shown, the last ones unless `offset` leaves some of them out.

        About 10,000 lines are kept. Numbers count from the oldest that is. What a full-screen program shows is not
        among them; terminal_send shows that.
        """
        screen = await sessions.find(sessionId).look()
        lines = screen.lines()
        end = max(len(lines) - offset, 0)
        begin = max(end - count, 0)
        text, truncated = _last_of("\n".join(lines[begin:end]))
        begin = end - (text.count("\n") + 1) if truncated else begin
        return {
            "text": text,
            "totalLines": len(lines),
            "lineBegin": begin + 1 if end else 0,
            "lineEnd": end,
            "truncated": truncated,
        }

    @tool(render=showing.render_signal, timeout=10.0, lifespan=jobs)
    async def terminal_signal(sessionId: SessionId, signal: SignalName) -> SignalValue:
        """Send a signal to the programs in a terminal's foreground."""
        return {"delivered": True, "targetPgid": sessions.find(sessionId).send_signal(_SIGNALS[signal])}

    @tool(render=showing.render_close, timeout=30.0, lifespan=jobs)
    async def terminal_close(sessionId: SessionId) -> CloseValue:
        """Close a terminal, and end all that runs in it."""
        session = sessions.find(sessionId)
        closed = await sessions.close(session)
        return {"sessionId": session.id, "outcome": "closed" if closed else "already-closing"}

    return [terminal_open, terminal_list, terminal_send, terminal_read, terminal_signal, terminal_close]


_SIGNALS = {name: signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGKILL", "SIGTSTP", "SIGHUP")}


class _Answer:
    """What a terminal answered, when it has; the same each time."""

    def __init__(self) -> None:
        self.piece = Piece("", False, None)

    def take(self) -> Piece:
        return self.piece


async def _send(session: Session, typed: str, wait_for: str | None, seconds: float) -> Sent:
    session.is_busy = True
    try:
        screen = await session.look()
        before = session.written
        if typed:
            session.mark = session.seen = screen.at
            session.seen_written = before
            with trio.move_on_after(seconds) as limit:
                await session.type_text(typed)
            if limit.cancelled_caught:
                raise ToolError(
                    f"the program in terminal session {session.id!r} does not read what is typed",
                    code="TERMINAL_NOT_READING",
                )
        reason = await session.settled(seconds, wait_for, session.mark, before)
        shown, truncated = await _shown_since(session, session.seen)
        _note_seen(session)
        return Sent(shown, reason, _status(session), truncated)
    finally:
        session.is_busy = False


async def _shown_since(session: Session, since: int) -> tuple[str, bool]:
    """Return what a terminal shows of its lines from a number on, and whether some of it is missing."""
    screen = await session.look()
    if session.written == session.seen_written:
        return "", False
    if screen.is_alternate:
        return "\n".join(screen.rows()), False
    since = since if since <= screen.at else screen.at - screen.row_of_cursor  # the screen was cleared
    text, truncated = _last_of("\n".join(screen.lines(since)))
    return text, truncated or since < screen.first


def _note_seen(session: Session) -> None:
    session.seen = session.screen.at
    session.seen_written = session.written


def _last_of(text: str) -> tuple[str, bool]:
    data = text.encode()
    if len(data) <= MAX_BYTES:
        return text, False
    return data[-MAX_BYTES:].decode("utf-8", "ignore"), True


def _seconds(milliseconds: float) -> float:
    if not (math.isfinite(milliseconds) and milliseconds > 0):
        raise ToolArgumentsError(f"invalid timeout_ms: expected a positive number, got {milliseconds:g}")
    return min(milliseconds, MAX_TIMEOUT_MS) / 1000


def _status(session: Session) -> Status:
    if not session.has_exited:
        return Status("running")
    return Status("exited", session.exit_code, session.signal)


def _session(session: Session) -> SessionValue:
    value: SessionValue = {"sessionId": session.id, "type": session.type, "status": _status(session)}
    if session.name is not None:
        value["name"] = session.name
    if session.pid is not None:
        value["pid"] = session.pid
    return value


def _send_meta(arguments: object, value: Any) -> Any:
    return None if value["kind"] == "background" else {key: value[key] for key in value if key != "kind"}
