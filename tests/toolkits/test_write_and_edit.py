from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.toolkits import files
from tests.toolkits.support import Tools, fill


async def test_writing_creates_a_file_with_its_directories(root, tools):
    outcome = await tools.outcome("write", file_path="a/b/c.txt", content="hello\r\nyou")
    assert outcome.value == {
        "path": "a/b/c.txt",
        "operation": "create",
        "before": None,
        "after": "hello\r\nyou",
    }
    assert outcome.content[0].text == "Created file a/b/c.txt"
    assert outcome.meta == {"diffs": [], "truncated": False}
    assert (root / "a/b/c.txt").read_bytes() == b"hello\r\nyou"


async def test_writing_replaces_a_file_and_returns_what_it_held(root, tools):
    fill(root, {"f": "old\n"})
    outcome = await tools.outcome("write", file_path="f", content="new\n")
    assert outcome.value == {"path": "f", "operation": "update", "before": "old\n", "after": "new\n"}
    assert outcome.content[0].text == "Updated file f"
    assert outcome.meta["diffs"] == [{"path": "f", "oldText": "old\n", "newText": "new\n"}]


async def test_what_was_no_text_is_not_returned(root, tools):
    fill(root, {"f": b"\xff\xfe", "g": "x" * (10 * 2**20 + 1)})
    for name in "fg":
        value = await tools.value("write", file_path=name, content="new")
        assert (value["operation"], value["before"]) == ("update", None)


async def test_modes_are_kept_and_new_files_get_the_usual_one(root, tools):
    fill(root, {"script": "#!/bin/sh\n"})
    (root / "script").chmod(0o754)
    await tools.value("edit", file_path="script", old_string="sh", new_string="bash")
    assert (root / "script").stat().st_mode & 0o7777 == 0o754
    await tools.value("write", file_path="new", content="")
    (root / "usual").touch()
    assert (root / "new").stat().st_mode == (root / "usual").stat().st_mode


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to everything")
async def test_a_write_protected_file_stays_as_it_is(root, tools):
    fill(root, {"f": "old"})
    (root / "f").chmod(0o444)
    assert await tools.code("write", file_path="f", content="new") == "FS_IO_ERROR"
    assert (root / "f").read_text() == "old"


async def test_a_write_that_fails_leaves_the_old_text_and_nothing_else(root, tools, monkeypatch):
    fill(root, {"f": "old"})

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "rename", full)
    error = await tools.error("write", file_path="f", content="new")
    assert (error.code, error.message) == ("FS_IO_ERROR", 'cannot write "f": no space left on device')
    assert os.listdir(root) == ["f"]
    assert (root / "f").read_text() == "old"


async def test_only_files_are_written(root, tools):
    fill(root, {"dir/f": ""})
    os.mkfifo(root / "pipe")
    assert await tools.code("write", file_path="dir", content="") == "FS_NOT_REGULAR_FILE"
    assert await tools.code("write", file_path=".", content="") == "FS_NOT_REGULAR_FILE"
    assert await tools.code("write", file_path="pipe", content="") == "FS_NOT_REGULAR_FILE"
    assert await tools.code("write", file_path="dir/f/x", content="") == "FS_NOT_FOUND"
    assert await tools.code("write", file_path="none/../x", content="") == "FS_NOT_FOUND"
    assert sorted(os.listdir(root)) == ["dir", "pipe"]


async def test_an_edit_replaces_one_occurrence(root, tools):
    fill(root, {"f.py": "".join(f"x{n} = {n}\n" for n in range(20))})
    outcome = await tools.outcome("edit", file_path="f.py", old_string="x10 = 10", new_string="y = 1")
    assert outcome.value["after"] == outcome.value["before"].replace("x10 = 10", "y = 1")
    assert (root / "f.py").read_text() == outcome.value["after"]
    assert outcome.content[0].text == "The file f.py has been updated. One occurrence was replaced."
    (diff,) = outcome.meta["diffs"]
    assert diff["oldText"] == "".join(f"x{n} = {n}\n" for n in range(7, 14))
    assert diff["newText"] == diff["oldText"].replace("x10 = 10", "y = 1")


async def test_an_edit_of_several_places_has_to_be_asked_for(root, tools):
    fill(root, {"f": "a b a b a\n", "overlap": "xaxax"})
    error = await tools.error("edit", file_path="f", old_string="a", new_string="c")
    assert error.code == "FS_AMBIGUOUS_EDIT"
    assert 'matched 3 times in "f"' in error.message
    assert (
        await tools.code("edit", file_path="overlap", old_string="xax", new_string="") == "FS_AMBIGUOUS_EDIT"
    )
    value = await tools.value("edit", file_path="f", old_string="a", new_string="c", replace_all=True)
    assert value["after"] == "c b c b c\n"


