"""Type checkers, run over texts."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

__all__ = ["TY", "complaints"]

TY = str(Path(sysconfig.get_path("scripts")) / "ty")


def complaints(directory: Path, **files: str) -> list[str]:
    """Write the files (`name__pyi` is `name.pyi`) and return what ty says of them, a line each."""
    for name, text in files.items():
        (directory / name.replace("__pyi", ".pyi").replace("__py", ".py")).write_text(text, "utf-8")
    command = [TY, "check", "--output-format", "concise", "--python-version", "3.11", "."]
    done = subprocess.run(
        command, check=False, cwd=directory, capture_output=True, encoding="utf-8", timeout=60
    )
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith(("Found ", "All checks"))]
