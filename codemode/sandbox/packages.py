"""Packages of a deployment that programs may import: what is said of one, and where its files are.

Nothing is imported here. Whether a package can be given to programs is found out in the zygote, which loads it.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from codemode.control import Boot, PackageOrder
from codemode.errors import SandboxUnavailable

__all__ = ["Package", "boot", "checked"]


class Package(Struct, frozen=True):
    """A package, or module, of the host's environment that programs may import under its name.

    By default its source is compiled under the rules of a program, with the library of programs, and what those
    rules refuse keeps it from being loaded; a program gains nothing by it but its functions. With `trusted`, it is
    loaded as it is, compiled code included (numpy): **its objects may lead a program past the language wall**; the
    process wall stands as before. `name` may be dotted: then only this module and what is below it can be
    imported. Raises `ValueError` for what is no name.
    """

    name: str
    trusted: bool = False

    def __post_init__(self) -> None:
        if not all(part.isidentifier() for part in str(self.name).split(".")):
            raise ValueError(f"Package({self.name!r}): must be a name as it is imported, such as 'numpy'")
        if not isinstance(self.trusted, bool):
            raise TypeError(f"Package({self.name!r}, trusted={self.trusted!r}): must be True or False")


def checked(packages: Iterable[Package]) -> tuple[Package, ...]:
    """Return the packages. Raises `TypeError` for anything else, and `ValueError` for one that is named twice."""
    found: dict[str, Package] = {}
    for package in packages:
        if not isinstance(package, Package):
            raise TypeError(f"packages={package!r}: must be Package('name') or Package('name', trusted=True)")
        if package.name in found:
            raise ValueError(f"the package {package.name!r} is named twice; name it once")
        found[package.name] = package
    tops: dict[str, bool] = {}
    for package in found.values():
        top = package.name.partition(".")[0]
        if tops.setdefault(top, package.trusted) is not package.trusted:
            raise ValueError(f"parts of {top!r} are trusted and others not; say the same of all of them")
    return tuple(found.values())


def boot(packages: Sequence[Package]) -> Boot:
    """Return what a zygote is told to load. Raises `SandboxUnavailable` for a package that is not there."""
    paths: dict[str, None] = {}
    for package in packages:
        paths |= dict.fromkeys(_directories(package))
    if any(package.trusted for package in packages):
        # What such a package needs itself may be anywhere.
        paths |= dict.fromkeys(str(Path(entry)) for entry in sys.path if entry and Path(entry).is_dir())
    orders = tuple(PackageOrder(package.name, package.trusted) for package in packages)
    return Boot(orders, tuple(paths))


def _directories(package: Package) -> list[str]:
    """Where a package's top directory or file lies."""
    top = package.name.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise SandboxUnavailable(
            f"the package {package.name!r} is not installed in the environment of {sys.executable}; "
            "install it, or mend the name"
        )
    if spec.submodule_search_locations:
        return [str(Path(location).absolute().parent) for location in spec.submodule_search_locations]
    if spec.has_location and spec.origin:
        return [str(Path(spec.origin).absolute().parent)]
    return []
