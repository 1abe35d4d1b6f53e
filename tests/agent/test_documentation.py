"""The examples of docs/conversation.md and of the README's section on it run as printed, and print what they say."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
import trio

from tests.agent.server import plays, recorded
from tests.conversation.scripts import answer, said, use

ROOT = Path(__file__).parents[2]
PROGRAM = "return tools.stock('apple') + tools.stock('plum')"
PLAYED = [answer(use("t1", "run_code", code=PROGRAM, description="add")), answer(said("There are 15."))]


def examples(name: str, heading: str = "") -> list[tuple[str, str]]:
    """The examples in Python, each with the text that follows as what it prints."""
    page = (ROOT / name).read_text("utf-8")
    page = page[page.index(heading) :]
    if heading:
        page = page[: page.index("\n## ", 1)]
    return re.findall(r"```python\n(.*?)```\n\nprints\n\n```text\n(.*?)```", page, re.DOTALL)


EXAMPLES = [*examples("docs/conversation.md"), *examples("README.md", "## Let a model work with it")]


def test_every_example_says_what_it_prints():
    page = (ROOT / "docs/conversation.md").read_text("utf-8")
    assert page.count("```python") == len(examples("docs/conversation.md")) == 3
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
async def test_an_example_runs_as_printed(number: int, tmp_path: Path):
    source, printed = EXAMPLES[number]
    (tmp_path / "example.py").write_text(source)
    async with recorded(plays(*PLAYED)) as server:
        done = await trio.run_process(
            [sys.executable, "example.py"],
            cwd=tmp_path,
            env={**os.environ, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url},
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
        assert done.stderr.decode() == ""
        assert done.stdout.decode() == printed
        assert len(server.requests) in (0, 2)
