"""The process that makes guests: it loads the language, shuts itself in, and then forks one guest per request.

It talks to the host over one SEQPACKET socket (`codemode.control`) and never reads a byte that a guest wrote. How a
guest ended, its processor time and its memory are the kernel's word, from wait4. It ends when the host does.
"""

from __future__ import annotations

import array
import gc
import importlib
import os
import platform
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn, Protocol

import msgspec

from codemode import control
from codemode.control import Layer, PackageOrder
from codemode.guest import pages
from codemode.guest.confine import (
    DESCRIPTOR,
    FILTER,
    LIMITS,
    Cage,
    Unconfined,
    Way,
    capabilities,
    enter,
    kernel,
    landlock,
    namespaces,
    process,
    rlimits,
    seccomp,
)
from codemode.guest.confine.table import CHANNEL

__all__ = ["serve"]

_NOT_CONFINED = 70
_FAILED = 71
"""Exit codes of a guest that never came to run a program, or whose engine failed; a hint for a reader of logs."""

_MAX_TEXT = 8_000
_TRIAL_MEMORY = 16 * 1024 * 1024
_TRIAL_SECONDS = 5.0


class _Language(Protocol):
    """What this process needs of `codemode.guest.program`."""

    def prepare(
        self, packages: Sequence[PackageOrder] = (), announce: Callable[[str], None] = ...
    ) -> None: ...
    def warm_up(self) -> None: ...
    def serve(self, fd: int) -> None: ...


def serve(descriptor: int, left: dict[str, str]) -> NoReturn:
    """Boot, say so, and make guests until the host is gone.

    `descriptor` is the socket to the host, `left` what `namespaces.enter_own` returned.
    """
    channel = socket.socket(fileno=descriptor)
    try:
        layers, cage, language, idle = _boot(left, channel)
    except BaseException as error:
        channel.send(control.pack(_broken(error)))
        os._exit(1)
    channel.send(control.pack(control.Ready(layers, idle)))
    missing = {layer.name for layer in layers if layer.required and not layer.stands}
    if not missing or _may_go_on(channel, missing):
        cage.lacking = frozenset(missing)
        os.dup2(0, 2)  # nothing is said on the host's diagnostics pipe from here on
        _Forks(channel, cage, language).serve()
    os._exit(0)


def _may_go_on(channel: socket.socket, missing: set[str]) -> bool:
    """Wait for the host's word on what is missing. Returns whether it is that programs shall run all the same."""
    data = channel.recv(control.MAX_MESSAGE)
    message = control.from_host(data) if data else None
    return isinstance(message, control.GoOn) and missing <= set(message.without)


# ---------------------------------------------------------------------------------------- booting


def _boot(left: dict[str, str], channel: socket.socket) -> tuple[tuple[Layer, ...], Cage, _Language, int]:
    """Load everything, then shut this process in; what cannot be shut is reported.

    The last of what is returned is how many bytes are resident in a guest that waits.
    """
    language = _load(channel)
    if not kernel.NUMBERS:
        raise RuntimeError(f"no table of system calls for {platform.machine()} processors")
    filter_ = seccomp.build(kernel.MACHINE)
    gc.collect()
    base = rlimits.own_size()

    layers = [
        Layer(name, not problem, False, problem or "entered")
        for name, problem in ((_NAMES[name], problem) for name, problem in left.items())
    ]
    layers.append(_try_layer("empty root", _empty_root, left["mnt"]))
    privileges = _try_layer("no new privileges", _no_new_privileges, required=True)
    layers.append(_try_layer("landlock", _landlock))
    layers.append(_try_layer("no capabilities", _no_capabilities))
    process.hide_memory()
    unlimited = _try_layer(LIMITS, _common_limits, required=True)
    cage = Cage(os.getpid(), base, filter_)
    tried, idle = _trial(cage, language, unlimited)
    layers += [privileges, *tried]
    gc.collect()
    gc.freeze()
    return tuple(layers), cage, language, idle


def _load(channel: socket.socket) -> _Language:
    """Hear what is to be loaded beside the language, and load it all."""
    language: _Language = importlib.import_module("codemode.guest.program")
    boot = control.from_host(channel.recv(control.MAX_MESSAGE))
    if not isinstance(boot, control.Boot):
        raise RuntimeError("the first message does not say what to load")  # noqa: TRY004  (no matter of types)
    sys.path += [path for path in boot.paths if path not in sys.path]
    language.prepare(boot.packages, lambda name: _announce(channel, name))
    return language


