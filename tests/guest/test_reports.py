"""What the reader of a failed program is told."""
# ruff: noqa: E501  (each program stands on one line)

from __future__ import annotations

import pytest
from running import Forge


def test_the_chain_of_lines_with_numbers_and_text(guest: Forge) -> None:
    source = "def outer(xs):\n    return inner(xs)\n\ndef inner(xs):\n    return xs[9]\n\nouter([1])\n"
    assert guest.failure(source) == (
        "Traceback (most recent call last):\n"
        "  line 7\n    outer([1])\n"
        "  line 2, in outer\n    return inner(xs)\n"
        "  line 5, in inner\n    return xs[9]\n"
        "IndexError: list index out of range"
    )


def test_no_frame_or_path_of_the_engine_is_shown(guest: Forge) -> None:
    sources = [
        "import json\njson.loads('{')",
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int\nA()",
        "import asyncio\nasync def f():\n    raise ValueError('x')\nawait asyncio.gather(f())",
        "getattr(1, 'nope')",
        "import heapq\nheapq.heappush(tools.rows(), 1)",
        "from functools import reduce\nreduce(lambda a, b: a % 0, [1, 2])",
        "tools.nope()",
        "x = lambda: 1\nx(1)",
        "import nothing",
        "class A: pass\nA()._x",
        "print(undefined)",
    ]
    for source in sources:
        message = guest.failure(source)
        for secret in (
            "codemode",
            ".py",
            "/",
            "<own>",
            "<read>",
            "<program>",
            "<private",
            "<locals>",
            "File ",
        ):
            assert secret not in message, (source, message)


def test_causes_contexts_and_notes(guest: Forge) -> None:
    source = (
        "try:\n    try:\n        1/0\n    except ZeroDivisionError as e:\n        raise KeyError('k') from e\n"
        "except KeyError as e:\n    e.add_note('while reading')\n    raise"
    )
    message = guest.failure(source)
    assert (
        message.index("ZeroDivisionError: division by zero")
        < message.index("direct cause")
        < message.index("KeyError")
    )
    assert message.endswith("KeyError: 'k'\nwhile reading")
    assert "division" not in guest.failure(
        "try:\n    1/0\nexcept ZeroDivisionError:\n    raise ValueError('v') from None"
    )


def test_groups_show_their_members(guest: Forge) -> None:
    message = guest.failure("raise ExceptionGroup('two', [ValueError('a'), TypeError('b')])")
    assert "ExceptionGroup: two (2 sub-exceptions)" in message
    assert "[1] ValueError: a" in message
    assert "[2] TypeError: b" in message


CURES = {
    "forgotten import": ("json.dumps({})", "write `import json` first"),
    "forgotten from-import": ("Counter('a')", "write `from collections import Counter` first"),
    "unknown name": ("print(df)", "runs do not share variables"),
    "open": ("open('a.txt')", "files are reached through the tools"),
    "input": ("input('?')", "pass the data in"),
    "os.environ": ("import os\nos.environ['A']", "there is no environment here"),
    "os.system": ("import os\nos.system('ls')", "use a tool that runs commands"),
    "os.listdir": ("import os\nos.listdir('.')", "use a tool that reads or writes"),
    "os.path.exists": ("import os\nos.path.exists('a')", "no files here"),
    "Path.read_text": ("from pathlib import Path\nPath('a').read_text()", "no files here"),
    "import subprocess": ("import subprocess", "use a tool that runs commands"),
    "import requests": ("import requests", "use a tool that fetches"),
    "import pandas": ("import pandas as pd", "use lists"),
    "unknown part": ("from collections import Conter", "did you mean 'Counter'"),
    "json.loads of a dict": (
        "import json\njson.loads(tools.rows()[0])",
        "use it as it is, without json.loads",
    ),
    "attribute of a dict": ("tools.rows()[0].name", "x['name']"),
    "attribute of a list": ("tools.rows().name", "this is a list"),
    "a frozen value": ("tools.rows().append(1)", "change a copy: new = list(value)"),
    "await of a value": ("x = await tools.echo(x=[1])\nawait x", "drop the `await`"),
    "exit": ("exit()", "`return value` at the top level"),
    "sys.exit": ("import sys\nsys.exit(1)", "`return value` at the top level"),
    "deep recursion": ("def f():\n    f()\nf()", "use a loop"),
    "eval": ("eval('f(1)')", "choose a function from a dict"),
    "None": ("x = None\nx.name", "something before this gave None"),
    "JavaScript names": ("x = true", "in Python it is written True"),
    "changing the library": ("import math\nmath.pi = 3", "the library cannot be changed"),
}


@pytest.mark.parametrize("name", CURES)
def test_the_cure_is_said(guest: Forge, name: str) -> None:
    source, cure = CURES[name]
    message = guest.failure(source)
    assert cure in message, message


