"""Runs on this machine: `LocalSandbox`, and the way of one run from a waiting guest to a reaped one."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from types import TracebackType
from typing import Self

import msgspec
import trio

from codemode import telemetry, wire
from codemode.control import REQUIRED_LAYERS, Layer
from codemode.errors import SandboxUnavailable
from codemode.sandbox import bulk, ending
from codemode.sandbox.conversation import Conversation
from codemode.sandbox.ending import Ending
from codemode.sandbox.guest import Guest, Pair, Used
from codemode.sandbox.interface import RunHandler
from codemode.sandbox.limits import Limits
from codemode.sandbox.outcome import RunOutcome, RunUsage
from codemode.sandbox.packages import Package, checked
from codemode.sandbox.pool import Pool
from codemode.sandbox.zygote import Zygote
from codemode.wire import ToolName

__all__ = ["LocalSandbox"]

_RECEIVE_BYTES = 64 * 1024
"""Read in one go; then others get their turn."""

_BACKLOG_BYTES = 64 * 1024 * 1024
"""Answers that may wait for a guest that is busy; with more it counts as one that never reads them."""

_STILLBORN_SECONDS = 0.1
"""A guest killed by others within this time, before anything came from it, was dying when it was taken: the run gets
another one, once."""

_MOST = 1 << 62
"""A larger limit than this is none, and would not fit on the wire."""

_MOST_DYING = 16
"""Guests that may be dead and not yet reaped; a large one takes the kernel some milliseconds to take down."""

_REAP_SECONDS = 10.0
"""How long a killed guest may take to be reaped; then its zygote counts as broken and ends."""


class _Stillborn(Exception):
    """A guest died before anything came from it."""


class LocalSandbox:
    """Runs programs in confined processes on this machine. Implements `sandbox.Sandbox`.

    An async context manager: entering it starts the zygote and `spares` guests in advance (for runs with the memory
    and processor limits of `limits`, which hold where a run names none). When runs come faster than that, up to
    `max_spares` wait, some 2 MiB each, until a while after the last such burst; 0 spares are always 0. Leaving it ends
    them all and any run that is still going on, which then ends as `abort`. Entering and `run` raise
    `SandboxUnavailable` where a program cannot be confined. Every program can import `packages`; entering raises
    `SandboxUnavailable` for one that cannot be loaded, saying why.

    `accept_missing` names required layers of the wall (`REQUIRED_LAYERS`) that may be missing on this machine: where
    one does not stand, programs run without it, and each run's outcome says so. It takes nothing away: a layer that
    can be put on is. Use it for programs that you trust as much as your own code, and for nothing else.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        spares: int = 2,
        max_spares: int = 16,
        packages: Iterable[Package] = (),
        accept_missing: Collection[str] = (),
    ) -> None:
        if spares < 0:
            raise ValueError(f"spares={spares}: must not be negative")
        if max_spares < 0:
            raise ValueError(f"max_spares={max_spares}: must not be negative")
        self._packages = checked(packages)
        self._accept_missing = _layer_names(accept_missing)
        self._limits = Limits() if limits is None else limits
        self._spares = spares
        self._max_spares = max_spares if spares else 0
        self._starting = trio.Lock()
        self._stack = contextlib.AsyncExitStack()
        self._nursery: trio.Nursery | None = None
        self._zygote: Zygote | None = None
        self._pool: Pool | None = None
        self._decoders = trio.CapacityLimiter(1)
        self._oom = _OutOfMemoryWatch()
        self._dying: deque[tuple[float, Guest]] = deque()

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers of the process wall, as they stand; empty before the sandbox is entered."""
        return self._zygote.layers if self._zygote is not None else ()

    async def __aenter__(self) -> Self:
        manager = trio.open_nursery()
        self._nursery = await manager.__aenter__()
        try:
            await self._ready()
        except BaseException:
            await self._close(manager)
            raise
        self._stack.push_async_callback(self._close, manager)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _close(self, manager: contextlib.AbstractAsyncContextManager[trio.Nursery]) -> None:
        nursery = self._nursery
        assert nursery is not None
        self._nursery = None
        if self._pool is not None:
            self._pool.close()
        if self._zygote is not None:
            await self._zygote.end()
        # The nursery's tasks only listen and write; with the zygote gone they end by themselves. The shield keeps
        # a cancellation from outside from being counted as theirs.
        nursery.cancel_scope.shield = True
        await manager.__aexit__(None, None, None)

    @property
    def _missing_layers(self) -> tuple[str, ...]:
        return tuple(layer.name for layer in self.layers if layer.required and not layer.stands)

    # ------------------------------------------------------------------------------------ a run

    async def run(
        self, source: str, tools: Sequence[ToolName], handler: RunHandler, limits: Limits | None = None
    ) -> RunOutcome:
        """Run one program in a fresh guest; see `sandbox.Sandbox.run`.

        When it returns or raises, the guest is dead and its descriptors are closed. One that said how its program
        ended is reaped a moment later, off the caller's path; with too many of them, `run` waits.
        """
        limits = self._limits if limits is None else limits
        refusal = _refuse(source, limits)
        if refusal is not None:
            return RunOutcome(kind=refusal.kind, message=refusal.message)
        bounds = (min(bound, _MOST) for bound in (limits.log_bytes, limits.result_bytes, limits.error_bytes))
        program = wire.pack(wire.Program(source, tuple(tools), wire.GuestLimits(*bounds)))
        names = [tool.name for tool in tools]
        try:
            outcome = await self._attempt(program, names, handler, limits)
        except _Stillborn:
            outcome = await self._attempt(program, names, handler, limits, last=True)
        missing = self._missing_layers
        return msgspec.structs.replace(outcome, missing_layers=missing) if missing else outcome

    async def _attempt(
        self, program: bytes, tools: list[str], handler: RunHandler, limits: Limits, *, last: bool = False
    ) -> RunOutcome:
        """Run a program in one guest. Raises `_Stillborn`, unless this is the `last` attempt, when nothing happened
        because the guest was dying when it was taken."""
        zygote, pool, nursery = await self._ready()
        pair = _pair(limits)
        taken = time.time_ns()
        try:
            guest = pool.take(pair)
        except OSError as error:
            raise SandboxUnavailable(f"no guest can be started: {error.strerror}") from error
        used: Used | None = None
        try:
            outbox = _Outbox(guest, nursery)
            room = trio.lowlevel.ParkingLot()
            clock = _WallClock(limits.wall_seconds)
            conversation = Conversation(
                tools, limits, handler, outbox.send, relieved=room.unpark_all, stop_clock=clock.stop
            )
            outbox.overflowed = lambda: conversation.stop(ending.protocol("it does not read its answers"))
            started = trio.current_time()
            before = guest.cpu_seconds()
            outbox.send(program)
            if pool.is_empty(pair):
                pool.refill(pair)
            with clock.running():
                await self._listen(guest, conversation, room, limits)
            if clock.has_run_out:
                conversation.stop(ending.out_of_wall(limits))
                guest.kill()
                await _hear_out(guest, conversation)
            used = guest.used() if conversation.over else None
        finally:
            _record_start(guest, taken)
            if used is None:
                await self._bury(guest, zygote)
            else:
                await self._leave(guest, zygote)
            pool.done(pair)  # now, not earlier: the fork would compete with the run
        usage = _usage(before, used or _used_to_the_end(guest), zygote, started, conversation.calls)
        if not conversation.over:
            if (
                not (conversation.frames or last)
                and usage.wall_seconds < _STILLBORN_SECONDS
                and _was_killed(guest)
            ):
                raise _Stillborn
            conversation.stop(self._explain(guest, conversation, limits, usage))
        why = conversation.ending
        if why is None:
            return RunOutcome(logs=conversation.logs, result=conversation.result, usage=usage)
        return RunOutcome(logs=conversation.logs, kind=why.kind, message=why.message, usage=usage)

    def _explain(self, guest: Guest, conversation: Conversation, limits: Limits, usage: RunUsage) -> Ending:
        """Say how a guest ended that is gone without having said so itself."""
        if guest.refused and not conversation.frames:
            raise SandboxUnavailable(f"no guest can be started: {guest.refused}")
        if self._nursery is None:
            return Ending("abort", "the sandbox was closed while the program ran")
        return ending.from_status(guest.ended, limits, usage.max_memory_bytes, oom_seen=self._oom.happened())

    async def _listen(
        self, guest: Guest, conversation: Conversation, room: trio.lowlevel.ParkingLot, limits: Limits
    ) -> None:
        """Carry what the guest says into the conversation, until it is over or the guest is gone.

        Each round is a checkpoint and does a bounded amount of work, so that a guest that floods delays nobody.
        """
        channel = guest.socket
        while not conversation.over:
            await trio.lowlevel.wait_readable(channel)
            try:
                data = channel.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                return
            if not data:
                return
            while conversation.receive(data):
                data = b""
                if conversation.heavy is None:
                    await trio.lowlevel.checkpoint()
                else:
                    conversation.resume(await self._decode(conversation.heavy, limits))
            while conversation.crowded:
                await room.park()

    async def _decode(self, body: bytes, limits: Limits) -> bulk.Decoded | Ending:
        """Decode a large frame in a thread, one at a time. Cancellation leaves the thread to end by itself: it
        touches nothing but the bytes."""
        taken = [body]
        del body
        try:
            return await trio.to_thread.run_sync(
                bulk.decode_frame, taken, limits.result_bytes, abandon_on_cancel=True, limiter=self._decoders
            )
        except wire.WireError as error:
            return ending.protocol(str(error))
        except bulk.TooManyParts:
            return ending.too_many_parts(bulk.MAX_PARTS)

    async def _bury(self, guest: Guest, zygote: Zygote) -> None:
        """Kill a guest, wait until it is reaped, give back its descriptors. Cancellation waits for that."""
        guest.kill()
        with trio.move_on_after(_REAP_SECONDS, shield=True):
            await guest.gone.wait()
        if not guest.gone.is_set():
            await zygote.end()
        guest.close()

    async def _leave(self, guest: Guest, zygote: Zygote) -> None:
        """Kill a guest and give back its descriptors; the zygote reaps it. Waits only for those left long ago."""
        guest.kill()
        guest.close()
        now = trio.current_time()
        self._dying.append((now, guest))
        while self._dying and self._dying[0][1].gone.is_set():
            self._dying.popleft()
        if self._dying and (len(self._dying) > _MOST_DYING or now - self._dying[0][0] > _REAP_SECONDS):
            await self._bury(self._dying.popleft()[1], zygote)

    # ------------------------------------------------------------------------------------ the zygote

    async def _ready(self) -> tuple[Zygote, Pool, trio.Nursery]:
        """Return a living zygote with its pool, starting one if there is none."""
        while True:
            nursery, zygote, pool = self._nursery, self._zygote, self._pool
            if nursery is None:
                raise SandboxUnavailable("the sandbox is not open; use it with 'async with'")
            if zygote is not None and pool is not None and zygote.alive:
                return zygote, pool, nursery
            async with self._starting:
                if self._zygote is zygote:
                    await self._start(nursery)

    async def _start(self, nursery: trio.Nursery) -> None:
        if self._pool is not None:
            self._pool.close()
        zygote = await Zygote.start(self._packages, self._accept_missing)
        if self._nursery is None:  # closed in the meantime
            await zygote.end()
            return
        nursery.start_soon(zygote.attend, name="zygote")
        self._zygote, self._pool = zygote, Pool(zygote, _pair(self._limits), self._spares, self._max_spares)
        self._pool.refill(_pair(self._limits))
        nursery.start_soon(self._pool.keep_filled, name="spares")


def _layer_names(accept_missing: Collection[str]) -> frozenset[str]:
    known = ", ".join(repr(name) for name in REQUIRED_LAYERS)
    if isinstance(accept_missing, str):
        raise TypeError(
            f"accept_missing={accept_missing!r}: must be a set of names, such as {{{accept_missing!r}}}"
        )
    for name in accept_missing:
        if name not in REQUIRED_LAYERS:
            raise ValueError(
                f"accept_missing: there is no required layer {name!r}; there are {known}. Name each that may be missing"
            )
    return frozenset(accept_missing)


def _refuse(source: str, limits: Limits) -> Ending | None:
    """Say why a source needs no guest to fail."""
    try:
        length = len(source.encode())
    except UnicodeEncodeError as error:
        return ending.not_text(source, error.start)
    if length > limits.source_bytes:
        return ending.source_too_long(length, limits)
    return None


async def _hear_out(guest: Guest, conversation: Conversation) -> None:
    """Take in what a guest had printed before it was stopped; the kernel's buffer bounds it."""
    try:
        while data := guest.socket.recv(_RECEIVE_BYTES):
            while conversation.last_words(data):
                await trio.lowlevel.checkpoint()
                data = b""
            await trio.lowlevel.checkpoint()
    except OSError:
        return


