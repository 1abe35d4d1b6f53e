"""Terminals: programs that want a person before them, driven by a model. Needs the extra `codemode[terminal]`.

`terminal_open`, `terminal_list`, `terminal_send`, `terminal_read`, `terminal_signal`, `terminal_close`.

    tools.py      the tools
    showing.py    their values as text
    sessions.py   the terminals of one owner
    session.py    one terminal
    screen.py     what a terminal shows
    sequences.py  control sequences, told apart from text
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from codemode import Tool, ToolDefinitionError

try:
    import pyte  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"the terminal toolkit needs {error.name}; install it with: pip install 'codemode[terminal]'"
    ) from error

from codemode.toolkits.jobs import Jobs
from codemode.toolkits.processes.confinement import confine
from codemode.toolkits.terminal.sessions import Sessions
from codemode.toolkits.terminal.tools import terminal_tools

__all__ = ["TYPES", "terminal"]

TYPES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "bash": ("bash", "--noprofile", "--norc", "-i"),
        "python": (os.path.realpath(sys.executable), "-q", "-i"),
    }
)
"""The types of terminals there are unless told otherwise, and the command of each."""


def terminal(
    workspace: str | os.PathLike[str],
    *,
    jobs: Jobs | None = None,
    types: Mapping[str, Sequence[str]] = TYPES,
    confined: bool | None = None,
    environment: Mapping[str, str] | None = None,
    readable: Sequence[str | os.PathLike[str]] = (),
) -> list[Tool]:
    """Return the six tools over terminals whose programs run in a directory.

    `terminal_open` asks for approval. What is said of `confined`, `environment` and `readable` at `shell` holds
    here too. With `jobs`, shared with that toolkit, `terminal_send` can leave its waiting to a background job.
    Terminals end with the engine that the tools are called through. Raises `ToolDefinitionError`.
    """
    if not types or not all(types.values()):
        raise ToolDefinitionError("a terminal needs at least one type, and each type a command")
    confinement = confine(workspace, confined=confined, environment=environment, readable=readable)
    owner = jobs or Jobs()
    return terminal_tools(Sessions(owner, confinement, types), with_jobs=jobs is not None)
