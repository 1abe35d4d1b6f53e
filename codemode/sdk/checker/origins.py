"""Where a value comes from: whether what the checker takes for its type holds in every run.

A type checker believes annotations, and that a list stays what it was. Both may be wrong in a program that runs well.
What a tool gave is as its schema says and cannot be changed; what is made of such values and of constants, and kept
where nothing changes it, is what the checker says. Everything else is not known.
"""

from __future__ import annotations

import ast

from tree import Function, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Origins"]

_OF_ANYTHING = set("str int float bool len repr ascii chr ord hex bin oct any all range isinstance".split())
"""Functions whose result has the same type whatever they are given."""

_OF_THE_SAME = set(
    ("list tuple set frozenset sorted reversed iter next max min filter enumerate zip sum abs").split()
)
"""Functions whose result holds what they are given."""

_MAKE_MUTABLE = {"list", "set", "sorted"}
_TEXT_METHODS = set(
    (
        "join upper lower title strip lstrip rstrip replace split splitlines format capitalize removeprefix "
        "removesuffix zfill startswith endswith isdigit count find partition casefold"
    ).split()
)
_PARTS = {"items", "values", "keys", "get"}
_READS = _TEXT_METHODS | _PARTS | {"index", "sort", "reverse", "pop", "clear", "remove"}
_OPAQUE = None


