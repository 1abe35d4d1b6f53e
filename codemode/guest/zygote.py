"""The first process on the guests' side: it leaves the host's namespaces, forks the one that will make guests, and
waits for it. It holds nothing, imports next to nothing, and never sees a program.

    host ── exec, empty environment ──> this process ── fork ──> process 1 of its own namespace (`forks.py`)
                                                                   └─ fork, once per program ──> a guest

Whichever of them dies takes everything below it along.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from codemode.guest.confine import namespaces, process

__all__ = ["main"]


def main(control: int, host: int) -> NoReturn:
    """Become the zygote. `control` is the descriptor of the socket to the host, `host` the host's process number."""
    process.die_with_parent()
    if os.getppid() != host:
        os._exit(1)
    left = namespaces.enter_own()
    process.die_with_parent()  # entering a user namespace may have undone it
    if os.getppid() != host:
        os._exit(1)
    process.default_signals()
    if left["pid_for_children"]:
        _serve(control, left)  # no namespace to be the first process of
    alive, held = os.pipe()
    inner = os.fork()
    if inner == 0:
        os.close(held)
        process.die_with_parent()
        _leave_if_gone(alive)
        _serve(control, left)
    os.close(alive)
    os.close(control)
    os.waitpid(inner, 0)
    os._exit(0)


def _leave_if_gone(alive: int) -> None:
    """End this process if its parent ended before it could be asked to die with it.

    `os.getppid()` cannot tell: from inside the namespace a parent outside is always 0. The pipe's other end can.
    """
    os.set_blocking(alive, False)
    try:
        os.read(alive, 1)
    except BlockingIOError:
        os.close(alive)
    else:
        os._exit(1)


def _serve(control: int, left: dict[str, str]) -> NoReturn:
    try:
        # Imported here and not above, so that the outer process stays small.
        from codemode.guest import forks

        forks.serve(control, left)
    except BaseException:
        sys.excepthook(*sys.exc_info())  # to the host's diagnostics pipe, as long as there is one
    finally:
        sys.stderr.flush()
        os._exit(1)
