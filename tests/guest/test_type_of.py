"""`type(x)` that is only compared, or asked for its name: plain Python underneath, and no class gets out by it."""

from __future__ import annotations

import ast
import sys
from types import CodeType
from typing import Any

import pytest
from running import Forge

from codemode.guest.language import names
from codemode.guest.language.bytecode import UnguardedCode, check_code
from codemode.guest.language.compiler import compile_program

COMPARED = sorted(names.COMPARABLE_TYPES)
TESTS = [
    *(f"type(x) {test} {name}" for test in ("is", "is not", "==", "!=") for name in COMPARED),
    *(f"type(x) {test} ({name}, float)" for test in ("in", "not in") for name in COMPARED),
    *(
        f"type(x) in {display}"
        for display in ("[int, str]", "{bool, tuple}", "(dict,)", "[list]", "(dict, list)", "()")
    ),
    "type(x).__name__",
    "type(x).__name__.upper()",
    "type(pair[0]) is type(pair[1])",
    "type(pair[0]) is int is not None",
    "type(str(x)) is str",
    "type(box.x) is str",
    "type(box.get()) is list",
    "type(box.get()).__name__",
    "[type(y) is int for y in (x, 1)]",
    "(lambda y: type(y) is not dict)(x)",
    "type(type(x)) is type",
    "type(type(x)).__name__",
    "type(x if x else 0) is int",
]
PROGRAM = f"""
from collections import OrderedDict, namedtuple
from enum import Enum
class Mine: pass
class Number(int): pass
class Colour(Enum):
    RED = 1
class Box:
    kinds = [type(each) is int for each in (1, "a")]
    first = type(kinds) is list
    def __init__(self, x):
        self._y = self.x = x
    def get(self):
        return self.x
    def private(self, other):
        return type(self._y) is int, type(other._y) is list, type(other._y).__name__
values = [0, True, 1.5, 1j, "a", b"b", bytearray(b"c"), None, [], {{}}, (), set(), frozenset(), range(3), Mine(),
          Number(3), Colour.RED, OrderedDict(), namedtuple("P", "a")(1), ValueError("x"), len, Mine, int, type, Colour]
found = []
for x in values:
    pair = (x, 1)
    box = Box(x)
    found.append(box.private(Box([])))
    found.append([{", ".join(TESTS)}])
found.append([Box.kinds, Box.first])
"""


def test_a_test_of_the_type_says_what_python_says(guest: Forge) -> None:
    table: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(PROGRAM, "<plain>", "exec"), table)
    assert guest.value(f"{PROGRAM}\nreturn repr(found)") == repr(table["found"])


def test_a_tool_s_value_is_a_dict_or_list_by_every_test(guest: Forge) -> None:
    source = """
v = tools.rows()
d = v[0]
return [type(d) is dict, type(d) is not dict, type(d) == dict, type(d) != dict, type(d) in (dict,),
        type(d) in [list, dict], type(v) is list, type(v) in {list}, type(v) not in (list,),
        type(v) is dict, type(d) is list, type(d) is int,
        type(d).__name__, type(v).__name__, type(v[0]).__name__, type(d).__name__ == dict.__name__]
"""
    true_, false = True, False
    expected = [true_, false, true_, false, true_, true_, true_, true_, false, false, false, false]
    assert guest.value(source) == [*expected, "dict", "list", "dict", True]


def test_what_stands_for_something_goes_by_the_name_of_that(guest: Forge) -> None:
    source = """
import math, types, abc
def f(): pass
return [type(x).__name__ for x in (math, f, type, int, types.FunctionType, abc.ABC, type(f), (n for n in ()))]
"""
    expected = ["module", "function", "type", "type", "type", "ABCMeta", "type", "generator"]
    assert guest.value(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("int = str\nx = 1\nreturn [type(x) is int, type('') is int]", [False, True]),
        ("def f(x, int):\n    return type(x) is int\nreturn f('', str)", True),
        (
            "def f(type, x):\n    return type(x) is int, type(x).__name__\nreturn f(lambda x: str, 1)",
            (False, "str"),
        ),
        (
            "calls = []\ndef type(x):\n    calls.append(x)\n    return int\nx = ''\n"
            "return [type(x) is int, type(x).__name__, len(calls)]",
            [True, "int", 2],
        ),
        (
            "class A:\n    dict = list\n    def f(self, x):\n        return type(x) is dict\nreturn A().f({})",
            True,
        ),
        ("for list in (tuple,):\n    pass\nreturn type(()) is list", True),
        (
            "try:\n    type(nothing) is int\nexcept NameError as error:\n    return str(error)",
            "name 'nothing' is not defined",
        ),
        (
            "try:\n    type(nothing).__name__\nexcept NameError as e:\n    return str(e)",
            "name 'nothing' is not defined",
        ),
        ("return type(*[1]) is int", True),
        (
            "class K:\n    def __eq__(self, other):\n        return other is type\n"
            "class A: pass\nint = K()\nreturn type(A) == int",
            True,  # the real one is no class that a program knows
        ),
    ],
)
def test_names_that_a_program_binds_are_its_own(guest: Forge, source: str, expected: object) -> None:
    found = guest.value(source)
    assert found == (list(expected) if isinstance(expected, tuple) else expected)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_type_parameters_in_a_class_body(guest: Forge) -> None:
    source = """
x = 1
class A:
    y = 2
    def f[T: (int if type(y) is int else str)](self, z: type(x).__name__) -> T:
        return type(z) is int
    type B[T] = list[T] if type(y) is int else T
return [A().f(1), A.f.__annotations__["z"]]
"""
    assert guest.value(source) == [True, "int"]


