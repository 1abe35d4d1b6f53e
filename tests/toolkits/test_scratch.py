"""Temporary directories of owners: each goes with its owner, or with the next one's beginning."""

import fcntl
import os
import subprocess
import tempfile

import pytest

from codemode.toolkits import Jobs
from codemode.toolkits.processes.scratch import Scratch, remove_left_behind
from tests.toolkits.engine import descriptors, eventually


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def abandon(made):
    """What is left of an owner that was killed: its files, and no lock."""
    os.close(made.lock)


def test_a_directory_is_ones_own_and_goes(place):
    before = descriptors()
    made = Scratch.make()
    assert os.path.dirname(made.path) == str(place)
    assert os.stat(made.path).st_mode & 0o777 == 0o700
    os.makedirs(f"{made.path}/a/b")
    os.chmod(f"{made.path}/a", 0o500)
    made.remove()
    assert list(place.iterdir()) == []
    assert descriptors() == before


def test_what_an_owner_left_behind_is_removed_and_what_has_an_owner_is_not(place):
    before = descriptors()
    left, owned = Scratch.make(), Scratch.make()
    for made in (left, owned):
        open(f"{made.path}/file", "w").close()
    abandon(left)
    assert remove_left_behind() == [left.path]
    assert sorted(os.listdir(owned.path)) == [".locked", "file"]
    assert remove_left_behind() == []
    owned.remove()
    assert descriptors() == before


def make_deep(path, depth):
    """Make directories in directories, deeper than a path can say, with a file in the innermost."""
    place = os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", 0o700, dir_fd=place)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=place))
    os.close(place)


def test_a_tree_of_any_depth_goes(place):
    before = descriptors()
    left, own = Scratch.make(), Scratch.make()
    try:
        for made in (left, own):
            make_deep(made.path, 2100)
        abandon(left)
        assert remove_left_behind() == [left.path]
        own.remove()
        assert list(place.iterdir()) == []
    finally:
        subprocess.run(["rm", "-rf", left.path, own.path], check=True)  # pytest cannot remove them
    assert descriptors() == before


def test_nothing_outside_is_reached_by_links_and_what_is_not_readable_goes(place):
    outside = place / "outside"
    (outside / "kept").mkdir(parents=True)
    outside.chmod(0o500)
    made = Scratch.make()
    os.makedirs(f"{made.path}/a/b/c/closed/in it")
    for name in ("link", "a/link", "a/b/link"):
        os.symlink(outside, f"{made.path}/{name}")
    for name in ("a/b/c/closed/in it", "a/b/c/closed", "a/b/c"):
        os.chmod(f"{made.path}/{name}", 0)
    made.remove()
    assert [each.name for each in place.iterdir()] == ["outside"]
    assert outside.stat().st_mode & 0o777 == 0o500
    assert os.listdir(outside) == ["kept"]


def test_what_cannot_be_removed_is_tried_again_by_the_next_owner(place, monkeypatch):
    made = Scratch.make()
    open(f"{made.path}/file", "w").close()

    def refuse(*arguments, **named):
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", refuse)
        made.remove()
    assert sorted(os.listdir(made.path)) == [".locked", "file"]
    assert remove_left_behind() == [made.path]
    assert list(place.iterdir()) == []


async def test_an_owner_goes_on_when_what_others_left_cannot_be_removed(place, monkeypatch, caplog):
    def fail():
        raise RecursionError("too deep")

    monkeypatch.setattr("codemode.toolkits.jobs.remove_left_behind", fail)
    async with Jobs() as jobs:
        assert os.path.isdir(await jobs.scratch())
        words = "could not remove what owners that were killed have left behind"
        assert await eventually(lambda: words in caplog.text)
    assert list(place.iterdir()) == []


def test_what_nobody_has_locked_and_what_only_looks_alike_stays(place):
    new = tempfile.mkdtemp(prefix="codemode-jobs-")  # of somebody who has not come to lock it
    elsewhere = Scratch.make()
    os.rename(elsewhere.path, place / "elsewhere")
    abandon(elsewhere)
    os.symlink(place / "elsewhere", place / "codemode-jobs-link")
    (place / "codemode-jobs-file").touch()
    assert remove_left_behind() == []
    assert os.path.isdir(new)
    assert os.path.isfile(place / "elsewhere" / ".locked")


def test_the_directories_of_other_users_stay(place, monkeypatch):
    left = Scratch.make()
    abandon(left)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert remove_left_behind() == []
    assert os.path.isdir(left.path)


def test_without_locks_a_directory_is_never_taken_over(place, monkeypatch):
    def refuse(*arguments):
        raise OSError

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", refuse)
        made = Scratch.make()
        assert remove_left_behind() == []
    abandon(made)
    assert remove_left_behind() == []
    assert os.listdir(made.path) == []
