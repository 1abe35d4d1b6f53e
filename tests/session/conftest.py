"""What the session's tests share: events to append, and programs that run in another process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import codemode

START = {
    "rootCallId": "call-1",
    "parentCallId": "call-1",
    "subCallId": "call-1.1",
    "name": "read",
    "arguments": {"path": "a.py"},
}
END = {**START, "content": [{"type": "text", "text": "1 line"}], "isError": False}

Child = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def child() -> Iterator[Child]:
    """Start `python -c SOURCE ARGUMENTS…` with pipes; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(source: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", source, *map(str, arguments)],
            cwd=Path(codemode.__file__).parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
