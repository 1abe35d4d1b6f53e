"""The table of work, `bounds.json`: what each thing takes, by version of Python, as last written down on purpose.

A change that makes something do more than the margin allows fails a test. Whoever means it counts anew with
`python -m benchmarks work --write`, under every version that is tested, and says why in the commit. One that does less
writes it down too, so that the margin stays what it is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

__all__ = ["MARGIN", "TABLE", "bound_of", "this_version", "write", "written"]

TABLE = Path(__file__).with_name("bounds.json")

MARGIN = 0.12
"""How much more than is written down is let pass."""

_WIDER = {"guest: page faults, fresh run": 0.3}
"""Of what differs from zygote to zygote, for where things lie in its memory differs: 15 percent were seen."""


def this_version() -> str:
    """Return the version of Python that the numbers are for."""
    return "{}.{}".format(*sys.version_info)


def written(table: Path = TABLE) -> dict[str, dict[str, float]]:
    """Return what is written down: name, version, number."""
    found: dict[str, dict[str, float]] = json.loads(table.read_text(encoding="utf-8"))
    return found


def bound_of(number: float, name: str = "") -> float:
    """Return how much of `name` may be counted where `number` is written; where nothing was done, nothing may be."""
    return number * (1 + _WIDER.get(name, MARGIN))


def write(counted: dict[str, float], table: Path = TABLE, version: str | None = None) -> None:
    """Write down what was counted for one version, and keep what is written of others."""
    numbers = written(table) if table.exists() else {}
    for name, value in counted.items():
        numbers.setdefault(name, {})[version or this_version()] = round(value, 1)
    kept = {name: dict(sorted(numbers[name].items())) for name in counted}
    lines = (f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in kept.items())
    table.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
