"""Stubs as files: a directory that an editor or a checker is pointed at, so that it knows programs as they run here.

Beside the tools and the builtins there are the modules that can be imported. Their types are typeshed's own, which
the package `typeshed_client` brings (extra `check`); what a program does not find in a module is left out of it, and
a module that there is not is not there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from pathlib import Path

from codemode.errors import CheckUnavailable
from codemode.sdk.language import EVERYTHING, language
from codemode.sdk.stubs import MODULE, Style, builtins_stub, tools_stub
from codemode.tools.definition import Tool

__all__ = ["typeshed_source", "write_stubs"]

_NEEDED = frozenset("builtins genericpath ntpath posixpath typing_extensions".split())
"""Modules that checkers, or the stubs of others, cannot do without, though no program can import them."""

_MINORS = (11, 12, 13, 14)
"""The versions of Python 3 that programs may be written in, and the one after them."""

_WHOLE = frozenset({"types", "typing"})
"""Modules whose classes checkers look up by name; all of what is in them stays."""

_SETTINGS = """\
Written to {directory}. To have programs checked as they run here:
  Pyright  pyrightconfig.json: {{"typeshedPath": "{directory}/typeshed", "stubPath": "{directory}/stubs"}}
  ty       ty check --typeshed {directory}/typeshed --extra-search-path {directory}/stubs
           (ty wants the directory outside of the project that it checks)"""


def write_stubs(directory: Path, tools: Sequence[Tool], style: Style = "sync") -> str:
    """Write the stubs into a directory, which is made; return how to point an editor at it.

    Raises `OSError`, and `CheckUnavailable` where typeshed is not installed.
    """
    source = typeshed_source()
    stubs = directory / "stubs"
    stubs.mkdir(parents=True, exist_ok=True)
    stub = tools_stub(tools, style)
    (stubs / "__builtins__.pyi").write_text(builtins_stub(stub.objects), "utf-8")
    (stubs / f"{MODULE}.pyi").write_text(stub.text, "utf-8")
    _write_modules(source, directory / "typeshed" / "stdlib")
    return _SETTINGS.format(directory=directory)


def typeshed_source() -> Path:
    """Return the directory of typeshed's stubs of the standard library. Raises `CheckUnavailable`."""
    try:
        import typeshed_client
    except ImportError:
        raise CheckUnavailable("stubs of the modules need typeshed: pip install 'codemode[check]'") from None
    return Path(typeshed_client.__file__).with_name("typeshed")


def _write_modules(source: Path, target: Path) -> None:
    modules = language().modules
    tops = {name.partition(".")[0] for name in modules} | _NEEDED
    for file in sorted(source.rglob("*.pyi")):
        place = file.relative_to(source)
        name = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
        top = name.partition(".")[0]
        if top not in tops and not top.startswith("_"):
            continue
        text = file.read_text("utf-8")
        names = modules.get(name, [] if _is_hidden(name, modules) else [EVERYTHING])
        if names != [EVERYTHING] and name not in _WHOLE:
            text = _restricted(name, frozenset(names), text, is_package=place.name == "__init__.pyi")
        out = target / place
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, "utf-8")
    # Of the whole library, also what is left out: checkers want a line for each module that others speak of.
    (target / "VERSIONS").write_text((source / "VERSIONS").read_text("utf-8"), "utf-8")


def _is_hidden(name: str, modules: dict[str, list[str]]) -> bool:
    """Whether a module is a package of the library without names of its own that a program could see."""
    return name in ("concurrent", "urllib", "xml", "xml.etree") and not modules.get(name)


def _restricted(module: str, names: frozenset[str], text: str, *, is_package: bool) -> str:
    """The stub of a module in which all public names but these are private: underscored, for its own use."""
    from typeshed_client import get_search_context, get_stub_names

    tree = ast.parse(text)
    package = module if is_package else module.rpartition(".")[0]
    contexts = {
        minor: get_search_context(
            typeshed=typeshed_source(), search_path=[], version=(3, minor), platform="linux"
        )
        for minor in _MINORS
    }

    def exported(statement: ast.ImportFrom) -> dict[int, list[str]]:
        above = package.split(".")[: len(package.split(".")) - statement.level + 1] if statement.level else []
        source = ".".join([*above, statement.module or ""]).strip(".")
        first: dict[str, int] = {}
        for minor, context in contexts.items():
            found = get_stub_names(source, search_context=context) or {}
            for name in sorted(name for name, info in found.items() if info.is_exported and name in names):
                first.setdefault(name, minor)
        return {minor: [name for name in first if first[name] == minor] for minor in _MINORS}

    hiding = _Hiding(names, _defined(tree.body) - names)
    tree.body = hiding.block(tree.body, exported)
    ast.fix_missing_locations(tree)
    return ast.unparse(tree) + "\n"


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(statement, ast.If):
        return [statement.body, statement.orelse]
    return [statement.body] if isinstance(statement, ast.Try) else []


def _defined(body: Sequence[ast.stmt]) -> set[str]:
    """The public names that the statements of a stub define, or import for others."""
    found: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(statement.name)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found.add(statement.target.id)
        elif isinstance(statement, ast.Assign):
            found |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            found |= {alias.asname for alias in statement.names if alias.asname}
        for block in _blocks(statement):
            found |= _defined(block)
    return {name for name in found if not name.startswith("_")}


class _Hiding(ast.NodeTransformer):
    """Gives names an underscore, wherever the module itself speaks of them."""

    def __init__(self, kept: frozenset[str], hidden: set[str]) -> None:
        self._kept = kept
        self._hidden = hidden

    def block(
        self, body: list[ast.stmt], exported: Callable[[ast.ImportFrom], dict[int, list[str]]]
    ) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in body:
            for inner in _blocks(statement):
                inner[:] = self.block(inner, exported)
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                made += _imports(statement, exported(statement))
                continue
            if isinstance(statement, ast.Import | ast.ImportFrom):
                for alias in statement.names:
                    self._alias(alias)
            elif _is_all(statement):
                continue
            else:
                statement = self.visit(statement)
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    statement.name = self._renamed(statement.name)
            made.append(statement)
        return made or ([ast.Pass()] if body else [])

    def _alias(self, alias: ast.alias) -> None:
        name = alias.asname or alias.name
        if name in self._kept and "." not in alias.name:
            alias.asname = name  # with `as` it is there for others too
        elif name in self._hidden:
            alias.asname = self._renamed(name)

    def _renamed(self, name: str) -> str:
        return f"_{name}" if name in self._hidden else name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._renamed(node.id)
        return node


def _imports(statement: ast.ImportFrom, names: dict[int, list[str]]) -> list[ast.stmt]:
    """A star import, written out; names that are not in every version stand under a condition."""
    made: list[ast.stmt] = []
    for minor, chosen in names.items():
        if not chosen:
            continue
        written = ast.ImportFrom(
            statement.module, [ast.alias(name, name) for name in chosen], statement.level
        )
        if minor == _MINORS[0]:
            made.append(written)
        else:
            condition = ast.parse(f"import sys\nif sys.version_info >= (3, {minor}): pass").body
            assert isinstance(condition[1], ast.If)
            condition[1].body = [written]
            made += condition
    return made


def _is_all(statement: ast.stmt) -> bool:
    """Whether a statement sets or extends `__all__`, which would name what is hidden now."""
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.target, ast.Name) and statement.target.id == "__all__"
    if isinstance(statement, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == "__all__" for target in statement.targets)
    return False
