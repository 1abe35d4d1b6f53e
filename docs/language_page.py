"""Writes `language.md` and the tables that are shown to models and editors:

    python docs/language_page.py > docs/language.md
    python docs/language_page.py --tables > codemode/sdk/language.json

What stands in the page comes from the tables that the engine obeys; what is refused by a rule rather than
by a table is shown by programs, each with the words that the engine itself answers. A test holds the page
and the tables equal to this script's output.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from codemode.guest.language import builtins as guest_builtins
from codemode.guest.language import names
from codemode.guest.language.compiler import Refused, compile_program
from codemode.guest.library import expressions, tables

INTRODUCTION = """\
# The language of a program

A program is Python, the version that the host runs (3.11 to 3.13), and means what it means there. Its text is
the body of a function: `await` and `return` work at the top level. Otherwise it behaves as a module would:
`global` reaches the top level, `__name__` is `"__main__"`, and a class prints as `Customer`. Two things differ
from a module: annotations of variables at the top level are not evaluated, and a variable that is read there
before it is set raises `UnboundLocalError`, a kind of `NameError`.

This page says what a program may use, and what stays refused, why, and what to write instead. It is made from
the tables that the engine obeys by `docs/language_page.py`.

## Two styles

A program that uses `await` anywhere is asynchronous: `tools.name(...)` starts the call at once and gives
something to await; `asyncio.gather` overlaps calls. A program that never does is synchronous: `tools.name(...)`
gives the value. Code written for threads runs too, one call after another. A failed call raises `ToolCallError`
with `tool_name`, `message` and `code`.

## Syntax

