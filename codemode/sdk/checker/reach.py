"""Whether a place in a program is one that a run gets to, and whether what is raised there ends the program.

Both are read off the text alone: a condition that is constant, a function that nothing calls, a `try` around the
place. A branch that depends on a value counts as taken.
"""

from __future__ import annotations

import ast

from catching import Catching
from conditions import Conditions
from tree import Function, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CAUGHT", "UNREACHED", "Reach"]

UNREACHED = "unreached"
CAUGHT = "caught"

_READ_WHOLE = set(
    (
        "list tuple set frozenset dict sum sorted max min any all next join fromkeys Counter deque extend update "
        "gather"
    ).split()
)
"""Functions that ask for what an iterator has."""

_PASS_ON = {"enumerate", "zip", "map", "filter", "reversed", "iter", "islice", "chain"}
"""Functions that ask for what an iterator has when they are asked themselves."""

_CALL_THEIR_KEY = {"sorted", "max", "min", "sort", "groupby", "nlargest", "nsmallest"}
_RUN_WITH_THE_CLASS = {"__init__", "__post_init__", "__new__"}


class Reach:
    """What is reached of one program."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._conditions = Conditions(tree)
        self._catching = Catching(tree)
        self._read: set[str] = set()
        self._find_what_is_read()

    def why_not(self, node: ast.AST | None, kind: str, *, elsewhere: bool = False) -> str:
        """Why a failure of that kind at a node may not end a program: `UNREACHED`, `CAUGHT`, or "" if it does.

        With `elsewhere` the failure may come out at another place of the program, so that a `try` there counts.
        """
        if node is None or self._is_dead(node):
            return UNREACHED
        for parent, child in self._tree.above(node):
            if self._catching.at(parent, child, kind):
                return CAUGHT
            if isinstance(parent, Function | ast.Lambda) and not self._is_evaluated_outside(parent, child):
                elsewhere = True
        return CAUGHT if elsewhere and self._catching.anywhere(kind) else ""

    def stretches(self) -> list[tuple[int, int]]:
        """The first and last lines of what something around it may leave early, because it catches."""
        return [
            (node.body[0].lineno, node.body[-1].end_lineno or 0)
            for node in self._tree.nodes
            if isinstance(node, ast.Try | ast.TryStar | ast.With | ast.AsyncWith)
            and self._catching.ends_early(node)
        ]

    # ------------------------------------------------------------------------------- what is reached

    def _is_dead(self, node: ast.AST) -> bool:
        """Whether nothing that runs leads to a node."""
        for parent, child in self._tree.above(node):
            if self._is_skipped(parent, child):
                return True
            if isinstance(parent, Function) and not self._is_evaluated_outside(parent, child):
                if not self._runs(parent):
                    return True
            elif isinstance(parent, ast.Lambda) and child is parent.body and not self._lambda_runs(parent):
                return True
            elif isinstance(parent, ast.GeneratorExp):
                first = parent.generators[0]
                if child is not first and not self._is_read(parent):
                    return True
            elif isinstance(parent, ast.comprehension) and child is not parent.iter:
                above = self._tree.parents[parent]
                if isinstance(above, ast.GeneratorExp) and not self._is_read(above):
                    return True
        return False

    @staticmethod
    def _is_evaluated_outside(parent: ast.AST, child: ast.AST) -> bool:
        """Whether a child of a function is evaluated where the function is made: its defaults and decorators."""
        return isinstance(child, ast.arguments) or (
            isinstance(parent, Function) and child in parent.decorator_list
        )

    def _is_skipped(self, parent: ast.AST, child: ast.AST) -> bool:
        """Whether a parent is sure never to come to a child."""
        if isinstance(parent, ast.ExceptHandler):
            return True  # it runs when something fails
        if isinstance(parent, ast.If | ast.While | ast.IfExp):
            truth = self._conditions.truth(parent.test)
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            orelse = parent.orelse if isinstance(parent.orelse, list) else [parent.orelse]
            if (truth is False and child in body) or (truth is True and child in orelse):
                return True
        elif isinstance(parent, ast.BoolOp) and child in parent.values:
            ends = isinstance(parent.op, ast.Or)
            before = parent.values[: parent.values.index(child)]
            if any(self._conditions.truth(each) is ends for each in before):
                return True
        elif isinstance(parent, ast.Assert):
            return child is parent.msg
        for _, block in ast.iter_fields(parent):
            if isinstance(block, list) and child in block and isinstance(child, ast.stmt):
                return any(self._leaves(each) for each in block[: block.index(child)])
        return False

    def _leaves(self, statement: ast.stmt) -> bool:
        """Whether nothing behind a statement runs."""
        if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return True
        if isinstance(statement, ast.Assert):
            return self._conditions.truth(statement.test) is False
        if isinstance(statement, ast.If):
            truth = self._conditions.truth(statement.test)
            body, orelse = (
                any(map(self._leaves, statement.body)),
                any(map(self._leaves, statement.orelse)),
            )
            return (body or truth is False) and (orelse or truth is True)
        if isinstance(statement, ast.While) and self._conditions.truth(statement.test) is True:
            return not any(isinstance(each, ast.Break) for each in ast.walk(statement))
        return False

    # ------------------------------------------------------------------------------- what is called

    def _find_what_is_read(self) -> None:
        """Find the names that are read by code which may run; what functions that nothing calls read is left out."""
        bodies: list[ast.AST] = [self._tree.module]
        waiting: dict[Function, None] = {}
        while bodies:
            for node in self._own(bodies.pop()):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    if not isinstance(self._tree.parents[node], ast.Expr):  # which does nothing with it
                        self._read.add(node.id)
                elif isinstance(node, ast.Attribute):
                    self._read.add(node.attr)
                elif isinstance(node, Function):
                    waiting[node] = None
            for function in [each for each in waiting if self._is_called(each)]:
                del waiting[function]
                bodies.append(function)

    def _own(self, body: ast.AST) -> Iterator[ast.AST]:
        """The nodes of a module or function that may run when it does: those of functions in it are their own."""
        waiting: list[ast.AST] = (
            list(body.body) if isinstance(body, Function) else list(ast.iter_child_nodes(body))
        )
        while waiting:
            node = waiting.pop()
            if self._is_skipped(self._tree.parents[node], node):
                continue
            yield node
            if isinstance(node, Function):
                waiting += [*node.decorator_list, node.args]
            else:
                waiting += ast.iter_child_nodes(node)

    def _is_called(self, function: Function) -> bool:
        """Whether code that runs reads the name of a function, or of the class that runs it when it is called."""
        name = function.name
        if name in _RUN_WITH_THE_CLASS:
            above = self._tree.parents[function]
            return isinstance(above, ast.ClassDef) and above.name in self._read
        return name in self._read

    def _runs(self, function: Function) -> bool:
        """Whether the body of a function is sure to begin where its callers run."""
        if not self._is_called(function):
            return False
        if _yields(function):
            return False  # it begins when it is asked for something
        return not isinstance(function, ast.AsyncFunctionDef) or self._is_started(function.name)

    def _is_started(self, name: str) -> bool:
        """Whether a coroutine function's calls go anywhere: one that is made and left does not begin."""
        for node in self._tree.nodes:
            if (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == name) or (
                isinstance(node, ast.Attribute) and node.attr == name
            ):
                call = self._tree.parents[node]
                above = self._tree.parents[call] if isinstance(call, ast.Call) and call.func is node else call
                if isinstance(above, ast.Assign):
                    kept = {each.id for each in above.targets if isinstance(each, ast.Name)}
                    if any(self._is_used_whole(each) for each in kept) or not kept:
                        return True
                elif not isinstance(above, ast.Expr):
                    return True
        return False

    def _is_used_whole(self, name: str) -> bool:
        """Whether a variable is read other than for an attribute of it."""
        return any(
            isinstance(node, ast.Name)
            and node.id == name
            and isinstance(node.ctx, ast.Load)
            and not isinstance(self._tree.parents[node], ast.Attribute)
            for node in self._tree.nodes
        )

    def _lambda_runs(self, node: ast.Lambda) -> bool:
        """Whether a lambda is sure to be called: as a key, by a `map` that is read, or by its variable's name."""
        parent = self._tree.parents[node]
        if isinstance(parent, ast.keyword) and parent.arg == "key":
            call = self._tree.parents[parent]
            return isinstance(call, ast.Call) and _called(call) in _CALL_THEIR_KEY
        if isinstance(parent, ast.Call):
            if parent.func is node:
                return True
            return _called(parent) in ("map", "filter") and self._is_read(parent)
        if isinstance(parent, ast.Assign):
            names = {each.id for each in parent.targets if isinstance(each, ast.Name)}
            return any(
                isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in names
                for each in self._tree.nodes
            )
        return False

    def _is_read(self, iterator: ast.AST) -> bool:
        """Whether an iterator is asked for what it has, where it stands."""
        parent = self._tree.parents[iterator]
        if isinstance(parent, ast.Starred | ast.For | ast.AsyncFor | ast.comprehension):
            return True
        if not isinstance(parent, ast.Call) or parent.func is iterator:
            return False
        return _called(parent) in _READ_WHOLE or (_called(parent) in _PASS_ON and self._is_read(parent))


def _yields(function: Function) -> bool:
    """Whether a function is a generator: calling it runs nothing yet."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, Function | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False


def _called(call: ast.Call) -> str:
    """The last name of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