class Origins:
    """The origins of one program's values."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._bindings: dict[str, list[ast.expr | None]] = {}
        for node in tree.nodes:
            for name, value in self._bound_by(node):
                self._bindings.setdefault(name, []).append(value)
        self._untouched: dict[str, bool] = {}

    def is_known(self, node: ast.AST | None) -> bool:
        """Whether the checker's type of an expression holds in every run."""
        return self._known(node, frozenset())

    # ------------------------------------------------------------------------------- bindings

    def _bound_by(self, node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
        """The names that a node binds, each with the expression whose value, or a part of whose value, it gets."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from self._targets(target, node.value)
        elif isinstance(node, ast.NamedExpr):
            yield from self._targets(node.target, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield from self._loop(node.target, node.iter)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            yield from self._targets(node.target, _OPAQUE)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if item.optional_vars is not None:
                    yield from self._targets(item.optional_vars, _OPAQUE)
        elif isinstance(node, ast.arg):
            yield node.arg, self._of_key(node)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from ((name, _OPAQUE) for name in node.names)
        elif isinstance(node, Function | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            if node.name:
                yield node.name, _OPAQUE
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest, _OPAQUE
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0], _OPAQUE
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                yield from self._targets(target, _OPAQUE)

    def _targets(self, target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
        if isinstance(target, ast.Name):
            yield target.id, value
        elif isinstance(target, ast.Starred):
            yield from self._targets(target.value, _OPAQUE)
        elif isinstance(target, ast.Tuple | ast.List):
            parts = _parts(value, len(target.elts))
            for each, part in zip(target.elts, parts, strict=True):
                yield from self._targets(each, part)

    def _loop(self, target: ast.expr, iterable: ast.expr) -> Iterator[tuple[str, ast.expr | None]]:
        if isinstance(target, ast.Tuple) and isinstance(iterable, ast.Call) and not iterable.keywords:
            name = iterable.func.id if isinstance(iterable.func, ast.Name) else ""
            if name == "zip" and len(target.elts) == len(iterable.args):
                for each, part in zip(target.elts, iterable.args, strict=True):
                    yield from self._targets(each, _part_of(part))
                return
        yield from self._targets(target, _part_of(iterable))

    def _of_key(self, argument: ast.arg) -> ast.expr | None:
        """What the argument of a lambda is a part of, if that is the key of a sort, or what a `map` calls."""
        function = self._tree.parents[self._tree.parents[argument]]
        above = self._tree.parents.get(function)
        if not isinstance(function, ast.Lambda) or argument.annotation is not None:
            return None
        if function.args.defaults or len(function.args.args) != 1:
            return None
        if isinstance(above, ast.keyword) and above.arg == "key":
            call = self._tree.parents[above]
            assert isinstance(call, ast.Call)
            if isinstance(call.func, ast.Attribute) and call.func.attr == "sort":
                return _part_of(call.func.value)
            known = self._builtin(call) in ("sorted", "max", "min") and call.args
            return _part_of(call.args[0]) if known else None
        if isinstance(above, ast.Call) and self._builtin(above) in ("map", "filter") and len(above.args) == 2:
            return _part_of(above.args[1])
        return None

    # ------------------------------------------------------------------------------- expressions

    def _known(self, node: ast.AST | None, asked: frozenset[str]) -> bool:
        if isinstance(node, ast.keyword):
            node = node.value
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.Compare):
            return True
        if isinstance(node, ast.Name):
            return self._known_name(node.id, asked)
        if isinstance(node, ast.Call):
            return self._known_call(node, asked)
        if isinstance(node, ast.DictComp):
            return self._known(node.key, asked) and self._known(node.value, asked)
        if isinstance(node, ast.Dict):
            return all(self._known(each, asked) for each in [*node.keys, *node.values])
        return bool(parts := _made_of(node)) and all(self._known(each, asked) for each in parts)

    def _known_name(self, name: str, asked: frozenset[str]) -> bool:
        if name in asked:
            return True
        bindings = self._bindings.get(name)
        if not bindings or None in bindings:
            return False
        asked |= {name}
        if not all(self._known(each, asked) for each in bindings):
            return False
        if all(self._is_fixed(each, asked) for each in bindings):
            return True
        return self._is_untouched(name) and all(self._holds_fixed(each, asked) for each in bindings)

    def _known_call(self, call: ast.Call, asked: frozenset[str]) -> bool:
        if self._tree.names_a_tool(call.func):
            return True
        name = self._builtin(call)
        if name in _OF_ANYTHING:
            return True
        given = call.args[1:] if name == "filter" else call.args
        if name in _OF_THE_SAME or self._is_gather(call):
            plain = all(each.arg in ("key", "reverse") for each in call.keywords)
            return plain and bool(given) and all(self._known(each, asked) for each in given)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _TEXT_METHODS | _PARTS:
            given = call.args if call.func.attr == "get" else []
            return all(self._known(each, asked) for each in [call.func.value, *given])
        return False

    def _builtin(self, call: ast.Call) -> str:
        """The name of the function of Python's own that is called; "" for another."""
        if isinstance(call.func, ast.Name) and call.func.id not in self._tree.bound:
            return call.func.id
        return ""

    @staticmethod
    def _is_gather(call: ast.Call) -> bool:
        function = call.func
        return (
            isinstance(function, ast.Attribute)
            and function.attr == "gather"
            and isinstance(function.value, ast.Name)
            and not call.keywords
        )

    # ------------------------------------------------------------------------------- what may change

    def _is_fixed(self, node: ast.AST | None, asked: frozenset[str]) -> bool:
        """Whether a value cannot be changed, or is a part of one that cannot."""
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.Compare):
            return True
        if isinstance(node, ast.Await):
            return self._is_fixed(node.value, asked)
        if isinstance(node, ast.Subscript):
            return self._holds_fixed(node.value, asked)
        if isinstance(node, ast.Call):
            if self._tree.names_a_tool(node.func) or self._builtin(node) in _OF_ANYTHING:
                return True
            if isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT_METHODS | _PARTS:
                return self._is_fixed(node.func.value, asked)
            keeps = self._builtin(node) in _OF_THE_SAME - _MAKE_MUTABLE
            return keeps and all(self._is_fixed(each, asked) for each in node.args)
        if isinstance(node, ast.Name):
            if node.id in asked:
                return True
            bindings = self._bindings.get(node.id, [None])
            return None not in bindings and all(self._is_fixed(each, asked | {node.id}) for each in bindings)
        if isinstance(node, ast.Tuple | ast.BoolOp | ast.IfExp | ast.BinOp | ast.UnaryOp):
            return all(self._is_fixed(each, asked) for each in _made_of(node))
        return False

    def _holds_fixed(self, node: ast.AST | None, asked: frozenset[str]) -> bool:
        """Whether what is in a container cannot be changed; the container may be."""
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self._is_fixed(node.elt, asked)
        if isinstance(node, ast.DictComp):
            return self._is_fixed(node.value, asked)
        if isinstance(node, ast.List | ast.Set | ast.Tuple):
            return all(
                self._holds_fixed(each.value, asked)
                if isinstance(each, ast.Starred)
                else self._is_fixed(each, asked)
                for each in node.elts
            )
        if isinstance(node, ast.Dict):
            return all(self._is_fixed(each, asked) for each in node.values)
        if isinstance(node, ast.Starred | ast.Await | ast.BoolOp | ast.IfExp):
            return all(self._holds_fixed(each, asked) for each in _made_of(node))
        if isinstance(node, ast.Call) and self._is_gather(node):
            return all(self._is_fixed(each, asked) for each in node.args)
        if isinstance(node, ast.Call) and self._builtin(node) in _OF_THE_SAME:
            return all(self._holds_fixed(each, asked) for each in node.args)
        if isinstance(node, ast.Name) and node.id not in asked:
            bindings = self._bindings.get(node.id, [None])
            return all(self._holds_fixed(each, asked | {node.id}) for each in bindings)
        return self._is_fixed(node, asked)

    def _is_untouched(self, name: str) -> bool:
        """Whether a variable's value is only read, and stands nowhere else."""
        found = self._untouched.get(name)
        if found is None:
            found = self._untouched[name] = all(
                self._only_reads(node)
                for node in self._tree.nodes
                if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
            )
        return found

    def _only_reads(self, node: ast.Name) -> bool:
        parent = self._tree.parents[node]
        if isinstance(parent, ast.Subscript):
            return parent.value is not node or isinstance(parent.ctx, ast.Load)
        if isinstance(parent, ast.Attribute):
            return parent.attr in _READS
        if isinstance(parent, ast.For | ast.AsyncFor | ast.comprehension):
            return parent.iter is node
        if isinstance(parent, ast.keyword):
            parent = self._tree.parents[parent]
        if isinstance(parent, ast.Call):
            own = self._builtin(parent) in _OF_ANYTHING | _OF_THE_SAME | {"print", "map", "dict"}
            return own or self._tree.names_a_tool(parent.func) or self._is_gather(parent)
        readers = ast.Compare | ast.If | ast.While | ast.UnaryOp | ast.FormattedValue | ast.Return
        return isinstance(parent, readers | ast.Expr | ast.Await | ast.BinOp | ast.Starred)


def _made_of(node: ast.AST | None) -> list[ast.expr]:
    """The expressions whose types make that of an expression; none for one that is not known."""
    if isinstance(node, ast.Await | ast.Subscript | ast.NamedExpr | ast.Starred):
        return [node.value]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.BitOr):
        return [node.left, node.right]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        return [node.elt]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return node.elts or [ast.Constant(None)]
    return []


def _parts(value: ast.expr | None, count: int) -> list[ast.expr | None]:
    """What each of so many targets gets of a value: its own element where they stand side by side."""
    elements = value.elts if isinstance(value, ast.Tuple | ast.List) else []
    if len(elements) == count and not any(isinstance(each, ast.Starred) for each in elements):
        return list(elements)
    return [None if value is None else _part_of(value)] * count


def _part_of(value: ast.expr) -> ast.expr:
    """Some element of a value."""
    return ast.Subscript(value, ast.Constant(0), ast.Load())
