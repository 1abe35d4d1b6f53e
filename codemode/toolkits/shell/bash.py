"""`bash`: one command in a fresh shell, waited for or left in the background.

How a command ended is part of the value: an exit code, a signal or a timeout is no failure of the call. What fails
it is a command that could not be started, and arguments that mean nothing.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

import trio
from msgspec import UNSET, Meta, Struct, UnsetType

from codemode import Text, Tool, ToolArgumentsError, ToolError, text, tool
from codemode.toolkits.jobs import Job, Jobs, Settled
from codemode.toolkits.processes.command import GRACE_SECONDS, Command, Place, started
from codemode.toolkits.processes.confinement import Confinement, Enforcement
from codemode.toolkits.processes.output import SPILL_BYTES, Output, Piece

__all__ = ["Background", "Foreground", "bash_tool"]

DEFAULT_TIMEOUT_MS = 120_000
MAX_TIMEOUT_MS = 600_000

_SHELL = ("bash", "--noprofile", "--norc", "-c")
_DRAIN_SECONDS = 2.0  # for what is still in the pipes when nothing of the command is left
_TOOL_SECONDS = MAX_TIMEOUT_MS / 1000 + GRACE_SECONDS + 30

CommandText = Annotated[str, Meta(min_length=1, description="what bash is to run")]
Description = Annotated[str, Meta(description="what it does, in a few words, for the user")]
TimeoutMs = Annotated[float, Meta(description="default 120000, at most 600000; none for a background job")]
Workdir = Annotated[
    str, Meta(min_length=1, description="a directory of the workspace, its root if not given")
]
InBackground = Annotated[bool, Meta(description="return a jobId at once; follow it with job_output")]


class Stream(Struct, frozen=True, forbid_unknown_fields=True):
    """The end of what was printed, and where the whole of it is, if that is more. `bytes` is how much there was."""

    text: str
    truncated: bool
    bytes: int
    spillPath: str | UnsetType = UNSET


class Sandbox(Struct, frozen=True, forbid_unknown_fields=True):
    """What held the command: `enforcement` names it. `denied`: its errors look as if something was refused."""

    mode: Literal["workspace-write", "danger-full-access"]
    denied: bool
    enforcement: Enforcement | UnsetType = UNSET


class Foreground(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="foreground"):
    """How a command ended. `aborted` is never true: a call that is cancelled has no value."""

    exitCode: int | None
    signal: str | None
    timedOut: bool
    aborted: bool
    timeoutMs: int
    stdout: Stream
    stderr: Stream
    sandbox: Sandbox


class Background(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="background"):
    jobId: str


def bash_tool(confinement: Confinement, jobs: Jobs) -> Tool:
    how = confinement.describe()

    @tool(
        render=_render,
        approval=f"it runs a command {how}",
        timeout=_TOOL_SECONDS,
        lifespan=jobs,
        description=_description(confinement),
    )
    async def bash(
        command: CommandText,
        description: Description,
        timeoutMs: TimeoutMs | None = None,
        workdir: Workdir | None = None,
        run_in_background: InBackground = False,
    ) -> Foreground | Background:
        if not command.strip() or "\0" in command:
            raise ToolArgumentsError("invalid command: expected a non-empty string without NUL characters")
        if not description.strip():
            raise ToolArgumentsError("invalid description: expected a non-empty string")
        milliseconds = _timeout(timeoutMs)
        place = await _place(confinement, jobs, workdir)
        if run_in_background:
            limit = None if timeoutMs is None else milliseconds
            return Background(_start(jobs, place, command, limit))
        return await _run(jobs, place, command, milliseconds)

    return bash


def _description(confinement: Confinement) -> str:
    where = (
        "It may write in the workspace and in /tmp, which lasts as long as the tools do; it sees the system's "
        "programs, no home directories, and has no network."
        if confinement.enforcement is not None
        else "Nothing confines it."
    )
    return f"""Run a command in a fresh bash, in the workspace, without input. {where}

    The value has the exit code or the signal, and the last 64,000 bytes of each stream; the whole of a longer one
    is in a file. At `timeoutMs` it is ended with all that it started, and so is what it leaves behind when it exits:
    for a server or a long task use `run_in_background`.
    """


def _timeout(given: float | None) -> int:
    if given is None:
        return DEFAULT_TIMEOUT_MS
    if not (math.isfinite(given) and given > 0):
        raise ToolArgumentsError(f"invalid timeoutMs: expected a positive number, got {given:g}")
    return max(1, min(int(given), MAX_TIMEOUT_MS))


async def _place(confinement: Confinement, jobs: Jobs, workdir: str | None) -> Place:
    cwd = await trio.to_thread.run_sync(confinement.directory, workdir)
    return Place(confinement, cwd, await jobs.scratch(), await jobs.outputs())


# ---------------------------------------------------------------------------------- one command


async def _run(jobs: Jobs, place: Place, command: str, milliseconds: int) -> Foreground:
    stdout, stderr = Output(jobs.spills, "stdout"), Output(jobs.spills, "stderr")
    async with started(place, [*_SHELL, command]) as running:
        timed_out = await _follow(running, {running.stdout: stdout, running.stderr: stderr}, milliseconds)
    _require_report(running)
    errors = stderr.whole()
    return Foreground(
        exitCode=running.exit_code,
        signal=running.signal,
        timedOut=timed_out,
        aborted=False,
        timeoutMs=milliseconds,
        stdout=_stream(stdout.whole(), stdout.total),
        stderr=_stream(errors, stderr.total),
        sandbox=_sandbox(place.confinement, running, errors.text),
    )


def _start(jobs: Jobs, place: Place, command: str, milliseconds: int | None) -> str:
    output = Output(jobs.spills, "job")

    async def run(job: Job) -> Settled:
        async with started(place, [*_SHELL, command], merge=True) as running:
            timed_out = await _follow(running, {running.stdout: output}, milliseconds, job.stop)
        if timed_out:
            return Settled("failed", f"timed out after {milliseconds}ms")
        if running.exit_code is not None:
            status: Literal["completed", "failed"] = "failed" if running.exit_code else "completed"
            return Settled(status, f"exit code: {running.exit_code}")
        return Settled("failed", f"signal: {running.signal}" if running.signal else "killed before exit")

    return jobs.start("bash", command, output, run).id


async def _follow(
    running: Command,
    outputs: dict[trio.lowlevel.FdStream, Output],
    milliseconds: int | None,
    stop: trio.Event | None = None,
) -> bool:
    """Read a command's output until nothing of it is left; return whether its time was up before that."""
    timed_out = False
    async with trio.open_nursery() as nursery:
        read = trio.Event()
        nursery.start_soon(_read, outputs, read)
        if stop is not None:
            nursery.start_soon(_stop, stop, running)
        with trio.move_on_after(math.inf if milliseconds is None else milliseconds / 1000) as limit:
            await running.wait_exit()
        if limit.cancelled_caught:
            timed_out = True
            await running.terminate()
        with trio.move_on_after(GRACE_SECONDS + _DRAIN_SECONDS):
            await running.wait_exit()
            await running.wait_gone()
            await read.wait()
        nursery.cancel_scope.cancel()
    return timed_out


