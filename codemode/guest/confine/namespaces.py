"""Namespaces of our own and an empty root. Each is had or not; what was had is judged by its effect.

Everything here happens once, in the zygote; forks inherit it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from codemode.guest.confine import kernel

__all__ = ["NAMESPACES", "enter_own", "root_is_empty", "swap_root"]

# linux/sched.h, by the name of the link in /proc/self/ns that shows the effect
NAMESPACES: Final[Mapping[str, int]] = {
    "user": 0x1000_0000,
    "pid_for_children": 0x2000_0000,
    "net": 0x4000_0000,
    "ipc": 0x0800_0000,
    "uts": 0x0400_0000,
    "mnt": 0x0002_0000,
    "cgroup": 0x0200_0000,
}

_INSIDE_ID = 65534
"""Whom the only mapped user looks like from inside."""

# linux/mount.h
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC = 0x1, 0x2, 0x4, 0x8
_REMOUNT, _RECURSIVE, _PRIVATE = 0x20, 0x4000, 0x4_0000
_DETACH = 2
_LOCKED_DOWN = _NO_SUID | _NO_DEVICES | _NO_EXEC


def enter_own() -> dict[str, str]:
    """Leave as many of the caller's namespaces as the kernel lets go.

    Returns for each name of `NAMESPACES` an empty text if it was left, else why not. The new process namespace
    is the next fork's.
    """
    user, group = os.getuid(), os.getgid()
    before = _links()
    problems: dict[str, str] = {}
    try:
        kernel.unshare(sum(NAMESPACES.values()))
    except OSError:
        for name, flag in NAMESPACES.items():  # the user namespace first: it is what allows the others
            try:
                kernel.unshare(flag)
            except OSError as error:
                problems[name] = f"unshare: {error.strerror}"
    after = _links()
    for name, link in after.items():
        if link == before.get(name):
            problems.setdefault(name, "unshare changed nothing")
    if "user" not in problems:
        try:
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"{_INSIDE_ID} {user} 1")
            _write("/proc/self/gid_map", f"{_INSIDE_ID} {group} 1")
        except OSError as error:
            problems["user"] = f"mapping the user: {error.strerror}"
    return {name: problems.get(name, "") for name in NAMESPACES}


def swap_root() -> None:
    """Make an empty, read-only file system the root and let go of everything else. Raises OSError."""
    kernel.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE)
    kernel.mount(b"tmpfs", b"/tmp", b"tmpfs", _LOCKED_DOWN, b"size=4k,nr_inodes=2,mode=0555")
    os.chdir("/tmp")
    kernel.call("pivot_root", b".", b".")
    kernel.umount(b".", _DETACH)
    os.chdir("/")
    kernel.mount(None, b"/", None, _REMOUNT | _READ_ONLY | _LOCKED_DOWN)


def root_is_empty() -> bool:
    """Whether the root has nothing in it and takes nothing."""
    if os.listdir("/"):
        return False
    try:
        os.mkdir("/a")
    except OSError:
        return True
    return False


def _links() -> dict[str, str]:
    links = {}
    for name in NAMESPACES:
        try:
            links[name] = os.readlink(f"/proc/self/ns/{name}")
        except OSError:
            continue  # no /proc, or a kernel without this namespace
    return links


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