def _announce(channel: socket.socket, name: str) -> None:
    channel.send(control.pack(control.Loading(name)))


def _broken(error: BaseException) -> control.Broken:
    package = getattr(error, "package", "")  # of `Unloadable`, whose module may be what could not be loaded
    if package:
        return control.Broken(str(error)[:_MAX_TEXT], package)
    return control.Broken(_described(error))


_NAMES = {
    "user": "user namespace",
    "pid_for_children": "process namespace",
    "net": "network namespace",
    "ipc": "ipc namespace",
    "uts": "host name namespace",
    "mnt": "mount namespace",
    "cgroup": "cgroup namespace",
}


def _try_layer(name: str, put_on: Callable[[], str], obstacle: str = "", *, required: bool = False) -> Layer:
    """Put one layer on. `put_on` returns what it saw, and raises OSError when the layer does not stand."""
    if obstacle:
        return Layer(name, False, required, obstacle)
    try:
        return Layer(name, True, required, put_on())
    except OSError as error:
        return Layer(name, False, required, error.strerror or str(error))
    except ValueError as error:  # what `resource` raises where a limit may not be set
        return Layer(name, False, required, str(error))


def _empty_root() -> str:
    namespaces.swap_root()
    if not namespaces.root_is_empty():
        raise OSError("the new root is not empty")
    return "an empty, read-only file system"


def _no_new_privileges() -> str:
    if not process.forbid_new_privileges():
        raise OSError("the kernel did not keep it")
    return "no exec can gain anything"


def _common_limits() -> str:
    rlimits.limit_always()
    rlimits.allow_descriptors()
    return "set"


def _landlock() -> str:
    version = landlock.deny_everything()
    try:
        os.close(os.open("/", os.O_RDONLY | os.O_DIRECTORY))
    except PermissionError:
        return f"version {version}"
    raise OSError("a directory could still be opened")


def _no_capabilities() -> str:
    if not capabilities.drop_all():
        raise OSError("some are left")
    return "none is left"


def _trial(cage: Cage, language: _Language, common: Layer) -> tuple[list[Layer], int]:
    """Send one guest behind the wall and see what it can do there, and how many bytes were resident in it.

    `common` are the limits that it inherits. Raises RuntimeError with the guest's own words if it is confined but
    cannot be made ready.
    """
    ours, theirs = socket.socketpair()
    cage.lacking = frozenset({DESCRIPTOR, LIMITS, FILTER})  # this one guest is ours: it tries them all
    way = cage.prepare(theirs.fileno(), _TRIAL_MEMORY, _TRIAL_SECONDS)
    cage.lacking = frozenset()
    pid = pages.fork()
    if pid == 0:
        _try_everything(way, theirs.fileno(), language)
    theirs.close()
    said = b""
    while chunk := ours.recv(65536):
        said += chunk
    ours.close()
    _, status, usage = os.wait4(pid, 0)
    report = msgspec.msgpack.decode(said, type=_Trial) if said else _Trial()
    if report.failure:
        raise RuntimeError(f"a guest could not be made ready: {report.failure}")
    if not common.stands:
        report.missing.setdefault(LIMITS, common.detail)
    socket_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS
    stand = {
        DESCRIPTOR: (report.one_descriptor, "only the channel is open", "more than the channel is open"),
        LIMITS: (report.memory_bounded, "memory is bounded", "memory was not bounded"),
        FILTER: (
            report.file_refused and socket_killed,
            "a file was refused, a socket killed",
            "system calls are not filtered; the kernel needs CONFIG_SECCOMP_FILTER",
        ),
    }
    layers = [
        Layer(
            name,
            stands and name not in report.missing,
            True,
            report.missing.get(name, good if stands else bad),
        )
        for name, (stands, good, bad) in stand.items()
    ]
    return layers, usage.ru_maxrss * 1024


class _Trial(msgspec.Struct):
    """What the trial guest saw. `missing` are the layers that could not be put on, with the reasons."""

    missing: dict[str, str] = {}
    one_descriptor: bool = False
    memory_bounded: bool = False
    file_refused: bool = False
    failure: str = ""


