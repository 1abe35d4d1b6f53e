"""The few pieces of syntax that the policy puts into a program, and what it needs to recognise for that.

Each new node takes the place in the source of the one that it stands for. Nothing here decides whether
something is allowed.
"""

from __future__ import annotations

import ast
from string import Formatter

from codemode.guest.language import names
from codemode.guest.language.names import PLAIN, attribute_kind

__all__ = ["after_docstring", "checked_name", "hook", "is_bare_super", "receiver_check", "template_is_plain"]


def hook(hook: str, place: ast.expr, value: ast.expr, name: str | None = None) -> ast.Call:
    """A call of one of the engine's guards, standing where the source has `place`."""
    arguments: list[ast.expr] = [value]
    if name is not None:
        arguments.append(ast.copy_location(ast.Constant(name), place))
    function = ast.copy_location(ast.Name(hook, ast.Load()), place)
    return ast.copy_location(ast.Call(function, arguments, []), place)


def checked_name(name: ast.expr) -> ast.expr:
    """`(name.<mark> and name)`: the same object, or an AttributeError. Much cheaper than a call."""
    if not isinstance(name, ast.Name):
        return name
    mark = ast.copy_location(ast.Attribute(name, names.MARK, ast.Load()), name)
    again = ast.copy_location(ast.Name(name.id, ast.Load()), name)
    return ast.copy_location(ast.BoolOp(ast.And(), [mark, again]), name)


def receiver_check(function: ast.stmt, receiver: str, mark: str) -> ast.stmt:
    """`receiver.<mark>`: an AttributeError unless the program made the receiver's class, or what else the mark says."""
    place = {
        "lineno": function.lineno,
        "col_offset": function.col_offset,
        "end_lineno": function.lineno,
        "end_col_offset": function.col_offset,
    }
    name = ast.Name(receiver, ast.Load(), **place)
    return ast.Expr(ast.Attribute(name, mark, ast.Load(), **place), **place)


def after_docstring(body: list[ast.stmt]) -> int:
    first = body[0]
    return int(
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and type(first.value.value) is str
    )


def is_bare_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "super"
        and not node.args
        and not node.keywords
    )


def template_is_plain(template: str, depth: int = 2) -> bool:
    """Whether `str.format` may fill this template: no field walks to an attribute that is not plain.

    A malformed template is plain too, for `str.format` refuses it by itself.
    """
    if "." not in template:
        return True
    try:
        for _, field, spec, _ in Formatter().parse(template):
            if field and "." in field:
                # Steps are `.name` and `[key]`; a key may hold dots that are none, which only errs to the safe side.
                for step in field.split(".")[1:]:
                    if attribute_kind(step.partition("[")[0].strip()) != PLAIN:
                        return False
            if spec and depth and not template_is_plain(spec, depth - 1):
                return False
    except ValueError:
        return True
    return True
