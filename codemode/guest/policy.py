"""What a program may say: one walk over its syntax tree that refuses, rewrites, and notes its names.

Built on RestrictedPython's transformer, of which it keeps the rule that matters most: a kind of node
that nobody has reviewed is refused, so that new syntax of a new Python is closed until it is opened
here. Every identifier of the tree passes `check_name` or `names.attribute_kind`; what is left needs no
guard and stays the bytecode that CPython makes.

Rewritten are only private attributes (a check that the object is the program's own), the few guarded
names, star imports, and the `return` of the top level. Nothing here runs or compiles anything.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from RestrictedPython.transformer import RestrictingNodeTransformer

from codemode.guest import names
from codemode.guest.dunders import is_pattern_name, problem_in_class, why_unbindable, why_unreadable
from codemode.guest.names import DENIED, GUARDED, OWN, PLAIN, attribute_kind, is_dunder, is_sunder, why_denied
from codemode.guest.rewrites import (
    after_docstring,
    checked_name,
    hook,
    is_bare_super,
    mark_check,
    template_is_plain,
)
from codemode.guest.scopes import Scope, parameters, receiver_of

__all__ = ["MAX_NESTED_COMPREHENSIONS", "Policy", "Refusal"]

MAX_NESTED_COMPREHENSIONS = 16
"""CPython 3.12 and 3.13 crash while compiling some 90 of them, one inside the other."""

_INLINES_COMPREHENSIONS = sys.version_info >= (3, 12)

_MODULE_DUNDERS = frozenset(
    {"__all__", "__author__", "__copyright__", "__doc__", "__license__", "__version__"}
)

# Reviewed nodes that only carry others.
_CARRIERS = """
    Module Expr Delete If While With Raise Assert Pass Break Continue withitem Try Match match_case MatchValue
    MatchSingleton MatchSequence MatchOr BoolOp BinOp UnaryOp Dict Set IfExp Compare Call FormattedValue JoinedStr
    Constant Subscript Starred List Tuple Slice For keyword
    """.split()

_SIMPLE = frozenset({"ctx", "op", "ops"})  # fields of nodes that carry nothing


class Refusal(NamedTuple):
    """One thing that a program may not say: where it stands, and what to write instead."""

    line: int
    column: int
    text: str


class Policy(RestrictingNodeTransformer):
    """Walks one tree. Afterwards `refusals` says what is wrong, and the other attributes what was seen."""

    def __init__(
        self, source: str, exports: Callable[[str], Sequence[str] | None], given: Iterable[str]
    ) -> None:
        super().__init__()
        self._source = source
        self.refusals: list[Refusal] = []
        self.uses_await = False
        self.future_annotations = False
        self.global_names: set[str] = set()
        self.annotates_variables = False
        self._exports = exports
        self._given = frozenset(given)
        self._bound: set[str] = set()
        self._bound_in_classes: set[str] = set()
        self._bound_in_comprehensions: set[str] = set()
        self._split_stores: list[ast.AST] = []
        self._except_star = False
        self._reads_annotations = False
        self._type_calls: list[ast.Name] = []
        self._type_is_bound = False
        self._comprehensions = 0
        self._scope = Scope("module", None)

    def check(self, module: ast.Module) -> None:
        """Walk and rewrite the whole program."""
        module.body = self._walk_body(module.body)
        # A name that the engine gives or Python has built in can be read before it is bound, and a class
        # body looks names up in the globals but not in a function around it.
        self.global_names |= self._bound & self._given
        self.global_names |= self._bound & self._bound_in_classes
        # Where comprehensions are inlined, CPython loses a variable from outside that a function hands on to
        # a function inside it and that a comprehension there binds as well.
        self.global_names |= self._bound & self._bound_in_comprehensions
        if self.future_annotations or self._reads_annotations:
            self.global_names |= self._bound  # annotations given as text are looked up in the globals
        if not self._type_is_bound:
            for function in self._type_calls:
                function.id = names.TYPE_HOOK  # the same, without going through a class that is called
        if self._except_star:
            for node in self._split_stores:
                self.error(
                    node,
                    "an attribute called `split` cannot be set in a program that uses `except*`; rename it",
                )
        self.refusals.sort()

    # ------------------------------------------------------------------------------- the machinery

    def error(self, node: ast.AST, info: str) -> None:
        line: int = getattr(node, "lineno", 0)
        column: int = getattr(node, "col_offset", 0)
        self.refusals.append(Refusal(line, column, info))

    def not_allowed(self, node: ast.AST) -> None:
        self.error(node, f"`{type(node).__name__}` is syntax that programs cannot use here")

    def visit(self, node: ast.AST) -> Any:  # Any: a handler may return another node
        # The order is that of frequency: most nodes of a program are names and constants.
        kind = node.__class__
        if kind is ast.Name:
            if node.ctx.__class__ is ast.Load and node.id[:2] != "__":  # type: ignore[attr-defined]
                return node
            return self.visit_Name(node)  # type: ignore[arg-type]
        if kind is ast.Constant:
            return node
        handler = _handlers.get(kind)
        if handler is not None:
            return handler(self, node)
        fields = _fields.get(kind)
        if fields is None:
            self.not_allowed(node)
            return node
        for field in fields:
            value = getattr(node, field)
            if value.__class__ is list:
                for index, item in enumerate(value):
                    if item is not None:
                        made = self.visit(item)
                        if made is not item:
                            value[index] = made
            elif value is not None:
                made = self.visit(value)
                if made is not value:
                    setattr(node, field, made)
        return node

    def _contents(self, node: ast.AST) -> Any:
        """Visit what a node carries."""
        for field in _fields[node.__class__]:
            value = getattr(node, field)
            if value.__class__ is list:
                self._each(value)
            elif value is not None:
                setattr(node, field, self.visit(value))
        return node

    def _walk_body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        for index, statement in enumerate(body):
            body[index] = self.visit(statement)
        return body

    # -------------------------------------------------------------------------------------- names

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        """Check a name that is bound, and note where it is bound."""
        if name is None:
            return
        if name[0] == "_" and name != "_":
            if is_dunder(name):
                at_module = self._scope.kind == "module" and name in _MODULE_DUNDERS
                if not at_module and not (allow_magic_methods and name in names.DEFINABLE):
                    self.error(
                        node, f"the name `{name}` cannot be bound: {why_unbindable(name, self._scope.kind)}"
                    )
            elif is_sunder(name) and not (self._scope.kind == "class" and attribute_kind(name) == PLAIN):
                self.error(node, f"names of the form `{name}` are reserved; drop one of the underscores")
        elif name == "type":
            self._type_is_bound = True
        elif name == "super":
            self.error(node, "the name `super` cannot be bound; choose another")
        self._note(name)

    def _note(self, name: str) -> None:
        scope = self._scope
        if scope.kind == "module":
            self._bound.add(name)
            return
        if scope.kind == "class":
            self._bound_in_classes.add(name)
        elif scope.kind == "comprehension" and _INLINES_COMPREHENSIONS and scope.is_inside_function():
            self._bound_in_comprehensions.add(name)
        scope.note_bound(name)

    def visit_Name(self, node: ast.Name) -> Any:
        name = node.id
        if node.ctx.__class__ is ast.Load:
            if name[:2] == "__" and is_dunder(name):
                return self._dunder_read(node)
        else:
            self.check_name(node, name)
        return node

    def _dunder_read(self, node: ast.Name) -> ast.expr:
        name = node.id
        if name == "__name__":
            return ast.copy_location(ast.Constant("__main__"), node)
        if name == "__debug__" or name in _MODULE_DUNDERS:
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

    # --------------------------------------------------------------------------------- attributes

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        name = node.attr
        kind = attribute_kind(name)
        stored = node.ctx.__class__ is not ast.Load
        if kind == PLAIN:
            value = node.value
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

    def _guarded(self, node: ast.Attribute, stored: bool) -> Any:
        name = node.attr
        bare_super = is_bare_super(node.value)
        constant = node.value.value if isinstance(node.value, ast.Constant) else None
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

    # -------------------------------------------------------------------------------- assignments

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

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
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
        if (
            isinstance(function, ast.Name)
            and function.id == "type"
            and len(arguments) == 1
            and not node.keywords
        ):
            self._type_calls.append(function)
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
            node.body.insert(after_docstring(node.body), mark_check(node, scope.receiver))
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self._arguments_outside(node.args)
        outer = self._scope
        self._scope = Scope("function", outer)
        self._arguments_inside(node.args)
        node.body = self.visit(node.body)
        self._scope = outer
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

    def _each(self, nodes: list[Any]) -> None:
        for index, node in enumerate(nodes):
            nodes[index] = self.visit(node)

    # ------------------------------------------------------------------------------ other statements

    def visit_Return(self, node: ast.Return) -> Any:
        if node.value is not None:
            node.value = self.visit(node.value)
            if self._scope.kind == "module":
                # A tuple of one: the value of a `return`, as opposed to having none.
                node.value = ast.copy_location(ast.Tuple([node.value], ast.Load()), node.value)
        return node

    def visit_Try(self, node: ast.Try) -> Any:
        node.body = self._walk_body(node.body)
        for handler in node.handlers:
            self.visit(handler)
        node.orelse = self._walk_body(node.orelse)
        node.finalbody = self._walk_body(node.finalbody)
        return node

    def visit_TryStar(self, node: Any) -> Any:
        self._except_star = True
        return self.visit_Try(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        if node.type is not None:
            node.type = self.visit(node.type)
        self.check_name(node, node.name)
        node.body = self._walk_body(node.body)
        return node

    def visit_Await(self, node: ast.Await) -> Any:
        self.uses_await = True
        node.value = self.visit(node.value)
        return node

    def visit_AsyncFor(self, node: ast.AsyncFor) -> Any:
        self.uses_await = True
        return self._contents(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> Any:
        self.uses_await = True
        return self._contents(node)

    def visit_Yield(self, node: ast.Yield | ast.YieldFrom) -> Any:
        if self._scope.kind == "module":
            self.error(node, "`yield` outside of a function; put it into a `def`, or use return or print")
        return self._contents(node)

    visit_YieldFrom = visit_Yield

    def visit_ListComp(self, node: Any) -> Any:
        self._comprehensions += 1
        if self._comprehensions == MAX_NESTED_COMPREHENSIONS + 1:
            self.error(
                node, f"more than {MAX_NESTED_COMPREHENSIONS} comprehensions inside each other; use loops"
            )
        outer = self._scope
        self._scope = Scope("comprehension", outer)
        if self._comprehensions <= MAX_NESTED_COMPREHENSIONS:
            for generator in node.generators:
                self.uses_await = self.uses_await or bool(generator.is_async)
                generator.target = self.visit(generator.target)
                generator.iter = self.visit(generator.iter)
                self._each(generator.ifs)
            for field in ("elt", "key", "value"):
                if hasattr(node, field):
                    setattr(node, field, self.visit(getattr(node, field)))
        self._scope = outer
        self._comprehensions -= 1
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    # ------------------------------------------------------------------------------------- imports

    def visit_Import(self, node: ast.Import) -> Any:
        for alias in node.names:
            self._check_module(node, alias.name)
            self.check_name(node, alias.asname or alias.name.partition(".")[0])
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        module = node.module or ""
        if node.level:
            self.error(node, "relative imports have nothing to refer to here; a program is one piece of text")
            return node
        if module == "__future__":
            return self._future(node)
        self._check_module(node, module)
        if node.names[0].name == "*":
            found = self._exports(module)
            if found:
                node.names = [ast.copy_location(ast.alias(name, None), node) for name in found]
            else:
                self.error(node, f"`from {module} import *` is not available; name what you need")
                return node
        for alias in node.names:
            self._reads_annotations = self._reads_annotations or alias.name == "get_type_hints"
            if attribute_kind(alias.name) != PLAIN or alias.name[0] == "_":
                self.error(node, f"`{alias.name}` of `{module}` is private; use a public name")
            self.check_name(node, alias.asname or alias.name)
        return node

    def _check_module(self, node: ast.Import | ast.ImportFrom, module: str) -> None:
        if any(part[:1] == "_" for part in module.split(".")):
            self.error(node, f"`{module}` is a private module; import a public one")
        # Python takes look-alike letters for the plain ones; whoever reads the program may not.
        if not self._source.isascii() and not all(part in self._written(node) for part in module.split(".")):
            self.error(node, f"the name of the module `{module}` must be written in plain letters")

    def _written(self, node: ast.stmt) -> str:
        lines = self._source.splitlines()
        return "\n".join(lines[node.lineno - 1 : node.end_lineno or node.lineno])

    def _future(self, node: ast.ImportFrom) -> Any:
        for alias in node.names:
            if alias.name == "annotations":
                self.future_annotations = True
            elif alias.name == "barry_as_FLUFL":
                self.error(node, "`barry_as_FLUFL` is not available; write != for inequality")
            if alias.asname:
                self.error(node, "a __future__ import cannot be renamed; drop the `as`")
        return ast.copy_location(ast.Pass(), node)

    # -------------------------------------------------------------------------------------- match

    def visit_MatchAs(self, node: ast.MatchAs) -> Any:
        self.check_name(node, node.name)
        if node.pattern is not None:
            node.pattern = self.visit(node.pattern)
        return node

    def visit_MatchStar(self, node: ast.MatchStar) -> Any:
        self.check_name(node, node.name)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        self._each(node.keys)
        self._each(node.patterns)
        self.check_name(node, node.rest)
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        node.cls = self.visit(node.cls)
        for name in node.kwd_attrs:
            if not is_pattern_name(name):
                self.error(node, f"a pattern cannot read `.{name}`; bind the object and test it with `if`")
        self._each(node.patterns)
        self._each(node.kwd_patterns)
        return node


# ----------------------------------------------------------------------------------------- helpers


def _child_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    return tuple(field for field in kind._fields if field not in _SIMPLE)


_NO_CHILDREN = {"Constant": (), "keyword": ("value",), "MatchSingleton": ()}
_fields: dict[type[ast.AST], tuple[str, ...]] = {
    kind: _NO_CHILDREN.get(kind.__name__, _child_fields(kind))
    for kind in (getattr(ast, name) for name in _CARRIERS)
}
_fields[ast.For] = _fields[ast.AsyncFor] = ("target", "iter", "body", "orelse")
_fields[ast.With] = _fields[ast.AsyncWith] = ("items", "body")
_fields[ast.FormattedValue] = ("value", "format_spec")
_fields[ast.Yield] = _fields[ast.YieldFrom] = ("value",)

_handlers: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    getattr(ast, name.removeprefix("visit_")): method
    for name, method in vars(Policy).items()
    if name.startswith("visit_") and hasattr(ast, name.removeprefix("visit_"))
}
