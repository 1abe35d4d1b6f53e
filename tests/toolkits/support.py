"""Calls of the file tools through the pipeline, and the programs that they are compared with."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from codemode import Failure, Success
from codemode.content import text_of
from codemode.toolkits import files
from codemode.tools.call import FailureReason, Outcome
from codemode.tools.pipeline import Pipeline
from codemode.tools.registry import Registry


class Tools:
    def __init__(self, root: Path, *, write: bool = True) -> None:
        self.pipeline = Pipeline(Registry(files(root, write=write)))

    async def outcome(self, name: str, **arguments: Any) -> Outcome:
        return await self.pipeline.execute(name, arguments, id="1")

    async def value(self, name: str, **arguments: Any) -> Any:
        outcome = await self.outcome(name, **arguments)
        assert isinstance(outcome, Success), outcome.error
        return outcome.value

    async def error(self, name: str, **arguments: Any) -> FailureReason:
        outcome = await self.outcome(name, **arguments)
        assert isinstance(outcome, Failure), outcome.value
        return outcome.error

    async def code(self, name: str, **arguments: Any) -> str | None:
        return (await self.error(name, **arguments)).code

    async def shown(self, name: str, **arguments: Any) -> str:
        return text_of((await self.outcome(name, **arguments)).content)

    async def paths(self, pattern: str, **arguments: Any) -> set[str]:
        paths = (await self.value("glob", pattern=pattern, **arguments))["paths"]
        assert len(paths) == len(set(paths))
        return set(paths)


def run(*command: str | Path, ok: tuple[int, ...] = (0,)) -> str:
    """What a program prints. One that fails, fails the test; so does one that is missing where `CI` is set.

    Elsewhere a missing one (git, on a machine with little on it) skips the test, which says so.
    """
    if shutil.which(command[0]) is None:
        reason = f"there is no {command[0]} on this machine to compare with"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    environment = {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
    }
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode in ok, done.stderr.decode()
    return done.stdout.decode()


def fill(root: Path, contents: dict[str, str | bytes]) -> None:
    """Put files into a directory."""
    for path, content in contents.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


def children() -> set[str]:
    """The processes that this one has started and not yet waited for."""
    found: set[str] = set()
    for task in os.listdir("/proc/self/task"):
        found.update(Path(f"/proc/self/task/{task}/children").read_text().split())
    return found