def _record_start(guest: Guest, taken: int) -> None:
    """Record how long a run waited until its guest was there: no time for one that was forked in advance."""
    if guest.born_at:
        spare = guest.born_at <= taken
        telemetry.record("codemode.guest start", taken, guest.born_at, {"codemode.guest.spare": spare})


def _pair(limits: Limits) -> Pair:
    return min(limits.memory_bytes, _MOST), limits.cpu_seconds


def _usage(before: float, used: Used | None, zygote: Zygote, started: float, calls: int) -> RunUsage:
    """`before` is the processor time that the guest had used when it was taken."""
    seconds = trio.current_time() - started
    if used is None:
        return RunUsage(wall_seconds=seconds, calls=calls)
    return RunUsage(
        wall_seconds=seconds,
        cpu_seconds=max(0.0, used.cpu_seconds - before),
        max_memory_bytes=max(0, used.max_resident_bytes - zygote.resident_bytes),
        calls=calls,
    )


def _used_to_the_end(guest: Guest) -> Used | None:
    ended = guest.ended
    return None if ended is None else Used(ended.cpu_seconds, ended.max_resident_bytes)


def _was_killed(guest: Guest) -> bool:
    """Whether somebody else killed the guest, or the zygote above it."""
    ended = guest.ended
    if ended is None:
        return not guest.refused
    return os.WIFSIGNALED(ended.status) and os.WTERMSIG(ended.status) == signal.SIGKILL


