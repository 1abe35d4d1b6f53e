"""`import` in a program: facades that hold the named parts of a module, and nothing else of it.

A facade is a class whose attributes are those parts. Reading one is as fast as reading from a module,
and it cannot be written to, since the class is immutable. No module object ever reaches a program.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from codemode.guest.language import classes
from codemode.guest.language.frozen import protect_class
from codemode.guest.library import afresh, tables
from codemode.guest.running import cures

__all__ = ["Facade", "add", "exports", "exposed", "has", "import_module", "load"]


class Facade(NamedTuple):
    """What stands for a module, and the names of it that can be imported."""

    built: Any
    names: tuple[str, ...]


_DRAWING = ("random", "statistics")
"""The modules that draw from the one generator of `random`."""

_facades: dict[str, Any] = {}
_names: dict[str, tuple[str, ...]] = {}
_packages: set[str] = set()
"""The first parts of the names of modules that a deployment added."""


def load() -> None:
    """Import every module of the library and build the facades. Later calls do nothing."""
    if _facades:
        return
    for name in tables.PRELOADED:
        with contextlib.suppress(ModuleNotFoundError):  # not every version of Python has each
            importlib.import_module(name)
    replaced = tables.replaced()
    for name in sorted({*tables.LIBRARY, *replaced}):
        members = _members(name, replaced.get(name, {}))
        _facades[name] = classes.facade(name, members)
        _names[name] = tuple(sorted(members))
        classes.expose_classes(
            item for item in members.values() if isinstance(item, type) and not classes.is_facade(item)
        )
    for name in sorted(_facades):
        package, _, last = name.rpartition(".")
        if package:
            setattr(_facades[package], last, _facades[name])
    for name, bases in tables.BASES.items():
        classes.allow_bases(
            getattr(_facades[name], base) for base in bases.split() if hasattr(_facades[name], base)
        )
    for built in _facades.values():
        protect_class(built)


def has(name: str) -> bool:
    """Whether there is a module of this name."""
    return name in _facades


def add(modules: Mapping[str, Facade]) -> None:
    """Let programs import these as well; a module whose parent is not there gets an empty one."""
    for name, (built, names) in modules.items():
        _facades[name], _names[name] = built, names
        _packages.add(name.partition(".")[0])
    for name in sorted(modules):
        parent, _, last = name.rpartition(".")
        while parent:
            if parent not in _facades:
                _facades[parent], _names[parent] = classes.facade(parent, {}), ()
            if last not in vars(_facades[parent]):
                setattr(_facades[parent], last, _facades[name])
            name = parent
            parent, _, last = name.rpartition(".")
    for name in modules:
        cures.add_module(name.partition(".")[0])


def _members(name: str, replaced: Mapping[str, Any]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    wanted = tables.LIBRARY.get(name, "").split()
    module = importlib.import_module(name) if wanted else None
    for word in wanted:
        # A name that this version of Python does not have is not there.
        if hasattr(module, word):
            members[word] = getattr(module, word)
    members.update(replaced)
    return members


def exposed() -> Iterator[type]:
    """Return the classes of the library that programs can name."""
    for facade in _facades.values():
        for item in vars(facade).values():
            if isinstance(item, type) and not classes.is_facade(item):
                yield item


def exports(name: str) -> Sequence[str] | None:
    """Return what `from name import *` brings, or None for a module that there is not."""
    return _names.get(name)


def import_module(
    name: str,
    globals: object = None,
    locals: object = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    """What an import statement calls."""
    if type(fromlist) is list:
        # Not a statement (that passes a tuple) but C code of the interpreter, which takes the module
        # itself from `sys.modules` afterwards and hands it to nobody.
        if name in sys.modules:
            return None
        raise ImportError(f"No module named {name!r}")
    found = _facades.get(name)
    if found is None:
        raise ModuleNotFoundError(_missing(name), name=name)
    if name in _DRAWING:
        afresh.seed()
    elif name.partition(".")[0] in _packages:
        afresh.start_packages()
    if not fromlist:
        return _facades[name.partition(".")[0]]
    known = _names[name]
    for wanted in fromlist:
        if wanted not in known and f"{name}.{wanted}" not in _facades:
            raise ImportError(_missing_part(name, wanted), name=name)
    return found


def _missing(name: str) -> str:
    top = name.partition(".")[0]
    advice = tables.ELSEWHERE.get(name) or tables.ELSEWHERE.get(top)
    if top in _packages:
        advice = f"{top} is here without it; dir({top}) lists what is there"
    if advice is None:
        near = difflib.get_close_matches(name, _facades, 1, 0.75) if len(name) < 60 else []
        advice = f"did you mean {near[0]}?" if near else "use the standard library's pure modules, or a tool"
    return f"No module named {name[:80]!r} here: {advice}"


def _missing_part(name: str, wanted: str) -> str:
    advice = tables.PARTS_ELSEWHERE.get(f"{name}.{wanted}") or tables.PARTS_ELSEWHERE.get(name)
    if advice is None:
        near = difflib.get_close_matches(wanted, _names[name], 1, 0.7) if len(wanted) < 60 else []
        advice = f"did you mean {near[0]!r}?" if near else f"available: {', '.join(_names[name][:60])}"
    return f"cannot import name {wanted[:80]!r} from {name!r}: {advice}"
