"""`job_output`, `job_list`, `job_kill`: what can be done with background jobs, whatever they do."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import trio
from msgspec import Meta

from codemode import Call, Text, Tool, ToolArgumentsError, text, tool
from codemode.toolkits.jobs import Jobs, Snapshot
from codemode.toolkits.processes.output import SPILL_BYTES

__all__ = ["JobKillValue", "JobOutputValue", "job_tools"]

DEFAULT_WAIT_MS = 30_000
MAX_WAIT_MS = 600_000

JobId = Annotated[str, Meta(min_length=1, description="as bash or job_list gave it")]
Wait = Annotated[bool, Meta(description="wait until the job has finished, or the time is up")]
TimeoutMs = Annotated[float, Meta(description="how long to wait, default 30000, at most 600000")]
Reason = Annotated[str, Meta(description="why, for the log")]


class JobOutputValue(TypedDict):
    """What the job printed since the last time. `truncated`: of what came before it, something is not here."""

    text: str
    truncated: bool
    spillPath: NotRequired[str]
    job: Snapshot


class JobKillValue(TypedDict):
    outcome: Literal["cancellation-requested", "already-finished"]
    job: Snapshot


def job_tools(jobs: Jobs) -> list[Tool]:
    @tool(
        render=_render_output, parallel=True, read_only=True, timeout=MAX_WAIT_MS / 1000 + 10, lifespan=jobs
    )
    async def job_output(
        call: Call, job_id: JobId, wait: Wait = False, timeout_ms: TimeoutMs = DEFAULT_WAIT_MS
    ) -> JobOutputValue:
        """Get what a background job has printed since the last time, and how it stands.

        With `wait` it returns when the job has finished, or after `timeout_ms` with the job still running.
        """
        job = jobs.find(job_id)
        if wait:
            with trio.move_on_after(_seconds(timeout_ms)):
                await job.finished.wait()
        job.show(call)
        piece = job.output.take()
        value: JobOutputValue = {"text": piece.text, "truncated": piece.truncated, "job": job.snapshot()}
        if piece.spill_path is not None:
            value["spillPath"] = piece.spill_path
        return value

    @tool(render=_render_list, parallel=True, read_only=True, timeout=10.0, lifespan=jobs)
    async def job_list(call: Call) -> list[Snapshot]:
        """List the background jobs, those that have finished too."""
        for job in jobs.all():
            job.show(call)
        return [job.snapshot() for job in jobs.all()]

    @tool(render=_render_kill, timeout=10.0, lifespan=jobs)
    async def job_kill(call: Call, job_id: JobId, reason: Reason | None = None) -> JobKillValue:
        """Ask a background job to end; what has not ended after three seconds is killed.

        It returns at once; `job_output` with `wait` tells when the job is gone.
        """
        job = jobs.find(job_id)
        job.show(call)
        if job.finished.is_set():
            return {"outcome": "already-finished", "job": job.snapshot()}
        job.status = "stopping"
        job.stop.set()
        return {"outcome": "cancellation-requested", "job": job.snapshot()}

    return [job_output, job_list, job_kill]


def _seconds(milliseconds: float) -> float:
    if not (math.isfinite(milliseconds) and milliseconds > 0):
        raise ToolArgumentsError(f"invalid wait timeout: expected a positive number, got {milliseconds:g}")
    return min(milliseconds, MAX_WAIT_MS) / 1000


# ------------------------------------------------------------------------------------- what is shown


def _render_output(arguments: object, value: Any) -> list[Text]:
    shown = value["text"] or "(no new output)"
    if not shown.endswith("\n"):
        shown += "\n"
    if value["truncated"]:
        where = value.get("spillPath", "(unavailable)")
        limit = f", its first {SPILL_BYTES // 2**20} MiB" if "spillPath" in value else ""
        shown += f"[some output was dropped from memory; full output: {where}{limit}]\n"
    return [text(f"{shown}{_status(value['job'])}")]


def _render_list(arguments: object, value: Any) -> list[Text]:
    lines = [f"{job['id']} [{job['kind']}] {job['status']} — {_one_line(job['label'])}" for job in value]
    return [text("\n".join(lines) or "(no background jobs)")]


def _render_kill(arguments: object, value: Any) -> list[Text]:
    job = value["job"]
    if value["outcome"] == "already-finished":
        return [text(f"job {job['id']} had already finished {_status(job)}")]
    return [text(f"requested cancellation of job {job['id']}")]


def _status(job: Any) -> str:
    detail = f", {job['detail']}" if "detail" in job else ""
    return f"[status: {job['status']}{detail}]"


def _one_line(label: str) -> str:
    return " ".join(label.split())