class _WallClock:
    """The wall time of a run, which stands still while somebody is being asked."""

    def __init__(self, seconds: float) -> None:
        self._scope = trio.CancelScope()
        self._left = seconds

    @property
    def has_run_out(self) -> bool:
        return self._scope.cancelled_caught

    def running(self) -> trio.CancelScope:
        """Start it, for a block that is cancelled when the time is up."""
        self._scope.deadline = trio.current_time() + self._left
        return self._scope

    def stop(self, stops: bool) -> None:
        now = trio.current_time()
        if stops:
            self._left = self._scope.deadline - now
            self._scope.deadline = math.inf
        else:
            self._scope.deadline = now + self._left


class _Outbox:
    """Bytes on their way to a guest. `send` never blocks; what the kernel does not take at once is written by a
    task of the sandbox's nursery, which ends with the bytes or with the guest."""

    def __init__(self, guest: Guest, nursery: trio.Nursery) -> None:
        self._guest = guest
        self._nursery = nursery
        self._waiting: deque[memoryview] = deque()
        self._bytes = 0
        self.overflowed: Callable[[], None] = _nothing

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        if not self._waiting:
            view = view[self._write(view) :]
            if not view:
                return
            self._nursery.start_soon(self._drain, name="answers")
        elif self._bytes > _BACKLOG_BYTES:
            self.overflowed()
            self._guest.kill()
            return
        self._waiting.append(view)
        self._bytes += len(view)

    def _write(self, view: memoryview) -> int:
        try:
            return self._guest.socket.send(view)
        except BlockingIOError:
            return 0
        except OSError:
            return len(view)  # the guest is gone; whoever listens to it notices

    async def _drain(self) -> None:
        while self._waiting and self._guest.socket.fileno() >= 0:  # trio must not be given a closed one
            try:
                await trio.lowlevel.wait_writable(self._guest.socket)
            except trio.ClosedResourceError:
                return
            view = self._waiting[0]
            written = self._write(view)
            self._bytes -= written
            if written == len(view):
                self._waiting.popleft()
            else:
                self._waiting[0] = view[written:]


def _nothing() -> None:
    """What an outbox does about an overflow before it is told."""


class _OutOfMemoryWatch:
    """Whether the kernel has killed something for want of memory since this was last asked."""

    def __init__(self) -> None:
        self._seen = self._count()

    def happened(self) -> bool:
        before, self._seen = self._seen, self._count()
        return self._seen > before

    @staticmethod
    def _count() -> int:
        try:
            with open("/proc/vmstat", encoding="ascii") as file:
                for line in file:
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        except (OSError, ValueError):
            pass
        return 0
