from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toolkits.support import Tools, fill, run


async def test_the_value_is_the_window_with_the_number_of_all_lines(root, tools):
    fill(root, {"src/a.py": "one\ntwo\nthree\nfour\n"})
    assert await tools.value("read", file_path="src/a.py", offset=2, limit=2) == {
        "path": "src/a.py",
        "offset": 2,
        "lines": [{"number": 2, "text": "two"}, {"number": 3, "text": "three"}],
        "totalLines": 4,
    }


async def test_an_absolute_path_beneath_the_workspace_is_shown_relative(root, tools):
    fill(root, {"a.txt": "x"})
    assert (await tools.value("read", file_path=str(root / "a.txt")))["path"] == "a.txt"


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\nb", ["a", "b"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\x0cc\u2028d\n", ["a\rb\x0cc\u2028d"]),
        ("a\r", ["a\r"]),
        ("\ufeffa\n", ["a"]),
    ],
)
async def test_lines_end_at_lf_and_a_last_one_counts_without(root, tools, content, lines):
    fill(root, {"f": content})
    value = await tools.value("read", file_path="f")
    assert [line["text"] for line in value["lines"]] == lines
    assert value["totalLines"] == len(lines)


@settings(deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0\ufeff"))),
    st.booleans(),
)
def test_total_lines_are_those_of_wc_and_one_more_for_a_last_line_without_ending(lines, ended):
    content = "\n".join(lines) + ("\n" if ended and lines else "")
    with tempfile.TemporaryDirectory() as root:
        file = Path(root) / "f"
        file.write_text(content, newline="")
        value = trio.run(lambda: Tools(Path(root)).value("read", file_path="f", limit=10**9))
        counted = int(run("wc", "-l", file).split()[0])
    assert value["totalLines"] == counted + (1 if content and not content.endswith("\n") else 0)
    assert "\n".join(line["text"] for line in value["lines"]) == content.removesuffix("\n")


async def test_a_program_gets_a_whole_file_of_which_a_model_is_shown_a_part(root, tools):
    fill(root, {"big.txt": "".join(f"line {n}\n" for n in range(1, 10_001))})
    outcome = await tools.outcome("read", file_path="big.txt", limit=1_000_000)
    assert len(outcome.value["lines"]) == 10_000
    shown = outcome.content[0].text
    assert "\n2000: line 2000\n" in shown
    assert "2001: " not in shown
    assert "(Output capped. Showing lines 1-2000 of 10000. Use offset=2001 to continue.)" in shown
    assert len(outcome.meta["lines"]) == 2000


async def test_what_is_shown_is_bounded_in_bytes_and_each_line_in_characters(root, tools):
    fill(root, {"wide.txt": ("é" * 5000 + "\n") * 100})
    outcome = await tools.outcome("read", file_path="wide.txt")
    assert outcome.value["lines"][0]["text"] == "é" * 5000
    shown = outcome.content[0].text
    assert "1: " + "é" * 2000 + "... (line truncated to 2000 chars)\n" in shown
    assert 40_000 < len(shown.encode()) < 52_000
    assert "(Output capped. Showing lines 1-12 of 100. Use offset=13 to continue.)" in shown


async def test_the_text_shown(root, tools):
    fill(root, {"a.py": "x = 1\ny = 2\n", "empty": ""})
    envelope = "<path>a.py</path>\n<type>file</type>\n<content>\n%s\n</content>"
    assert await tools.shown("read", file_path="a.py") == envelope % (
        "1: x = 1\n2: y = 2\n\n(End of file - 2 lines in all)"
    )
    assert await tools.shown("read", file_path="a.py", limit=1) == envelope % (
        "1: x = 1\n\n(Showing lines 1-1 of 2. Use offset=2 to continue.)"
    )
    assert "\n(End of file - 0 lines in all)\n" in await tools.shown("read", file_path="empty")


async def test_metadata_has_the_language(root, tools):
    fill(root, {"A.PY": "x\n", "py": "x\n", ".py": "x\n"})
    outcome = await tools.outcome("read", file_path="A.PY")
    assert outcome.meta == {
        "path": "A.PY",
        "offset": 1,
        "lines": [{"number": 1, "text": "x"}],
        "totalLines": 1,
        "lang": "python",
    }
    for name in ("py", ".py"):
        assert "lang" not in (await tools.outcome("read", file_path=name)).meta


async def test_lines_across_blocks_are_whole(root, tools):
    lines = ["a" * 700_000, "b" * 1_500_000, "", "c" * 5]
    fill(root, {"f": "\n".join(lines)})
    value = await tools.value("read", file_path="f", offset=2, limit=2)
    assert [line["text"] for line in value["lines"]] == lines[1:3]
    assert value["totalLines"] == 4
    assert (await tools.value("read", file_path="f", offset=4))["lines"][0]["text"] == "ccccc"


async def test_a_window_of_more_than_ten_mebibytes_is_refused_and_a_part_of_it_is_not(root, tools):
    fill(root, {"huge": ("x" * 99 + "\n") * 200_000})
    error = await tools.error("read", file_path="huge", limit=10**9)
    assert error.code == "FS_TOO_LARGE"
    assert "in parts" in error.message
    assert (await tools.value("read", file_path="huge", offset=199_999))["totalLines"] == 200_000


async def test_errors_have_codes(root, tools):
    fill(root, {"f": "one\n", "nul": b"a\0b", "latin": b"ok\ncaf\xe9\n", "dir/x": ""})
    os.mkfifo(root / "pipe")
    assert await tools.code("read", file_path="none") == "FS_NOT_FOUND"
    assert await tools.code("read", file_path="f/x") == "FS_NOT_FOUND"
    assert await tools.code("read", file_path="dir") == "FS_NOT_REGULAR_FILE"
    assert await tools.code("read", file_path=".") == "FS_NOT_REGULAR_FILE"
    assert await tools.code("read", file_path="pipe") == "FS_NOT_REGULAR_FILE"
    assert await tools.code("read", file_path="nul") == "FS_NOT_TEXT"
    assert await tools.code("read", file_path="x" * 300) == "FS_IO_ERROR"
    for wrong in ({"file_path": ""}, {"file_path": "a\0b"}, {"file_path": "f", "offset": 0}):
        assert await tools.code("read", **wrong) == "INVALID_ARGUMENTS"
    error = await tools.error("read", file_path="latin")
    assert (error.code, error.message) == ("FS_NOT_TEXT", 'cannot read "latin": line 2 is not valid UTF-8')
    error = await tools.error("read", file_path="f", offset=3)
    assert (error.code, error.message) == ("FS_OUT_OF_RANGE", 'offset 3 is out of range for "f" (1 line)')
