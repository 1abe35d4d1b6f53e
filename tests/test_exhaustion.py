"""A host that runs out of descriptors, or whose log cannot be written: the error says so, nothing is left, and once
there is room again the next run works."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from codemode import CodeMode, as_json, tool
from codemode.errors import CodeModeError, SessionError
from codemode.session import Session
from tests.sandbox.support import descendants, descriptors, eventually
from tests.test_cancelled_everywhere import unended


@contextmanager
def soft_limit(kind: int, value: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (soft, hard))


@contextmanager
def descriptors_left(room: int) -> Iterator[None]:
    """Leave this process so many descriptors that it may still open."""
    held = [os.dup(0)]
    top = max(map(int, os.listdir("/proc/self/fd")))
    while held[-1] < top:  # the gaps between those in use
        held.append(os.dup(0))
    try:
        with soft_limit(resource.RLIMIT_NOFILE, max(top, held[-1]) + 1 + room):
            yield
    finally:
        for descriptor in held:
            os.close(descriptor)


@tool(render=as_json)
async def fill(n: int) -> str:
    """Return a text whose start and end are unlike each other."""
    return f"{n} " * 20_000


async def test_a_host_with_few_descriptors_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    await trio.to_thread.run_sync(int)  # trio keeps a thread for later; let it be there before

    async def whole() -> None:
        async with CodeMode([fill], session=tmp_path / "log.sqlite") as cm:
            assert (await cm.run("return len(tools.fill(n=1))")).result == 40_000

    await whole()
    processes, before = descendants(), descriptors()
    worked: list[bool] = []
    for room in range(0, 28, 3):
        with descriptors_left(room), trio.fail_after(60):
            try:
                await whole()
                worked.append(True)
            except* (CodeModeError, OSError) as group:
                worked.append(False)
                for error in _leaves(group):
                    assert str(error).strip()
        assert await eventually(lambda: descendants() == processes)
        assert descriptors() == before
    assert worked[0] is False
    assert worked[-1] is True
    await whole()


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


async def test_a_log_that_cannot_be_written_ends_the_run_and_the_next_one_works(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    async with CodeMode([fill], session=path) as cm:
        assert (await cm.run("return 1")).result == 1
        await trio.sleep(0.3)  # the spares are there again
        before = descriptors()
        largest = max(each.stat().st_size for each in tmp_path.iterdir())
        with soft_limit(resource.RLIMIT_FSIZE, largest + 4096):
            with pytest.raises(SessionError) as caught:
                await cm.run("for n in range(60): tools.fill(n=n)\nreturn 2")
        assert "log.sqlite" in str(caught.value)
        assert await eventually(lambda: descriptors() == before), (descriptors(), before)
        assert (await cm.run("return len(tools.fill(n=1))")).result == 40_000
        assert unended(cm.session) == []
    async with Session.open(path) as session:
        assert unended(session) == []