UNUSABLE_RESULTS = {
    "a set": ("return {1, 2}", "result: set is not a JSON value; use sorted(x) or list(x)"),
    "bytes": ("return {'a': b'x'}", "result.a: bytes is not a JSON value; use x.decode() for text"),
    "a datetime": (
        "import datetime\nreturn [datetime.date(2024,1,2)]",
        "result[0]: date is not a JSON value; use x.isoformat()",
    ),
    "a class": ("int", "result: class is not a JSON value"),
    "a function": ("len", "is not a JSON value; call it"),
    "a generator": ("(x for x in [])", "result: generator is not a JSON value; use list(x)"),
    "nan": ("float('nan')", "result: nan is not a JSON number"),
    "a key": ("{1: 2}", "result: dict key of type int; JSON keys are strings"),
    "a cycle": ("a = []\na.append(a)\na", "contains itself"),
    "depth": ("a = []\nfor i in range(5000):\n    a = [a]\na", "nested more than 200 levels deep"),
    "an own object": ("class A: pass\nA()", "result: A is not a JSON value"),
    "an exception": ("ValueError('x')", "use str(x)"),
}


@pytest.mark.parametrize("name", UNUSABLE_RESULTS)
def test_a_result_that_is_no_json(guest: Forge, name: str) -> None:
    source, expected = UNUSABLE_RESULTS[name]
    assert expected in guest.failure(source, "invalid-output")


SYNTAX = {
    "stray bracket": ("x = 1\ny = (2))\n", "SyntaxError: unmatched ')' (line 2)\n    y = (2))\n           ^"),
    "tab trouble": (
        "if 1:\n  x\n y\n",
        "IndentationError: unindent does not match any outer indentation level (line 3)\n    y",
    ),
    "never closed": ("a = [1,\nb = 2\n", "(line 1)\n    a = [1,\n        ^"),
    "await in def": (
        "def f():\n    await x\n",
        "SyntaxError: 'await' outside async function (line 2)\n    await x\n    ^",
    ),
    "break outside": ("break", "SyntaxError: 'break' outside loop (line 1)\n    break\n    ^"),
    "duplicate argument": ("def f(a, a): pass", "duplicate argument 'a' in function definition (line 1)"),
    "a fence": ("```python\nprint(1)\n```", "send the Python alone, without the Markdown fence"),
    "a shell command": ("ls -la", "this is a shell command"),
    "cat": ("cat file.txt", "this is a shell command"),
    "JavaScript": ("const x = 1;", "this looks like JavaScript"),
    "a zero byte": ("x = 1\0", "null"),
}


@pytest.mark.parametrize("name", SYNTAX)
def test_a_text_that_is_no_python(guest: Forge, name: str) -> None:
    source, expected = SYNTAX[name]
    assert expected in guest.failure(source)


def test_top_level_yield_is_refused(guest: Forge) -> None:
    assert "`yield` outside of a function" in guest.failure("yield 1")


def test_everything_refused_is_said_at_once_with_its_replacement(guest: Forge) -> None:
    source = "x = ().__class__.__bases__\ndef f():\n    return f.__globals__\nclass A:\n    def __del__(self): pass\n"
    message = guest.failure(source)
    assert message.startswith("The program was not started: 3 things in it cannot be used here.")
    assert (
        "line 1: `.__bases__` is not available: the class hierarchy is not available; use isinstance"
        in message
    )
    assert "line 3: `.__globals__`" in message
    assert (
        "line 5: the name `__del__` cannot be bound: objects are not told when they go; use a context manager"
        in message
    )


def test_a_refused_program_does_not_start(guest: Forge) -> None:
    ran = guest.run("print('a')\ntools.echo(x=1)\nx.__code__")
    assert (ran.kind, ran.logs, ran.calls) == ("exception", "", [])


def test_names_read_before_they_are_bound(guest: Forge) -> None:
    message = guest.failure("print(total)\ntotal = 1")
    assert "NameError: name 'total' is not defined" in message
    message = guest.failure("def f():\n    return total\nf()\ntotal = 1")
    assert "NameError: name 'total' is not defined" in message
    assert "UnboundLocalError" in guest.failure("def f():\n    n += 1\nf()")


def test_hostile_exceptions_are_reported(guest: Forge) -> None:
    assert "its __str__ raised KeyboardInterrupt" in guest.failure(
        "class E(Exception):\n    def __str__(self):\n        raise KeyboardInterrupt\nraise E"
    )
    huge = guest.failure("raise ValueError('x' * 10_000_000)", error_bytes=2000)
    assert len(huge.encode()) <= 2000
    assert "the middle is left out" in huge
    assert huge.startswith("Traceback")
    chained = guest.failure(
        "e = None\nfor i in range(100000):\n    n = ValueError(i)\n    n.__cause__ = e\n    e = n\nraise e"
    )
    assert "earlier exceptions are not shown" in chained
    notes = guest.failure("e = ValueError('x')\nfor i in range(2000):\n    e.add_note('n' * 5000)\nraise e")
    assert "1992 more notes" in notes
    for raised in (
        "KeyboardInterrupt('k')",
        "SystemExit(3)",
        "GeneratorExit('g')",
        "asyncio.CancelledError('c')",
    ):
        assert guest.failure(f"import asyncio\nraise {raised}").count("line 2") == 1
    lone = guest.failure("raise ValueError(chr(0xd800))")
    assert "ValueError: \\ud800" in lone


