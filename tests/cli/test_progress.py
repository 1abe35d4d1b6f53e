"""The line that says what a quiet run is doing: when it is there, what it says, and that it goes away."""

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from codemode import CodeMode, as_json, tool
from codemode.cli.progress import Progress, can_show
from codemode.cli.terminal import first_columns

PROJECT = Path(__file__).parents[2]
ERASE = "\r\x1b[K"


class Screen(io.StringIO):
    def __init__(self, is_terminal=True):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal

    def fileno(self):
        raise OSError("none")

    @property
    def seen(self):
        """What stands on the last line now."""
        return re.sub(r"\x1b\[\d*m", "", self.getvalue().rpartition(ERASE)[2])


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    return Screen()


async def test_it_comes_after_a_second_without_output_and_goes_when_something_is_printed(
    screen, autojump_clock
):
    async with trio.open_nursery() as nursery:
        progress = Progress(screen)
        nursery.start_soon(progress.show, None)
        await trio.sleep(0.9)
        assert screen.getvalue() == ""
        await trio.sleep(2.3)
        assert screen.seen == "running for 3 s, 0 calls"
        progress.erase()
        assert screen.getvalue().endswith(ERASE)
        await trio.sleep(0.9)
        assert screen.seen == ""
        await trio.sleep(1)
        assert screen.seen == "running for 5 s, 0 calls"
        progress.erase()
        progress.is_hidden = True  # a line of output is not complete
        await trio.sleep(5)
        assert screen.seen == ""
        progress.is_hidden = False
        await trio.sleep(5)
        nursery.cancel_scope.cancel()
    assert screen.getvalue().endswith(ERASE)


async def test_it_names_the_calls_and_fits_the_width(screen):
    release = trio.Event()

    @tool(render=as_json, parallel=True)
    async def wait(long: str) -> int:
        """Wait."""
        await release.wait()
        return 1

    @tool(render=as_json, name="x" * 60, parallel=True)
    async def other() -> int:
        """Wait."""
        await release.wait()
        return 1

    progress = Progress(screen)
    code = f"import asyncio\nawait asyncio.gather(*[tools.wait('a') for _ in 'ab'], tools.{'x' * 60}())"
    async with CodeMode([wait, other], hooks=progress.tally.hooks) as cm, trio.open_nursery() as nursery:
        nursery.start_soon(cm.run, code)
        while "and 2 more" not in str(progress.tally):
            await trio.sleep(0.01)
        assert str(progress.tally) == "0 calls, wait and 2 more running for 0 s"
        release.set()
    assert progress.tally.ended == 3
    assert re.fullmatch("3 calls, (wait|x{60}) ended", str(progress.tally))
    progress._quiet_since -= 9
    progress.tally._last = "\x1b[2J" + "x" * 99
    progress._draw()
    assert screen.seen.startswith("running for ")
    assert "\\x1b[2J" in screen.seen
    assert len(screen.seen) == 79


def test_it_is_shown_on_a_terminal_that_can_take_it_back_alone(screen, monkeypatch):
    assert can_show(screen)
    assert not can_show(Screen(is_terminal=False))
    monkeypatch.setenv("TERM", "dumb")
    assert not can_show(screen)


def test_a_run_shows_it_on_standard_error_and_leaves_nothing_there(tmp_path):
    (tmp_path / "own.py").write_text(
        "import time\nfrom codemode import as_text, tool\n\n@tool(render=as_text)\n"
        'def doze() -> str:\n    """Doze."""\n    time.sleep(2)\n    return "dozed"\n'
    )
    leader, follower = pty.openpty()
    process = subprocess.run(
        [sys.executable, "-m", "codemode", "run", "-", "--tools", "own:doze"],
        cwd=tmp_path,
        input=b"print('a')\nreturn tools.doze()",
        stdout=subprocess.PIPE,
        stderr=follower,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "TERM": "xterm", "NO_COLOR": "1"},
        timeout=60,
        check=False,
    )
    os.close(follower)
    shown = os.read(leader, 65536).decode()
    os.close(leader)
    assert (process.returncode, process.stdout) == (0, b"a\ndozed\n")
    assert re.search(r"running for \d s, 0 calls, doze running for \d s", shown)
    assert shown.endswith(ERASE)


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc"),
        ("工具工具", 5, "工具"),
        ("a工具", 5, "a工具"),
        ("e\u0301e\u0301e", 2, "e\u0301e\u0301"),
        ("🙂🙂", 3, "🙂"),
        ("a", 0, ""),
    ],
)
def test_a_line_is_cut_by_the_columns_that_it_takes_up(text, most, shown):
    assert first_columns(text, most) == shown


async def test_it_is_on_standard_error_as_it_is_then_and_cut_by_columns(screen, monkeypatch):
    monkeypatch.setattr("sys.stderr", screen)
    progress = Progress()
    progress._quiet_since -= 9
    progress.tally._last = "工" * 80
    progress._draw()
    assert screen.seen == "running for 0 s, 0 calls, " + "工" * 26
