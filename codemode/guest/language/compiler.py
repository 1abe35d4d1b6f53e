"""From a program's text to a function that runs it.

The text is parsed as it stands, so that lines, columns and strings are its own; the policy walks the
tree; its statements become the body of one function, which makes `await` and `return` work at the top
level and gives variables the speed of locals. What differs between a function's body and a module is
made up for here: names that are reached as globals are declared so, and the names in code objects lose
the wrapper's.

Nothing here runs a program or knows what is in its globals.
"""

from __future__ import annotations
import __future__

import ast
import gc
import sys
import warnings
from collections.abc import Callable, Container, Sequence
from types import CodeType
from typing import Any, NamedTuple

from codemode.guest.language.bytecode import UnguardedCode, check_code
from codemode.guest.language.home import Home
from codemode.guest.language.policy import Policy, Refusal

__all__ = ["PROGRAM", "Compiled", "Refused", "Unparsable", "compile_module", "compile_program"]

PROGRAM = "<program>"
"""The file name of compiled programs, by which their frames are told from all others, and the wrapper's name."""

_WRAPPER_PREFIX = f"{PROGRAM}.<locals>."
_NO_WARNINGS = ("ignore", None, Warning, None, 0)
_POLICY_DEPTH = 15_000  # Python frames that the policy may use; they take no room on the C stack


class Unparsable(Exception):
    """The text is not Python. `line` and `column` count from 1; 0 where there is none."""

    def __init__(self, kind: str, message: str, line: int = 0, column: int = 0, end_column: int = 0) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.line = line
        self.column = column
        self.end_column = end_column


class Refused(Exception):
    """The text is Python that programs here may not use."""

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        super().__init__(f"{len(refusals)} refused")
        self.refusals = refusals


class Compiled(NamedTuple):
    """A program's code: the body of a function without parameters, a coroutine function if `uses_await`.

    It returns None for no result, `(value,)` for a `return`, `(value, None)` for a last expression.
    """

    code: CodeType
    uses_await: bool


def compile_program(
    source: str,
    *,
    given: Container[str] = (),
    exports: Callable[[str], Sequence[str] | None] = lambda module: None,
) -> Compiled:
    """Parse, check and compile a program.

    `given` are the names that are there before it starts; `exports` tells the names of a module for
    `from module import *`. Raises `Unparsable` or `Refused`.
    """
    policy = Policy(source, exports, given)
    with _Undisturbed():
        tree = _checked(source, policy)
        outer = _compile(_wrap(tree, policy), PROGRAM, policy.future_annotations)
    (code,) = (constant for constant in outer.co_consts if type(constant) is CodeType)
    code = _without_wrapper_name(code)
    _look_again(code)
    return Compiled(code, policy.uses_await)


def compile_module(
    source: str,
    *,
    home: Home,
    filename: str,
    given: Container[str] = (),
    exports: Callable[[str], Sequence[str] | None] = lambda module: None,
) -> CodeType:
    """Parse, check and compile a module of a package under the same rules; return its code, to be executed.

    Raises `Unparsable` or `Refused`.
    """
    policy = Policy(source, exports, given, home)
    with _Undisturbed():
        tree = _checked(source, policy)
        code = _compile(tree, filename, policy.future_annotations)
    _look_again(code, imports_private=True)
    return code


class _Undisturbed:
    """Nothing is garbage until compiling is done, and a SyntaxWarning is no concern of the run."""

    __slots__ = ("_collecting",)

    def __enter__(self) -> None:
        self._collecting = gc.isenabled()
        gc.disable()
        filters: list[Any] = warnings.filters  # type: ignore[assignment]
        filters.insert(0, _NO_WARNINGS)

    def __exit__(self, *_: object) -> None:
        filters: list[Any] = warnings.filters  # type: ignore[assignment]
        filters.remove(_NO_WARNINGS)
        if self._collecting:
            gc.enable()


def _checked(source: str, policy: Policy) -> ast.Module:
    tree = _parse(source)
    _walk(policy, tree)
    if policy.refusals:
        raise Refused(policy.refusals)
    return tree