def _compiled(source: str) -> CodeType:
    """The code of `f`, with `REAL` for Python's own type, which no source can spell."""
    tree = ast.parse(f"def f(x, y):\n    {source}\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "REAL":
            node.id = names.REAL_TYPE_HOOK
        elif isinstance(node, ast.Name) and node.id == "KINDS":
            node.id = names.KINDS_HOOKS["dict"]
        elif isinstance(node, ast.Name) and node.id == "FROZEN":
            node.id = names.FROZEN_HOOKS["dict"]
    return compile(tree, "<made>", "exec")


@pytest.mark.parametrize(
    "source",
    [
        "return REAL(x) is int",
        "return REAL(x.a[0](y, 2)) == int or REAL(y) in (int, str)",
        "return REAL(x) in KINDS",
        "return REAL(x) in (dict, str, FROZEN)",
        "return REAL(x) in [dict, FROZEN] or REAL(y) not in {FROZEN, dict}",
        "if REAL(x) is not REAL: return REAL(x).__name__",
    ],
)
def test_the_second_look_takes_what_only_compares(source: str) -> None:
    check_code(_compiled(source))


@pytest.mark.parametrize(
    "source",
    [
        "return REAL",
        "return REAL(x)",
        "return REAL(x, y)",
        "return REAL(x)(y)",
        "return REAL(*x) is int",
        "return REAL(x, y=1) is int",
        "t = REAL",
        "t = REAL(x)",
        "y(REAL(x))",
        "return REAL(x).mro",
        "return REAL(x).__class__",
        "return REAL(x) == y",
        "return REAL(x) is y",
        "return REAL(x) in y",
        "return REAL(x) in (int, y)",
        "return REAL(x) in (y, int)",
        "return REAL(x) is y.int",
        "return y == REAL(x)",
        "return REAL(x) is int is y",
        "return (REAL(x), int)",
        "return [REAL(x), int] == y",
        "return REAL(x) + int",
        "return REAL(x) < y",
        "return REAL(REAL(x)) is int and REAL(x)",
        "return REAL(x if y else 1) is int",
        "return f'{REAL(x)}'",
        "return KINDS",
        "return KINDS is x",
        "return FROZEN",
        "return FROZEN(x)",
        "return x is FROZEN",
        "return x in (dict, FROZEN)",
        "return isinstance(x, FROZEN)",
        "return REAL(x) in (dict, FROZEN(y))",
        "return x in KINDS",
        "return list(KINDS)",
        "return REAL(x) in (KINDS, y)",
        "return REAL(y(REAL)) is int",
        "global REAL_; REAL_ = x",
        "global REAL_; del REAL_",
        "import REAL_",
        "return x.REAL_",
    ],
)
def test_the_second_look_finds_a_class_that_goes_elsewhere(source: str) -> None:
    code = _compiled(source)
    if "REAL_" in source:
        code = _renamed(code)
    with pytest.raises(UnguardedCode):
        check_code(code)


def _renamed(code: CodeType) -> CodeType:
    return code.replace(
        co_names=tuple(names.REAL_TYPE_HOOK if name == "REAL_" else name for name in code.co_names),
        co_consts=tuple(_renamed(each) if isinstance(each, CodeType) else each for each in code.co_consts),
    )


def test_the_second_look_sees_every_program_that_is_rewritten() -> None:
    """What the policy makes passes, with as many types as a program may name, however many variables it has."""
    many = "\n".join(f"v{n} = {n}" for n in range(300))
    for count in (1, 15, 16, 17, 40):
        types = ", ".join((["list", "dict", "int"] * count)[:count])
        compile_program(
            f"{many}\nprint(type(v299) in ({types}), type(v299) in [{types}], type(v299).__name__)"
        )
    compile_program(
        "\n".join(f"g{n}.a{n}" for n in range(300)) + "\nprint(type(g.b.c) is dict, type(g).__name__)"
    )
