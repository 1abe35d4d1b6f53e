from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path

import pytest
import trio
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.toolkits.support import Tools, fill, run

TREE = (
    "a.py b.txt .hidden.py src/a.py src/b.js src/c.ts src/deep/a.py src/deep/er/x.py src/[x].py docs/a.md "
    "docs/.dot/b.md tests/a.py tests/test_a.py {b}.py sp*ce.py é.py"
).split()


@pytest.fixture
def tree(root: Path) -> Path:
    fill(root, dict.fromkeys([*TREE, ".git/config", "src/.svn/entries", "with space.py"], ""))
    return root


@pytest.mark.parametrize(
    "pattern",
    ["*", "*.py", "a*", "?.py", "[ab].*", "[!a]*.py", "*.??", "test_*", ".*", "\\[x\\].py", "*e*.p[xy]"],
)
async def test_a_pattern_without_a_slash_finds_what_find_does(tree, tools, pattern):
    found = run("find", tree, "-name", ".git", "-prune", "-o", "-name", ".svn", "-prune", "-o", "-type", "f",
                "-name", pattern, "-printf", "%P\\0")  # fmt: skip
    assert await tools.paths(pattern) == set(found.split("\0")) - {""}


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("src/*.py", "src/a.py src/[x].py"),
        ("/src/*.py", "src/a.py src/[x].py"),
        ("./src/*.py", "src/a.py src/[x].py"),
        ("**/a.py", "a.py src/a.py src/deep/a.py tests/a.py"),
        ("src/**/a.py", "src/a.py src/deep/a.py"),
        ("src/**", "src/a.py src/b.js src/c.ts src/deep/a.py src/deep/er/x.py src/[x].py"),
        ("src/deep/", "src/deep/a.py src/deep/er/x.py"),
        ("**/deep/**/*.py", "src/deep/a.py src/deep/er/x.py"),
        ("*/*/a.*", "src/deep/a.py"),
        ("*.{js,ts}", "src/b.js src/c.ts"),
        ("{src,tests}/a.py", "src/a.py tests/a.py"),
        ("{src/{b.js,deep/a.py},b.txt}", "src/b.js src/deep/a.py b.txt"),
        ("\\{b\\}.py", "{b}.py"),
        ("sp\\*ce.py", "sp*ce.py"),
        ("/a.py", "a.py"),
        ("src", ""),
        ("nothing*", ""),
    ],
)
async def test_patterns_for_paths(tree, tools, pattern, paths):
    assert await tools.paths(pattern) == set(paths.split())


async def test_everything_is_found_that_find_finds(tree, tools):
    found = run("find", tree, "-type", "f", "-not", "-path", "*/.git/*", "-not", "-path", "*/.svn/*",
                "-printf", "%P\\0")  # fmt: skip
    for pattern in ("*", "**", "**/*", "/"):
        assert await tools.paths(pattern) == set(found.split("\0")) - {""}


async def test_a_path_is_where_the_search_begins_and_paths_stay_relative_to_the_workspace(tree, tools):
    assert await tools.paths("*.py", path="src/deep") == {"src/deep/a.py", "src/deep/er/x.py"}
    assert await tools.paths("deep/*", path="src") == {"src/deep/a.py"}
    assert await tools.paths("*.js", path=str(tree / "src")) == {"src/b.js"}
    assert await tools.paths(f"{tree}/src/*.js") == {"src/b.js"}
    assert await tools.paths("*", path=".git") == {".git/config"}


async def test_the_last_changed_file_comes_first_and_equals_are_in_order(root, tools):
    fill(root, dict.fromkeys("dcbae", ""))
    for name, seconds in {"a": 3, "b": 1, "c": 2, "d": 2, "e": 9}.items():
        os.utime(root / name, (seconds, seconds))
    assert (await tools.value("glob", pattern="*")) == {"paths": ["e", "a", "c", "d", "b"]}


async def test_the_value_has_all_paths_of_which_a_model_is_shown_the_first(root, tools):
    fill(root, {f"{'x' * 200}{n:03}": "" for n in range(350)})
    outcome = await tools.outcome("glob", pattern="*")
    assert len(outcome.value["paths"]) == 350
    lines = outcome.content[0].text.split("\n")
    assert lines[:100] == outcome.value["paths"][:100]
    assert lines[100:] == [
        "",
        "(Showing 100 of 350 paths, the last changed first; narrow pattern or path to see others.)",
    ]
    assert outcome.meta["total"] == 350
    assert outcome.meta["truncated"] is True
    assert outcome.meta["paths"] == outcome.value["paths"][:100]