def _try_everything(way: Way, channel: int, language: _Language) -> NoReturn:
    """The trial guest: say on the channel what holds, then make a call that must kill."""
    seen = _Trial()
    try:
        seen.missing = enter(way)
        seen.one_descriptor = all(_is_closed(number) for number in range(256) if number != CHANNEL)
        try:
            bytearray(2 * _TRIAL_MEMORY)
        except MemoryError:
            seen.memory_bounded = True
        try:
            os.close(os.open("/", os.O_RDONLY))
        except PermissionError:
            seen.file_refused = True
        language.warm_up()
    except Unconfined as error:
        seen.failure = f"no {error.layer}: {error.problem}"
    except BaseException as error:
        seen.failure = _described(error)
    try:
        # Only where the channel could not be put in order does it still have its old number.
        os.write(channel if _is_closed(CHANNEL) else CHANNEL, msgspec.msgpack.encode(seen))
        socket.socket()
    finally:
        os._exit(_FAILED)


def _described(error: BaseException) -> str:
    """Say what went wrong and where, without opening a source file: there may be none to be opened any more."""
    lines = [f"{type(error).__name__}: {error}"[:_MAX_TEXT]]
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        lines.append(f"  {code.co_filename}:{trace.tb_lineno} in {code.co_qualname}")
        trace = trace.tb_next
    return "\n".join(lines)[:_MAX_TEXT]


def _is_closed(descriptor: int) -> bool:
    return _polled(descriptor, 0) & select.POLLNVAL != 0


def _is_readable(descriptor: int) -> bool:
    return _polled(descriptor, select.POLLIN) & select.POLLIN != 0


def _polled(descriptor: int, events: int) -> int:
    poll = select.poll()
    poll.register(descriptor, events)
    return sum(seen for _, seen in poll.poll(0))


# ---------------------------------------------------------------------------------------- serving


class _Forks:
    """Makes guests, and reports how each ended."""

    def __init__(self, channel: socket.socket, cage: Cage, language: _Language) -> None:
        self._channel = channel
        self._cage = cage
        self._language = language
        self._events = select.epoll()
        self._events.register(channel.fileno(), select.EPOLLIN)
        self._ids: dict[int, tuple[int, int]] = {}  # by pidfd: the host's id, the process number

    def serve(self) -> None:
        """Return when the host is gone."""
        channel = self._channel.fileno()
        while True:
            for descriptor, _ in self._events.poll():
                if descriptor != channel:
                    self._reap(descriptor)
                elif not self._listen():
                    return

    def _listen(self) -> bool:
        data, passed, _, _ = self._channel.recvmsg(control.MAX_MESSAGE, socket.CMSG_SPACE(4))
        if not data:
            return False
        descriptors = array.array("i")
        for _, _, packed in passed:
            descriptors.frombytes(packed[: len(packed) // 4 * 4])
        message = control.from_host(data)
        if isinstance(message, control.Kill):
            self._kill(message.id)
        elif not isinstance(message, control.Spawn):
            return False
        elif descriptors:
            self._spawn(message, descriptors[0])
        else:
            self._refuse(message, "no descriptor left for its channel")
        return True

    def _spawn(self, message: control.Spawn, channel: int) -> None:
        try:
            way = self._cage.prepare(channel, message.memory_bytes, message.cpu_seconds)
            # Where its program is there already, that is all the warmth it needs.
            is_early = not _is_readable(channel)
            pid = pages.fork()
            if pid == 0:
                self._be_guest(way, is_early)
        except OSError as error:
            self._refuse(message, error.strerror or str(error))
            return
        finally:
            os.close(channel)
        try:
            pidfd = os.pidfd_open(pid)
        except OSError as error:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self._refuse(message, error.strerror or str(error))
            return
        self._ids[pidfd] = message.id, pid
        self._events.register(pidfd, select.EPOLLIN)
        self._channel.sendmsg(
            [control.pack(control.Spawned(message.id))],
            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [pidfd]))],
        )

    def _refuse(self, message: control.Spawn, reason: str) -> None:
        self._channel.send(control.pack(control.Refused(message.id, reason)))

    def _be_guest(self, way: Way, is_early: bool) -> NoReturn:
        code = _NOT_CONFINED
        try:
            enter(way)
            code = _FAILED
            if is_early:
                self._language.warm_up()
            self._language.serve(CHANNEL)
            code = 0
        except MemoryError:
            code = control.OUT_OF_MEMORY
        finally:
            os._exit(code)

    def _reap(self, pidfd: int) -> None:
        id_, pid = self._ids.pop(pidfd)
        self._events.unregister(pidfd)
        os.close(pidfd)
        _, status, usage = os.wait4(pid, 0)
        self._channel.send(
            control.pack(control.Ended(id_, status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024))
        )

    def _kill(self, wanted: int) -> None:
        for id_, pid in self._ids.values():
            if id_ == wanted:
                os.kill(pid, signal.SIGKILL)
