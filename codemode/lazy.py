"""Packages whose public names are made in their modules, each loaded when one of its names is first asked for.

So that a command, or a test, that needs one name does not wait for all the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType

__all__ = ["public_names"]


class _Package(ModuleType):
    """A package of which a public name may be called as the module it is made in (`todo` in `todo.py`).

    Whoever imports such a module has it set on the package by Python; the public name stays what it is.
    """

    public: frozenset[str] = frozenset()

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in self.public and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def public_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package.

    `homes` maps a module, below the package, to the names that it makes, with spaces between them.
    """
    modules = {name: f"{package}.{module}" for module, names in homes.items() for name in names.split()}

    module = sys.modules[package]
    module.__class__ = type("_Package", (_Package,), {"public": frozenset(modules)})

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get, names
