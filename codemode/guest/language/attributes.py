"""Names and attributes as a program reads and writes them: what is refused, what is guarded, what is left as it is.

A private attribute gets a check that the object is the program's own, a guarded name a call of its guard.
What definitions may bind lives in `definitions`.
"""

from __future__ import annotations

import ast
from typing import Any

from codemode.guest.language import names
from codemode.guest.language.dunders import why_unreadable
from codemode.guest.language.names import DENIED, GUARDED, OWN, PLAIN, attribute_kind, is_dunder, why_denied
from codemode.guest.language.rewrites import checked_name, hook, is_bare_super, template_is_plain
from codemode.guest.language.typeof import is_type_call, named_type
from codemode.guest.language.walk import MODULE_DUNDERS, Walk

__all__ = ["Attributes"]


class Attributes(Walk):
    """The nodes that read, write or call by a name."""

    def visit_Name(self, node: ast.Name) -> Any:
        name = node.id
        if node.ctx.__class__ is ast.Load:
            if name[:2] == "__" and is_dunder(name):
                return self._dunder_read(node)
            if name == "super":
                return ast.copy_location(ast.Name(names.SUPER_HOOK, ast.Load()), node)
        else:
            self.check_name(node, name)
        return node

    def _dunder_read(self, node: ast.Name) -> ast.expr:
        name = node.id
        if name == "__name__":
            return ast.copy_location(ast.Constant(self._home.name if self._home else "__main__"), node)
        if name == "__debug__" or name in MODULE_DUNDERS:
            return node
        if self._scope.kind == "class" and (
            name in names.DEFINABLE or name in ("__qualname__", "__module__")
        ):
            return node
        self.error(node, why_unreadable(name))
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        node.value = self.visit(node.value)
        scope = self._scope
        while self._scope.kind == "comprehension" and self._scope.parent is not None:
            self._scope = self._scope.parent
        self.visit(node.target)
        self._scope = scope
        return node

    def visit_Global(self, node: ast.Global) -> Any:
        for name in node.names:
            self.check_name(node, name)
            self.global_names.add(name)
        # At the top level it says nothing, and the wrapper declares its names at its own beginning.
        return ast.copy_location(ast.Pass(), node) if self._scope.kind == "module" else node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        for name in node.names:
            self.check_name(node, name)
        return node

    # In a class body names are looked up in other ways, which `realtypes` does not follow.

    def visit_Compare(self, node: ast.Compare) -> Any:
        self._contents(node)
        if is_type_call(node.left) and self._scope.kind != "class":
            self._type_uses.append(node)
        return node

    # --------------------------------------------------------------------------------- attributes

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        name = node.attr
        kind = attribute_kind(name)
        stored = node.ctx.__class__ is not ast.Load
        if kind == PLAIN:
            value = node.value
            if is_bare_super(value):
                self._by_super(node)
            else:
                made = self.visit(value)
                if made is not value:
                    node.value = made
            if stored:
                if name[0] == "_" and is_dunder(name) and name not in names.STORABLE:
                    self.error(node, f"`.{name}` cannot be set on an object; define it in the class body")
                elif name == "split":
                    self._split_stores.append(node)
            elif name == "get_type_hints":
                self._reads_annotations = True
            elif name == "__name__" and is_type_call(node.value):
                return self._named_type(node)
            return node
        if kind == DENIED:
            self.error(node, f"`.{name}` is not available: {why_denied(name)}")
            return node
        if kind == OWN:
            if isinstance(node.value, ast.Name):
                method = self._scope.method_of(node.value.id)
                if method is None:
                    node.value = checked_name(self.visit(node.value))
                else:
                    method.uses.append(node)  # decided when the whole method has been seen
            elif not is_bare_super(node.value):
                node.value = hook(names.OWN_HOOK, node.value, self.visit(node.value))
            return node
        return self._guarded(node, stored)

    def _named_type(self, node: ast.Attribute) -> ast.expr:
        made = node if self._scope.kind == "class" else named_type(node)
        if isinstance(made, ast.IfExp):
            self._type_uses.append(made)
        return made

    def _by_super(self, node: ast.Attribute) -> None:
        """Note an attribute of `super()` that may change a list or dict; it is decided at the function's end."""
        if node.attr in names.CHANGERS:
            scope = self._scope
            while scope.kind == "comprehension" and scope.parent is not None:
                scope = scope.parent
            scope.changes.append(node)

    def _guarded(self, node: ast.Attribute, stored: bool) -> Any:
        name = node.attr
        bare_super = is_bare_super(node.value)
        constant = node.value.value if isinstance(node.value, ast.Constant) else None
        if bare_super:
            self._by_super(node)
        else:
            node.value = self.visit(node.value)
        if stored:
            if name in names.METHODS or name in ("__class__", "__dict__"):
                self.error(
                    node, f"`.{name}` cannot be set or deleted on an object; define it in the class body"
                )
            return node
        if bare_super and name in names.SUPER_PLAIN:
            return node
        if name in names.FORMATTERS:
            if type(constant) is str and template_is_plain(constant):
                return node
            if name == "format":
                return hook(names.FORMAT_HOOK, node, node.value)
        return hook(names.READ_HOOK, node, node.value, name)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        target = node.target
        if isinstance(target, ast.Attribute) and attribute_kind(target.attr) == GUARDED:
            self.error(node, f"`.{target.attr}` cannot be changed in place; assign a new value")
            return node
        node.target = self.visit(target)
        node.value = self.visit(node.value)
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        value = node.value
        if isinstance(value, ast.Attribute) and value.attr == "__class__":
            self.error(value, "write type(x).__name__ in an f-string, not x.__class__")
        return self._contents(node)

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
        if is_bare_super(node):  # handed on; its attributes are read elsewhere
            return hook(names.SUPER_HOOK, node, node)
        made = self.visit(function)
        if made is not function:
            node.func = made
        arguments = node.args
        for index, argument in enumerate(arguments):
            made = self.visit(argument)
            if made is not argument:
                arguments[index] = made
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        if is_type_call(node):
            self._type_calls.append(node.func)  # type: ignore[arg-type]
        return node
