"""Blocks of names: which kind of block it is, and what is bound inside it.

Read from the syntax tree; nothing here refuses or rewrites.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

__all__ = ["Scope", "parameters", "receiver_of"]


class Scope:
    """A block of names: `module`, `class`, `function` or `comprehension`."""

    __slots__ = ("_binds", "kind", "needs_check", "node", "parent", "receiver")

    def __init__(
        self, kind: str, parent: Scope | None, node: ast.AST | None = None, receiver: str = ""
    ) -> None:
        self.kind = kind
        self.parent = parent
        self.node = node
        self.receiver = receiver  # first parameter of a method
        self.needs_check = False
        self._binds: dict[str, int] | None = None

    def binds(self) -> dict[str, int]:
        """How often each name is bound in this function, nested blocks included."""
        if self._binds is None:
            self._binds = {}
            if self.node is not None:
                for name in _bound_names(self.node):
                    self._binds[name] = self._binds.get(name, 0) + 1
        return self._binds


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if arguments.vararg is not None:
        found.append(arguments.vararg)
    if arguments.kwarg is not None:
        found.append(arguments.kwarg)
    return found


def receiver_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The first parameter of a function in a class body, unless it is a static method."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Name) and decorator.id == "staticmethod":
            return ""
    first = (function.args.posonlyargs or function.args.args)[:1]
    return first[0].arg if first else ""


def _bound_names(block: ast.AST) -> Iterable[str]:
    """Every name that is bound somewhere inside a block, in nested ones too."""
    for node in ast.walk(block):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node is not block:
                yield node.name
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            if node.name is not None:
                yield node.name
        elif isinstance(node, ast.MatchMapping):
            if node.rest is not None:
                yield node.rest
        elif isinstance(node, ast.Nonlocal | ast.Global):
            yield from node.names
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif type(node).__name__ in ("TypeVar", "ParamSpec", "TypeVarTuple"):
            yield node.name  # type: ignore[attr-defined]
