"""One program's tree: which style it has, and what a diagnostic of the checker means at its place in it.

A finding is certain when no run that reaches its line could go well: no `try` around it that catches what would be
raised, no other mention of the same name that might have made it right.
"""

from __future__ import annotations

import ast
import re

from type_text import PREFIX, excludes, kind, members  # type: ignore[import-not-found]

TYPE_CHECKING = False  # without `typing`, which takes a while to load
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["Program"]

_CALLEE = re.compile(r"bound method `([\w.]+)`")
_TYPE = re.compile(r"[Oo]bject of type `([^`]*)`")
_QUOTED = re.compile(r'key "((?:[^"\\]|\\.)*)" for TypedDict `([^`]*)`')
_EXPECTED = re.compile(r"Expected `(.*)`, found `(.*)`$", re.DOTALL)
_NAME = re.compile(r"(?:attribute|parameter|Argument) `([^`]*)`")

# What a handler has to name to catch a finding of each kind.
_CAUGHT_BY = {
    "unknown-tool": {"AttributeError", "KeyError", "LookupError"},
    "argument": {"ToolCallError", "TypeError"},
    "field": {"KeyError", "LookupError", "TypeError", "AttributeError"},
    "not-awaited": {"TypeError", "AttributeError"},
}


class Program:
    """One program's tree, and what is asked of it."""

    def __init__(self, tree: ast.Module, source: str) -> None:
        self._lines = re.split(r"\r\n|\r|\n", source)
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = []
        self.is_async = False
        waiting: list[ast.AST] = [tree]
        while waiting:
            node = waiting.pop()
            self.nodes.append(node)
            awaits = isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith)
            if awaits or (isinstance(node, ast.comprehension) and node.is_async):
                self.is_async = True
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
                waiting.append(child)
        self.bound = {
            node.id
            for node in self.nodes
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        } | {node.arg for node in self.nodes if isinstance(node, ast.arg)}
        self.read_names = {
            node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        } | {node.attr for node in self.nodes if isinstance(node, ast.Attribute)}
        self.mentioned = self._mentioned()
        self._places: dict[tuple[int, int], list[ast.AST]] = {}
        for node in self.nodes:
            if isinstance(node, ast.expr | ast.keyword):
                self._places.setdefault((node.lineno, node.col_offset), []).append(node)

    def _mentioned(self) -> set[str]:
        """The texts and keywords of the program that are no plain reading of an item: `"x" in row`, `row["x"] = 1`."""
        found: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                parent = self.parents[node]
                reads = (
                    isinstance(parent, ast.Subscript)
                    and parent.slice is node
                    and isinstance(parent.ctx, ast.Load)
                )
                if not reads:
                    found.add(node.value)
            elif isinstance(node, ast.keyword) and node.arg:
                found.add(node.arg)
        return found

    # ------------------------------------------------------------------------------- places

    def at(self, line: int, column: int) -> ast.AST | None:
        """The innermost expression that begins at a place. Columns count characters from 1."""
        best = None
        for node in self._places.get((line, self._bytes(line, column)), ()):
            best = node if best is None or _within(node, best) else best
        return best

    def _bytes(self, line: int, column: int) -> int:
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return len(text[: column - 1].encode("utf-8", "surrogatepass"))

    def above(self, node: ast.AST | None) -> Iterator[tuple[ast.AST, ast.AST]]:
        """The pairs (parent, child) from a node upwards."""
        while node is not None and node in self.parents:
            yield self.parents[node], node
            node = self.parents[node]

    def is_guarded(self, node: ast.AST | None, kind: str) -> bool:
        """Whether something around a node may catch what a finding of that kind raises, or never run it."""
        if node is None:
            return True
        for parent, child in self.above(node):
            if (
                isinstance(parent, ast.Try | ast.TryStar)
                and child in parent.body
                and _catches(parent.handlers, kind)
            ):
                return True
            if isinstance(parent, ast.With | ast.AsyncWith) and child in parent.body and _suppresses(parent):
                return True
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                name = getattr(parent, "name", None)
                if name is not None and name not in self.read_names and not name.startswith("__"):
                    return True  # it is never called
                return any(
                    (isinstance(other, ast.Try | ast.TryStar) and _catches(other.handlers, kind))
                    or (isinstance(other, ast.With | ast.AsyncWith) and _suppresses(other))
                    for other in self.nodes
                )
        return False

    # ------------------------------------------------------------------------------- findings

    def unknown_items(self, names: list[str]) -> Iterator[dict[str, Any]]:
        """`tools["name"]` of names that there are not."""
        if "tools" in self.bound:
            return
        for node in self.nodes:
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Name)
                and node.value.id == "tools"
                and isinstance(node.slice, ast.Constant)
                and isinstance(node.slice.value, str)
                and node.slice.value not in names
            ):
                name = node.slice.value
                certain = name not in self.mentioned and not self.is_guarded(node, "unknown-tool")
                yield _finding(node.lineno, node.col_offset + 1, "unknown-tool", certain, name=name)

    def read(self, rule: str, text: str, line: int, column: int) -> dict[str, Any] | None:
        """Return what one diagnostic of the checker means here; None for what is not about tools."""
        text = text.removeprefix(f"{rule}: ")
        node = self.at(line, column)
        callee = _CALLEE.search(text)
        if callee and callee[1].startswith(PREFIX):
            return self._argument(rule, text, node, line, column, callee[1])
        if rule == "missing-attribute":
            return self._attribute(text, node, line, column)
        if rule == "invalid-typed-dict-key":
            return self._key(text, node, line, column)
        if rule == "invalid-argument-type" and "`__getitem__`" in text:
            return self._index(text, node, line, column)
        if rule == "not-subscriptable" and f"`{PREFIX}Pending[" in text:
            return _finding(line, column, "not-awaited", not self.is_guarded(node, "not-awaited"))
        return None

    def _attribute(self, text: str, node: ast.AST | None, line: int, column: int) -> dict[str, Any] | None:
        owner, name = _TYPE.search(text), _NAME.search(text)
        if owner is None or name is None:
            return None
        if owner[1] == f"{PREFIX}Tools":
            certain = name[1] not in self.mentioned and not self.is_guarded(node, "unknown-tool")
            return _finding(line, column, "unknown-tool", certain, name=name[1])
        if owner[1].startswith(f"{PREFIX}Pending["):
            return _finding(line, column, "not-awaited", not self.is_guarded(node, "not-awaited"))
        if re.fullmatch(rf"(?:list\[)?{PREFIX}\w+\]?", owner[1]):
            certain = not self.is_guarded(node, "field")
            return _finding(line, column, "attribute", certain, name=name[1], type=owner[1])
        return None

    def _key(self, text: str, node: ast.AST | None, line: int, column: int) -> dict[str, Any] | None:
        found = _QUOTED.search(text)
        if found is None or not found[2].startswith(PREFIX):
            return None
        parent = self.parents.get(node) if node is not None else None
        reads = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load)
        key = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else found[1]
        certain = reads and key not in self.mentioned and not self.is_guarded(node, "field")
        return _finding(line, column, "field", certain, name=key, type=found[2])

    def _index(self, text: str, node: ast.AST | None, line: int, column: int) -> dict[str, Any] | None:
        owner = _TYPE.search(text)
        if owner is None or not re.fullmatch(rf"list\[{PREFIX}\w+\]", owner[1]):
            return None
        item = next((parent for parent, _ in self.above(node) if isinstance(parent, ast.Subscript)), None)
        if item is None or not isinstance(item.slice, ast.Constant) or not isinstance(item.slice.value, str):
            return None
        certain = not self.is_guarded(item, "field")
        return _finding(line, column, "index", certain, name=item.slice.value, type=owner[1])

    def _argument(
        self, rule: str, text: str, node: ast.AST | None, line: int, column: int, callee: str
    ) -> dict[str, Any] | None:
        call, argument = self._call_at(node, line, column)
        if call is None or any(isinstance(each, ast.Starred) for each in call.args):
            return None
        if any(each.arg is None for each in call.keywords):
            return None  # what a `**` brings is only known at run time
        alone = len(call.args) == 1 and not call.keywords
        if alone and not isinstance(call.args[0], ast.Constant | ast.JoinedStr):
            # It may be all arguments in one dict, unless it is known to be something else.
            given = _EXPECTED.search(text)
            if given is None or {"object", None} & {kind(each) for each in members(given[2])}:
                return None
        certain = not self.is_guarded(call, "argument")
        names = _NAME.findall(text)
        finding = _finding(line, column, rule, certain, callee=callee, names=names)
        if rule == "invalid-argument-type":
            types = _EXPECTED.search(text)
            if types is None:
                finding["certain"] = False
            else:
                finding.update(expected=types[1], found=types[2], names=[_argument_name(call, argument)])
                finding["certain"] = (
                    certain and excludes(types[1], types[2]) and not self._is_annotated(argument)
                )
        elif rule not in ("missing-argument", "unknown-argument", "too-many-positional-arguments"):
            finding["certain"] = False
        return finding

    def _call_at(
        self, node: ast.AST | None, line: int, column: int
    ) -> tuple[ast.Call | None, ast.AST | None]:
        """The call that a place belongs to, and its argument that begins there, if it is not the call that does."""
        for parent, child in self.above(node):
            if isinstance(parent, ast.Call):
                if child is parent.func:
                    return parent, None
                if (child.lineno, child.col_offset) == (line, self._bytes(line, column)):  # type: ignore[attr-defined]
                    return parent, child
        return None, None

    def _is_annotated(self, argument: ast.AST | None) -> bool:
        """Whether an argument's type is what an annotation of the program says, which nothing enforces."""
        if argument is None:
            return True
        argument = argument.value if isinstance(argument, ast.keyword) else argument
        used = {node.id for node in ast.walk(argument) if isinstance(node, ast.Name)}
        claimed = {
            node.target.id
            for node in self.nodes
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        } | {node.arg for node in self.nodes if isinstance(node, ast.arg) and node.annotation is not None}
        functions = {
            node.name
            for node in self.nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None
        }
        attributes = any(isinstance(node, ast.Attribute) for node in ast.walk(argument))
        return bool(used & (claimed | functions)) or (attributes and bool(claimed))


