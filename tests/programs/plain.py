"""The other side of the comparison: a program under plain CPython, by the same contract.

Run as a script, in an interpreter of its own: reads requests, one JSON object a line, runs each in a
forked child and writes what came of it. Nothing of the package is imported here, so that nothing here can
share a mistake with it.

A program is a module whose top level may `await` and `return`: without a `return` it is executed as a
module; with one, as a function whose every variable is declared global, which means the same.
"""

import ast
import asyncio
import builtins
import io
import json
import linecache
import os
import sys
import types
import warnings
from inspect import CO_COROUTINE

FILE = "<plain>"
RESULT = "<result>"  # no source can spell it


class ToolCallError(Exception):
    def __init__(self, message="", tool_name="", code=None):
        super().__init__(message)
        self.message = message
        self.tool_name = tool_name
        self.code = code


ToolCallError.__module__ = "builtins"


class Tools:
    """Stands in for the tools that the engine's side is given; see `engine.TOOLS`."""

    def __init__(self, awaitable):
        self._awaitable = awaitable

    def _answer(self, function, *args):
        if not self._awaitable:
            return function(*args)

        async def answer():
            return function(*args)

        return asyncio.ensure_future(answer())

    def echo(self, value=None):
        return self._answer(lambda: json.loads(json.dumps(value)))

    def rows(self, count=3):
        return self._answer(lambda: [{"id": n, "name": f"row {n}", "size": n * n} for n in range(count)])

    def boom(self, message="it broke", code=None):
        def fail():
            raise ToolCallError(message, "boom", code)

        return self._answer(fail)


def _own_nodes(tree):
    """All nodes of the top level: what stands in functions and classes is not of it."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def _is_asynchronous(tree):
    return any(
        isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) or getattr(node, "is_async", False)
        for node in ast.walk(tree)
    )


class _WithoutAnnotations(ast.NodeTransformer):
    def visit_FunctionDef(self, node):
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def visit_AnnAssign(self, node):
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)


def _as_function(tree, asynchronous):
    kind = "async def" if asynchronous else "def"
    wrapper = ast.parse(f"{kind} wrapper(): pass")
    wrapper.body[0].body = _WithoutAnnotations().visit(tree).body
    (code,) = (c for c in compile(wrapper, FILE, "exec").co_consts if isinstance(c, types.CodeType))
    names = sorted({*code.co_varnames, *code.co_cellvars})
    if names:
        wrapper.body[0].body.insert(0, ast.Global(names))
        ast.fix_missing_locations(wrapper)
    (code,) = (c for c in compile(wrapper, FILE, "exec").co_consts if isinstance(c, types.CodeType))
    return code


def _run(source):
    tree = ast.parse(source, FILE)
    linecache.cache[FILE] = len(source), None, source.splitlines(keepends=True), FILE
    returns = any(isinstance(node, ast.Return) for node in _own_nodes(tree))
    asynchronous = _is_asynchronous(tree)
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    space = main.__dict__
    space["__builtins__"] = builtins
    space["tools"] = Tools(asynchronous)
    space["ToolCallError"] = ToolCallError
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        kind = ast.Return(last.value) if returns else ast.Assign([ast.Name(RESULT, ast.Store())], last.value)
        tree.body[-1] = ast.fix_missing_locations(ast.copy_location(kind, last))
    if returns:
        function = types.FunctionType(_as_function(tree, asynchronous), space)
        return asyncio.run(function()) if asynchronous else function()
    code = compile(tree, FILE, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if asynchronous else 0)
    if code.co_flags & CO_COROUTINE:
        asyncio.run(eval(code, space))
    else:
        exec(code, space)
    return space.get(RESULT)


def _failure(error, lines):
    """Type, message, notes, and the program's own lines, outermost first."""
    kind = type(error)
    name = kind.__qualname__.rpartition("<locals>.")[2]
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    places = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == FILE:
            inner = code.co_qualname.removeprefix("wrapper.<locals>.")
            places.append([trace.tb_lineno, None if inner in ("<module>", "wrapper") else inner])
        trace = trace.tb_next
    message = str(error)
    return {
        "headline": f"{name}: {message}" if message else name,
        "notes": list(getattr(error, "__notes__", [])),
        "places": [[line, inner, lines[line - 1].strip()] for line, inner in places],
    }


def answer(source):
    """Run one program in this process and return what came of it."""
    printed = io.StringIO()
    sys.stdout = sys.stderr = printed
    sys.argv = [""]
    out = {"result": None, "failure": None}
    warnings.filterwarnings("ignore", category=SyntaxWarning)
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    try:
        out["result"] = json.loads(json.dumps(_run(source), allow_nan=False))
    except BaseException as error:
        out["failure"] = _failure(error, source.split("\n"))
    out["printed"] = printed.getvalue()
    return out


def serve():
    sys.set_int_max_str_digits(0)
    for line in sys.stdin:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            stdout = sys.stdout
            digits = sys.get_int_max_str_digits()
            sys.set_int_max_str_digits(4300)
            text = answer(json.loads(line))
            sys.set_int_max_str_digits(digits)
            stdout.write(json.dumps(text) + "\n")
            stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    serve()
