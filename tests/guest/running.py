"""How tests run programs: one forge for the session, one fresh guest for each program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ALL_TOOLS", "NOTHING", "Forge", "Ran"]

ROOT = Path(__file__).resolve().parents[2]
ALL_TOOLS = ("echo", "add", "boom", "slow", "rows", "my-tool", "odd", "never")
NOTHING = "<no result>"


class Ran(NamedTuple):
    """What came of a program. `result` is `NOTHING` when it returned nothing."""

    kind: str
    result: Any
    message: str
    logs: str
    calls: list[list[Any]]
    cancels: list[int]
    status: int


class Forge:
    """A process that forks guests."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(
        self,
        source: str,
        *,
        tools: tuple[str, ...] = ALL_TOOLS,
        log_bytes: int = 1 << 20,
        result_bytes: int = 16 << 20,
        error_bytes: int = 1 << 16,
        cpu: int = 5,
        wall: float = 10.0,
        memory: int = 512 << 20,
        warm: bool = False,
    ) -> Ran:
        """Run a program in a guest of its own and return what came of it."""
        request = {
            "source": source,
            "tools": tools,
            "cpu": cpu,
            "wall": wall,
            "memory": memory,
            "warm": warm,
            "log_bytes": log_bytes,
            "result_bytes": result_bytes,
            "error_bytes": error_bytes,
        }
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, "the forge has died"
        out = json.loads(line)
        return Ran(
            out["kind"],
            out.get("result", NOTHING),
            out["message"],
            out["logs"],
            out["calls"],
            out["cancels"],
            out["status"],
        )

    def value(self, source: str, **options: Any) -> Any:
        """Run a program that is to end well; return its result."""
        ran = self.run(source, **options)
        assert ran.kind == "ok", f"{ran.kind}: {ran.message}"
        return ran.result

    def failure(self, source: str, kind: str = "exception", **options: Any) -> str:
        """Run a program that is to fail in this way; return the message."""
        ran = self.run(source, **options)
        assert ran.kind == kind, f"{ran.kind}: {ran.result!r} {ran.message}"
        return ran.message

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            path = [str(ROOT), *(entry for entry in sys.path if entry)]
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", str(Path(__file__).with_name("forge.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env={"FORGE_PATH": json.dumps(path), "LC_ALL": "C.UTF-8", "TZ": os.environ.get("TZ", "UTC")},
            )
            assert self._process.stdout is not None
            assert self._process.stdout.readline() == "ready\n"
        return self._process

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