async def test_edits_that_cannot_be_made_say_why(root, tools):
    fill(root, {"f": "text\n", "nul": b"\0", "huge": "x" * (10 * 2**20 + 1)})
    assert await tools.code("edit", file_path="f", old_string="none", new_string="x") == "FS_EDIT_NOT_FOUND"
    assert await tools.code("edit", file_path="none", old_string="a", new_string="b") == "FS_NOT_FOUND"
    assert await tools.code("edit", file_path="nul", old_string="a", new_string="b") == "FS_NOT_TEXT"
    assert await tools.code("edit", file_path="huge", old_string="a", new_string="b") == "FS_TOO_LARGE"
    assert await tools.code("edit", file_path="f", old_string="", new_string="b") == "INVALID_ARGUMENTS"
    assert (
        await tools.code("edit", file_path="f", old_string="text", new_string="text") == "INVALID_ARGUMENTS"
    )


async def test_line_endings_match_and_stay(root, tools):
    fill(root, {"crlf": "a\r\nb\r\nc\r\n", "mixed": "a\r\nb\nc\r\nd\r\n", "lf": "a\nb\n"})
    await tools.value("edit", file_path="crlf", old_string="a\nb", new_string="x\ny\nz")
    assert (root / "crlf").read_bytes() == b"x\r\ny\r\nz\r\nc\r\n"
    await tools.value("edit", file_path="mixed", old_string="c\n", new_string="e\n")
    assert (root / "mixed").read_bytes() == b"a\r\nb\ne\r\nd\r\n"
    await tools.value("edit", file_path="lf", old_string="a\r\n", new_string="c\r\n")
    assert (root / "lf").read_bytes() == b"c\nb\n"


_TEXT = st.lists(st.sampled_from(["a", "b", "é", "\n", "\r\n", " ", "😀"]), max_size=40).map("".join)


@settings(deadline=None)
@given(
    before=_TEXT,
    old=st.text(st.sampled_from("abé\n "), min_size=1, max_size=3),
    new=_TEXT,
    every=st.booleans(),
)
def test_an_edit_changes_what_it_names_and_keeps_every_other_byte(before, old, new, every):
    plain, plain_new = before.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    with tempfile.TemporaryDirectory() as root:
        fill(Path(root), {"f": before})

        async def edit() -> object:
            return await Tools(Path(root)).outcome(
                "edit", file_path="f", old_string=old, new_string=new, replace_all=every
            )

        outcome = trio.run(edit)
        after = (Path(root) / "f").read_bytes().decode()
    if outcome.is_error:
        assert after == before
        if old != plain_new:
            assert old not in plain or (not every and plain.find(old) != plain.rfind(old))
        return
    assert outcome.value == {"path": "f", "before": before, "after": after}
    assert after.replace("\r\n", "\n") == plain.replace(old, plain_new, -1 if every else 1)
    if not every:
        start = plain.index(old)
        head = before.split("\n")[: plain[:start].count("\n")]
        assert after.split("\n")[: len(head)] == head  # with their CRs


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_written_is_what_is_there_and_can_be_put_back(content):
    with tempfile.TemporaryDirectory() as root:
        tools = Tools(Path(root))

        async def there_and_back() -> tuple[str, str]:
            await tools.value("write", file_path="f", content="old")
            await tools.value("write", file_path="f", content=content)
            value = await tools.value("write", file_path="f", content="old")
            return value["before"], (Path(root) / "f").read_text()

        before, now = trio.run(there_and_back)
    assert now == "old"
    assert before == (None if "\0" in content else content)


async def test_concurrent_edits_of_one_file_are_all_kept(root):
    fill(root, {"f": "".join(f"<{n}>\n" for n in range(60)), "link/x": ""})
    (root / "other").symlink_to("f")
    several = [Tools(root), Tools(root), Tools(root.parent)]
    names = ["f", "other", "workspace/f"]

    async def edit(n: int) -> None:
        await several[n % 3].value("edit", file_path=names[n % 3], old_string=f"<{n}>", new_string=f"[{n}]")

    async with trio.open_nursery() as nursery:
        for n in range(60):
            nursery.start_soon(edit, n)
    assert (root / "f").read_text() == "".join(f"[{n}]\n" for n in range(60))


async def test_a_reader_sees_the_old_or_the_new_text(root, tools):
    texts = {"a" * 200_000, "b" * 300_000}
    fill(root, {"f": next(iter(texts))})
    seen: set[str] = set()

    async def read() -> None:
        while True:
            seen.add((await tools.value("read", file_path="f"))["lines"][0]["text"])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        for _ in range(30):
            for content in texts:
                await tools.value("write", file_path="f", content=content)
        nursery.cancel_scope.cancel()
    assert seen <= texts


async def test_a_rewrite_of_everything_has_bounded_metadata(root, tools):
    fill(root, {"f": "".join(f"{n}\n" for n in range(50_000))})
    content = "".join(f"-{n}\n" for n in range(50_000))
    outcome = await tools.outcome("write", file_path="f", content=content)
    assert outcome.meta == {"diffs": [], "truncated": True}


def test_writing_is_asked_for(root):
    assert [tool.name for tool in files(root)] == ["read", "glob", "grep"]
    assert [tool.name for tool in files(root, write=True)] == ["read", "glob", "grep", "write", "edit"]
    overlap = {tool.name: tool.may_overlap({}) for tool in files(root, write=True)}
    assert overlap == {"read": True, "glob": True, "grep": True, "write": False, "edit": False}
