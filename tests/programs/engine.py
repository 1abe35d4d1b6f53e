"""Both sides of a comparison, and what is compared: result, printed text, and how a program failed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import trio

from codemode import CodeMode, Limits, RunResult, ToolError, as_json, tool

__all__ = ["TOOLS", "Ended", "Engine", "Plain", "ended"]


@tool(render=as_json, parallel=True)
async def echo(
    value: int | str | float | bool | None | list | dict = None,
) -> int | str | float | bool | None | list | dict:
    """Give back what came."""
    return value


@tool(render=as_json, parallel=True)
async def rows(count: int = 3) -> list[dict[str, int | str]]:
    """Some rows."""
    return [{"id": n, "name": f"row {n}", "size": n * n} for n in range(count)]


@tool(render=as_json, parallel=True)
async def boom(message: str = "it broke", code: str | None = None) -> int:
    """Fail."""
    raise ToolError(message, code=code)


TOOLS = [echo, rows, boom]


class Ended(NamedTuple):
    """How a program ended. `places` are line, function and text of its own lines, the outermost first."""

    result: Any
    printed: str
    headline: str | None
    notes: list[str]
    places: list[tuple[int, str | None, str]]


class Plain:
    """Runs programs under plain CPython; the same interpreter, without the package."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", str(Path(__file__).with_name("plain.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def run(self, source: str) -> Ended:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(source) + "\n")
        self._process.stdin.flush()
        out = json.loads(self._process.stdout.readline())
        failure = out["failure"] or {"headline": None, "notes": [], "places": []}
        return Ended(
            out["result"],
            _whole_lines(out["printed"]),
            failure["headline"],
            failure["notes"],
            [tuple(place) for place in failure["places"]],
        )

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Engine:
    """One engine for many tests: trio runs in a thread of its own, for tests that are not asynchronous."""

    def __init__(self, **limits: Any) -> None:
        self._limits = Limits(**limits)
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            raise self._error

    def _live(self) -> None:
        async def live() -> None:
            async with CodeMode(TOOLS, limits=self._limits) as cm:
                self._cm = cm
                self._token = trio.lowlevel.current_trio_token()
                self._done = trio.Event()
                self._ready.set()
                await self._done.wait()

        try:
            trio.run(live)
        except BaseException as error:
            self._error = error
        finally:
            self._ready.set()

    def run(self, source: str) -> RunResult:
        return trio.from_thread.run(self._cm.run, source, trio_token=self._token)

    def close(self) -> None:
        self._token.run_sync_soon(self._done.set)
        self._thread.join()


def _whole_lines(printed: str) -> str:
    """A run's log is made of lines; the last one counts as whole."""
    return printed if printed.endswith("\n") or not printed else printed + "\n"


_PLACE = re.compile(r"  line (\d+)(?:, in (.*))?\n    (.*)\n")


def ended(run: RunResult) -> Ended:
    """Read a run's report: the last exception of its chain, without hint and without the members of a group."""
    printed = "".join(line + "\n" for line in run.logs)
    if run.error is None:
        return Ended(run.result, printed, None, [], [])
    text = re.split(r"(?m)^Traceback \(most recent call last\):\n", run.error.message)[-1] + "\n"
    places = []
    while found := _PLACE.match(text):
        places.append((int(found[1]), found[2], found[3]))
        text = text[found.end() :]
    text = re.split(r"(?m)^(?:  \[1\] |Hint: )", text)[0].removesuffix("\n")
    return Ended(None, printed, text, [], places)