All statements and expressions of the language: functions with every kind of parameter, lambdas, closures,
decorators, classes with keywords and generic classes, generators, comprehensions, `async` functions,
generators, loops, contexts and comprehensions, `match` in all its forms, `with`, `try` with `except*`,
assignments to every target (annotated, augmented, starred, `:=`), `del`, `global`, `nonlocal`, f-strings,
imports in every form but relative ones, type parameters and `type` aliases where the version has them.
"""

# Programs that are refused before they start: what they show, and their text.
REFUSED_SYNTAX = {
    "a relative import": "from . import x",
    "a private module": "import _thread",
    "a private part of a module": "from json import _default_encoder",
    "`yield` outside of a function": "yield 1",
    "names that are Python's own": "__builtins__ = 1",
    "names with one underscore on either side, outside of classes": "_name_ = 1",
    "binding `super`": "super = 1",
    "reading Python's own names": "__file__",
    "attributes that lead into the interpreter": "x.__globals__",
    "the class hierarchy": "x.__bases__",
    "frames and code": "x.f_locals",
    "changing what an object is": "x.__class__ = y",
    "`__class__` in an f-string": 'f"{x.__class__}"',
    "finalisers": "class A:\n    def __del__(self): pass",
    "awaitables of one's own": "class A:\n    def __await__(self): yield",
    "a redefined isinstance": "class A:\n    def __instancecheck__(cls, x): return True",
    "pickling": "class A:\n    def __reduce__(self): return 1",
    "class patterns over computed names": "class A:\n    __match_args__ = names",
    "private attributes in a pattern": "match x:\n    case A(_private=y): pass",
    "`split` as an attribute together with `except*`": "x.split = 1\ntry: pass\nexcept* ValueError: pass",
    "very deep comprehensions": "[" * 17 + "0" + " for x in y]" * 17,
    "a jest": "from __future__ import barry_as_FLUFL",
}

# What a running program meets: what, a program that meets it, a part of the message, and what to write instead.
REFUSED_AT_RUN_TIME = (
    ("`type(name, bases, dict)`", "type('A', (), {})", "write a class statement", "a class statement"),
    (
        "`metaclass=` other than `ABCMeta` and `EnumMeta`",
        "class A(metaclass=len): pass",
        "use __init_subclass__",
        "`__init_subclass__`, or a class decorator",
    ),
    (
        "deriving from a class of the library that is not made for it, or from `type`",
        "import struct\nclass A(struct.Struct): pass",
        "keep an instance in an attribute",
        "an instance in an attribute",
    ),
    (
        "deriving from `BaseException`, or from a group",
        "class A(BaseException): pass",
        "derive from Exception",
        "a class derived from `Exception`",
    ),
    (
        "`_private` attributes of objects that are not the program's own",
        "import random\nrandom.Random()._randbelow",
        "on the program's own classes only",
        "the public ones",
    ),
    (
        "changing a class or a module of the library",
        "import math\nmath.pi = 3",
        "the library cannot be changed",
        "a class derived from it, or a function",
    ),
    (
        "changing a tool's value",
        "tools.rows(1).append(2)",
        "change a copy",
        "a copy: `[*value]`, `{**value}`, `copy.deepcopy(value)`",
    ),
    (
        "`eval` of calls, attributes and statements",
        "eval('f(1)')",
        "it computes with literals, names and operators",
        "the code itself; a function out of a dict",
    ),
    (
        "`str.format` templates that walk to private attributes",
        "'{0.__class__}'.format(1)",
        "write an f-string",
        "an f-string",
    ),
    ("`dir()` and `vars()` without an argument", "vars()", "needs an argument", "a dict of one's own"),
    (
        "`os.path`, `pathlib` and `xml` on files",
        "import os\nos.path.exists('a')",
        "there are no files here",
        "tools",
    ),
)


def refusal(source: str) -> str:
    """The words with which the engine refuses a program."""
    try:
        compile_program(source, given=(), exports=lambda module: ())
    except Refused as error:
        return error.refusals[0].text
    raise AssertionError(f"this program is not refused: {source!r}")


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ⏎ ")


def _order(word: str) -> tuple[str, str]:
    return word.lower(), word


def code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def syntax() -> list[str]:
    lines = [
        "### Refused before a program starts",
        "",
        "| what | for instance | why, and what instead |",
        "| --- | --- | --- |",
    ]
    for what, source in REFUSED_SYNTAX.items():
        shown = source if len(source) < 80 else source[:17] + "…"
        lines.append(f"| {what} | `{cell(shown)}` | {cell(refusal(source))} |")
    return [*lines, "", *_at_run_time()]


def _at_run_time() -> list[str]:
    lines = ["### Refused while it runs", "", "| what | for instance | instead |", "| --- | --- | --- |"]
    lines += [
        f"| {what} | `{cell(source)}` | {instead} |" for what, source, _, instead in REFUSED_AT_RUN_TIME
    ]
    return [*lines, ""]


def attributes() -> list[str]:
    reasons: dict[str, list[str]] = {}
    for name in sorted(names.denied()):
        reasons.setdefault(names.why_denied(name), []).append(name)
    lines = [
        "### Attributes that are not available",
        "",
        "| attributes | why, or what instead |",
        "| --- | --- |",
    ]
    lines += [
        f"| {code(found)} | {reason} |" for reason, found in sorted(reasons.items(), key=lambda pair: pair[1])
    ]
    lines += [
        "",
        "Every other name of the form `__x__` is refused too, but for the methods below and for "
        f"{code(sorted(names.readable() - names.DEFINABLE))}; so is every `_x_` that named tuples and enums do not "
        "document.",
        "",
        "### Methods that a class may define",
        "",
        code(sorted(names.DEFINABLE)),
        "",
    ]
    return lines


def given_builtins() -> list[str]:
    """The builtins that work, without the exceptions, which are all there."""
    table = guest_builtins.guest_builtins({"eval": expressions.evaluate})
    given = [
        name
        for name, value in table.items()
        if name.isidentifier()
        and name not in guest_builtins.UNAVAILABLE
        and not name.startswith("__")
        and not (isinstance(value, type) and issubclass(value, BaseException))
    ]
    return sorted([*given, "print"], key=_order)


def builtin_names() -> list[str]:
    lines = ["## Builtins", "", code(given_builtins()) + ", and all exceptions.", ""]
    lines += ["Not available:", "", "| builtin | instead |", "| --- | --- |"]
    lines += [f"| `{name}` | {advice} |" for name, advice in guest_builtins.UNAVAILABLE.items()]
    return [*lines, ""]


def module_names() -> dict[str, list[str]]:
    """The names in each module; `*` for all public ones, where they differ from one Python to the next."""
    replaced = tables.replaced()
    found = {}
    for name in sorted({*tables.LIBRARY, *replaced}):
        if name in ("itertools", "collections.abc"):
            found[name] = ["*"]
        else:
            found[name] = sorted({*tables.LIBRARY.get(name, "").split(), *replaced.get(name, {})}, key=_order)
    return found


def modules() -> list[str]:
    lines = ["## Modules", "", "| module | what of it |", "| --- | --- |"]
    for name, found in module_names().items():
        words = "everything public" if found == ["*"] else code(found) or "its parts"
        lines.append(f"| `{name}` | {words} |")
    lines += ["", "A name that the host's version of Python does not have is not there.", ""]
    lines += [
        "A deployment may add packages of its own; `run_code` says which, and they are imported as ever.",
        "",
    ]
    advice: dict[str, list[str]] = {}
    for name, reason in tables.ELSEWHERE.items():
        advice.setdefault(reason, []).append(name)
    lines += ["Asked for often, and not there:", "", "| module | instead |", "| --- | --- |"]
    lines += [f"| {code(found)} | {reason} |" for reason, found in advice.items()]
    lines += ["", "Parts that are not there:", "", "| of | why |", "| --- | --- |"]
    lines += [f"| `{name}` | {reason} |" for name, reason in tables.PARTS_ELSEWHERE.items()]
    return lines


def page() -> str:
    return "\n".join([INTRODUCTION, *syntax(), *attributes(), *builtin_names(), *modules()]) + "\n"


def language_tables() -> str:
    """What `codemode.sdk.language` reads."""
    found = {
        "modules": module_names(),
        "elsewhere": tables.ELSEWHERE,
        "builtins": given_builtins(),
        "unavailable": guest_builtins.UNAVAILABLE,
        "denied": {name: names.why_denied(name) for name in sorted(names.denied())},
        "guarded": sorted(names.FORMATTERS | {"obj"}),
        "refused": {what: refusal(source) for what, source in REFUSED_SYNTAX.items()},
    }
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    if "--refused" in sys.argv:
        sys.stdout.write(json.dumps(REFUSED_AT_RUN_TIME))
    else:
        sys.stdout.write(language_tables() if "--tables" in sys.argv else page())
