"""What was measured on: the machine, the interpreter, and the versions of what takes part."""

from __future__ import annotations

import os
import platform
import sqlite3
from importlib import metadata
from pathlib import Path

__all__ = ["describe", "version_of", "versions"]

_TAKING_PART = (
    "codemode",
    "trio",
    "msgspec",
    "RestrictedPython",
    "jsonschema-rs",
    "pydantic-monty",
    "smolagents",
)


def describe() -> dict[str, str]:
    """Return facts about the machine, as it is now: processor, cores, memory, kernel, interpreter, load."""
    cores = len(os.sched_getaffinity(0))
    return {
        "processor": _line("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": f"{cores} of {os.cpu_count()}" if cores != os.cpu_count() else str(cores),
        "memory": _gigabytes(_line("/proc/meminfo", "MemTotal")),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "sqlite": sqlite3.sqlite_version,
        "load": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def versions() -> dict[str, str]:
    """Return the versions of the engine, what it stands on, and the peers, as far as they are installed."""
    found = {name: version_of(name) for name in _TAKING_PART}
    return {name: version for name, version in found.items() if version is not None}


def version_of(distribution: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _line(path: str, key: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def _gigabytes(kilobytes: str) -> str:
    number = kilobytes.split()[0] if kilobytes else ""
    return f"{int(number) / 2**20:.1f} GiB" if number.isdigit() else "unknown"
