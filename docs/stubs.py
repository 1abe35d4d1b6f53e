"""Writes `sandbox_stubs`: `python docs/stubs.py`. A test holds the files equal to what the engine's tables say."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from codemode.sdk.stubs import MODULE, builtins_stub, tools_stub


def files() -> dict[str, str]:
    """The files by name. The tools are those of no run: `codemode stubs` writes them for one's own."""
    return {"__builtins__.pyi": builtins_stub(), f"{MODULE}.pyi": tools_stub([]).text}


if __name__ == "__main__":
    for name, text in files().items():
        (ROOT / "sandbox_stubs" / name).write_text(text, "utf-8")
