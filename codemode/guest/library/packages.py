"""Packages that a deployment trusts: loaded as they are, compiled ones too, before the first fork.

A program gets facades of their modules, with the public names and no module from outside the package. What their
own code hands out is theirs: the language wall cannot answer for it, so only what the deployment names as trusted
comes here. Packages under the rules of a program are `pure`.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from codemode.guest.language import classes
from codemode.guest.language.names import PLAIN, attribute_kind
from codemode.guest.library import afresh, imports, making, tables

__all__ = ["MODULE_DATA", "Unloadable", "check_name", "load_trusted"]

_ONE_THREAD = (
    "OPENBLAS_NUM_THREADS OMP_NUM_THREADS MKL_NUM_THREADS BLIS_NUM_THREADS NUMEXPR_NUM_THREADS "
    "VECLIB_MAXIMUM_THREADS"
).split()
"""What keeps numerical libraries to one thread; they read it while they are loaded."""

_NOT_FOR_PROGRAMS = frozenset({"test", "tests", "testing", "conftest", "f2py", "distutils", "ctypeslib"})
"""Parts of packages that test, build or load code: they need files and processes, and programs have none."""

MODULE_DATA = frozenset({"__version__", "__author__", "__all__"})
"""Names of the form `__x__` that a module's facade has."""

_PICKLING = "dump dumps load loads Pickler Unpickler _dump _dumps _load _loads _Pickler _Unpickler".split()


class Unloadable(Exception):
    """A package cannot be given to programs. The message says why, and what to do."""

    def __init__(self, package: str, reason: str) -> None:
        super().__init__(f"the package {package!r} cannot be given to programs: {reason}")
        self.package = package


def check_name(name: str) -> None:
    """Raise `Unloadable` for a package that would hide a module of the library."""
    top = name.partition(".")[0]
    if top in {
        known.partition(".")[0] for known in (*tables.LIBRARY, *tables.replaced(), "tools", "codemode")
    }:
        raise Unloadable(
            name, f"programs find another module under the name {top!r}; give your package a name of its own"
        )


def load_trusted(names: Sequence[str], announce: Callable[[str], None]) -> dict[str, imports.Facade]:
    """Import these packages; return the facades of their modules by name. Raises `Unloadable`."""
    found: dict[str, imports.Facade] = {}
    with _one_thread(), afresh.noting_hooks(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            announce(name)
            check_name(name)
            root = _import(name)
            _Facades(name, found).of(root)
            _refuse_threads(name)
            making.allow_copies(name.partition(".")[0])
    if names:
        _refuse_pickles()
    return found


def _import(name: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing == name or name.startswith(f"{missing}."):
            raise Unloadable(name, "there is no module of that name; install it, or mend the name") from None
        raise Unloadable(name, f"it needs {missing!r}, which is not installed") from None
    except (Exception, SystemExit) as error:
        raise Unloadable(name, f"importing it fails: {type(error).__name__}: {error}") from None


class _Facades:
    """Makes the facades of one package's modules."""

    def __init__(self, root: str, found: dict[str, imports.Facade]) -> None:
        self._root = root
        self._found = found

    def of(self, module: types.ModuleType) -> Any:
        """Return the facade of a module of the package, and of those below it."""
        name = module.__name__
        if name in self._found:
            return self._found[name].built
        members: dict[str, Any] = {}
        built = classes.facade(name, {})
        self._found[name] = imports.Facade(built, ())  # modules may hold one another
        for word in self._names(module):
            value = self._value(module, word)
            if value is not self:
                members[word] = value
                setattr(built, word, value)
        found = [item for item in members.values() if isinstance(item, type) and not classes.is_facade(item)]
        classes.expose_classes(found)
        classes.allow_bases(item for item in found if not issubclass(item, type))
        for word in MODULE_DATA & vars(module).keys():
            setattr(built, word, vars(module)[word])
        self._found[name] = imports.Facade(built, tuple(sorted(members)))
        return built

    def _names(self, module: types.ModuleType) -> Iterable[str]:
        listed = getattr(module, "__all__", None)
        names = [*listed] if isinstance(listed, list | tuple) else [*vars(module)]
        below = f"{module.__name__}."
        names += [other.removeprefix(below) for other in sys.modules if other.startswith(below)]
        return sorted({name for name in names if _is_public(name)})

    def _value(self, module: types.ModuleType, word: str) -> Any:
        """Return what a program gets under a name, or this object for nothing."""
        try:
            value = getattr(module, word)  # which may load it
        except Exception:  # listed and not there, or not without something that is not installed
            return self
        if isinstance(value, types.ModuleType):
            mine = value.__name__ == self._root or value.__name__.startswith(f"{self._root}.")
            public = all(_is_public(part) for part in value.__name__.split("."))
            return self.of(value) if mine and public else self
        return value


def _is_public(name: object) -> bool:
    return (
        type(name) is str
        and name.isidentifier()
        and name[0] != "_"
        and attribute_kind(name) == PLAIN
        and name not in _NOT_FOR_PROGRAMS
    )


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let nothing that is loaded start threads of its own; the environment is empty again afterwards."""
    for name in _ONE_THREAD:
        os.environ[name] = "1"
    try:
        yield
    finally:
        for name in _ONE_THREAD:
            os.environ.pop(name, None)


def _refuse_threads(name: str) -> None:
    """A process with threads cannot be forked: the fork has none of them, but all their locks."""
    count = len(os.listdir("/proc/self/task"))
    if count > 1:
        raise Unloadable(
            name,
            f"loading it starts {count - 1} thread{'s' if count > 2 else ''}, and guests cannot be forked from a "
            "process with threads; look for a setting of the package that keeps it to one",
        )


def _refuse_pickles() -> None:
    """What a package would unpickle, a program may have written, and a pickle can call anything."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError("pickling is not available here; use tolist() with json, or tobytes()")

    for module in (sys.modules.get("pickle"), sys.modules.get("_pickle")):
        for name in _PICKLING:
            if hasattr(module, name):
                setattr(module, name, refuse)
