"""Blocks of names: which kind of block it is, and whether a method's receiver stays what it was.

Filled while the policy walks; nothing here refuses or rewrites.
"""

from __future__ import annotations

import ast

__all__ = ["Scope", "parameters", "receiver_of"]


class Scope:
    """A block: `module`, `class`, `function` or `comprehension`."""

    __slots__ = ("changes", "kind", "parent", "rebound", "receiver", "uses")

    def __init__(self, kind: str, parent: Scope | None) -> None:
        self.kind = kind
        self.parent = parent
        self.receiver = ""
        """The first parameter of a method."""
        self.rebound = False
        """Whether that name is bound again, in the method or in a block inside it."""
        self.uses: list[ast.Attribute] = []
        """Private attributes of the receiver."""
        self.changes: list[ast.Attribute] = []
        """Attributes of `super()` that may change a list or dict."""

    def method_of(self, name: str) -> Scope | None:
        """Return the method around here of which `name` is the receiver, if there is one."""
        scope: Scope | None = self
        while scope is not None and scope.kind != "class":
            if scope.receiver == name:
                return scope
            scope = scope.parent
        return None

    def is_inside_function(self) -> bool:
        """Whether a function or a class is around this block."""
        scope = self.parent
        while scope is not None and scope.kind == "comprehension":
            scope = scope.parent
        return scope is not None and scope.kind != "module"

    def note_bound(self, name: str) -> None:
        """A name is bound in this block."""
        scope: Scope | None = self
        while scope is not None:
            if scope.receiver == name:
                scope.rebound = True
            scope = scope.parent


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Return all parameters of a function."""
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if arguments.vararg is not None:
        found.append(arguments.vararg)
    if arguments.kwarg is not None:
        found.append(arguments.kwarg)
    return found


def receiver_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the first parameter of a function in a class body, unless it is a static method."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Name) and decorator.id == "staticmethod":
            return ""
    first = (function.args.posonlyargs or function.args.args)[:1]
    return first[0].arg if first else ""
