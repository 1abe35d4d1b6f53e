"""`type(x)` where a program only compares it or reads its name: Python's own `type` then, without a call of ours.

Elsewhere `type(x)` goes through `classes.class_of`, since some classes may not be held. Of a test such as
`type(x) is int` a program gets no more than the truth, and `type(x).__name__` is a text: neither hands out a class.
That the real class goes nowhere else is looked at again in `realtypes`.
"""

from __future__ import annotations

import ast
from collections.abc import Container

from codemode.guest.language import names

__all__ = ["is_type_call", "named_type", "use_real_type"]

_STRAIGHT = (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Call, ast.Load)
"""What an argument may be made of, so that its bytecode has no jumps and can be followed."""

_MOST_TYPES = 16  # CPython builds a longer display in several steps


def is_type_call(node: ast.expr) -> bool:
    """Whether this is `type(x)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "type"
        and len(node.args) == 1
        and not isinstance(node.args[0], ast.Starred)
        and not node.keywords
    )


def named_type(node: ast.Attribute) -> ast.expr:
    """Return what is to stand for `type(x).__name__`: for a variable `x` something that `use_real_type` completes."""
    call = node.value
    assert isinstance(call, ast.Call)
    if not isinstance(call.args[0], ast.Name):
        return node
    always = ast.copy_location(ast.Constant(True), node)
    other = ast.copy_location(ast.Attribute(call, node.attr, ast.Load()), node)
    node.value = _real_type(call)
    node.value.func.id = "type"  # type: ignore[attr-defined]
    return ast.copy_location(ast.IfExp(always, node, other), node)


def use_real_type(node: ast.Compare | ast.IfExp, bound: Container[str]) -> None:
    """Rewrite `type(x) is int` and its like, or what `named_type` made, in place, where the outcome stays the same.

    `bound` are the names of builtin types that the program binds somewhere. The tree has been walked already.
    """
    if isinstance(node, ast.Compare):
        _compare(node, bound)
    else:
        _name(node)


def _compare(node: ast.Compare, bound: Container[str]) -> None:
    call, operator, right = node.left, node.ops[0], node.comparators[0]
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    several = isinstance(operator, ast.In | ast.NotIn)
    if several and isinstance(right, ast.Tuple | ast.List | ast.Set):
        types = right.elts
    elif isinstance(operator, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        types = [right]
    else:
        return
    known = [
        each.id
        for each in types
        if isinstance(each, ast.Name) and each.id in names.COMPARABLE_TYPES and each.id not in bound
    ]
    # A tool's value has a class of its own, and passes for a dict or list.
    kinds = [name for name in known if name in names.KINDS_HOOKS]
    simple = len(node.ops) == 1 and 0 < len(types) <= _MOST_TYPES
    if not simple or len(known) < len(types) or not _is_straight(call.args[0]):
        return
    call.func.id = names.REAL_TYPE_HOOK
    if kinds and len(types) > 1:
        frozen = (names.FROZEN_HOOKS[name] for name in dict.fromkeys(kinds))
        types += [ast.copy_location(ast.Name(hook, ast.Load()), right) for hook in frozen]
    elif kinds:
        node.ops = [ast.In() if isinstance(operator, ast.In | ast.Is | ast.Eq) else ast.NotIn()]
        node.comparators = [ast.copy_location(ast.Name(names.KINDS_HOOKS[kinds[0]], ast.Load()), right)]


def _name(node: ast.IfExp) -> None:
    """`<real type>(x).__name__ if <real type>(x) is not <real type> else <type>(x).__name__`.

    What stands for a module is a class underneath, and `type(x)` says of it that it is a module.
    """
    body, other = node.body, node.orelse
    assert isinstance(body, ast.Attribute)
    assert isinstance(other, ast.Attribute)
    assert isinstance(other.value, ast.Call)
    body.value = _real_type(other.value)
    real = ast.copy_location(ast.Name(names.REAL_TYPE_HOOK, ast.Load()), node)
    node.test = ast.copy_location(ast.Compare(_real_type(other.value), [ast.IsNot()], [real]), node)


def _real_type(call: ast.Call) -> ast.Call:
    """`<real type>(x)` for the variable x of `call`."""
    (argument,) = call.args
    assert isinstance(argument, ast.Name)
    function = ast.copy_location(ast.Name(names.REAL_TYPE_HOOK, ast.Load()), call)
    again = ast.copy_location(ast.Name(argument.id, ast.Load()), argument)
    return ast.copy_location(ast.Call(function, [again], []), call)


def _is_straight(node: ast.AST) -> bool:
    return all(isinstance(each, _STRAIGHT) for each in ast.walk(node))
