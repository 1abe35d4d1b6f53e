"""The process above each command: starts it, passes signals on, says how it ended, ends all that it left behind.

Run as a script with the standard library alone; imported by nobody. It is the first process of a process
namespace where the command is confined, and a subreaper where it is not: either way every descendant of the
command stays beneath it, also one that leaves its session. When the host goes away, so does everything here.

    supervisor.py CONTROL pipes|tty GRACE COMMAND...

The wire is CONTROL, the number of a SEQPACKET socket. From the host come `terminate` (SIGTERM, and after GRACE
seconds SIGKILL) and `kill` (at once). To it goes JSON: `{"pid": N}` once the command runs, or `{"failed": "why"}`,
and `{"exit": CODE}` or `{"signal": N}`.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import sys
import termios
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36  # these from linux/prctl.h

_SWEEP_SECONDS = 2.0  # for what is being killed to go


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(control.fileno(), False)
    supervisor = Supervisor(control, sys.argv[2] == "tty", float(sys.argv[3]))
    supervisor.start(sys.argv[4:])
    supervisor.serve()


class Supervisor:
    def __init__(self, control: socket.socket, has_terminal: bool, grace: float) -> None:
        self._control = control
        self._has_terminal = has_terminal
        self._grace = grace
        self._is_init = os.getpid() == 1
        self._child = 0
        self._kill_at: float | None = None
        self._asked: set[int] = set()
        self._is_running = True
        self._libc = ctypes.CDLL(None, use_errno=True)
        # Nothing that it starts may look into it, or take its descriptors.
        self._libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        if not self._is_init:
            self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._wake, wake = os.pipe()
        for descriptor in (self._wake, wake):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)  # what is meant for it comes over the wire

    # ------------------------------------------------------------------------------- starting

    def start(self, command: list[str]) -> None:
        failed, failing = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            self._become(command, failing)
        os.close(failing)
        with os.fdopen(failed, "rb") as reader:
            reason = reader.read()  # ends at a successful exec, too
        if reason:
            self._say({"failed": reason.decode("utf-8", "replace")})
            os.waitpid(self._child, 0)
            sys.exit(0)
        # The streams are the command's alone from here on; who reads them sees their end.
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        self._say({"pid": self._child})

    def _become(self, command: list[str], failing: int) -> None:
        """Turn this fresh child into the command. Does not return."""
        try:
            signal.set_wakeup_fd(-1)
            for number in range(1, signal.NSIG):
                with contextlib.suppress(OSError, ValueError):
                    signal.signal(number, signal.SIG_DFL)
            os.setsid()
            if self._has_terminal:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            os.execvp(command[0], command)
        except BaseException as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            os.write(failing, f"{command[0]}: {reason}".encode())
        finally:
            os._exit(127)

    # -------------------------------------------------------------------------------- serving

    def serve(self) -> None:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while self._reap():
            timeout = None
            if self._kill_at is not None:
                self._ask()
                timeout = (self._kill_at - time.monotonic()) * 1000
                if timeout <= 0:
                    break
            for descriptor, _ in poll.poll(timeout):
                if descriptor == self._wake:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake, 4096)
                elif not self._obey():
                    self._end_all()
                    return
        self._end_all()

    def _reap(self) -> bool:
        """Reap what has ended; return whether there is something to wait for."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                # What a command leaves behind goes with it, except that all may use the grace that they were given.
                return self._is_running or self._kill_at is not None
            if pid == self._child:
                self._is_running = False
                code = os.waitstatus_to_exitcode(status)
                self._say({"exit": code} if code >= 0 else {"signal": -code})

    def _obey(self) -> bool:
        """Do what the host says; return False when everything is to end at once."""
        try:
            message = self._control.recv(64)
        except OSError:
            message = b""
        if message in (b"", b"kill"):
            return False
        if message == b"terminate" and self._kill_at is None:
            self._kill_at = time.monotonic() + self._grace
            self._ask()
        return True

    def _ask(self) -> None:
        """Ask everything to end that was not asked yet: what has been started meanwhile, too."""
        # An interactive shell ends at a hang-up only; a stopped process takes signals once it goes on.
        numbers = [signal.SIGHUP] if self._has_terminal else []
        for pid in [-1] if self._is_init else self._descendants():
            if pid not in self._asked:
                self._asked.add(pid)
                for number in (*numbers, signal.SIGTERM, signal.SIGCONT):
                    _kill(pid, number)

    def _say(self, message: dict[str, object]) -> None:
        with contextlib.suppress(OSError):
            self._control.send(json.dumps(message).encode())

    # --------------------------------------------------------------------------------- ending

    def _end_all(self) -> None:
        """Kill whatever is left, reap it, and return when nothing is."""
        until = time.monotonic() + _SWEEP_SECONDS
        while True:
            if not self._is_init:
                self._freeze()
            for pid in [-1] if self._is_init else self._descendants():
                _kill(pid, signal.SIGKILL)
            if not self._reap_killed() or time.monotonic() > until:
                return
            time.sleep(0.005)

    def _reap_killed(self) -> bool:
        self._kill_at = 0.0  # so that `_reap` tells whether anything is left
        return self._reap()

    def _freeze(self) -> None:
        """Stop every descendant, until a look finds no new one, so that none can start another."""
        stopped: set[int] = set()
        while new := set(self._descendants()) - stopped:
            for pid in new:
                _kill(pid, signal.SIGSTOP)
            stopped |= new

    def _descendants(self) -> list[int]:
        """Every descendant, parents first: a shell is not to see its child end before it is asked to itself."""
        children: dict[int, list[int]] = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    with open(f"/proc/{name}/stat", "rb") as file:
                        # pid (any text) state ppid ...
                        state, parent = file.read().rpartition(b")")[2].split()[:2]
                    if state != b"Z":
                        children.setdefault(int(parent), []).append(int(name))
        found = [os.getpid()]
        for pid in found:  # it grows meanwhile
            found += children.get(pid, ())
        return found[1:]


def _kill(pid: int, number: int) -> None:
    """Send a signal; to -1, which is every process of the namespace but this one, as its first process only."""
    with contextlib.suppress(OSError):
        os.kill(pid, number)


if __name__ == "__main__":
    main()
