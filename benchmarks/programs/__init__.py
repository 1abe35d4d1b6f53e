"""What is run: programs in the engine's own form, and the forms that the peers take them in. Text only."""

from __future__ import annotations

import re

from benchmarks.programs.classic import CLASSIC
from benchmarks.programs.everyday import EVERYDAY

__all__ = ["CPU_BOUND", "as_expression", "as_function", "hundred_lines"]

CPU_BOUND = EVERYDAY | CLASSIC
"""Programs that only compute, by name."""

_TOOL = re.compile(r"\btools\.(\w+)\(")


def as_expression(program: str) -> str:
    """Return a program for an engine that gives its last expression, and whose functions have plain names."""
    head, returns, value = ("\n" + program).rpartition("\nreturn ")
    if not returns:
        raise ValueError("a program to compare ends in one `return` at its top level")
    return _TOOL.sub(r"\1(", f"{head}\n{value}".lstrip("\n"))


def as_function(program: str, name: str = "main") -> str:
    """Return a program as a plain function of that name, whose functions have plain names."""
    lines = "".join(f"    {line}\n" for line in _TOOL.sub(r"\1(", program).splitlines())
    return f"def {name}():\n{lines}"


def hundred_lines() -> str:
    """Return the first 100 lines of some of these programs, as one program."""
    lines = [line for name in ("richards", "raytrace") for line in CPU_BOUND[name].splitlines()]
    return "\n".join(lines[:100]) + "\n"
