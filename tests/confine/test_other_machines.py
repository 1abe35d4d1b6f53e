"""The wall as an ordinary user, in a container that grants nothing, and where it cannot stand at all."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FORBIDDEN = ["worker-exit", "the program tried a forbidden system call and was stopped"]
CONTAINED = {
    "value": 3,
    "file": errno.EPERM,
    "socket": FORBIDDEN,
    "fork": FORBIDDEN,
    "kill": FORBIDDEN,
    "memory": "refused",
    "time": [
        "timeout",
        "the program used its 0.3 s of processor time; do less work per run, or raise cpu_seconds (--cpu)",
    ],
    "left": 0,
}
NAMESPACES = {
    *("user namespace", "process namespace", "network namespace", "ipc namespace", "host name namespace"),
    *("mount namespace", "cgroup namespace"),
}

as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")


def visit(**task: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.confine.visitor", json.dumps(task)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def standing(seen: dict[str, Any]) -> set[str]:
    return {name for name, stands in seen["layers"].items() if stands}


@as_root
def test_an_ordinary_user_is_contained_by_every_layer() -> None:
    seen = visit(user=65534)
    assert {name: seen.get(name) for name in CONTAINED} == CONTAINED
    assert standing(seen) == set(seen["layers"])


def test_a_container_that_grants_no_namespaces_is_contained_by_the_other_layers() -> None:
    seen = visit(denied={"unshare": errno.EPERM, "mount": errno.EPERM, "pivot_root": errno.EPERM})
    assert {name: seen.get(name) for name in CONTAINED} == CONTAINED
    assert set(seen["layers"]) - standing(seen) == NAMESPACES | {"empty root"}
    assert seen["details"]["user namespace"] == "unshare: Operation not permitted"


@as_root
def test_so_is_an_ordinary_user_in_it() -> None:
    seen = visit(user=65534, denied={"unshare": errno.EPERM})
    assert {name: seen.get(name) for name in CONTAINED} == CONTAINED


def test_a_kernel_that_lets_namespaces_be_entered_but_not_used_is_seen_through() -> None:
    seen = visit(denied={"mount": errno.EACCES})
    assert {name: seen.get(name) for name in CONTAINED} == CONTAINED
    assert set(seen["layers"]) - standing(seen) == {"empty root"}
    assert seen["details"]["empty root"] == "Permission denied"


def test_a_kernel_without_landlock_is_said_to_have_none() -> None:
    seen = visit(denied={"landlock_create_ruleset": errno.ENOSYS})
    assert {name: seen.get(name) for name in CONTAINED} == CONTAINED
    assert set(seen["layers"]) - standing(seen) == {"landlock"}
    assert seen["details"]["landlock"] == "Function not implemented"


def test_a_kernel_without_seccomp_is_refused_with_what_is_missing() -> None:
    seen = visit(denied={"seccomp": errno.EINVAL})
    assert seen["unavailable"].startswith("programs cannot be confined on this machine: ")
    assert "no seccomp: [Errno 22] Invalid argument" in seen["unavailable"]
    assert seen["left"] == 0
