"""What is ignored is what git ignores: git itself is asked."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toolkits.support import Tools, fill, run


def not_ignored(root: Path) -> set[str]:
    """The files that git would add."""
    listed = run("git", "-C", root, "ls-files", "--others", "--exclude-standard", "-z")
    return set(listed.split("\0")) - {""}


@pytest.fixture
def repository(root: Path) -> Path:
    run("git", "init", "-q", root)
    return root


CASES = {
    "names at any depth": {".gitignore": "*.log\nbuild\n", "a.log": "", "x/b.log": "", "x/build/c": "", "d": ""},
    "directories only": {".gitignore": "out/\n", "out/a": "", "x/out": "", "y/out/b": ""},
    "tied to the root": {".gitignore": "/a\nx/b\n", "a": "", "x/a": "", "x/b": "", "y/x/b": ""},
    "taken back": {".gitignore": "*.txt\n!keep.txt\n", "a.txt": "", "keep.txt": "", "x/keep.txt": ""},
    "not taken back from an ignored directory": {".gitignore": "x/\n!x/keep\n", "x/keep": "", "y": ""},
    "all but one directory": {".gitignore": "/*\n!/src/\n/src/*\n!/src/a\n", "b": "", "src/a": "", "src/b": ""},
    "nested files, the deeper first": {
        ".gitignore": "*.log\n",
        "x/.gitignore": "!important.log\n/here\n",
        "important.log": "",
        "x/important.log": "",
        "x/here": "",
        "x/y/here": "",
        "x/y/other.log": "",
    },
    "two stars": {".gitignore": "**/foo\nbar/**\na/**/b\n", "foo": "", "x/foo": "", "bar/x/y": "", "a/b": "",
                  "a/x/y/b": "", "x/bar/y": ""},
    "comments, blanks and escapes": {
        ".gitignore": "# no\n\n\\#yes\n\\!yes\ntrailing   \nkept\\ \n\\*\n",
        "# no": "",
        "#yes": "",
        "!yes": "",
        "trailing": "",
        "kept ": "",
        "*": "",
        "x": "",
    },
    "windows line endings and a byte order mark": {".gitignore": "\ufeffa\r\nb/\r\n", "a": "", "b/x": "", "c": ""},
    "brackets": {".gitignore": "[a-c]1\n[!a]2\n[[:digit:]]x\n[\n", "a1": "", "d1": "", "a2": "", "b2": "", "7x": "",
                 "[": "", "z": ""},
    "the repository's own file": {".git/info/exclude": "secret\n", ".gitignore": "!x/secret\n", "secret": "",
                                  "x/secret": "", "y": ""},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
async def test_what_git_ignores_is_left_out(repository, tools, case):
    fill(repository, CASES[case])
    left = await tools.paths("*")
    assert left == not_ignored(repository)
    assert left != {path for path in CASES[case] if not path.startswith(".git/")}  # something was


async def test_what_is_ignored_can_be_asked_for(root, tools):
    fill(
        root,
        {
            ".gitignore": "*.log\nnode_modules\n",
            "a.log": "hit\n",
            "node_modules/x/y.js": "hit\n",
            "b": "hit\n",
        },
    )
    assert await tools.paths("*") == {".gitignore", "b"}
    everything = {".gitignore", "b", "a.log", "node_modules/x/y.js"}
    assert await tools.paths("*", include_ignored=True) == everything
    found = (await tools.value("grep", pattern="hit"))["matches"]
    assert [match["path"] for match in found] == ["b"]
    found = (await tools.value("grep", pattern="hit", include_ignored=True))["matches"]
    assert [match["path"] for match in found] == ["a.log", "b", "node_modules/x/y.js"]
    # So can a place: a directory or a file that is named is searched.
    assert await tools.paths("*", path="node_modules") == {"node_modules/x/y.js"}
    assert len((await tools.value("grep", pattern="hit", path="a.log"))["matches"]) == 1


async def test_rules_above_where_the_search_begins_hold_up_to_the_workspace(root, tools):
    fill(root.parent, {".gitignore": "*.py\n"})
    fill(root, {".gitignore": "*.log\n/x/y/z\n", "x/.gitignore": "*.tmp\n", "x/y/a.log": "", "x/y/a.tmp": ""})
    fill(root, {"x/y/a.py": "", "x/y/z": ""})
    assert await tools.paths("*", path="x/y") == {"x/y/a.py"}


async def test_a_gitignore_that_is_a_link_counts_for_nothing(repository, tools):
    fill(repository, {"rules": "a\n", "a": ""})
    (repository / ".gitignore").symlink_to("rules")
    assert await tools.paths("*") == {"rules", "a"}
    assert not_ignored(repository) == {"rules", "a", ".gitignore"}  # git lists links, too


_PATHS = st.lists(st.sampled_from(["a", "b", "ab", "a.b", "c d"]), min_size=1, max_size=4).map("/".join)
_RULES = st.lists(
    st.lists(
        st.sampled_from(
            [
                "a",
                "b",
                "ab",
                "*",
                "**",
                "?",
                "/",
                "/",
                "!",
                "[ab]",
                "[!a]",
                "\\a",
                ".",
                " ",
                "**/",
                "/**",
                "#",
            ]
        ),
        min_size=1,
        max_size=6,
    ).map("".join),
    min_size=1,
    max_size=5,
).map("\n".join)


@settings(deadline=None, max_examples=80)
@given(
    paths=st.lists(_PATHS, min_size=1, max_size=12),
    rules=st.dictionaries(st.sampled_from(["", "a/", "a/b/", "ab/"]), _RULES, min_size=1),
)
def test_any_rules_leave_what_git_leaves(paths, rules):
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        run("git", "init", "-q", root)
        for path in [*paths, *(f"{directory}.gitignore" for directory in rules)]:
            file = root / path
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(rules.get(path.removesuffix(".gitignore"), "") if "git" in path else "")
            except OSError:
                continue  # a file is there where a directory would be, or the other way round
        assert trio.run(lambda: Tools(root).paths("*")) == not_ignored(root)
