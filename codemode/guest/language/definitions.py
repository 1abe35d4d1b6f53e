"""What definitions bind: assignments, functions and their parameters, classes, type parameters.

Which private attributes a method may use without a check is decided when the whole method has been seen.
"""

from __future__ import annotations

import ast
from typing import Any

from codemode.guest.language import names
from codemode.guest.language.dunders import problem_in_class
from codemode.guest.language.names import is_dunder
from codemode.guest.language.rewrites import after_docstring, checked_name, hook, receiver_check
from codemode.guest.language.scopes import Scope, parameters, receiver_of
from codemode.guest.language.walk import Walk

__all__ = ["Definitions"]

_TAKE_A_CLASS = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})


class Definitions(Walk):
    """The nodes that define something."""

    def visit_Assign(self, node: ast.Assign) -> Any:
        node.value = self.visit(node.value)
        in_class = self._scope.kind == "class"
        for index, target in enumerate(node.targets):
            if in_class and isinstance(target, ast.Name) and is_dunder(target.id):
                self._bind_in_class(target, node.value)
            else:
                node.targets[index] = self.visit(target)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        self.annotates_variables = self.annotates_variables or self._scope.kind == "module"
        node.annotation = self.visit(node.annotation)
        if node.value is not None:
            node.value = self.visit(node.value)
        if self._scope.kind == "class" and isinstance(node.target, ast.Name) and is_dunder(node.target.id):
            self._bind_in_class(node.target, node.value)
        else:
            node.target = self.visit(node.target)
        return node

    def _bind_in_class(self, target: ast.Name, value: ast.expr | None) -> None:
        problem = problem_in_class(target.id, value)
        if problem is not None:
            self.error(target, problem)

    # ------------------------------------------------------------------------ functions and classes

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        outer = self._scope
        self.check_name(node, node.name, allow_magic_methods=outer.kind == "class")
        if outer.kind == "module":
            self.global_names.add(node.name)
        self._each(node.decorator_list)
        if node.returns is not None:
            node.returns = self.visit(node.returns)
        self._type_parameters(node)
        self._arguments_outside(node.args)
        scope = Scope("function", outer)
        self._scope = scope
        self._arguments_inside(node.args)
        if outer.kind == "class":
            scope.receiver = receiver_of(node)
        node.body = self._walk_body(node.body)
        self._scope = outer
        if scope.rebound:
            for use in scope.uses:
                use.value = checked_name(use.value)
        elif scope.uses:
            node.body.insert(after_docstring(node.body), receiver_check(node, scope.receiver, names.MARK))
        if scope.changes:
            self._check_changes(node, scope)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def _check_changes(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        """`super()` is to be that of an instance: once for the method if it is an ordinary one, else at each use."""
        if (
            scope.receiver
            and not scope.rebound
            and not node.decorator_list
            and node.name not in _TAKE_A_CLASS
        ):
            check = receiver_check(node, scope.receiver, names.INSTANCE)
            node.body.insert(after_docstring(node.body), check)
        else:
            for use in scope.changes:
                use.value = hook(names.SUPER_HOOK, use.value, use.value)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self._arguments_outside(node.args)
        outer = self._scope
        scope = Scope("function", outer)
        self._scope = scope
        self._arguments_inside(node.args)
        node.body = self.visit(node.body)
        self._scope = outer
        for use in scope.changes:
            use.value = hook(names.SUPER_HOOK, use.value, use.value)
        return node

    def _arguments_outside(self, arguments: ast.arguments) -> None:
        """Defaults and annotations are evaluated where the function is defined."""
        self._each(arguments.defaults)
        for index, default in enumerate(arguments.kw_defaults):
            if default is not None:
                arguments.kw_defaults[index] = self.visit(default)
        for argument in parameters(arguments):
            if argument.annotation is not None:
                argument.annotation = self.visit(argument.annotation)

    def _arguments_inside(self, arguments: ast.arguments) -> None:
        for argument in parameters(arguments):
            self.check_name(argument, argument.arg)

    def _type_parameters(self, node: Any) -> None:
        for parameter in getattr(node, "type_params", ()):
            self.visit(parameter)

    def visit_TypeVar(self, node: Any) -> Any:
        self.check_name(node, node.name)
        for field in ("bound", "default_value"):
            value = getattr(node, field, None)
            if value is not None:
                setattr(node, field, self.visit(value))
        return node

    visit_ParamSpec = visit_TypeVarTuple = visit_TypeVar

    def visit_TypeAlias(self, node: Any) -> Any:
        self.visit(node.name)
        self._type_parameters(node)
        node.value = self.visit(node.value)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        outer = self._scope
        self.check_name(node, node.name)
        if outer.kind == "module":
            self.global_names.add(node.name)
        self._each(node.decorator_list)
        self._type_parameters(node)
        self._each(node.bases)
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        self._scope = Scope("class", outer)
        node.body = self._walk_body(node.body)
        self._scope = outer
        return node
