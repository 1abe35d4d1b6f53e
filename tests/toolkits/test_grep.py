from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.toolkits.filesystem import matcher
from tests.toolkits.support import Tools, children, fill, run


def grep(root: Path, pattern: str, *options: str) -> list[tuple[str, int, str]]:
    """What GNU grep finds, as path, line number and line."""
    printed = run("grep", "-rnZE", "--binary-files=without-match", *options, "-e", pattern, root, ok=(0, 1))
    return sorted(
        (str(Path(path).relative_to(root)), int(number), line)
        for path, number, line in re.findall(r"([^\0]+)\0(\d+):([^\n]*)\n", printed)
    )


async def found(tools: Tools, pattern: str, **more: object) -> list[tuple[str, int, str]]:
    matches = (await tools.value("grep", pattern=pattern, **more))["matches"]
    return [(match["path"], match["lineNumber"], match["line"]) for match in matches]


@pytest.fixture
def tree(root: Path) -> Path:
    fill(
        root,
        {
            "a.py": "import os\n\ndef main():\n    return os.getcwd()\n",
            "b/c.py": "class A:\n    def f(self): pass\n\tdef g(self): pass",
            "b/d.txt": "Import\nimport x\n  import y\n\n\n",
            "é/ü.md": "straße\n日本語 text\n",
            "empty": "",
            "data.bin": b"import\0\n",
        },
    )
    return root


@pytest.mark.parametrize(
    "pattern",
    [
        "import",
        "^import",
        "def [a-z]+\\(",
        "pass$",
        "^$",
        "(os|x)",
        "[A-Z]",
        "ß|語",
        "a.e",
        "\\(self\\)",
        "^.{4,9}$",
        "q",
    ],
)
async def test_what_is_found_is_what_grep_finds(tree, tools, pattern):
    expected = grep(tree, pattern)
    assert await found(tools, pattern) == expected
    assert await found(tools, pattern, path="b") == [match for match in expected if match[0].startswith("b/")]
    assert await found(tools, pattern, include="*.py") == grep(tree, pattern, "--include=*.py")
    assert await found(tools, pattern, ignore_case=True) == grep(tree, pattern, "-i")


async def test_the_value(tree, tools):
    assert await tools.value("grep", pattern="getcwd") == {
        "matches": [{"path": "a.py", "lineNumber": 4, "line": "    return os.getcwd()"}]
    }


async def test_it_finds_in_this_very_package_what_grep_does():
    root = Path(__file__).parents[2] / "codemode"
    tools = Tools(root, write=False)
    for pattern in (r"^(async )?def \w+", "import", "TODO", r"\bself\b"):
        assert await found(tools, pattern, include="*.py") == grep(root, pattern, "--include=*.py")


async def test_a_path_may_be_a_file(tree, tools):
    assert await found(tools, "import", path="b/d.txt") == [
        ("b/d.txt", 2, "import x"),
        ("b/d.txt", 3, "  import y"),
    ]
    assert await found(tools, "import", path="data.bin") == []


async def test_include_is_one_glob(tree, tools):
    assert {path for path, *_ in await found(tools, ".", include="*.{py,md}")} == {"a.py", "b/c.py", "é/ü.md"}
    assert {path for path, *_ in await found(tools, ".", include="b/*.py")} == {"b/c.py"}
    for wrong, words in {"!*.py": "negated patterns", "*.py,*.md": "comma-separated list"}.items():
        error = await tools.error("grep", pattern=".", include=wrong)
        assert error.code == "INVALID_ARGUMENTS"
        assert words in error.message
    assert await tools.code("grep", pattern=".", include="[") == "SEARCH_INVALID_PATTERN"


async def test_lines_without_their_endings_and_bytes_that_are_no_text(root, tools):
    fill(root, {"crlf": "one\r\ntwo\r\n", "latin": b"caf\xe9 one\nplain one\n", "bom": "\ufeffone\n"})
    assert await found(tools, "one$") == [
        ("bom", 1, "one"),
        ("crlf", 1, "one"),
        ("latin", 1, "caf\N{REPLACEMENT CHARACTER} one"),
        ("latin", 2, "plain one"),
    ]
    assert await found(tools, "^one") == [("bom", 1, "one"), ("crlf", 1, "one")]


async def test_of_a_line_of_more_than_a_mebibyte_the_beginning_is_searched(root, tools):
    fill(root, {"f": "x" * 2**20 + "needle\n" + "needle\n" + "y" * (2**20 - 1) + "\n" + "needle"})
    assert await found(tools, "needle") == [("f", 2, "needle"), ("f", 4, "needle")]
    ((_, number, line),) = await found(tools, "^x")
    assert (number, len(line)) == (1, 2**20)