def test_recursion_is_shown_in_short(guest: Forge) -> None:
    message = guest.failure("def f(n):\n    return f(n + 1)\nf(0)")
    assert "more lines" in message
    assert message.count("return f(n + 1)") < 30
    assert "RecursionError" in message


def test_lines_are_the_sources_own(guest: Forge) -> None:
    source = 's = """one\ntwo\n"""\n\n\nx = (\n    1 +\n    None\n)'
    assert "line 7" in guest.failure(source)
    assert "line 3" in guest.failure("a = 1\r\nb = 2\r\nc = None + 1\r\n")


def test_print_goes_to_the_log_at_once_and_in_order(guest: Forge) -> None:
    source = """
import sys, logging, warnings, io, contextlib, pprint
print("a", 1, sep="-", end="!\\n")
sys.stdout.write("b\\n")
print("c", file=sys.stderr, flush=True)
logging.warning("w %d", 3)
logging.getLogger("x.y").error("e")
logging.info("unseen")
warnings.warn("old")
pprint.pprint({"k": 1})
buffer = io.StringIO()
with contextlib.redirect_stdout(buffer):
    print("hidden")
print(buffer.getvalue().strip().upper(), file=sys.stdout)
print(chr(0xd800))
raise SystemExit
"""
    ran = guest.run(source)
    assert ran.logs == "a-1!\nb\nc\nw 3\ne\nline 9: UserWarning: old\n{'k': 1}\nHIDDEN\n\\ud800\n"


def test_logging_is_configured_as_documented(guest: Forge) -> None:
    source = """
import logging
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger(__name__)
log.info("n=%s", 4)
log.debug("no")
try:
    1/0
except ZeroDivisionError:
    log.exception("failed")
"""
    logs = guest.run(source).logs
    assert logs.startswith(
        "INFO __main__: n=4\nERROR __main__: failed\nTraceback (most recent call last):\n  line 8\n"
    )
    assert logs.endswith("ZeroDivisionError: division by zero\n")


def test_traceback_shows_the_programs_lines(guest: Forge) -> None:
    source = "import traceback\ndef f():\n    return 1/0\ntry:\n    f()\nexcept ZeroDivisionError as e:\n    t = traceback.format_exc()\n    u = ''.join(traceback.format_exception(e))\nreturn [t, t == u]"
    shown, same = guest.value(source)
    assert shown == (
        "Traceback (most recent call last):\n  line 5\n    f()\n  line 3, in f\n    return 1/0\n"
        "ZeroDivisionError: division by zero\n"
    )
    assert same is True


LIMITS = {
    "logs": ("for i in range(10000):\n    print('x' * 100)", "output-limit", "1,000 bytes"),
    "a caught flood": (
        "try:\n    print('y' * 5000)\nexcept BaseException:\n    pass\nreturn 1",
        "output-limit",
        "1,000 bytes",
    ),
    "a result": ("return 'x' * 5000", "output-limit", "2,000 bytes"),
    "a shared result": (
        "a = ['lol']\nfor i in range(30):\n    a = [a, a, a]\nreturn a",
        "output-limit",
        "2,000 bytes",
    ),
    "memory": ("x = 'x' * 10**11", "memory-limit", "smaller pieces"),
    "memory in lists": (
        "x = []\nwhile True:\n    x.append('y' * 1000 + str(len(x)))",
        "memory-limit",
        "generators",
    ),
    "memory in a task": ("await tools.echo(x=1)\nx = [0] * 10**10", "memory-limit", "smaller pieces"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_end_a_run_with_their_kind(guest: Forge, name: str) -> None:
    source, kind, words = LIMITS[name]
    ran = guest.run(source, log_bytes=1000, result_bytes=2000, memory=200 << 20)
    assert ran.kind == kind, ran.message
    assert words in ran.message
    if name == "logs":
        assert len(ran.logs) == 1000


def test_a_memory_error_can_be_caught(guest: Forge) -> None:
    assert (
        guest.value("try:\n    x = 'x' * 10**11\nexcept MemoryError:\n    x = 'small'\nreturn x") == "small"
    )


BOMBS = {
    "parentheses": "'(' * 100000",
    "minuses": "'x = ' + '-' * 100000 + '1'",
    "additions": "'a = 1\\nx = ' + '+'.join(['a'] * 100000)",
    "attributes": "'x = a' + '.a' * 100000",
    "comprehensions": "'x = ' + '[' * 90 + '1' + ' for i in [1]]' * 90",
    "lambdas": "'x = ' + 'lambda: ' * 50000 + '1'",
    "dicts": "'x = ' + '{1:' * 3000 + '1' + '}' * 3000",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_source_too_deep_is_a_clean_error(guest: Forge, name: str) -> None:
    ran = guest.run(eval(BOMBS[name]))
    assert ran.kind == "exception"
    assert "deep" in ran.message or "nested" in ran.message or "inside each other" in ran.message


def test_long_flat_expressions_compile(guest: Forge) -> None:
    source = "x = " + " + ".join(["1"] * 600) + "\ny = " + " + ".join(["x"] * 600) + "\nreturn y"
    assert guest.value(source) == 360000