def _finding(line: int, column: int, kind: str, certain: bool, **more: Any) -> dict[str, Any]:
    return {"line": line, "column": column, "kind": kind, "certain": certain, **more}


def _within(node: ast.AST, other: ast.AST) -> bool:
    """Whether a node that begins where another does ends before it."""
    return (node.end_lineno, node.end_col_offset) < (other.end_lineno, other.end_col_offset)  # type: ignore[attr-defined]


def _catches(handlers: list[ast.ExceptHandler], kind: str) -> bool:
    names: set[str] = set()
    for handler in handlers:
        if handler.type is None:
            return True
        for each in handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]:
            if not isinstance(each, ast.Name):
                return True
            names.add(each.id)
    known = {
        "ToolCallError",
        "TypeError",
        "AttributeError",
        "KeyError",
        "LookupError",
        "ValueError",
        "IndexError",
    }
    known |= {"ZeroDivisionError", "RuntimeError", "OSError", "TimeoutError", "StopIteration", "NameError"}
    return bool(names & _CAUGHT_BY[kind]) or not names <= known


def _suppresses(statement: ast.With | ast.AsyncWith) -> bool:
    for item in statement.items:
        call = item.context_expr
        function = call.func if isinstance(call, ast.Call) else call
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name not in (
            "TaskGroup",
            "timeout",
            "timeout_at",
            "redirect_stdout",
            "redirect_stderr",
            "StringIO",
            "localcontext",
        ):
            return True
    return False


def _argument_name(call: ast.AST | None, node: ast.AST | None) -> str | int | None:
    """The keyword of an argument, or its number from 0."""
    if not isinstance(call, ast.Call):
        return None
    for keyword in call.keywords:
        if keyword is node or keyword.value is node:
            return keyword.arg
    return next((at for at, each in enumerate(call.args) if each is node), None)
