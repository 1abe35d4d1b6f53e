"""Background jobs of one owner: what goes on after the call that started it, and ends with the owner at the latest.

The owner is a `Jobs`, which is entered by the engine whose tools use it, or with `async with`. Nothing here knows
what a job does.
"""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Literal, NamedTuple, NotRequired, Protocol, Self, TypedDict

import trio

from codemode import Call, Scope, ToolError
from codemode.toolkits.processes.output import Piece, Spills
from codemode.toolkits.processes.scratch import Scratch, remove_left_behind

__all__ = ["Job", "Jobs", "Settled", "Snapshot"]

MAX_ACTIVE = 10
"""How many jobs of one owner may run at a time."""
MAX_FINISHED = 100
"""How many finished jobs are remembered."""

_log = logging.getLogger("codemode.toolkits")

_CLEANING_SECONDS = 10.0
_LABEL_CHARACTERS = 200

Status = Literal["running", "stopping", "completed", "killed", "failed"]


class Snapshot(TypedDict):
    """A job as it is at one moment; the times are milliseconds since 1970."""

    id: str
    kind: str
    label: str
    status: Status
    detail: NotRequired[str]
    startedAt: int
    finishedAt: NotRequired[int]


class Settled(NamedTuple):
    """How a job ended by itself."""

    status: Literal["completed", "failed"]
    detail: str | None = None


class _Gives(Protocol):
    def take(self) -> Piece: ...


class Job:
    """One job. `stop` is set when it is to end; `finished` when it has."""

    def __init__(self, id: str, kind: str, label: str, output: _Gives) -> None:
        self.id = id
        self.kind = kind
        self.label = label if len(label) <= _LABEL_CHARACTERS else label[: _LABEL_CHARACTERS - 1] + "…"
        self.output = output
        self.status: Status = "running"
        self.detail: str | None = None
        self.started_at = _milliseconds()
        self.finished_at: int | None = None
        self.stop = trio.Event()
        self.finished = trio.Event()
        # The scopes whose models have been shown that it has finished.
        self._told: weakref.WeakSet[Scope] = weakref.WeakSet()

    def snapshot(self) -> Snapshot:
        """Return how it is now."""
        shown: Snapshot = {
            "id": self.id,
            "kind": self.kind,
            "label": self.label,
            "status": self.status,
            "startedAt": self.started_at,
        }
        if self.detail is not None:
            shown["detail"] = self.detail
        if self.finished_at is not None:
            shown["finishedAt"] = self.finished_at
        return shown

    def show(self, call: Call) -> None:
        """Take note that a call shows how it is now: a model that sees the job's end so needs no notice of it.

        What a program reads is seen by no model, unless the program shows it.
        """
        if call.is_direct and isinstance(call.scope, Scope):
            self.tell(call.scope)

    def tell(self, scope: Scope) -> bool:
        """Take note that the model of a scope knows how it is now; return whether that is the end, and new to it."""
        is_new = self.finished.is_set() and scope not in self._told
        if is_new:
            self._told.add(scope)
        return is_new

    def settle(self, settled: Settled) -> None:
        self.status = "killed" if self.stop.is_set() else settled.status
        self.detail = settled.detail
        self.finished_at = _milliseconds()
        self.finished.set()


