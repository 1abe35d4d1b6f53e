"""What catches a failure in a program, or keeps it, so that it does not end the run."""

from __future__ import annotations

import ast

from tree import Function, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Catching"]

# What a handler has to name to catch a finding of each kind.
_CAUGHT_BY = {
    "unknown-tool": {"AttributeError", "KeyError", "LookupError"},
    "argument": {"ToolCallError", "TypeError"},
    "field": {"KeyError", "LookupError", "TypeError", "AttributeError"},
    "not-awaited": {"TypeError", "AttributeError"},
}
_EXCEPTIONS = set().union(*_CAUGHT_BY.values()) | set(
    "ValueError IndexError ZeroDivisionError RuntimeError OSError TimeoutError StopIteration NameError".split()
)
_SUPPRESS_NOTHING = set(
    "TaskGroup timeout timeout_at redirect_stdout redirect_stderr StringIO localcontext Semaphore Lock".split()
)
_KEPT_BY = {"exception", "cancel", "submit", "call_soon", "call_later", "map", "set_exception"}
"""Methods after which a failure elsewhere may be looked at, or never happen, instead of ending the program."""


class Catching:
    """What catches in one program. Kinds of failures are the keys of `_CAUGHT_BY`."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._names_that_catch = _EXCEPTIONS & tree.bound

    def at(self, parent: ast.AST, child: ast.AST, kind: str) -> bool:
        """Whether a node around another catches or drops what is raised in that."""
        if isinstance(parent, ast.Try | ast.TryStar):
            caught = child in parent.body and self._handles(parent.handlers, kind)
            return caught or (child not in parent.finalbody and _drops(parent.finalbody))
        return (
            isinstance(parent, ast.With | ast.AsyncWith) and child in parent.body and self._suppresses(parent)
        )

    def ends_early(self, node: ast.Try | ast.TryStar | ast.With | ast.AsyncWith) -> bool:
        """Whether a statement catches anything at all, so that its body may be left before its end."""
        if isinstance(node, ast.Try | ast.TryStar):
            return bool(node.handlers) or _drops(node.finalbody)
        return self._suppresses(node)

    def anywhere(self, kind: str) -> bool:
        """Whether anything in the program may catch or keep what is raised at another place."""
        for node in self._tree.nodes:
            if isinstance(node, ast.Try | ast.TryStar):
                if self._handles(node.handlers, kind) or _drops(node.finalbody):
                    return True
            elif isinstance(node, ast.With | ast.AsyncWith):
                if self._suppresses(node):
                    return True
            elif (isinstance(node, ast.keyword) and node.arg == "return_exceptions") or (
                isinstance(node, ast.Attribute) and node.attr in _KEPT_BY
            ):
                return True
        return False

    def _handles(self, handlers: Iterable[ast.ExceptHandler], kind: str) -> bool:
        names: set[str] = set()
        for handler in handlers:
            if handler.type is None:
                return True
            for each in handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]:
                if not isinstance(each, ast.Name):
                    return True
                names.add(each.id)
        return bool(names & (_CAUGHT_BY[kind] | self._names_that_catch)) or not names <= _EXCEPTIONS

    def _suppresses(self, statement: ast.With | ast.AsyncWith) -> bool:
        for item in statement.items:
            call = item.context_expr
            function = call.func if isinstance(call, ast.Call) else call
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            own = isinstance(function, ast.Name) and any(
                isinstance(node, ast.ClassDef | Function) and node.name == name for node in self._tree.nodes
            )
            if own or name not in _SUPPRESS_NOTHING:
                return True
        return False


def _drops(finalbody: list[ast.stmt]) -> bool:
    """Whether a `finally` leaves by itself, which drops what was raised."""
    return any(
        isinstance(node, ast.Return | ast.Break | ast.Continue)
        for each in finalbody
        for node in ast.walk(each)
    )
