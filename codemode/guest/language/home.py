"""Where a module of a package stands: which names its relative imports mean, and which modules are its neighbours.

A module of a pure package is compiled under the rules of a program. What it may do beyond them is said here:
import by relative names, and private names of modules of its own package.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Home"]


class Home(NamedTuple):
    """A module `name` of the package `root`; `package` is what a single dot means in it."""

    name: str
    package: str
    root: str

    def holds(self, module: str) -> bool:
        """Whether a module belongs to the same package."""
        return module == self.root or module.startswith(f"{self.root}.")

    def absolute(self, module: str, level: int) -> str | None:
        """Return the name of a module that is imported by `level` dots and `module`, or None outside of the package."""
        parts = self.package.split(".")
        if level > len(parts):
            return None
        found = ".".join([*parts[: len(parts) - level + 1], *([module] if module else [])])
        return found if self.holds(found) else None
