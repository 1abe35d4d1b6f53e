"""Every block of README.md, SECURITY.md and docs/ says what becomes of it, and what is an example runs as printed."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import trio

from codemode.cli.main import COMMANDS, parser_of
from tests.agent.server import Play, plays, recorded
from tests.conversation.scripts import answer, said, use
from tests.documentation.pages import ROOT, Block, blocks, pages

PAGES = {page: blocks(page) for page in pages()}
RUN = {"run", "async", "program", "shell"}

PROGRAM = "return tools.stock('apple') + tools.stock('plum')"

AS_A_BODY = """
import ast, sys, trio, types
name = sys.argv[1]
code = compile(open(name).read(), name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
trio.run(types.FunctionType(code, {"__name__": "__main__"}))
"""


def played(request: Any) -> Play:
    """What the model of the examples answers: one program, and then what it gave."""
    last = request["messages"][-1]["content"]
    if isinstance(last, list) and last[-1]["type"] == "tool_result":
        return plays(answer(said("There are 15.")))[0]
    return plays(answer(use("t1", "run_code", code=PROGRAM, description="add")))[0]


def test_every_block_says_what_becomes_of_it():
    silent = [f"{each.page}:{each.line}" for page in PAGES.values() for each in page if not each.kind]
    assert silent == [], "each needs a comment before it; tests/documentation/pages.py has the list"


def test_no_example_is_left_out_silently():
    """What is not run is a short list, and each has a reason; what prints stands behind what printed it."""
    count: dict[str, int] = {}
    for page in PAGES.values():
        kinds = [each.kind for each in page]
        for before, each in zip([None, *page], page, strict=False):
            count[each.kind] = count.get(each.kind, 0) + 1
            where = f"{each.page}:{each.line}"
            if each.kind == "not run":
                assert len(each.about.split()) > 3, f"{where}: not run, and why?"
            if each.kind in ("file", "run", "async", "program"):
                assert each.about, f"{where}: which file?"
            if each.kind == "prints":
                assert before is not None, where
                assert before.kind in RUN, where
            elif before is not None and before.kind in ("run", "async", "program"):
                assert each.language not in ("text", ""), f"{where}: does this say what was printed?"
        if "file" in kinds:
            assert RUN & set(kinds), f"{page[0].page}: files that nothing runs"
    assert count["not run"] <= NOT_RUN, "more and more is not run; can one of them be?"
    assert sum(count.get(kind, 0) for kind in RUN) >= 45


NOT_RUN = 12


def test_what_is_left_to_ci_is_what_ci_runs():
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    for page in PAGES.values():
        for each in page:
            if each.kind in ("demo-command", "test-command"):
                assert f"readme_command {each.kind}" in script
            if each.kind == "ci":
                assert each.content.strip().splitlines()[-1] in script, f"{each.page}:{each.line}"


@pytest.mark.parametrize("page", [page for page in PAGES if any(b.kind == "commands" for b in PAGES[page])])
def test_every_command_line_is_one_that_this_version_takes(page):
    parser = parser_of(COMMANDS)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for each in PAGES[page]:
        for line in each.content.splitlines() if each.kind == "commands" else ():
            where = f"{page}:{each.line}: {line}"
            words = shlex.split(line.partition("|")[2] or line, comments=True)
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words.pop(0)
            if not words or words[0] == "export":
                continue
            if words[:2] == ["pip", "install"]:
                (extras,) = re.findall(r"codemode\[(.*)\]", words[2])
                assert set(extras.split(",")) <= set(project["optional-dependencies"]), where
            elif words[0] == "codemode":
                try:
                    parser.parse_args(words[1:])
                except SystemExit:
                    pytest.fail(where)
            else:
                assert (words[0], words[1]) == ("eval", "$(codemode completions bash)"), where


EXAMPLES = [page for page in PAGES if RUN & {block.kind for block in PAGES[page]}]
Differences = list[tuple[str, Any, Any]]


@pytest.fixture(scope="module")
def played_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Differences]:
    """All pages, some at once: most of their time is that of starting processes."""
    found: dict[str, Differences] = {}
    room = trio.CapacityLimiter(3)

    async def play(page: str, url: str) -> None:
        environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()} | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHON": sys.executable,
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": url,
        }
        async with room:
            found[page] = await _play(PAGES[page], tmp_path_factory.mktemp("page"), environment)

    async def play_all() -> None:
        async with recorded(played) as server, trio.open_nursery() as nursery:
            for page in EXAMPLES:
                nursery.start_soon(play, page, server.url)

    trio.run(play_all)
    return found


@pytest.mark.parametrize("page", EXAMPLES)
def test_the_examples_of_a_page_run_as_printed(page: str, played_pages: dict[str, Differences]):
    for where, is_so, should_be in played_pages[page]:
        assert is_so == should_be, where


async def _play(page: list[Block], place: Path, environment: dict[str, str]) -> Differences:
    """Do what the blocks of a page say; return where something else came out: what it is, and what it should be."""
    printed = ""
    for each in page:
        where = f"{each.page}:{each.line}"
        if each.kind == "prints" and printed != each.content:
            return [(where, printed, each.content)]
        if each.kind in ("file", "run", "async", "program"):
            _write(place, each)
        if each.kind in RUN:
            code, errors, printed = await _run(each, place, environment)
            expected = int(each.about.removeprefix("exit ")) if each.kind == "shell" and each.about else 0
            if (code, errors) != (expected, ""):
                return [(where, (code, errors, printed), (expected, "", "…"))]
    return []


def _write(place: Path, block: Block) -> None:
    content = block.content
    if block.language == "json":
        json.loads(content)
    (place / block.about).parent.mkdir(parents=True, exist_ok=True)
    (place / block.about).write_text(content, "utf-8")


async def _run(block: Block, place: Path, environment: dict[str, str]) -> tuple[int, str, str]:
    """Run a block; return its exit code, its errors and what it printed."""
    if block.kind == "shell":
        command = ["sh", "-euc", block.content]
    elif block.kind == "program":
        command = ["codemode", "run", block.about]
    elif block.kind == "async":
        command = [sys.executable, "-c", AS_A_BODY, block.about]
    else:
        command = [sys.executable, block.about]
    # As on a terminal, a shell's errors stand among its output.
    errors = {"stderr": subprocess.STDOUT} if block.kind == "shell" else {"capture_stderr": True}
    with trio.fail_after(100):
        done = await trio.run_process(
            command,
            cwd=place,
            env=environment,
            capture_stdout=True,
            check=False,
            start_new_session=True,  # no terminal to be asked on
            **errors,
        )
    return done.returncode, (done.stderr or b"").decode(), done.stdout.decode()
