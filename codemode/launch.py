"""Starts the process that guests are forked from, and can start it early: it takes a tenth of a second to load.

Imports next to nothing, so that a command can have it loading while it loads itself. What the process is told, and
what it says, is `control`'s; who listens to it is `sandbox/zygote.py`.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

__all__ = ["BOOTSTRAP", "Started", "start_early", "take"]

BOOTSTRAP = """\
import sys
control, host, package, *paths = sys.argv[1:]
sys.path += paths
codemode = sys.modules["codemode"] = type(sys)("codemode")
codemode.__path__ = [package]
from codemode.guest.zygote import main
main(int(control), int(host))
"""
"""The zygote's first lines: `codemode` without its `__init__`, which would import the whole host."""

_NEEDED = ("msgspec", "RestrictedPython")


class Started(NamedTuple):
    """A process that has been started: the host's end of its control socket, and the read end of its diagnostics."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    diagnostics: int

    def drop(self) -> None:
        """Kill it, and wait until it is gone."""
        self.channel.close()
        os.close(self.diagnostics)
        self.process.kill()
        self.process.wait()


_early: tuple[Started, bytes] | None = None


def start_early() -> None:
    """Start one that loads no packages, for the next `take` in this thread. Does nothing where that cannot be done.

    Nobody need take it: the kernel ends it with this thread.
    """
    global _early
    if sys.platform != "linux" or _early is not None:
        return
    try:
        started = _start(BOOTSTRAP)
    except (OSError, ModuleNotFoundError):
        return  # `take` tries again, and says what is wrong
    from codemode import control  # after the start, since it takes its time

    order = control.pack(control.Boot())
    started.channel.send(order)
    _early = started, order


def take(bootstrap: str, order: bytes) -> Started:
    """Start the process with this first order, or take the one that was started early with the same.

    Raises OSError, and ModuleNotFoundError when a package that it needs is not installed.
    """
    global _early
    early, _early = _early, None
    if early is not None:
        started, its_order = early
        if its_order == order and bootstrap == BOOTSTRAP:
            return started
        started.drop()
    started = _start(bootstrap)
    with contextlib.suppress(OSError):  # it is gone already; whoever listens to it reads why
        started.channel.send(order)
    return started


def _start(bootstrap: str) -> Started:
    ours, theirs = map(_above_standard, socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    with theirs:
        try:
            directories = _directories()
            diagnostics, said = os.pipe()
        except BaseException:
            ours.close()
            raise
        os.set_blocking(diagnostics, False)
        try:
            process = subprocess.Popen(
                [
                    sys.executable,
                    *("-I", "-S", "-X", "utf8", "-c", bootstrap),
                    *(str(theirs.fileno()), str(os.getpid()), str(Path(__file__).parent)),
                    *directories,
                ],
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # a Ctrl-C at the terminal is the host's to handle
            )
        except BaseException:
            os.close(diagnostics)
            ours.close()
            raise
        finally:
            os.close(said)
    ours.setblocking(False)
    return Started(process, ours, diagnostics)


def _above_standard(end: socket.socket) -> socket.socket:
    """Move a socket away from descriptors 0 to 2, where it may be if this process has none; the zygote has its own."""
    if end.fileno() > 2:
        return end
    with end:
        return socket.socket(fileno=fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, 3))


def _directories() -> list[str]:
    """Where the zygote finds the packages it needs."""
    found: dict[str, None] = {}
    for name in _NEEDED:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise ModuleNotFoundError(f"the package {name} is not installed", name=name)
        found[str(Path(next(iter(spec.submodule_search_locations))).parent)] = None
    return list(found)
