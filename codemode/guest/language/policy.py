"""What a program may say: one walk over its syntax tree that refuses, rewrites, and notes its names.

Every identifier of the tree passes `check_name` or `names.attribute_kind`; what is left needs no guard
and stays the bytecode that CPython makes. Rewritten are only private attributes (a check that the object
is the program's own), the few guarded names, star imports, and the `return` of the top level. The walk
itself is `walk`, names and attributes are `attributes`, what is defined `definitions`; here are the other
nodes and what is concluded from all of them. Nothing here runs or compiles anything.
"""

from __future__ import annotations

import ast
from typing import Any

from codemode.guest.language import names
from codemode.guest.language.attributes import Attributes
from codemode.guest.language.definitions import Definitions
from codemode.guest.language.dunders import is_pattern_name
from codemode.guest.language.names import OWN, PLAIN, attribute_kind
from codemode.guest.language.scopes import Scope
from codemode.guest.language.typeof import use_real_type
from codemode.guest.language.walk import Refusal

__all__ = ["MAX_NESTED_COMPREHENSIONS", "Policy", "Refusal"]

MAX_NESTED_COMPREHENSIONS = 16
"""CPython 3.12 and 3.13 crash while compiling some 90 of them, one inside the other."""


class Policy(Attributes, Definitions):
    """Walks one tree. Afterwards `refusals` says what is wrong, and the other attributes what was seen."""

    def check(self, module: ast.Module) -> None:
        """Walk and rewrite the whole program."""
        module.body = self._walk_body(module.body)
        # A name that the engine gives or Python has built in can be read before it is bound, and a class
        # body looks names up in the globals but not in a function around it.
        self.global_names |= {name for name in self._bound if name in self._given}
        self.global_names |= self._bound & self._bound_in_classes
        # Where comprehensions are inlined, CPython loses a variable from outside that a function hands on to
        # a function inside it and that a comprehension there binds as well.
        self.global_names |= self._bound & self._bound_in_comprehensions
        if self.future_annotations or self._reads_annotations:
            self.global_names |= self._bound  # annotations given as text are looked up in the globals
        if "type" not in self._bound_types:
            for function in self._type_calls:
                function.id = names.TYPE_HOOK  # the same, without going through a class that is called
            for use in self._type_uses:
                use_real_type(use, self._bound_types)
        if self._except_star:
            for node in self._split_stores:
                self.error(
                    node,
                    "an attribute called `split` cannot be set in a program that uses `except*`; rename it",
                )
        self.refusals.sort()

    # ---------------------------------------------------------------------------------- statements

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
        if node.level:
            self._resolve(node)
        module = node.module or ""
        if node.level:
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
            kind = attribute_kind(alias.name)
            neighbour = self._home is not None and self._home.holds(module) and kind in (PLAIN, OWN)
            if not neighbour and (kind != PLAIN or alias.name[0] == "_"):
                self.error(node, f"`{alias.name}` of `{module}` is private; use a public name")
            self.check_name(node, alias.asname or alias.name)
        return node

    def _resolve(self, node: ast.ImportFrom) -> None:
        """Make a relative import absolute."""
        if self._home is None:
            self.error(node, "relative imports have nothing to refer to here; a program is one piece of text")
            return
        found = self._home.absolute(node.module or "", node.level)
        if found is None:
            self.error(node, f"this relative import leads out of the package {self._home.root}")
        else:
            node.module, node.level = found, 0

    def _check_module(self, node: ast.Import | ast.ImportFrom, module: str) -> None:
        if self._home is not None and self._home.holds(module):
            return
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
