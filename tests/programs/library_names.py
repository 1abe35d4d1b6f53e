"""The names of the library's modules, asked of the tables in a process of its own.

What fills the tables also closes doors inside the standard library, which nothing else should notice.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

__all__ = ["modules"]

_ASK = """
import json
from codemode.guest.library import tables
print(json.dumps(sorted({*tables.LIBRARY, *tables.replaced()})))
"""


@cache
def modules() -> frozenset[str]:
    """Return the names of all modules that a program can import."""
    root = Path(__file__).resolve().parents[2]
    out = subprocess.run([sys.executable, "-c", _ASK], cwd=root, check=True, capture_output=True, text=True)
    return frozenset(json.loads(out.stdout))
