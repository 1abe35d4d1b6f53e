"""One program's syntax tree, read once: its nodes, who is above whom, which names are bound, which style it has."""

from __future__ import annotations

import ast
import re

TYPE_CHECKING = False  # without `typing`, which takes a while to load
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Function", "Placed", "Tree"]

Function = ast.FunctionDef | ast.AsyncFunctionDef
Placed = ast.expr | ast.keyword
"""What findings are about: nodes with a place in the text."""


class Tree:
    """The tree of a program. Lines count from 1; columns count characters from 1.

    `objects` are the names that a run gives beside `tools`: their methods are tools too.
    """

    def __init__(self, module: ast.Module, source: str, objects: Iterable[str] = ()) -> None:
        self._objects = frozenset(objects)
        self.module = module
        self._lines = re.split(r"\r\n|\r|\n", source)
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = []
        self.is_async = False
        waiting: list[ast.AST] = [module]
        while waiting:
            node = waiting.pop()
            self.nodes.append(node)
            awaits = isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith)
            if awaits or (isinstance(node, ast.comprehension) and node.is_async):
                self.is_async = True
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
                waiting.append(child)
        self.bound = set(_bound(self.nodes))
        self._places: dict[tuple[int, int], list[Placed]] = {}
        for node in self.nodes:
            if isinstance(node, Placed):
                self._places.setdefault((node.lineno, node.col_offset), []).append(node)

    def at(self, line: int, column: int) -> Placed | None:
        """The innermost expression that begins at a place: the one that ends first."""
        return min(self._places.get((line, self.byte_column(line, column)), ()), key=_end, default=None)

    def byte_column(self, line: int, column: int) -> int:
        """A column as the tree's nodes have it: bytes from 0."""
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return len(text[: column - 1].encode("utf-8", "surrogatepass"))

    def above(self, node: ast.AST | None) -> Iterator[tuple[ast.AST, ast.AST]]:
        """The pairs (parent, child) from a node upwards."""
        while node is not None and node in self.parents:
            yield self.parents[node], node
            node = self.parents[node]

    def names_a_tool(self, node: ast.AST | None) -> bool:
        """Whether an expression is `tools.name`, `tools["name"]` or a method of another object that the run gives."""
        if isinstance(node, ast.Subscript):
            named = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
            return named and self.is_tools(node.value)
        return isinstance(node, ast.Attribute) and (self.is_tools(node.value) or self.is_object(node.value))

    def is_tools(self, node: ast.AST) -> bool:
        """Whether an expression is the name `tools`, which the program gives to nothing else."""
        return isinstance(node, ast.Name) and node.id == "tools" and "tools" not in self.bound

    def is_object(self, node: ast.AST) -> bool:
        """Whether an expression is the name of an object beside `tools`, which the program gives to nothing else."""
        return isinstance(node, ast.Name) and node.id in self._objects and node.id not in self.bound


def _bound(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            if node.name:
                yield node.name
        elif isinstance(node, ast.MatchMapping):
            if node.rest:
                yield node.rest
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names


def _end(node: Placed) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0
