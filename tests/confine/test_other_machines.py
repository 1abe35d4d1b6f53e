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

from codemode.sandbox import LocalSandbox

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


@as_root
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_a_user_without_processes_left_is_told_so(processes: int) -> None:
    seen = visit(user=64_321, processes=processes)  # a user that has no others
    assert "Resource temporarily unavailable" in seen["unavailable"]
    assert seen["left"] == 0


REQUIRED = {"no new privileges", "one descriptor", "resource limits", "seccomp"}


def test_a_kernel_without_seccomp_is_refused_with_what_is_missing_and_how_to_accept_it() -> None:
    seen = visit(denied={"seccomp": errno.EINVAL})
    assert seen["unavailable"] == (
        "programs cannot be confined on this machine: no seccomp: [Errno 22] Invalid argument. `codemode doctor` says "
        "what would raise it; programs that you trust as much as your own code can run without it by "
        "accept_missing={'seccomp'} (codemode run --accept-missing)"
    )
    assert set(seen["layers"]) - standing(seen) == {"seccomp"}  # the others have been looked at all the same
    assert seen["left"] == 0


def test_what_is_missing_and_accepted_by_name_is_done_without_and_the_other_layers_hold() -> None:
    seen = visit(denied={"seccomp": errno.EINVAL}, accept_missing=["seccomp"])
    assert set(seen["layers"]) - standing(seen) == {"seccomp"}
    assert seen["missing"] == ["seccomp"]
    held = {name: seen[name] for name in CONTAINED if name not in ("file", "socket", "fork", "kill")}
    assert held == {name: CONTAINED[name] for name in held}
    assert seen["file"] == errno.ENOENT  # the root is empty
    assert seen["left"] == 0


def test_to_accept_a_layer_that_stands_takes_nothing_away() -> None:
    seen = visit(accept_missing=sorted(REQUIRED))
    assert {name: seen.get(name) for name in CONTAINED} == CONTAINED
    assert standing(seen) == set(seen["layers"])
    assert seen["missing"] == []


def test_only_the_layers_that_were_named_are_accepted() -> None:
    denied = {"seccomp": errno.EINVAL, "prlimit64": errno.EPERM}
    seen = visit(denied=denied, accept_missing=["seccomp"])
    assert seen["unavailable"].startswith(
        "programs cannot be confined on this machine: no resource limits: [Errno 1] Operation not permitted."
    )
    seen = visit(denied=denied, accept_missing=["resource limits"])
    assert "no seccomp:" in seen["unavailable"]
    assert "no resource limits:" not in seen["unavailable"]
    assert set(seen["layers"]) - standing(seen) == {"seccomp", "resource limits"}


def test_limits_that_cannot_be_set_leave_the_filter_the_processor_time_and_the_wall_time() -> None:
    seen = visit(denied={"prlimit64": errno.EPERM}, accept_missing=["resource limits"])
    assert seen["missing"] == ["resource limits"]
    held = {name: seen.get(name) for name in CONTAINED if name != "memory"}
    assert held == {name: CONTAINED[name] for name in held}


def test_a_kernel_without_close_range_loses_no_layer() -> None:
    seen = visit(denied={"close_range": errno.ENOSYS})
    assert {name: seen.get(name) for name in CONTAINED} == CONTAINED
    assert standing(seen) == set(seen["layers"])


@pytest.mark.parametrize(
    ("accepted", "said"),
    [
        ({"all"}, "there is no required layer 'all'; there are 'no new privileges', 'one descriptor', "),
        ({"landlock"}, "there is no required layer 'landlock'"),
        ("seccomp", "must be a set of names, such as {'seccomp'}"),
    ],
)
def test_layers_are_accepted_one_by_one_and_by_their_names(accepted: Any, said: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        LocalSandbox(accept_missing=accepted)
    assert said in str(caught.value)
