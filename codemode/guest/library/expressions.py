"""`eval` and `ast.literal_eval` for what they are harmless for: computing with literals and names.

An expression may hold literals, containers, operators, comparisons, conditions, subscripts and names; no
attribute, no call, nothing that binds. So it can reach only what its names mean.
"""

from __future__ import annotations

import ast
from typing import Any

from codemode.guest.running import run

__all__ = ["evaluate", "literal_eval"]

_MAX_LENGTH = 100_000  # characters
_ALLOWED = (
    *(ast.Expression, ast.Constant, ast.Name, ast.Load, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Subscript, ast.Slice),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)
_CONSTANTS: dict[str, Any] = {"True": True, "False": False, "None": None}


def evaluate(source: Any, globals: Any = None, locals: Any = None, /) -> Any:
    """`eval`, for expressions of literals, names and operators."""
    if type(source) is not str:
        raise TypeError("eval() arg 1 must be a string")
    if len(source) > _MAX_LENGTH:
        raise ValueError(f"eval() takes at most {_MAX_LENGTH:,} characters here")
    tree = ast.parse(source.strip(), "<text>", "eval")
    names: dict[str, Any] = {}
    given = [space for space in (locals, globals) if type(space) is dict] or [run.current().globals]
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise RuntimeError(  # noqa: TRY004  (no matter of types)
                "eval() is not available here for calls, attributes and statements; it computes with literals, "
                "names and operators. Write the code itself, or choose a function from a dict"
            )
        if isinstance(node, ast.Name):
            names[node.id] = _look_up(node.id, given)
    return eval(compile(tree, "<text>", "eval", dont_inherit=True), {"__builtins__": {}}, names)


def _look_up(name: str, spaces: list[dict[str, Any]]) -> Any:
    if not name.startswith("__"):
        for space in spaces:
            if name in space:
                return space[name]
    raise NameError(
        f"name {name!r} is not defined; eval() sees global names and those of the dicts given to it"
    )


def literal_eval(source: Any) -> Any:
    """`ast.literal_eval` of a string."""
    if type(source) is not str:
        raise ValueError("literal_eval() takes a string here")
    return ast.literal_eval(source)


evaluate.__name__ = evaluate.__qualname__ = "eval"