def _look_again(code: CodeType, *, imports_private: bool = False) -> None:
    try:
        check_code(code, imports_private=imports_private)
    except UnguardedCode as finding:
        text = f"the name `{finding}` cannot be used here in this way; use a public attribute or function"
        raise Refused([Refusal(0, 0, text)]) from None


def _parse(source: str) -> ast.Module:
    try:
        return ast.parse(source, PROGRAM)
    except SyntaxError as error:
        raise _unparsable(error) from None
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        raise Unparsable(
            "SyntaxError", "the text holds a lone surrogate, which is no character", line
        ) from None
    except ValueError as error:
        raise Unparsable("SyntaxError", str(error)) from None
    except (MemoryError, RecursionError):
        raise _too_deep() from None


def _walk(policy: Policy, tree: ast.Module) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(_POLICY_DEPTH)
    try:
        policy.check(tree)
    except RecursionError:
        raise _too_deep() from None
    finally:
        sys.setrecursionlimit(limit)


def _compile(module: ast.Module, filename: str, future_annotations: bool) -> CodeType:
    flags = __future__.annotations.compiler_flag if future_annotations else 0
    try:
        code: CodeType = compile(module, filename, "exec", flags=flags, dont_inherit=True)
    except SyntaxError as error:
        raise _unparsable(error) from None
    except (MemoryError, RecursionError):
        raise _too_deep() from None
    except (ValueError, OverflowError, SystemError) as error:
        raise Unparsable("SyntaxError", str(error)) from None
    return code


def _wrap(tree: ast.Module, policy: Policy) -> ast.Module:
    body = tree.body
    shared = policy.global_names
    if body and isinstance(body[-1], ast.Expr):
        last = body[-1]
        # A tuple of two: the value of a last expression, which counts unless it is None.
        nothing = ast.copy_location(ast.Constant(None), last)
        value = ast.copy_location(ast.Tuple([last.value, nothing], ast.Load()), last)
        body[-1] = ast.copy_location(ast.Return(value), last)
    if shared and policy.annotates_variables:
        _Plain(shared).visit_block(body)
    if shared:
        body.insert(0, ast.Global(sorted(shared), lineno=1, col_offset=0, end_lineno=1, end_col_offset=0))
    kind = "async def" if policy.uses_await else "def"
    wrapper = ast.parse(f"{kind} wrapper(): pass")
    function = wrapper.body[0]
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    function.name = PROGRAM
    function.body = body or function.body
    return wrapper


class _Plain(ast.NodeTransformer):
    """Turns annotated assignments to global names into plain ones: Python has no others."""

    def __init__(self, shared: set[str]) -> None:
        self.shared = shared

    def visit_block(self, body: list[ast.stmt]) -> None:
        for index, statement in enumerate(body):
            body[index] = self.visit(statement)

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.AnnAssign):
            return self.visit_AnnAssign(node)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if type(block) is list and not isinstance(
                node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            ):
                self.visit_block(block)
        for field in ("handlers", "cases"):
            for part in getattr(node, field, ()):
                self.visit_block(part.body)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if not isinstance(node.target, ast.Name) or node.target.id not in self.shared:
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)


def _without_wrapper_name(code: CodeType) -> CodeType:
    """Take the wrapper out of the qualified names of lambdas and nested functions."""
    constants = list(code.co_consts)
    changed = False
    for index, constant in enumerate(constants):
        if type(constant) is CodeType and constant.co_qualname.startswith(_WRAPPER_PREFIX):
            inner = _without_wrapper_name(constant)
            constants[index] = inner.replace(co_qualname=inner.co_qualname.removeprefix(_WRAPPER_PREFIX))
            changed = True
    return code.replace(co_consts=tuple(constants)) if changed else code


def _unparsable(error: SyntaxError) -> Unparsable:
    line = error.lineno or 0
    column = error.offset or 0
    end = error.end_offset or 0 if error.end_lineno == error.lineno else 0
    return Unparsable(type(error).__name__, str(error.msg), line, column, end)


def _too_deep() -> Unparsable:
    return Unparsable(
        "SyntaxError", "the program is nested too deeply, or too large, to be compiled; split it up"
    )
