"""What each guest must have of its own although all are forked from one zygote: random numbers, above all.

Python runs functions in a child after `os.fork` (`os.register_at_fork`); a guest is forked without that, since those
of the standard library touch hundreds of pages for locks and threads that a guest does not have. What matters of
them is done here, when a program imports what needs it and not before, since few programs do.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from codemode.guest.running import run

__all__ = ["noting_hooks", "seed", "start_packages"]

_hooks: list[Callable[[], object]] = []
"""What trusted packages want called in a child, in the order in which they said so."""

_seeded_in = 0
_started_in = 0
"""In which process this has been done: what the zygote has done for itself counts for no guest."""


def seed() -> None:
    """Give this process random numbers of its own. Later calls do nothing, so that a program's own seed stays."""
    global _seeded_in
    if _seeded_in != os.getpid():
        _seeded_in = os.getpid()
        random.seed()


def start_packages() -> None:
    """Do the same for packages that a deployment added. Raises RuntimeError if one of their functions fails."""
    global _started_in
    if _started_in == os.getpid() or not run.is_under_way():
        return
    _started_in = os.getpid()
    seed()
    generator: Any = sys.modules.get("numpy.random")
    if generator is not None:
        generator.seed()  # numpy tells nobody that it has a state of this kind
    for hook in _hooks:
        try:
            hook()
        except Exception as error:
            raise RuntimeError(
                f"a package could not be made ready for this run: {type(error).__name__}: {error}"
            ) from None


@contextmanager
def noting_hooks() -> Iterator[None]:
    """Note what is given to `os.register_at_fork(after_in_child=...)`, except by the standard library."""
    register = os.register_at_fork

    def note(**hooks: Any) -> None:
        register(**hooks)
        hook = hooks.get("after_in_child")
        caller = sys._getframe(1).f_globals.get("__name__")
        if hook is not None and not all(map(_is_standard, (getattr(hook, "__module__", None), caller))):
            _hooks.append(hook)

    os.register_at_fork = note
    try:
        yield
    finally:
        os.register_at_fork = register


def _is_standard(module: object) -> bool:
    return type(module) is not str or module.partition(".")[0] in sys.stdlib_module_names
