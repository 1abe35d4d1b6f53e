"""`codemode doctor`: which layers of the process wall stand on this machine, and what would raise the others.

What is shown is what a zygote saw of itself and of a guest that it sent behind the wall: effects, not settings. The
one thing that is known here and not there is what an administrator would change.
"""

from __future__ import annotations

import argparse
import platform
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import trio

from codemode.cli.options import add_json, add_packages
from codemode.cli.set_up import given_packages
from codemode.cli.terminal import paint, printable, write_json
from codemode.control import Layer
from codemode.errors import SandboxUnavailable
from codemode.sandbox import LocalSandbox, Package

__all__ = ["DESCRIPTION", "add_arguments", "command", "look"]

_NAMESPACES = (
    "let this user make namespaces: not in a container whose profile forbids unshare(2) (Docker: a seccomp profile "
    "that allows it, or --cap-add SYS_ADMIN), user.max_user_namespaces above 0, and on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile with userns"
)

_CURES = {
    "user namespace": _NAMESPACES,
    "process namespace": _NAMESPACES,
    "network namespace": _NAMESPACES,
    "ipc namespace": _NAMESPACES,
    "host name namespace": _NAMESPACES,
    "mount namespace": _NAMESPACES,
    "cgroup namespace": _NAMESPACES,
    "empty root": "needs the mount namespace, and mount(2) and pivot_root(2) allowed in it",
    "landlock": "a Linux kernel from 5.13 on, with CONFIG_SECURITY_LANDLOCK and landlock in its lsm= list",
    "no capabilities": "let the process drop its own capabilities: capset(2) must not be forbidden",
    "no new privileges": "a Linux kernel from 3.5 on",
    "one descriptor": "a Linux kernel with close_range(2) or /proc, and a working poll(2)",
    "resource limits": "let setrlimit(2) lower RLIMIT_AS and RLIMIT_DATA; some emulators do not",
    "seccomp": "a Linux kernel with CONFIG_SECCOMP_FILTER, and seccomp(2) not forbidden by the container's profile",
}

_WIDTH = 100


DESCRIPTION = (
    "Show each layer of the process wall as its effect shows it, and what would raise the missing "
    "ones. Exit code: 0 every required layer stands, 1 one does not."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_json(parser)
    add_packages(parser)


def command(options: argparse.Namespace) -> int:
    """Run the command and return its exit code: 0 if every required layer stands."""
    packages = given_packages(options)
    layers, problem = trio.run(look, packages)
    stands = not problem and all(layer.stands for layer in layers if layer.required)
    if options.json:
        write_json(_as_object(layers, problem, stands, packages))
    else:
        sys.stdout.write(_as_text(layers, problem, stands, packages))
    return 0 if stands else 1


async def look(packages: Sequence[Package]) -> tuple[tuple[Layer, ...], str]:
    """Return the layers, and why no program could be confined, if none could."""
    try:
        async with LocalSandbox(spares=0, packages=packages) as sandbox:
            return sandbox.layers, ""
    except SandboxUnavailable as error:
        return error.layers, str(error)


def _cure(layer: Layer) -> str:
    return "" if layer.stands else _CURES.get(layer.name, "")


def _machine() -> dict[str, str]:
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }


def _as_object(
    layers: Sequence[Layer], problem: str, stands: bool, packages: Sequence[Package]
) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "ok": stands,
        **_machine(),
        "layers": [
            {
                "name": layer.name,
                "stands": layer.stands,
                "required": layer.required,
                "detail": layer.detail,
                **({"cure": cure} if (cure := _cure(layer)) else {}),
            }
            for layer in layers
        ],
    }
    if packages:
        shown["packages"] = [
            {"name": package.name, "trusted": package.trusted, "detail": _said_of(package)}
            for package in packages
        ]
    return shown | ({"problem": problem} if problem else {})


def _said_of(package: Package) -> str:
    """What a package does to the language wall."""
    if package.trusted:
        return (
            "trusted: through its objects a program may get past the language wall; the process wall holds it"
        )
    return "under the rules of a program: the language wall stands"


def _cures(layers: Sequence[Layer]) -> list[str]:
    """What would raise the missing layers, said once for all that have it in common."""
    names: dict[str, list[str]] = {}
    for layer in layers:
        if cure := _cure(layer):
            names.setdefault(cure, []).append(layer.name)
    lines = ["", paint("What would raise the missing ones", "bold", sys.stdout)] if names else []
    for cure, having in names.items():
        text = f"{', '.join(having)}: {cure}"
        lines += textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ")
    return lines


def _as_text(layers: Sequence[Layer], problem: str, stands: bool, packages: Sequence[Package]) -> str:
    machine = _machine()
    lines = [
        f"The process wall on {machine['system']} {machine['release']} ({machine['machine']}), "
        f"Python {machine['python']}",
    ]
    width = max((len(layer.name) for layer in layers), default=0)
    for required, title in ((True, "Required"), (False, "Optional")):
        chosen = [layer for layer in layers if layer.required is required]
        if chosen:
            lines += ["", paint(title, "bold", sys.stdout)]
        for layer in chosen:
            mark = (
                paint("stands ", "green", sys.stdout) if layer.stands else paint("missing", "red", sys.stdout)
            )
            lines.append(f"  {mark}  {layer.name:{width}}  {printable(layer.detail)}")
    lines += _cures(layers)
    if packages and not problem:
        lines += ["", paint("Packages", "bold", sys.stdout)]
        width = max(len(package.name) for package in packages)
        lines += [f"  {package.name:{width}}  {_said_of(package)}" for package in packages]
    lines.append("")
    if problem:
        lines += ["Programs cannot run here.", *map(printable, problem.splitlines())]
    else:
        optional = [layer for layer in layers if not layer.required]
        lines.append(
            f"Every required layer stands, and {sum(layer.stands for layer in optional)} of {len(optional)} "
            "optional ones."
            if stands
            else "A required layer is missing."
        )
    return "\n".join(lines) + "\n"
