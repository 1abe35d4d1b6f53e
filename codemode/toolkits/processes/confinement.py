"""What a command may touch: its environment, and the walls that bubblewrap puts around it where it can.

Whether it can is not looked up but tried, once per process: a command that should not reach a file, a port and
other processes is run, and what it could reach is what counts.

With bubblewrap a command sees the system's programs and libraries and this Python, read-only; the workspace and a
private /tmp, to write; no home directories, no network, no processes but its own. Without it a command may do
what its user may do. In both cases it gets the variables named here and no others.
"""

from __future__ import annotations

import functools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from codemode import ToolDefinitionError, ToolError

__all__ = ["Confinement", "Enforcement", "confine"]

Enforcement = Literal["bubblewrap"]

ENVIRONMENT = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
)
"""The variables that a command gets from the host's environment, beside those that begin with `LC_`."""

SUPERVISOR = Path(__file__).with_name("supervisor.py")

_SYSTEM = ("bin", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "sbin", "usr")
"""The directories of / that a confined command sees."""
_SECRET_FILES = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers")
_SECRET_DIRECTORIES = ("/etc/ssh", "/etc/ssl/private", "/etc/sudoers.d")
_SUPERVISOR_INSIDE = "/run/supervisor.py"
_PROBE_SECONDS = 10.0


class Confinement(Struct, frozen=True):
    """Where and under which walls commands run. `enforcement` is what holds them, None for nothing.

    `missing` says why nothing does, for whoever asks. `readable` are directories beside the system's that a
    confined command may read.
    """

    workspace: str
    enforcement: Enforcement | None
    missing: str
    environment: Mapping[str, str]
    readable: Sequence[str]

    def describe(self) -> str:
        """Return what holds, in words that follow "runs a command"."""
        if self.enforcement is None:
            return f"without confinement, as the user that runs codemode ({self.missing})"
        return f"confined by {self.enforcement} to the workspace, without network"

    def directory(self, asked: str | None) -> str:
        """Return the directory to run in, absolute and without links; the workspace if none is asked for. Blocks.

        Raises `ToolError`: OUTSIDE_WORKSPACE, NOT_FOUND.
        """
        found = os.path.realpath(os.path.join(self.workspace, asked or "."))
        if not _is_beneath(found, self.workspace):
            raise ToolError(
                f'the directory "{asked}" is outside of the workspace {self.workspace}',
                code="OUTSIDE_WORKSPACE",
            )
        if not os.path.isdir(found):
            raise ToolError(f'there is no directory "{asked}" in the workspace', code="NOT_FOUND")
        return found

    def variables(self, scratch: str, **more: str) -> dict[str, str]:
        """Return the environment of a command."""
        found = {
            name: value for name, value in os.environ.items() if name in ENVIRONMENT or name.startswith("LC_")
        }
        found["TMPDIR"] = scratch
        if self.enforcement is not None:
            found["TMPDIR"] = found["HOME"] = "/tmp"
        return found | more | dict(self.environment)

    def launcher(self, cwd: str, scratch: str, shown: str) -> list[str]:
        """Return the command line that starts the supervisor, to be followed by its arguments.

        `scratch` becomes /tmp; `shown` is a directory of the host's that can be read under its own name.
        """
        python = os.path.realpath(sys.executable)
        if self.enforcement is None:
            return [python, "-I", "-S", str(SUPERVISOR)]
        return [
            *_bubblewrap(scratch, (*self.readable, shown), self.workspace),
            *("--chdir", cwd, "--", python, "-I", "-S", _SUPERVISOR_INSIDE),
        ]


def confine(
    workspace: str | os.PathLike[str],
    *,
    confined: bool | None = None,
    environment: Mapping[str, str] | None = None,
    readable: Sequence[str | os.PathLike[str]] = (),
) -> Confinement:
    """Return the confinement of commands over a workspace: as much as there is, or as `confined` says.

    Raises `ToolDefinitionError` if the workspace is no directory, or confinement is demanded and not to be had.
    """
    root = os.path.realpath(os.fspath(workspace))
    if not os.path.isdir(root):
        raise ToolDefinitionError(f"the workspace {root!r} is not a directory")
    missing = "it was turned off"
    if confined is not False:
        missing = "the workspace is the whole file system" if root == "/" else probe()
        if missing and confined:
            raise ToolDefinitionError(f"commands cannot be confined here: {missing}")
    return Confinement(
        workspace=root,
        enforcement=None if missing else "bubblewrap",
        missing=missing,
        environment=dict(environment or {}),
        readable=(*_own_python(), *(os.path.abspath(os.fspath(path)) for path in readable)),
    )


def _own_python() -> list[str]:
    return list({os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix)})


# --------------------------------------------------------------------------------------- bubblewrap


def _bubblewrap(scratch: str, readable: Sequence[str], workspace: str) -> list[str]:
    arguments = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--as-pid-1", "--cap-drop", "ALL"]
    for name in _SYSTEM:
        path = f"/{name}"
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            arguments += ["--ro-bind", path, path]
    for path in _SECRET_FILES:
        if os.path.exists(path):
            arguments += ["--ro-bind", "/dev/null", path]
    for path in _SECRET_DIRECTORIES:
        if os.path.isdir(path):
            arguments += ["--tmpfs", path]
    arguments += [
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/run",
        "--tmpfs",
        "/var",
        "--dir",
        "/var/tmp",
    ]
    arguments += ["--bind", scratch, "/tmp", "--ro-bind", str(SUPERVISOR), _SUPERVISOR_INSIDE]
    for path in readable:
        if not _is_beneath(path, workspace):
            arguments += ["--ro-bind-try", path, path]
    return [*arguments, "--bind", workspace, workspace]


def _is_beneath(path: str, parent: str) -> bool:
    return path == parent or path.startswith(parent.rstrip("/") + "/")


_LOOK = """
import os, socket, sys
canary, port, own = sys.argv[1:]
reached = []
if os.path.exists(canary):
    reached.append("a file outside of the workspace")
try:
    open("/usr/.codemode-probe", "w")
    reached.append("the system's files, to write")
except OSError:
    pass
try:
    socket.create_connection(("127.0.0.1", int(port)), 2)
    reached.append("the network")
except OSError:
    pass
if os.getpid() != 1:
    reached.append("other processes")
open(os.path.join(own, "written"), "w").close()
print("reached:" + ", ".join(reached))
"""


@functools.cache
def probe() -> str:
    """Run a command that bubblewrap is to hold; return "" if it does, else why it does not. Blocks for a moment."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed; install the package bubblewrap"
    with tempfile.TemporaryDirectory(prefix="codemode-probe-") as place, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        own, scratch, canary = (os.path.join(place, name) for name in ("own", "scratch", "canary"))
        os.mkdir(own)
        os.mkdir(scratch)
        Path(canary).touch()
        look = [os.path.realpath(sys.executable), "-I", "-S", "-c", _LOOK]
        command = [*_bubblewrap(scratch, _own_python(), own), "--", *look]
        try:
            done = subprocess.run(
                [*command, canary, str(listening.getsockname()[1]), own],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                env={},
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            return f"bubblewrap could not be tried: {error}"
        said = done.stdout.decode("utf-8", "replace").strip()
        if done.returncode != 0 or not said.startswith("reached:"):
            reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
            return (
                f"bubblewrap does not work here: {reason[-1] if reason else f'exit code {done.returncode}'}"
            )
        reached = said.removeprefix("reached:")
        return f"bubblewrap leaves a command {reached}" if reached else ""
