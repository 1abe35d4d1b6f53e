"""The shipped language, unchanged, and two things that let a payload be watched: the name `echo`, and `result` read.

It stands in for `codemode.guest.program`, which it loads and uses. A payload leaves its outcome in the variable
`result`; a program here returns it. Not a character of the source is changed for that: the compiler is told that
`result` and `echo` (and what is in `GIVEN`) are names "given" to the program, which makes them globals of the run
instead of locals of the program's function, and when a program ends without a result of its own the global is read.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

_NAMED = ("echo", "result")

GIVEN: dict[str, Any] = {}
"""More names and their objects, set by whoever loads this."""


def _load() -> Any:
    path = f"{sys.modules['codemode'].__path__[0]}/guest/program.py"
    spec = importlib.util.spec_from_file_location("codemode.guest.program_itself", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_shipped: Any = None


def prepare(*packages: object) -> None:
    global _shipped
    _shipped = program = _load()
    compile_program, make_tools, done = program.compile_program, program.Tools, program._done

    def compile_observed(source: str, *, given: Any = (), **options: Any) -> Any:
        return compile_program(source, given=(*given, *_NAMED, *GIVEN), **options)

    def tools_and_echo(tools: Any, call: Any) -> Any:
        made = make_tools(tools, call)
        program.run.current().globals.update(GIVEN)
        if "echo" in made:
            program.run.current().globals["echo"] = made["echo"]
        return made

    def done_with_result(this: Any, outcome: Any) -> Any:
        if outcome is None or (len(outcome) == 2 and outcome[0] is None):
            outcome = (this.globals["result"],) if "result" in this.globals else None
        return done(this, outcome)

    program.compile_program = compile_observed
    program.Tools = tools_and_echo
    program._done = done_with_result
    program.prepare(*packages)


def warm_up() -> None:
    _shipped.warm_up()


def serve(fd: int) -> None:
    _shipped.serve(fd)
