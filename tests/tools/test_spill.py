"""Long content is stored whole and shown in part; what a program computes with is never touched."""

import os
import re
import stat
from pathlib import Path

import pytest

from codemode import CodeMode, Image, Spill, ToolError, as_text, text, tool

LONG = "".join(f"line {n}\n" for n in range(5_000))


@tool(render=as_text)
async def long_text(fail: bool = False) -> str:
    """A long text."""
    if fail:
        raise ToolError(LONG)
    return LONG


@tool(render=lambda arguments, value: [text(LONG), Image("aGk=", "image/png")])
async def picture() -> str:
    """A text and a picture."""
    return "x"


def stored_path(shown):
    (path,) = re.findall(r"the whole text is in (\S+);", shown)
    return Path(path)


async def test_a_direct_call_shows_head_tail_size_and_where_the_whole_is(tmp_path):
    async with CodeMode([long_text], spill=Spill(tmp_path / "spill", max_bytes=1_000)) as cm:
        outcome = await cm.call("long_text", {})
        failed = await cm.call("long_text", {"fail": True})
    (block,) = outcome.content
    assert outcome.value == LONG
    assert len(block.text.encode()) <= 1_000
    assert block.text.startswith("line 0\n")
    assert block.text.endswith("line 4999\n")
    assert f"{len(LONG):,} bytes in all" in block.text
    path = stored_path(block.text)
    assert path.read_text() == LONG
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stored_path(failed.content[0].text).read_text() == f"Error: {LONG}"


async def test_a_nested_call_is_whole_for_the_program_and_short_in_the_log(tmp_path):
    async with CodeMode([long_text], spill=Spill(tmp_path, max_bytes=1_000)) as cm:
        result = await cm.run("return len(tools.long_text())")
        (end,) = cm.session.events(types=["tool/code-dispatch"])
    assert result.result == len(LONG)
    (block,) = end.data["content"]
    assert len(block["text"].encode()) <= 1_000
    assert stored_path(block["text"]).read_text() == LONG


async def test_what_a_run_shows_is_stored_whole_too(tmp_path):
    async with CodeMode(spill=Spill(tmp_path)) as cm:
        result = await cm.run("for n in range(20_000): print('line', n)")
    assert len(result.text.encode()) <= 50_000
    assert stored_path(result.text).read_text() == "\n".join(result.logs)


async def test_short_content_and_pictures_are_left_alone(tmp_path):
    async with CodeMode([picture, long_text], spill=Spill(tmp_path, max_bytes=len(LONG))) as cm:
        assert (await cm.call("long_text", {})).content == (text(LONG),)
        assert len((await cm.call("picture", {})).content) == 2
    assert os.listdir(tmp_path) == []


async def test_what_cannot_be_stored_stays_as_it_is(tmp_path):
    (tmp_path / "file").write_text("in the way")
    async with CodeMode([long_text], spill=Spill(tmp_path / "file", max_bytes=1_000)) as cm:
        assert (await cm.call("long_text", {})).content == (text(LONG),)


async def test_without_a_directory_a_private_one_is_made():
    async with CodeMode([long_text], spill=Spill(max_bytes=1_000)) as cm:
        path = stored_path((await cm.call("long_text", {})).content[0].text)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.unlink()
    path.parent.rmdir()


@pytest.mark.parametrize("bound", [0, -1, True, 1.5])
def test_a_bound_is_a_positive_number_of_bytes(bound):
    with pytest.raises(ValueError, match="must be a positive number of bytes"):
        Spill(max_bytes=bound)


async def test_the_rest_of_a_long_text_is_asked_for_and_read_part_by_part(tmp_path):
    long = "".join(f"zeile {n} äöü €\n" for n in range(15_000))
    spill = Spill(tmp_path / "spill")
    async with CodeMode([spill.reader()], spill=spill) as cm:
        shown = await cm.run(f"print({long!r})")
        (call,) = re.findall(r"more of it: read_spilled\(name='(.+?)', offset=25000\)", shown.text)
        first = await cm.call("read_spilled", {"name": call})
        whole = await cm.run(
            f"text, end = '', 0\nwhile True:\n    part = tools.read_spilled({call!r}, offset=end, limit=70_001)\n"
            "    text += part['text']\n    end = part['end']\n    if end == part['totalBytes']:\n        return text"
        )
    assert first.value["text"] == long.encode()[: first.value["end"]].decode()
    assert first.content[0].text.startswith(
        f"[bytes 0 to {first.value['end']} of {len(long.encode())}; go on with"
    )
    assert whole.result == long


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd", "link.txt", "absent.txt", "", "a/b.txt"])
async def test_only_what_was_stored_can_be_read(tmp_path, name):
    (tmp_path / "secret.txt").write_text("secret")
    directory = tmp_path / "spill"
    directory.mkdir()
    (directory / "link.txt").symlink_to(tmp_path / "secret.txt")
    spill = Spill(directory)
    async with CodeMode([spill.reader()], spill=spill) as cm:
        outcome = await cm.call("read_spilled", {"name": name})
    assert outcome.is_error
    assert outcome.error.code == "NOT_STORED"


async def test_an_offset_past_the_end_says_where_the_end_is(tmp_path):
    spill = Spill(tmp_path)
    (tmp_path / "x.txt").write_text("äb")
    async with CodeMode([spill.reader()], spill=spill) as cm:
        past = await cm.call("read_spilled", {"name": "x.txt", "offset": 4})
        middle = await cm.call("read_spilled", {"name": str(tmp_path / "x.txt"), "offset": 1})
    assert (past.error.code, past.error.message) == (
        "BAD_OFFSET",
        "offset 4 is past the end; the text has 3 bytes",
    )
    assert middle.value == {"text": "b", "offset": 2, "end": 3, "totalBytes": 3}