async def test_nothing_found_is_no_failure(root, tools):
    outcome = await tools.outcome("glob", pattern="*")
    assert outcome.value == {"paths": []}
    assert outcome.content[0].text == "No files found"
    assert outcome.meta == {"shape": "paths", "paths": [], "truncated": False, "total": 0}


@pytest.mark.parametrize(
    "pattern", ["[a", "{a,b", "a\\", "../*.py", "src/../a.py", "[[:nonsense:]]", "{a,b}" * 20, "x" * 2000]
)
async def test_a_pattern_that_means_nothing_is_refused(tree, tools, pattern):
    assert await tools.code("glob", pattern=pattern) == "SEARCH_INVALID_PATTERN"


async def test_other_errors_have_codes(tree, tools):
    assert await tools.code("glob", pattern="") == "INVALID_ARGUMENTS"
    assert await tools.code("glob", pattern="  ") == "INVALID_ARGUMENTS"
    assert await tools.code("glob", pattern="*", path="") == "INVALID_ARGUMENTS"
    assert await tools.code("glob", pattern="*", path="none") == "FS_NOT_FOUND"
    assert await tools.code("glob", pattern="*", path="a.py") == "FS_NOT_DIRECTORY"


async def test_no_pattern_takes_long(root, tools):
    fill(
        root,
        {"a" * 250: "", "/".join("a" * 200): "", ".gitignore": "*a" * 40 + "*b\n" + "**/a/" * 40 + "b\n"},
    )
    started = time.monotonic()
    assert await tools.paths("*a" * 40 + "*b") == set()
    assert await tools.paths("**/a/" * 40 + "**/b") == set()
    assert await tools.paths("*a" * 40 + "*") == {"a" * 250}
    assert time.monotonic() - started < 2


async def test_a_search_ends_when_its_time_is_up(tree, tools, monkeypatch):
    monkeypatch.setattr("codemode.toolkits.filesystem.searching.TIME_LIMIT", 0.0)
    assert await tools.code("glob", pattern="*") == "SEARCH_TIMEOUT"


@pytest.fixture
def few_descriptors():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 30, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.usefixtures("few_descriptors")
async def test_a_tree_deeper_than_there_may_be_open_files_is_searched(root, tools):
    path = "d/" * 200 + "found.txt"
    fill(root, {path: "needle\n"})
    assert await tools.paths("found.txt") == {path}
    assert (await tools.value("read", file_path=path))["path"] == path
    assert len((await tools.value("grep", pattern="needle"))["matches"]) == 1


_FILE_NAMES = st.text("ab.-", min_size=1, max_size=4).filter(lambda name: name.strip("."))
_PATTERNS = st.lists(
    st.sampled_from(["a", "b", ".", "-", "*", "?", "[ab]", "[!a]", "[a-c]", "\\a", "[]a]", "[^.]"]),
    min_size=1,
).map("".join)


@settings(deadline=None, max_examples=100)
@given(names=st.sets(_FILE_NAMES, max_size=20), pattern=_PATTERNS)
def test_names_match_as_find_matches_them(names, pattern):
    assume(pattern.strip("."))
    with tempfile.TemporaryDirectory() as root:
        fill(Path(root), dict.fromkeys(names, ""))
        found = run("find", root, "-type", "f", "-name", pattern, "-printf", "%P\\n").split("\n")
        assert trio.run(lambda: Tools(Path(root)).paths(pattern)) == set(found) - {""}


async def test_a_directory_that_cannot_be_listed_is_a_failure_where_it_was_asked_for(
    root: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "open").mkdir()
    (root / "open" / "a.txt").write_text("x")
    (root / "shut").mkdir()
    scandir = os.scandir

    def refusing(directory: int) -> object:
        if os.path.samestat(os.fstat(directory), os.stat(root / "shut")):
            raise PermissionError(13, "Permission denied")
        return scandir(directory)

    monkeypatch.setattr(os, "scandir", refusing)
    assert (await tools.value("glob", pattern="*.txt"))["paths"] == ["open/a.txt"]
    error = await tools.error("glob", pattern="*", path="shut")
    assert error.code == "FS_IO_ERROR"
    assert error.message == "cannot search shut: permission denied"