async def _read(outputs: dict[trio.lowlevel.FdStream, Output], read: trio.Event) -> None:
    async with trio.open_nursery() as nursery:
        for stream, output in outputs.items():
            nursery.start_soon(output.fill, stream)
    read.set()


async def _stop(stop: trio.Event, running: Command) -> None:
    await stop.wait()
    await running.terminate()


def _require_report(running: Command) -> None:
    if running.exit_code is None and running.signal is None:
        raise ToolError(
            "the command was lost: the process that watches over it was killed, and the command with it",
            code="COMMAND_FAILED",
        )


def _stream(piece: Piece, total: int) -> Stream:
    path = UNSET if piece.spill_path is None else piece.spill_path
    return Stream(piece.text, piece.truncated, total, path)


_DENIALS = re.compile(
    "Read-only file system|Network is unreachable|Temporary failure in name resolution|Could not resolve host"
)


def _sandbox(confinement: Confinement, running: Command, errors: str) -> Sandbox:
    if confinement.enforcement is None:
        return Sandbox("danger-full-access", denied=False)
    denied = running.exit_code != 0 and _DENIALS.search(errors) is not None
    return Sandbox("workspace-write", denied, confinement.enforcement)


# ------------------------------------------------------------------------------------- what is shown


def _render(arguments: object, value: Any) -> list[Text]:
    if value["kind"] == "background":
        return [text(f"started background job {value['jobId']}")]
    shown = _render_stream(value["stdout"])
    errors = _render_stream(value["stderr"])
    if errors:
        shown = f"{_line(shown)}[stderr]\n{errors}"
    shown = shown or "(no output)"
    for marker in _markers(value):
        shown = _line(shown) + marker
    return [text(shown)]


def _line(shown: str) -> str:
    return shown if not shown or shown.endswith("\n") else shown + "\n"


def _render_stream(stream: Any) -> str:
    if not stream["truncated"]:
        return str(stream["text"])
    path = stream.get("spillPath", "(unavailable)")
    if stream["bytes"] > SPILL_BYTES and "spillPath" in stream:
        path += f" (its first {SPILL_BYTES // 2**20} MiB)"
    return f"{_line(stream['text'])}[output truncated; full output: {path}]"


def _markers(value: Any) -> list[str]:
    markers = []
    if value["sandbox"]["denied"]:
        markers.append(
            "[sandbox: access denied; a command may write in the workspace and /tmp only, and has no network]"
        )
    if value["timedOut"]:
        markers.append(f"[timed out after {value['timeoutMs']}ms]")
    if value["signal"] is not None:
        markers.append(f"[killed by signal: {value['signal']}]")
    elif value["exitCode"] != 0:
        markers.append(f"[exit code: {value['exitCode']}]")
    return markers
