"""HTML as Markdown, converted in a process of its own for each page.

Pages come from anybody, and some take a converter for ever, or all memory. A process can be killed, and has
limits that it cannot pass (`markdown_process.py`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import trio

__all__ = ["to_markdown"]

CONVERSION_SECONDS = 10.0
MEMORY_BYTES = 1024 * 1024 * 1024
MAX_MARKDOWN_BYTES = 20_000_000
MAX_PROCESSES = 2
"""At the same time, for all fetches together: each may take all of its time and memory."""

_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "markdown_process.py")


async def to_markdown(html: str, base_url: str) -> str | None:
    """Return a page as GitHub-flavoured Markdown, links made absolute; None when it cannot be done within bounds.

    Cancellation kills the process.
    """
    request = json.dumps(
        {
            "html": html,
            "baseUrl": base_url,
            "maxBytes": MAX_MARKDOWN_BYTES,
            "cpuSeconds": int(CONVERSION_SECONDS) + 1,
            "memoryBytes": MEMORY_BYTES,
        }
    ).encode()
    async with _room:
        return await _converted(request)


async def _converted(request: bytes) -> str | None:
    done: subprocess.CompletedProcess[bytes] | None = None
    with trio.move_on_after(CONVERSION_SECONDS):
        # -I: nothing from the environment or the working directory.
        done = await trio.run_process(
            [sys.executable, "-I", "-B", _PROGRAM],
            stdin=request,
            capture_stdout=True,
            stderr=subprocess.DEVNULL,
            check=False,
            env={},
            cwd="/",
            deliver_cancel=_kill,
        )
    if done is None or done.returncode != 0:
        return None
    return done.stdout.decode("utf-8", "ignore")


_room = trio.CapacityLimiter(MAX_PROCESSES)


async def _kill(process: trio.Process) -> None:
    process.kill()
