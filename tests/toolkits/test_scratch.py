"""Temporary directories of owners: each goes with its owner, or with the next one's beginning."""

import fcntl
import os
import tempfile

import pytest

from codemode.toolkits.processes.scratch import Scratch, remove_left_behind
from tests.toolkits.engine import descriptors


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
