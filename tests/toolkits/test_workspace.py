"""No path leaves the workspace: each way out is tried, then many at random, then while it is changed."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from pathlib import Path

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode import ToolDefinitionError
from codemode.toolkits import files
from tests.toolkits.support import Tools, fill, run

OUTSIDE = "FS_OUTSIDE_WORKSPACE"


@pytest.fixture
def links(root: Path) -> Path:
    """A workspace with links out of it and within it."""
    fill(root, {"real/deep/f.txt": "inside\n"})
    outside = root.parent / "outside"
    for name, target in {
        "out": outside,
        "out_file": outside / "secret.txt",
        "up": "../outside",
        "chain": "up",
        "back": "real/../../outside",
        "absolute_in": root / "real",
        "relative_in": "real/deep",
        "to_file": "real/deep/f.txt",
        "real/deep/sibling": "../../real",
        "dangling": "real/new.txt",
        "dangling_out": "../outside/new.txt",
        "loop": "loop",
        "real/cycle": "..",
        "proc": "/proc/self/cwd",
    }.items():
        (root / name).symlink_to(target)
    return root


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret.txt",
        "real/../../outside/secret.txt",
        "../workspace/real/deep/f.txt",
        "/etc/passwd",
        "out/secret.txt",
        "out_file",
        "up/secret.txt",
        "chain/secret.txt",
        "back/secret.txt",
        "real/deep/sibling/../../out/secret.txt",
        "proc/x",
        "relative_in/../../../outside/secret.txt",
    ],
)
async def test_a_path_that_leaves_the_workspace_is_refused(links, tools, path):
    asked = {
        "read": {"file_path": path},
        "write": {"file_path": path, "content": "x"},
        "edit": {"file_path": path, "old_string": "secret", "new_string": "x"},
        "glob": {"pattern": "*", "path": path},
        "grep": {"pattern": "secret", "path": path},
    }
    for name, arguments in asked.items():
        error = await tools.error(name, **arguments)
        assert error.code == OUTSIDE
        assert str(links) in error.message
    assert (links.parent / "outside" / "secret.txt").read_text() == "secret\n"
    assert os.listdir(links.parent / "outside") == ["secret.txt"]


async def test_an_absolute_path_outside_is_refused_also_if_its_beginning_is_alike(links, tools):
    fill(links.parent, {"workspace2/f": "x"})
    assert await tools.code("read", file_path=str(links) + "2/f") == OUTSIDE
    assert await tools.code("read", file_path=str(links) + "/../outside/secret.txt") == OUTSIDE


@pytest.mark.parametrize(
    "path",
    [
        "real/deep/f.txt",
        "./real//deep/./f.txt",
        "real/deep/../deep/f.txt",
        "absolute_in/deep/f.txt",
        "relative_in/f.txt",
        "relative_in/../deep/f.txt",
        "to_file",
        "real/deep/sibling/deep/f.txt",
        "real/cycle/real/cycle/real/deep/f.txt",
    ],
)
async def test_links_that_stay_inside_work_and_the_value_has_the_path_without_them(links, tools, path):
    value = await tools.value("read", file_path=path)
    assert (value["path"], value["lines"][0]["text"]) == ("real/deep/f.txt", "inside")
    edited = await tools.value("edit", file_path=path, old_string="inside", new_string="changed")
    assert edited["path"] == "real/deep/f.txt"
    assert (links / "to_file").is_symlink()


async def test_a_link_to_nothing_is_where_a_file_can_be_created_but_not_outside(links, tools):
    assert (await tools.value("write", file_path="dangling", content="x"))["path"] == "real/new.txt"
    assert await tools.code("write", file_path="dangling_out", content="x") == OUTSIDE
    assert await tools.code("read", file_path="loop") == "FS_IO_ERROR"
    assert await tools.code("glob", pattern="*", path="loop/x") == "FS_IO_ERROR"


async def test_a_workspace_that_is_itself_reached_by_a_link_takes_both_its_names(root):
    fill(root, {"f": "x"})
    alias = root.parent / "alias"
    alias.symlink_to(root)
    tools = Tools(alias)
    for path in ("f", alias / "f", root / "f"):
        assert (await tools.value("read", file_path=str(path)))["path"] == "f"


def test_a_workspace_is_a_directory(root):
    fill(root, {"f": ""})
    for wrong in (root / "f", root / "none"):
        with pytest.raises(ToolDefinitionError, match="is not a directory"):
            files(wrong)


async def test_searching_follows_no_link(links, tools):
    assert await tools.paths("*") == set(run("find", links, "-type", "f", "-printf", "%P\\n").split())
    assert (await tools.value("grep", pattern="secret|inside"))["matches"] == [
        {"path": "real/deep/f.txt", "lineNumber": 1, "line": "inside"}
    ]
    # A link that is asked for by its path is where to search.
    assert await tools.paths("*.txt", path="relative_in") == {"real/deep/f.txt"}
    assert len((await tools.value("grep", pattern="inside", path="to_file"))["matches"]) == 1


async def test_special_files_never_block(root, tools):
    os.mkfifo(root / "pipe")
    os.mkfifo(root / ".gitignore")
    fill(root, {"f": "x\n"})
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))
        for name in ("pipe", "socket"):
            with trio.fail_after(5):
                assert await tools.code("read", file_path=name) == "FS_NOT_REGULAR_FILE"
                assert await tools.code("grep", pattern="x", path=name) == "FS_NOT_REGULAR_FILE"
                edit = {"file_path": name, "old_string": "a", "new_string": "b"}
                assert await tools.code("edit", **edit) == "FS_NOT_REGULAR_FILE"
        with trio.fail_after(5):
            assert await tools.paths("*") == {"f"}
            assert len((await tools.value("grep", pattern="x"))["matches"]) == 1


async def test_names_that_are_not_utf8_are_shown_escaped_and_can_be_given_back(root, tools):
    fill(root, {os.fsdecode(b"caf\xe9/\xff.txt"): "hello\n"})
    path = "caf\\xe9/\\xff.txt"
    assert (await tools.value("glob", pattern="*.txt"))["paths"] == [path]
    assert (await tools.value("grep", pattern="hello"))["matches"][0]["path"] == path
    assert (await tools.value("read", file_path=path))["path"] == path
    await tools.value("edit", file_path=path, old_string="hello", new_string="changed")
    assert os.listdir(os.fsencode(root) + b"/caf\xe9") == [b"\xff.txt"]
    assert await tools.paths("*", path="caf\\xe9") == {path}


@pytest.mark.usefixtures("no_descriptor_stays_open")
async def test_no_call_leaves_a_descriptor_open(links):
    tools = Tools(links)
    for path in ("to_file", "none", "real", "out/x", "loop", "real/../..", "f/x", "real/deep/.."):
        await tools.outcome("read", file_path=path)
        await tools.outcome("edit", file_path=path, old_string="x", new_string="y")
        await tools.outcome("glob", pattern="*", path=path)
        await tools.outcome("grep", pattern="(" if path == "real" else "x", path=path)
    await tools.outcome("write", file_path="new/file", content="")


_NAMES = st.sampled_from(["a", "b", "c"])
_TARGETS = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=5).map("/".join)


@settings(deadline=None, max_examples=60)
@given(
    made=st.lists(
        st.tuples(
            st.lists(_NAMES, min_size=1, max_size=3).map("/".join),
            st.one_of(st.none(), _TARGETS, st.sampled_from(["OUT", "OUT/a", "IN", "IN/a/b"])),
        ),
        max_size=8,
    ),
    asked=st.lists(st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=6), max_size=6),
)
def test_whatever_links_there_are_what_is_reached_is_inside(made, asked):
    with tempfile.TemporaryDirectory() as place:
        base = Path(os.path.realpath(place))
        root, outside = base / "b", base / "a"  # so that `..` and a name may lead out
        fill(base, {"a/a": "secret", "a/b": "secret", "c": "secret"})
        root.mkdir()
        for path, target in made:
            where = root / path
            try:
                if not where.parent.resolve().is_relative_to(root):
                    continue
                where.parent.mkdir(parents=True, exist_ok=True)
                if target is None:
                    if where.resolve().is_relative_to(root):
                        where.write_text("inside")
                else:
                    where.symlink_to(target.replace("OUT", str(outside)).replace("IN", str(root)))
            except (OSError, RuntimeError):
                continue
        before = _contents(base, root)
        tools = Tools(root)

        async def try_all() -> None:
            for parts in asked:
                path = "/".join(parts)
                outcome = await tools.outcome("read", file_path=path)
                if not outcome.is_error:
                    assert outcome.value["lines"] == [{"number": 1, "text": "inside"}]
                    assert root / outcome.value["path"] == _real(root / path)
                elif outcome.error.code != OUTSIDE and (root / path).is_file():
                    raise AssertionError(f"{path} is a file inside, and was refused: {outcome.error}")
                written = await tools.outcome("write", file_path=path, content="inside")
                if not written.is_error:
                    assert _real(root / path).read_text() == "inside"
            assert not (await tools.value("grep", pattern="secret"))["matches"]

        trio.run(try_all)
        assert _contents(base, root) == before


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _contents(base: Path, root: Path) -> dict[Path, str | None]:
    """What is beneath a directory, but for the workspace."""
    outside = (path for path in base.rglob("*") if path != root and root not in path.parents)
    return {path: path.read_text() if path.is_file() else None for path in outside}


async def test_a_link_that_is_swapped_in_meanwhile_leads_nowhere(root, tools):
    """A directory and a file are exchanged with links to the outside, again and again, under all tools."""
    outside = root.parent / "outside"
    fill(outside, {"f.txt": "secret\n"})
    fill(root, {"dir/f.txt": "inside\n", "file": "inside\n"})
    (root / "dir_link").symlink_to(outside)
    (root / "file_link").symlink_to(outside / "f.txt")
    done = threading.Event()

    def move(one: str, other: str) -> None:
        while True:
            try:
                return os.rename(root / one, root / other)
            except OSError:  # a write has made a directory in the moment in which there was none
                shutil.rmtree(root / other, ignore_errors=True)

    def exchange() -> None:
        while not done.is_set():
            for one in ("dir", "file"):
                move(one, "aside")
                move(f"{one}_link", one)
                move(one, f"{one}_link")
                move("aside", one)

    exchanger = threading.Thread(target=exchange)
    exchanger.start()
    seen: list[str] = []
    codes: set[str | None] = set()
    try:
        with trio.move_on_after(2):
            while True:
                for path in ("dir/f.txt", "file"):
                    for name, more in {
                        "read": {},
                        "edit": {"old_string": "inside", "new_string": "inside "},
                        "write": {"content": "inside\n"},
                    }.items():
                        outcome = await tools.outcome(name, file_path=path, **more)
                        if outcome.is_error:
                            codes.add(outcome.error.code)
                        elif name == "read":
                            seen += [line["text"] for line in outcome.value["lines"]]
                        elif outcome.value["before"] is not None:
                            seen.append(outcome.value["before"])
    finally:
        done.set()
        exchanger.join()
    assert not [line for line in seen if "secret" in line]
    assert codes <= {OUTSIDE, "FS_NOT_FOUND", "FS_IO_ERROR", "FS_EDIT_NOT_FOUND", "FS_NOT_REGULAR_FILE"}
    assert (outside / "f.txt").read_text() == "secret\n"
    assert sorted(os.listdir(outside)) == ["f.txt", "secret.txt"]
