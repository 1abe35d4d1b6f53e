"""The walk over a program's syntax tree: what is visited and how, what is noted, and how a name is bound.

Built on RestrictedPython's transformer, of which it keeps the rule that matters most: a kind of node
that nobody has reviewed is refused, so that new syntax of a new Python is closed until it is opened
here. What single nodes may do is decided in the classes derived from `Walk`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Container, Sequence
from typing import Any, ClassVar, NamedTuple

from RestrictedPython.transformer import RestrictingNodeTransformer

from codemode.guest.language import names
from codemode.guest.language.dunders import why_unbindable
from codemode.guest.language.home import Home
from codemode.guest.language.names import PLAIN, attribute_kind, is_dunder, is_sunder
from codemode.guest.language.scopes import Scope

__all__ = ["MODULE_DUNDERS", "Refusal", "Walk"]

_INLINES_COMPREHENSIONS = sys.version_info >= (3, 12)

MODULE_DUNDERS = frozenset(
    {"__all__", "__author__", "__copyright__", "__doc__", "__license__", "__version__"}
)
"""Names of the form `__x__` that a program may bind and read at its top level."""

# What Python itself keeps in a module's globals, or asks of them; a package may bind others (`__title__`).
_OF_A_MODULE = frozenset(
    """__annotations__ __build_class__ __builtins__ __class__ __debug__ __dict__ __dir__ __file__ __getattr__
    __import__ __loader__ __name__ __package__ __path__ __qualname__ __spec__""".split()
)

# Reviewed nodes that only carry others.
_CARRIERS = """
    Module Expr Delete If While With Raise Assert Pass Break Continue withitem Try Match match_case MatchValue
    MatchSingleton MatchSequence MatchOr BoolOp BinOp UnaryOp Dict Set IfExp Compare Call FormattedValue JoinedStr
    Constant Subscript Starred List Tuple Slice For keyword
    """.split()

_TYPES = names.COMPARABLE_TYPES | {"type"}

_SIMPLE = frozenset({"ctx", "op", "ops"})  # fields of nodes that carry nothing


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


class Refusal(NamedTuple):
    """One thing that a program may not say: where it stands, and what to write instead."""

    line: int
    column: int
    text: str


class Walk(RestrictingNodeTransformer):
    """Walks one tree. Afterwards `refusals` says what is wrong, and the other attributes what was seen."""

    _handlers: ClassVar[dict[type[ast.AST], Callable[[Any, Any], Any]]] = {}
    """The methods that visit a kind of node, of this class and those derived from it, and of no other."""

    def __init_subclass__(cls) -> None:
        found: dict[str, Callable[[Any, Any], Any]] = {}
        for base in reversed(cls.__mro__):
            if issubclass(base, Walk):
                found |= {name: method for name, method in vars(base).items() if name.startswith("visit_")}
        kinds = ((name.removeprefix("visit_"), method) for name, method in found.items())
        cls._handlers = {getattr(ast, kind): method for kind, method in kinds if hasattr(ast, kind)}

    def __init__(
        self,
        source: str,
        exports: Callable[[str], Sequence[str] | None],
        given: Container[str],
        home: Home | None = None,
    ) -> None:
        super().__init__()
        self._home = home
        self._source = source
        self.refusals: list[Refusal] = []
        self.uses_await = False
        self.future_annotations = False
        self.global_names: set[str] = set()
        self.annotates_variables = False
        self._exports = exports
        self._given = given
        self._bound: set[str] = set()
        self._bound_in_classes: set[str] = set()
        self._bound_in_comprehensions: set[str] = set()
        self._split_stores: list[ast.AST] = []
        self._except_star = False
        self._reads_annotations = False
        self._type_calls: list[ast.Name] = []
        self._type_uses: list[ast.Compare | ast.IfExp] = []
        self._bound_types: set[str] = set()
        self._comprehensions = 0
        self._scope = Scope("module", None)

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
            # `super` and names of the form `__x__` are read in other ways.
            if node.ctx.__class__ is ast.Load and node.id[:2] not in ("__", "su"):  # type: ignore[attr-defined]
                return node
            return self.visit_Name(node)  # type: ignore[arg-type]
        if kind is ast.Constant:
            return node
        handler = self._handlers.get(kind)
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

    def _each(self, nodes: list[Any]) -> None:
        for index, node in enumerate(nodes):
            nodes[index] = self.visit(node)

    # -------------------------------------------------------------------------------------- names

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        """Check a name that is bound, and note where it is bound."""
        if name is None:
            return
        if name[0] == "_" and name != "_":
            if is_dunder(name):
                at_module = self._scope.kind == "module" and (
                    name in MODULE_DUNDERS or (self._home is not None and name not in _OF_A_MODULE)
                )
                if not at_module and not (allow_magic_methods and name in names.DEFINABLE):
                    self.error(
                        node, f"the name `{name}` cannot be bound: {why_unbindable(name, self._scope.kind)}"
                    )
            elif is_sunder(name) and not (self._scope.kind == "class" and attribute_kind(name) == PLAIN):
                self.error(node, f"names of the form `{name}` are reserved; drop one of the underscores")
        elif name in _TYPES:
            self._bound_types.add(name)
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
