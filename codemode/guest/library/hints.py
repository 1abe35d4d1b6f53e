"""Annotations as values: what `typing.get_type_hints` gives, without evaluating text as code.

An annotation that is a string may name, subscript and unite; it may not call or compute. Names are
looked up in the program's globals, its builtins and the module typing.
"""

from __future__ import annotations

import ast
import inspect
import operator
import typing
from functools import reduce
from typing import Any

from codemode.guest.language import guards, ownership
from codemode.guest.running import run

__all__ = ["get_type_hints", "resolve"]


def get_type_hints(
    obj: Any, globalns: Any = None, localns: Any = None, include_extras: bool = False
) -> dict[str, Any]:
    """Return the annotations of a function or class of the program, bases included."""
    found: dict[str, Any] = {}
    if isinstance(obj, type):
        for base in reversed(type.__dict__["__mro__"].__get__(obj)):
            if ownership.is_own_class(base):
                found.update(inspect.get_annotations(base))
    else:
        found.update(getattr(obj, "__annotations__", {}))
    hints = {name: resolve(hint) for name, hint in found.items()}
    return hints if include_extras else {name: _without_extras(hint) for name, hint in hints.items()}


def resolve(annotation: Any) -> Any:
    """Return what an annotation means; a string is read, anything else is that already."""
    if annotation is None:
        return type(None)
    if type(annotation) is not str:
        return annotation
    try:
        return _value(ast.parse(annotation.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NameError(f"the annotation {annotation[:80]!r} cannot be read") from None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return (
            type(None)
            if node.value is None
            else resolve(node.value)
            if type(node.value) is str
            else node.value
        )
    if isinstance(node, ast.Name):
        return _lookup(node.id)
    if isinstance(node, ast.Attribute):
        return guards.get(_value(node.value), node.attr)
    if isinstance(node, ast.Subscript):
        return operator.getitem(_value(node.value), _value(node.slice))
    if isinstance(node, ast.Tuple):
        return tuple(_value(item) for item in node.elts)
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return reduce(operator.or_, (_value(node.left), _value(node.right)))
    raise ValueError("not a type")


def _lookup(name: str) -> Any:
    table = run.current().globals
    if name.isidentifier() and not name.startswith("__"):
        if name in table:
            return table[name]
        builtins = table.get("__builtins__", {})
        if name in builtins:
            return builtins[name]
    raise NameError(f"name {name!r} is not defined")


def _without_extras(hint: Any) -> Any:
    return hint.__origin__ if typing.get_origin(hint) is typing.Annotated else hint