async def test_the_text_shown(tree, tools):
    assert await tools.shown("grep", pattern="^import") == (
        "Found 2 matches\n\na.py\nLine 1: import os\n\nb/d.txt\nLine 2: import x"
    )
    assert (await tools.shown("grep", pattern="getcwd")).startswith("Found 1 match\n")
    assert await tools.shown("grep", pattern="nothing like it") == "No matches found"


async def test_the_value_has_all_matches_of_which_a_model_is_shown_the_first(root, tools):
    fill(root, {"f": "needle\n" * 1000, "g": "needle" + "é" * 3000 + "\n"})
    outcome = await tools.outcome("grep", pattern="needle")
    assert len(outcome.value["matches"]) == 1001
    assert outcome.value["matches"][-1]["line"] == "needle" + "é" * 3000
    shown = outcome.content[0].text
    assert shown.startswith("Found 250 of 1001 matches\n\nf\nLine 1: needle\n")
    assert shown.endswith(
        "\nLine 250: needle\n\n(Use offset=251 to continue, or narrow pattern, path or include.)"
    )
    assert outcome.meta["total"] == 1001
    assert [len(file["matches"]) for file in outcome.meta["files"]] == [250]
    shown = await tools.shown("grep", pattern="needle", path="g")
    assert shown.endswith("é (line truncated)")
    assert len(shown.encode()) < 2100


@pytest.mark.parametrize(
    "pattern", ["(", "[", "*a", "a{2,1}", "(?P<n>x)(?P<n>y)", "\\", "(?<=a*)b", "(" * 5000]
)
async def test_a_pattern_that_is_none_is_refused(tree, tools, pattern):
    error = await tools.error("grep", pattern=pattern)
    assert error.code == "SEARCH_INVALID_PATTERN"
    assert error.message.startswith("the pattern is no regular expression: ")


async def test_other_errors_have_codes(tree, tools):
    assert await tools.code("grep", pattern="") == "INVALID_ARGUMENTS"
    assert await tools.code("grep", pattern="x", path="") == "INVALID_ARGUMENTS"
    assert await tools.code("grep", pattern="x", include="") == "INVALID_ARGUMENTS"
    assert await tools.code("grep", pattern="x", path="none") == "FS_NOT_FOUND"
    fill(tree, {"huge": ("x" * 999_999 + "\n") * 21})
    assert await tools.code("grep", pattern="x") == "SEARCH_TOO_LARGE"


@pytest.mark.usefixtures("no_descriptor_stays_open")
async def test_a_pattern_that_never_ends_is_stopped_and_keeps_nobody_waiting(root, monkeypatch):
    fill(root, {"f": "a" * 60 + "b\n"})
    tools = Tools(root)
    before = children()
    monkeypatch.setattr("codemode.toolkits.filesystem.searching.TIME_LIMIT", 0.6)
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            started = time.monotonic()
            await trio.sleep(0.01)
            longest = max(longest, time.monotonic() - started)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        assert await tools.code("grep", pattern="(a+)+$") == "SEARCH_TIMEOUT"
        nursery.cancel_scope.cancel()
    assert longest < 0.4
    assert children() == before


async def test_a_search_that_is_cancelled_leaves_no_process(root, tools):
    fill(root, {"f": "a" * 60 + "b\n"})
    before = children()
    with trio.move_on_after(0.5) as scope:
        await tools.outcome("grep", pattern="(a+)+$")
    assert scope.cancelled_caught
    with trio.fail_after(5):
        while children() != before:
            await trio.sleep(0.02)


async def test_searches_at_the_same_time_do_not_mix(tree, tools):
    results: dict[str, list[tuple[str, int, str]]] = {}

    async def search(pattern: str) -> None:
        results[pattern] = await found(tools, pattern)

    patterns = ["import", "def", "text", "^$", "self"]
    async with trio.open_nursery() as nursery:
        for pattern in patterns:
            nursery.start_soon(search, pattern)
    assert results == {pattern: grep(tree, pattern) for pattern in patterns}


_ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "^", "$", "a*", "b+", "(a|b)", "a?", "é", "a{2}"])


@settings(deadline=None, max_examples=40)
@given(
    contents=st.dictionaries(st.sampled_from(["f", "g", "d/h"]), st.text("ab é\n", max_size=60), min_size=1),
    pattern=st.lists(_ATOMS, min_size=1, max_size=5).map("".join),
)
def test_any_common_pattern_finds_what_grep_finds(contents, pattern):
    # A repetition of an assertion, and an assertion in the middle, mean different things to the two.
    pattern = re.sub(r"(?<=.)\^|\$(?=.)", "", pattern)
    with tempfile.TemporaryDirectory() as root:
        fill(Path(root), contents)
        assert trio.run(lambda: found(Tools(Path(root)), pattern)) == grep(Path(root), pattern)