class Jobs:
    """The jobs of one owner, and a directory for their files. An async context manager; leaving it ends all jobs.

    Toolkits that are given the same `Jobs` share them: what one starts, the tools of another can follow.
    """

    def __init__(self) -> None:
        self._nursery: trio.Nursery | None = None
        self._jobs: dict[str, Job] = {}
        self._counts: dict[str, int] = {}
        self._directory: Scratch | None = None
        self._making = trio.Lock()
        self.spills = Spills(self._spill_directory)
        self.opened = 0  # how many times there was an owner; what belongs to an earlier one is gone

    async def __aenter__(self) -> Self:
        if self._nursery is not None:
            raise ToolError(
                "these tools are in use by another engine; each engine needs tools of its own", code="IN_USE"
            )
        self._manager = trio.open_nursery()
        self._nursery = await self._manager.__aenter__()
        self.opened += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        nursery, self._nursery = self._nursery, None
        assert nursery is not None
        nursery.cancel_scope.cancel()
        nursery.cancel_scope.shield = True
        await self._manager.__aexit__(None, None, None)
        self._jobs.clear()
        self.spills = Spills(self._spill_directory)
        with trio.move_on_after(_CLEANING_SECONDS, shield=True):
            async with self._making:  # a call may be about to make it
                directory, self._directory = self._directory, None
            if directory is not None:
                await trio.to_thread.run_sync(directory.remove, abandon_on_cancel=True)

    def background(self, body: Callable[..., Awaitable[None]], *arguments: object) -> None:
        """Start a task that ends with the owner. It must not raise. Raises `ToolError` when there is no owner."""
        self._required_nursery().start_soon(body, *arguments)

    def _required_nursery(self) -> trio.Nursery:
        if self._nursery is None:
            raise ToolError(
                "these tools have no owner: call them through a CodeMode, or within `async with jobs`",
                code="NOT_OPEN",
            )
        return self._nursery

    async def scratch(self) -> str:
        """Return the directory for temporary files of commands; it goes with the owner."""
        return os.path.join(await self._made(), "tmp")

    async def outputs(self) -> str:
        """Return the directory that holds what was too long to keep in memory."""
        return os.path.join(await self._made(), "output")

    async def _spill_directory(self) -> str:
        return await self.outputs()

    async def _made(self) -> str:
        async with self._making:
            self._required_nursery()
            if self._directory is None:
                self._directory = await trio.to_thread.run_sync(_make)
                self.background(_tidy)
            return self._directory.path

    # ----------------------------------------------------------------------------------- jobs

    def start(self, kind: str, label: str, output: _Gives, run: Callable[[Job], Awaitable[Settled]]) -> Job:
        """Start a job and return it. `run` returns how it ended, soon after `job.stop` is set.

        Raises `ToolError`: JOB_LIMIT when `MAX_ACTIVE` run already, NOT_OPEN.
        """
        active = sum(not each.finished.is_set() for each in self._jobs.values())
        if active >= MAX_ACTIVE:
            raise ToolError(
                f"background job limit reached for this owner (limit: {MAX_ACTIVE}); wait for a job to finish, or end "
                "one with job_kill (job_list shows them)",
                code="JOB_LIMIT",
            )
        number = self._counts.get(kind, 0) + 1
        job = Job(f"{kind}-{number}", kind, label, output)
        self.background(self._run, job, run)
        self._counts[kind] = number
        self._jobs[job.id] = job
        self._forget_old()
        return job

    async def _run(self, job: Job, run: Callable[[Job], Awaitable[Settled]]) -> None:
        try:
            settled = await run(job)
        except Exception as error:
            settled = Settled("failed", str(error) or type(error).__name__)
        job.settle(settled)

    def _forget_old(self) -> None:
        finished = [each.id for each in self._jobs.values() if each.finished.is_set()]
        for id in finished[: max(len(finished) - MAX_FINISHED, 0)]:
            del self._jobs[id]

    def find(self, id: str) -> Job:
        """Return a job. Raises `ToolError` UNKNOWN_JOB."""
        job = self._jobs.get(id)
        if job is None:
            known = ", ".join(self._jobs) or "none"
            raise ToolError(f"unknown job {id[:80]!r}; there are: {known}", code="UNKNOWN_JOB")
        return job

    def all(self) -> list[Job]:
        """Return the jobs, in the order they were started."""
        return list(self._jobs.values())

    def notices(self, scope: Scope) -> list[str]:
        """Return a line for each job that has finished, but for those whose end the model of `scope` knows.

        It knows what a direct call in the scope has shown, and what was a notice before. Programs' calls tell it
        nothing.
        """
        reading = " Read its output with job_output." if "job_output" in scope.registry else ""
        lines = []
        for job in self._jobs.values():
            if job.tell(scope):
                status = job.status if job.detail is None else f"{job.status}, {job.detail}"
                label = " ".join(job.label.split())
                lines.append(
                    f"background job {job.id} ({job.kind}: {label}) finished [status: {status}].{reading}"
                )
        return lines


async def _tidy() -> None:
    """Remove what owners that were killed have left behind."""
    try:
        await trio.to_thread.run_sync(remove_left_behind, abandon_on_cancel=True)
    except Exception:  # this owner goes on; the next one tries again
        _log.warning("could not remove what owners that were killed have left behind", exc_info=True)


def _make() -> Scratch:
    made = Scratch.make()
    try:
        for name in ("tmp", "output"):
            os.mkdir(os.path.join(made.path, name), 0o700)
    except BaseException:
        made.remove()
        raise
    return made


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
