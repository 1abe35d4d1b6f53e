"""What a diagnostic of the checker means at its place in a program, and whether it is certain.

A finding is certain when each run that comes to its line fails there, and nothing in the text says that no run does:
see `reach` for places and `origins` for types. No other mention of the same name may have made it right either.
"""

from __future__ import annotations

import ast
import re

from origins import Origins
from reach import CAUGHT, UNREACHED, Reach
from tree import Placed, Tree
from type_text import PREFIX, excludes, kind, members

TYPE_CHECKING = False  # without `typing`, which takes a while to load
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["Program"]

_CALLEE = re.compile(r"bound method `([\w.]+)`")
_TYPE = re.compile(r"[Oo]bject of type `([^`]*)`")
_QUOTED = re.compile(r'key "((?:[^"\\]|\\.)*)" for TypedDict `([^`]*)`')
_OF_UNION = re.compile(r"subscripted object has type `([^`]*)`")
_EXPECTED = re.compile(r"Expected `(.*)`, found `(.*)`$", re.DOTALL)
_NAME = re.compile(r"(?:attribute|parameter|Argument) `([^`]*)`")

_UNSURE = "unsure"


class Program:
    """One program, and what is asked of it. `objects` are those beside `tools`: their names and their classes."""

    def __init__(self, tree: ast.Module, source: str, objects: dict[str, str]) -> None:
        self._tree = Tree(tree, source, objects)
        self._objects = {kind: name for name, kind in objects.items()}
        self._reach = Reach(self._tree)
        self._origins = Origins(self._tree)
        self.is_async: bool = self._tree.is_async
        self._mentioned, self._written = self._names()
        self._of_unions: dict[tuple[int, int, str], tuple[dict[str, Any], set[str]]] = {}

    def _names(self) -> tuple[set[str], set[str]]:
        """The texts and keywords of the program that are no plain reading of an item, and the texts alone of these.

        They are what may have made a name right: `"x" in row`, `row["x"] = 1`, `dict(row, x=1)`.
        """
        keywords: set[str] = set()
        texts: set[str] = set()
        for node in self._tree.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                parent = self._tree.parents[node]
                reads = (
                    isinstance(parent, ast.Subscript)
                    and parent.slice is node
                    and isinstance(parent.ctx, ast.Load)
                )
                if not reads:
                    texts.add(node.value)
            elif isinstance(node, ast.keyword) and node.arg:
                keywords.add(node.arg)
        return texts | keywords, texts

    def unknown_items(self, names: list[str]) -> Iterator[dict[str, Any]]:
        """`tools["name"]` of names that there are not."""
        for node in self._tree.nodes:
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.slice, ast.Constant)
                and self._tree.names_a_tool(node)
            ):
                name = node.slice.value
                if name not in names:
                    sure = name not in self._mentioned
                    yield self._finding(
                        node, node.lineno, node.col_offset + 1, "unknown-tool", sure, name=name
                    )

    def read(self, rule: str, text: str, line: int, column: int) -> dict[str, Any] | None:
        """Return what one diagnostic of the checker means here; None for what is not about tools."""
        text = text.removeprefix(f"{rule}: ")
        node = self._tree.at(line, column)
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
            return self._finding(node, line, column, "not-awaited", self._origins.is_known(node))
        return None

    def settle(self, findings: list[dict[str, Any]]) -> None:
        """Look at findings beside each other: behind one whose failure a `try` may catch, that `try` may not go on."""
        for first, last in self._reach.stretches():
            left = False
            for each in findings:
                if first <= each["line"] <= last:
                    if left and not each["perhaps"]:
                        each["perhaps"] = UNREACHED
                    left = left or each["perhaps"] in (CAUGHT, _UNSURE)

    # ------------------------------------------------------------------------------- names and fields

    def _attribute(self, text: str, node: ast.AST | None, line: int, column: int) -> dict[str, Any] | None:
        owner, name = _TYPE.search(text), _NAME.search(text)
        if owner is None or name is None:
            return None
        if owner[1] == f"{PREFIX}Tools":
            sure = name[1] not in self._mentioned and node is not None and self._tree.is_tools(node)
            return self._finding(node, line, column, "unknown-tool", sure, name=name[1])
        if owner[1] in self._objects:
            sure = name[1] not in self._mentioned and node is not None and self._tree.is_object(node)
            of = self._objects[owner[1]]
            return self._finding(node, line, column, "unknown-method", sure, name=name[1], type=of)
        known = self._origins.is_known(node)
        if owner[1].startswith(f"{PREFIX}Pending["):
            return self._finding(node, line, column, "not-awaited", known)
        if re.fullmatch(rf"(?:list\[)?{PREFIX}\w+\]?", owner[1]):
            return self._finding(node, line, column, "attribute", known, name=name[1], type=owner[1])
        return None

    def _key(self, text: str, node: ast.AST | None, line: int, column: int) -> dict[str, Any] | None:
        found = _QUOTED.search(text)
        if found is None or not found[2].startswith(PREFIX):
            return None
        parent = self._tree.parents.get(node) if node is not None else None
        sure = (
            isinstance(parent, ast.Subscript)
            and isinstance(parent.ctx, ast.Load)
            and self._origins.is_known(parent.value)
        )
        key = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else found[1]
        sure = sure and key not in self._mentioned
        union = _OF_UNION.search(text)
        if union is None:
            return self._finding(node, line, column, "field", sure, name=key, type=found[2])
        return self._key_of_union(node, line, column, key, found[2], set(members(union[1])), sure)

    def _key_of_union(
        self, node: ast.AST | None, line: int, column: int, key: str, lacks: str, union: set[str], sure: bool
    ) -> dict[str, Any] | None:
        """A field that one of several types lacks: certain only once the checker has said it of all of them."""
        place = (line, column, key)
        first = place not in self._of_unions
        if first:
            finding = self._finding(node, line, column, "field", False, name=key, type=lacks)
            self._of_unions[place] = (finding, set())
        finding, said = self._of_unions[place]
        said.add(lacks)
        if said == union:
            finding.update(self._finding(node, line, column, "field", sure))
        return finding if first else None

    def _index(self, text: str, node: ast.AST | None, line: int, column: int) -> dict[str, Any] | None:
        owner = _TYPE.search(text)
        if owner is None or not re.fullmatch(rf"list\[{PREFIX}\w+\]", owner[1]):
            return None
        item = next(
            (parent for parent, _ in self._tree.above(node) if isinstance(parent, ast.Subscript)), None
        )
        if item is None or not isinstance(item.slice, ast.Constant) or not isinstance(item.slice.value, str):
            return None
        known = self._origins.is_known(item.value)
        return self._finding(item, line, column, "index", known, name=item.slice.value, type=owner[1])

    # ------------------------------------------------------------------------------- arguments

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
        names = _NAME.findall(text)
        # Several tools may stand behind a variable, and the checker complain of any.
        sure = self._tree.names_a_tool(call.func)
        more: dict[str, Any] = {"callee": callee, "names": names}
        if rule == "invalid-argument-type":
            types = _EXPECTED.search(text)
            if types is not None:
                more.update(expected=types[1], found=types[2], names=[_argument_name(call, argument)])
            sure = sure and types is not None and excludes(types[1], types[2])
            sure = sure and self._origins.is_known(argument)
        elif rule == "unknown-argument":
            sure = sure and not self._written & set(names)
        elif rule not in ("missing-argument", "too-many-positional-arguments"):
            sure = False
        # In a program that awaits, a call fails where it is awaited.
        elsewhere = self.is_async and not isinstance(self._tree.parents[call], ast.Await)
        return self._finding(call, line, column, rule, sure, elsewhere=elsewhere, **more)

    def _call_at(
        self, node: ast.AST | None, line: int, column: int
    ) -> tuple[ast.Call | None, ast.AST | None]:
        """The call that a place belongs to, and its argument that begins there, if it is not the call that does."""
        for parent, child in self._tree.above(node):
            if isinstance(parent, ast.Call):
                if child is parent.func:
                    return parent, None
                here = line, self._tree.byte_column(line, column)
                if isinstance(child, Placed) and (child.lineno, child.col_offset) == here:
                    return parent, child
        return None, None

    def _finding(
        self,
        node: ast.AST | None,
        line: int,
        column: int,
        kind: str,
        sure: bool,
        *,
        elsewhere: bool = False,
        **more: Any,
    ) -> dict[str, Any]:
        """A finding, which is certain if it is sure in itself and its place is one where it ends the program."""
        fails_by = {"attribute": "field", "index": "field", "unknown-method": "unknown-tool"}.get(kind, kind)
        fails_by = fails_by if fails_by in ("unknown-tool", "field", "not-awaited") else "argument"
        perhaps = self._reach.why_not(node, fails_by, elsewhere=elsewhere) if sure else _UNSURE
        return {"line": line, "column": column, "kind": kind, "perhaps": perhaps, **more}


def _argument_name(call: ast.AST | None, node: ast.AST | None) -> str | int | None:
    """The keyword of an argument, or its number from 0."""
    if not isinstance(call, ast.Call):
        return None
    for keyword in call.keywords:
        if keyword is node or keyword.value is node:
            return keyword.arg
    return next((at for at, each in enumerate(call.args) if each is node), None)
