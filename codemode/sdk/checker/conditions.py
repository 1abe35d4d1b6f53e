"""Which conditions of a program are always true or always false, as its text shows: no value is computed."""

from __future__ import annotations

import ast
import sys

from tree import Tree

TYPE_CHECKING = False  # without `typing`, which takes a while to load
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Conditions"]


class Conditions:
    """The conditions of one program."""

    def __init__(self, tree: Tree) -> None:
        self._constants = _constants(tree)

    def truth(self, test: ast.expr) -> bool | None:
        """Whether a condition is always true or always false; None if that is not known."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            truth = self.truth(test.operand)
            return None if truth is None else not truth
        if isinstance(test, ast.BoolOp):
            ends = isinstance(test.op, ast.Or)
            found = [self.truth(each) for each in test.values]
            if ends in found:
                return ends
            return None if None in found else not ends
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compared(test.left, test.ops[0], test.comparators[0])
        known, value = self._value(test)
        return bool(value) if known else None

    def _compared(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> bool | None:
        (knows, one), (knows_too, other) = self._value(left), self._value(right)
        if not (knows and knows_too):
            return None
        try:
            if isinstance(operator, ast.Eq | ast.Is):
                return bool(one == other)
            if isinstance(operator, ast.NotEq | ast.IsNot):
                return bool(one != other)
            if isinstance(operator, ast.Lt | ast.LtE):
                return bool(one < other or (isinstance(operator, ast.LtE) and one == other))
            if isinstance(operator, ast.Gt | ast.GtE):
                return bool(one > other or (isinstance(operator, ast.GtE) and one == other))
        except TypeError:
            pass
        return None

    def _value(self, node: ast.expr) -> tuple[bool, Any]:
        """Whether an expression is constant, and its value, of whatever type."""
        if isinstance(node, ast.Constant):
            return True, node.value
        if isinstance(node, ast.Name):
            if node.id in self._constants:
                return True, self._constants[node.id]
            return node.id == "TYPE_CHECKING", False
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) == ("sys", "version_info"):
                return True, tuple(sys.version_info)
            return (node.value.id, node.attr) == ("typing", "TYPE_CHECKING"), False
        if isinstance(node, ast.Tuple):
            parts = [self._value(each) for each in node.elts]
            return all(known for known, _ in parts), tuple(value for _, value in parts)
        return False, None


def _constants(tree: Tree) -> dict[str, object]:
    """The variables of the program's top level that are bound once, to a constant."""
    once: dict[str, object] = {}
    for statement in tree.module.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    once[target.id] = statement.value.value
    times: dict[str, int] = {}
    for node in tree.nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            times[node.id] = times.get(node.id, 0) + 1
        elif isinstance(node, ast.Global | ast.Nonlocal):
            for name in node.names:
                times[name] = 2
        elif isinstance(node, ast.arg):
            times[node.arg] = 2
    return {name: value for name, value in once.items() if times.get(name) == 1}
