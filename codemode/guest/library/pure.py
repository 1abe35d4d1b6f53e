"""Packages of a deployment under the rules of a program: compiled by the same policy, with the same library.

A module of such a package never holds more than a program could have: its imports are facades, its builtins those
of a program, its classes the program's own. So whatever a program is handed of it, there is no way out through it,
and nobody has to review it. The price: source that says what a program may not say cannot be loaded. It is told
where, and the deployment may trust the package instead (`packages`).
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from codemode.guest.language import classes, ownership
from codemode.guest.language.builtins import module_builtins
from codemode.guest.language.compiler import Refused, Unparsable, compile_module
from codemode.guest.language.home import Home
from codemode.guest.library import expressions, imports, streams
from codemode.guest.library.packages import MODULE_DATA, Unloadable, check_name
from codemode.guest.running.tools import ToolCallError

__all__ = ["load_pure"]

_SHOWN_REFUSALS = 5
_OR_TRUST = "Change that, or trust the package"


def load_pure(names: Sequence[str], announce: Callable[[str], None]) -> None:
    """Load these packages and let programs import them. A later one may import an earlier one.

    Raises `Unloadable`.
    """
    for name in names:
        announce(name)
        check_name(name)
        top = name.partition(".")[0]
        package = _loaded.setdefault(top, _Package(top))
        package.named = name
        try:
            package.load(name)
        except Unloadable:
            raise
        except ModuleNotFoundError as error:
            if error.name in (name, top):
                reason = "there is no module of that name; install it, or mend the name"
            else:
                reason = f"{package.place_of(error)}{error}. {_OR_TRUST}"
            raise Unloadable(name, reason) from None
        except (Exception, SystemExit) as error:
            said = f"{package.place_of(error)}{type(error).__name__}: {error}"
            raise Unloadable(name, f"{said}. {_OR_TRUST}") from None


_loaded: dict[str, _Package] = {}


def _said(module: str, error: Refused) -> str:
    said = [f"{module}, line {refusal.line}: {refusal.text}" for refusal in error.refusals]
    more = len(said) - _SHOWN_REFUSALS
    if more > 0:
        said[_SHOWN_REFUSALS:] = [f"and {more} more such places"]
    return f"{'; '.join(said)}. {_OR_TRUST}"


class _Package:
    """The modules of one package while it is loaded."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.named = root
        """What the deployment asked for."""
        self._facades: dict[str, Any] = {}
        self._paths: dict[str, list[str]] = {}
        self._unfinished: set[str] = set()
        self._globals: dict[str, dict[str, Any]] = {}
        self._table = module_builtins(
            {
                "print": streams.print_,
                "eval": expressions.evaluate,
                "__import__": self._import,
                "ToolCallError": ToolCallError,
            }
        )

    def place_of(self, error: BaseException) -> str:
        """Return where in the package an exception came from, as the beginning of a sentence."""
        place = ""
        trace = error.__traceback__
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename[1:-1]
            if name in self._facades:
                place = f"{name}, line {trace.tb_lineno}: "
            trace = trace.tb_next
        return place

    # ------------------------------------------------------------------------------------ loading

    def load(self, name: str) -> Any:
        """Return the facade of a module, loading it and its parents first."""
        if name in self._facades:
            return self._facades[name]
        parent, _, last = name.rpartition(".")
        if parent:
            self.load(parent)
            if name in self._facades:  # its parent has imported it
                return self._facades[name]
        spec = self._find(name, parent)
        facade = classes.facade(name, {})
        ownership.adopt_class(facade)  # its private names are for the program's own kind of code
        self._facades[name] = facade
        self._unfinished.add(name)
        self._run(name, spec)
        self._finish(name)
        if parent:
            setattr(self._facades[parent], last, facade)
            self._globals[parent].setdefault(last, facade)
        return facade

    def _find(self, name: str, parent: str) -> ModuleSpec:
        where = None if not parent else self._paths[parent]
        spec = PathFinder.find_spec(name, where)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec

    def _run(self, name: str, spec: ModuleSpec) -> None:
        source: str | None = ""  # of a directory without __init__.py
        if spec.loader is not None:
            get_source = getattr(spec.loader, "get_source", None)
            source = get_source(name) if get_source is not None else None
        if source is None:
            raise Unloadable(
                self.named, f"{name} is compiled, so nothing can be said of what it does; trust the package"
            )
        is_package = spec.submodule_search_locations is not None
        home = Home(name, name if is_package else name.rpartition(".")[0], self._root)
        table: dict[str, Any] = {"__name__": name, "__doc__": None, "__builtins__": self._table}
        self._globals[name] = table
        self._paths[name] = list(spec.submodule_search_locations or ())
        # Data classes, enums and named tuples look for the module of a class here, for its names alone.
        sys.modules[name] = types.ModuleType(name)
        try:
            code = compile_module(
                source, home=home, filename=f"<{name}>", given=self._table, exports=self._exports
            )
        except Unparsable as error:
            raise Unloadable(
                self.named, f"{name}, line {error.line}: {error.kind}: {error.message}"
            ) from None
        except Refused as error:
            raise Unloadable(self.named, _said(name, error)) from None
        exec(code, table)

    def _finish(self, name: str) -> None:
        """Make a facade of what a module has defined, and let programs import it."""
        table = self._globals[name]
        for word, value in table.items():
            if not word.startswith("__") or word in MODULE_DATA:
                setattr(self._facades[name], word, value)
        self._unfinished.discard(name)
        imports.add({name: imports.Facade(self._facades[name], tuple(self._exports(name) or ()))})

    def _exports(self, name: str) -> Sequence[str] | None:
        """Return what `from name import *` brings, loading a module of the package for that."""
        if not self._holds(name):
            return imports.exports(name)
        if name not in self._globals:
            self.load(name)
        table = self._globals[name]
        listed = table.get("__all__")
        names = listed if isinstance(listed, list | tuple) else table
        return tuple(sorted({word for word in names if type(word) is str and word[:1] != "_"}))

    # ------------------------------------------------------------------------------------ imports

    def _holds(self, name: str) -> bool:
        return name == self._root or name.startswith(f"{self._root}.")

    def _import(
        self,
        name: str,
        globals: object = None,
        locals: object = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """What an import statement in a module of the package calls."""
        if type(fromlist) is list or not self._holds(name):
            return imports.import_module(name, globals, locals, fromlist, level)
        facade = self.load(name)
        if not fromlist:
            return self._facades[self._root]
        for wanted in fromlist:
            if name in self._unfinished and wanted in self._globals[name]:
                setattr(facade, wanted, self._globals[name][wanted])
            elif not hasattr(facade, wanted):
                try:
                    self.load(f"{name}.{wanted}")
                except ModuleNotFoundError:
                    raise ImportError(f"cannot import name {wanted!r} from {name!r}", name=name) from None
        return facade
