"""`codemode doctor`: the layers as they are, with one missing, and without a zygote at all."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codemode.cli import doctor, main
from codemode.control import Layer
from codemode.errors import SandboxUnavailable
from codemode.sandbox import zygote

PROJECT = Path(__file__).parents[2]
REQUIRED = {"no new privileges", "one descriptor", "resource limits", "seccomp"}

# First lines for zygotes on a machine that has less than this one.
NO_NAMESPACES = """
import errno, ctypes
class _Denied:
    def __init__(self, library):
        self._library = library
    def __getattr__(self, name):
        if name == "unshare":
            def unshare(flags):
                ctypes.set_errno(errno.EPERM)
                return -1
            return unshare
        return getattr(self._library, name)
_CDLL = ctypes.CDLL
def _load(name, **options):
    return _Denied(_CDLL(name, **options))
ctypes.CDLL = _load
"""
NO_SECCOMP = """
import sys
class _Late:
    def find_spec(self, name, path=None, target=None):
        module = sys.modules.get("codemode.guest.confine.seccomp")
        if module is not None and hasattr(module, "Door"):
            def prepared(self, prepared=module.Filter.prepared):
                door = prepared(self)
                return door._replace(call=door.call._replace(call=(5000, 0, 0, 0, 0, 0)))  # no such call
            if module.Filter.prepared.__name__ != "lacking":
                prepared.__name__ = "lacking"
                module.Filter.prepared = prepared
        return None
sys.meta_path.insert(0, _Late())
"""


def seen(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["doctor", *arguments])
    return code, capsys.readouterr().out


def test_every_layer_is_shown_with_whether_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = seen(capsys)
    assert code == 0
    _, _, required = text.partition("Required")
    required, _, optional = required.partition("Optional")
    assert {
        line[11:].partition("  ")[0].strip() for line in required.splitlines() if line.strip()
    } == REQUIRED
    for name in ("user namespace", "process namespace", "network namespace", "empty root", "landlock"):
        assert name in optional
    assert "Every required layer stands" in text
    assert "\x1b" not in text


def test_json_is_one_object_with_the_same_facts(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = seen(capsys, "--json")
    found = json.loads(text)
    assert code == 0
    assert found["ok"] is True
    assert text.count("\n") == 1
    assert {"system", "release", "machine", "python", "layers"} <= found.keys()
    assert {layer["name"] for layer in found["layers"] if layer["required"]} == REQUIRED
    for layer in found["layers"]:
        assert {"name", "stands", "required", "detail"} <= layer.keys()
        assert layer["detail"]
        assert layer["stands"] is not ("cure" in layer)


def test_an_optional_layer_that_is_missing_says_what_would_raise_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zygote, "BOOTSTRAP", NO_NAMESPACES + zygote.BOOTSTRAP)
    code, text = seen(capsys)
    assert code == 0
    lines = [line for line in text.splitlines() if line.strip().startswith("missing")]
    assert any("user namespace" in line and "unshare: Operation not permitted" in line for line in lines)
    assert any("empty root" in line for line in lines)
    assert text.count("user.max_user_namespaces") == 1  # said once for all seven
    assert "Every required layer stands" in text
    code, text = seen(capsys, "--json")
    layers = {layer["name"]: layer for layer in json.loads(text)["layers"]}
    assert not layers["network namespace"]["stands"]
    assert "unshare(2)" in layers["network namespace"]["cure"]
    assert layers["seccomp"]["stands"]


def test_without_a_required_layer_the_exit_code_is_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zygote, "BOOTSTRAP", NO_SECCOMP + zygote.BOOTSTRAP)
    code, text = seen(capsys)
    assert code == 1
    assert "seccomp" in text
    assert "Function not implemented" in text
    assert "Programs cannot run here." in text
    code, text = seen(capsys, "--json")
    found = json.loads(text)
    assert code == 1
    assert found["ok"] is False
    assert "seccomp" in found["problem"]
    layers = {layer["name"]: layer for layer in found["layers"]}
    assert {name for name, layer in layers.items() if layer["required"]} == REQUIRED
    assert {name for name, layer in layers.items() if not layer["stands"]} == {"seccomp"}
    assert layers["seccomp"]["detail"] == "[Errno 38] Function not implemented"
    assert "CONFIG_SECCOMP_FILTER" in layers["seccomp"]["cure"]
    assert layers["resource limits"]["detail"] == "memory is bounded"


def test_layers_that_came_with_the_failure_are_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = (
        Layer("seccomp", False, True, "system calls are not filtered"),
        Layer("landlock", True, False, "version 7"),
    )

    class Unavailable:
        def __init__(self, **options: Any) -> None:
            pass

        async def __aenter__(self) -> None:
            raise SandboxUnavailable("programs cannot be confined on this machine: no seccomp", layers)

        async def __aexit__(self, *exc_info: object) -> None:
            pass

    monkeypatch.setattr(doctor, "LocalSandbox", Unavailable)
    code, text = seen(capsys)
    assert code == 1
    assert "missing  seccomp   system calls are not filtered" in text
    assert "CONFIG_SECCOMP_FILTER" in text
    assert "stands   landlock  version 7" in text


def test_colours_reach_a_terminal_as_colours() -> None:
    leader, follower = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {
        "TERM": "xterm"
    }
    try:
        command = [sys.executable, "-m", "codemode", "doctor"]
        subprocess.run(command, cwd=PROJECT, stdout=follower, timeout=60, check=True, env=environment)
        text = os.read(leader, 65536).decode()
    finally:
        os.close(leader)
        os.close(follower)
    assert "\x1b[32mstands \x1b[0m  seccomp" in text
    assert "\\x1b" not in text


def test_it_is_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "codemode", "doctor"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The process wall on ")
    assert done.stderr == ""


def test_packages_are_shown_with_what_they_do_to_the_language_wall(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, shown = seen(capsys, "--package", "idna", "--trusted-package", "msgspec")
    assert code == 0
    lines = shown.splitlines()
    start = lines.index("Packages")
    assert lines[start + 1] == "  idna     under the rules of a program: the language wall stands"
    assert lines[start + 2] == (
        "  msgspec  trusted: through its objects a program may get past the language wall; the process wall holds it"
    )


def test_packages_are_in_the_json_and_one_that_cannot_be_had_is_the_problem(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, shown = seen(capsys, "--json", "--trusted-package", "msgspec")
    assert (code, [(each["name"], each["trusted"]) for each in json.loads(shown)["packages"]]) == (
        0,
        [("msgspec", True)],
    )
    code, shown = seen(capsys, "--json", "--package", "no_such_package")
    told = json.loads(shown)
    assert (code, told["ok"]) == (1, False)
    assert told["problem"].startswith("the package 'no_such_package' is not installed in the environment of ")
