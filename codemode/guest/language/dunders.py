"""What a program may do with names of the form `__x__`: read them, bind them, and what is said if not.

Rules about single names; the walk that applies them is the policy's.
"""

from __future__ import annotations

import ast

from codemode.guest.language import names
from codemode.guest.language.names import PLAIN, attribute_kind, is_dunder, why_denied

__all__ = ["is_pattern_name", "problem_in_class", "why_unbindable", "why_unreadable"]


def problem_in_class(name: str, value: ast.expr | None) -> str | None:
    """Return what is wrong with binding `name`, a name of the form `__x__`, to `value` in a class body, or None."""
    if name == "__match_args__":
        public = isinstance(value, ast.Tuple | ast.List) and all(
            isinstance(item, ast.Constant) and type(item.value) is str and is_pattern_name(item.value)
            for item in value.elts
        )
        if not public:
            return "`__match_args__` must be a tuple of public attribute names, written out"
    elif name == "__slots__":
        hidden = [
            item.value
            for item in (ast.walk(value) if value is not None else ())
            if isinstance(item, ast.Constant) and type(item.value) is str and is_dunder(item.value)
        ]
        if set(hidden) - {"__dict__", "__weakref__"}:
            return "`__slots__` may name no attributes of the form `__x__`"
    elif name in names.ASSIGNABLE_BY_REFERENCE:
        if not isinstance(value, ast.Name | ast.Attribute | ast.Call):
            return f"`{name}` must be defined with `def`"
    elif name not in names.ASSIGNABLE_IN_CLASS:
        return f"`{name}` cannot be bound: {why_unbindable(name, 'class')}"
    return None


def is_pattern_name(name: str) -> bool:
    """Whether a class pattern, which reads attributes unguarded, may name this one."""
    return attribute_kind(name) == PLAIN and name[:1] != "_"


def why_unbindable(name: str, scope: str) -> str:
    if scope == "class":
        if name == "__del__":
            return "objects are not told when they go; use a context manager (__enter__, __exit__)"
        if name == "__await__":
            return "write an async method and await that"
        if name in ("__instancecheck__", "__subclasscheck__", "__subclasshook__"):
            return "isinstance cannot be redefined; use an abstract base class and its register()"
        if name.startswith(("__reduce", "__getstate", "__setstate", "__getnewargs")):
            return "pickling is not available; define __copy__ or __deepcopy__"
        if name in names.DEFINABLE:
            return "define it with `def`"
        return "it has no meaning for a class here; use a name without the underscores"
    return "such names belong to Python; use one without the underscores"


def why_unreadable(name: str) -> str:
    """Return what is said when such a name is read as a variable."""
    if name == "__file__":
        return "`__file__`: a program here is no file; name the paths you mean"
    if name == "__class__":
        return "`__class__` is not available; write type(self), or the class's name"
    if name == "__import__":
        return "`__import__` is not available; write `import name`"
    return f"`{name}` is not available: {why_denied(name)}"
