"""What the tests of the sandbox share: a handler that remembers, and eyes for what is left behind."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import trio

from codemode.sandbox import CallRequest
from codemode.wire import ToolName

ECHO = ToolName("echo", ("x",), False, "echo(x)")

WITHOUT_LANGUAGE_WALL = f"""\
import sys
standin = type(sys)("codemode.guest.program")
with open({str(Path(__file__).with_name("no_language_wall.py"))!r}, encoding="utf-8") as file:
    exec(compile(file.read(), "no_language_wall.py", "exec"), standin.__dict__)
sys.modules["codemode.guest.program"] = standin
"""
"""First lines for a zygote whose guests execute plain Python; see `no_language_wall.py`."""


class Recorder:
    """A handler that keeps everything, and answers each call at once with its own arguments."""

    def __init__(self, on_call: Callable[[CallRequest], None] | None = None) -> None:
        self.printed: list[str] = []
        self.calls: list[CallRequest] = []
        self.cancelled: list[int] = []
        self._on_call = on_call

    def log(self, text: str) -> None:
        self.printed.append(text)

    def call(self, request: CallRequest) -> None:
        self.calls.append(request)
        if self._on_call is None:
            request.answer(request.arguments)
        else:
            self._on_call(request)

    def cancel(self, id: int) -> None:
        self.cancelled.append(id)


def ignore(request: CallRequest) -> None:
    """Never answer a call."""


async def eventually(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Wait until something outside of this process has become true; return whether it has."""
    with trio.move_on_after(seconds):
        while not condition():
            await trio.sleep(0.005)
    return condition()


def lives(pid: int) -> bool:
    """Whether a process still runs; one that waits for somebody to reap it does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def descriptors() -> list[str]:
    """What each open descriptor of this process is, without those that come and go by themselves."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(re.sub(r":.*|\d+", "", os.readlink(f"/proc/self/fd/{name}")))
        except OSError:
            continue  # the listing's own
    return sorted(found)


def descendants(root: int | None = None) -> set[int]:
    """Every living or unreaped process below `root` (this one by default)."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_text(encoding="ascii", errors="replace")
            except OSError:
                continue
            parents[int(name)] = int(stat.rpartition(")")[2].split()[1])
    found: set[int] = set()
    wanted = {os.getpid() if root is None else root}
    while wanted:
        wanted = {pid for pid, parent in parents.items() if parent in wanted} - found
        found |= wanted
    return found


def private_bytes(pid: int) -> int:
    """Memory of a process that it shares with no other."""
    total = 0
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith(("Private_Clean:", "Private_Dirty:")):
            total += int(line.split()[1]) * 1024
    return total