async def test_lines_around_a_match(root, tools):
    fill(root, {"a.txt": "1\n2\nneedle\n4\nneedle\n6\n7\n8\n9\nneedle", "b.txt": "needle\r\nx\r\n"})
    value = await tools.value("grep", pattern="needle", context=1)
    assert value == {
        "matches": [
            {"path": "a.txt", "lineNumber": 3, "line": "needle", "before": ["2"], "after": ["4"]},
            {"path": "a.txt", "lineNumber": 5, "line": "needle", "before": ["4"], "after": ["6"]},
            {"path": "a.txt", "lineNumber": 10, "line": "needle", "before": ["9"], "after": []},
            {"path": "b.txt", "lineNumber": 1, "line": "needle", "before": [], "after": ["x"]},
        ]
    }
    assert await tools.shown("grep", pattern="needle", context=1) == (
        "Found 4 matches\n\n"
        "a.txt\nLine 2- 2\nLine 3: needle\nLine 4- 4\nLine 5: needle\nLine 6- 6\n--\nLine 9- 9\nLine 10: needle\n\n"
        "b.txt\nLine 1: needle\nLine 2- x"
    )
    wide = await tools.value("grep", pattern="4", context=50)
    assert wide["matches"][0]["before"] == ["1", "2", "needle"]
    assert wide["matches"][0]["after"] == ["needle", "6", "7", "8", "9", "needle"]


async def test_the_context_is_that_of_the_system_s_grep(root, tools):
    lines = [f"{n % 7} {'needle' if n % 11 in (0, 1, 5) else 'hay'}" for n in range(120)]
    fill(root, {"a.txt": "\n".join(lines) + "\n"})
    for context in (1, 2, 5):
        expected = run("grep", "-n", "-C", str(context), "needle", root / "a.txt").splitlines()
        shown = (await tools.shown("grep", pattern="needle", context=context)).splitlines()[3:]
        assert [re.sub(r"^Line (\d+)([:-]) ", r"\1\2", line) for line in shown if line] == expected


async def test_context_counts_for_what_a_search_may_return(root, tools, monkeypatch):
    monkeypatch.setattr(matcher, "MAX_FOUND_BYTES", 5_000)
    fill(root, {"a.txt": ("x" * 100 + "\n") * 20 + "needle\n"})
    assert len((await tools.value("grep", pattern="needle", context=10))["matches"][0]["before"]) == 10
    fill(root, {"a.txt": ("x" * 1000 + "\n") * 20 + "needle\n"})
    assert await tools.code("grep", pattern="needle", context=10) == "SEARCH_TOO_LARGE"


async def test_matches_in_pages(root, tools):
    fill(root, {"a.txt": "".join(f"needle {n}\n" for n in range(1, 601))})
    value = await tools.value("grep", pattern="needle", offset=3, limit=2)
    assert value == {
        "matches": [
            {"path": "a.txt", "lineNumber": 3, "line": "needle 3"},
            {"path": "a.txt", "lineNumber": 4, "line": "needle 4"},
        ],
        "total": 600,
    }
    assert await tools.shown("grep", pattern="needle", offset=3, limit=2) == (
        "Found 2 of 600 matches\n\na.txt\nLine 3: needle 3\nLine 4: needle 4\n\n"
        "(Use offset=5 to continue, or narrow pattern, path or include.)"
    )
    whole = await tools.value("grep", pattern="needle", offset=2)
    assert (len(whole["matches"]), whole["total"]) == (599, 600)
    # A model that follows what it is told sees every match once.
    seen, offset = [], 1
    while offset:
        shown = await tools.shown("grep", pattern="needle", offset=offset)
        seen += re.findall(r"^Line (\d+):", shown, re.MULTILINE)
        following = re.search(r"offset=(\d+)", shown)
        offset = int(following[1]) if following else 0
    assert seen == [str(n) for n in range(1, 601)]
    assert await tools.shown("grep", pattern="needle", offset=601) == "No more matches (600 in all)"
    assert await tools.shown("grep", pattern="nothing", offset=9) == "No matches found"


@pytest.mark.parametrize("wrong", [{"context": -1}, {"context": 51}, {"offset": 0}, {"limit": 0}])
async def test_pages_and_context_have_bounds(tools, wrong):
    assert await tools.code("grep", pattern="x", **wrong) == "INVALID_ARGUMENTS"
