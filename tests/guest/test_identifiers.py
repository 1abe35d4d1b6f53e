"""Every place of the syntax tree that holds a name, with hostile names in it; and the second look at the code."""

from __future__ import annotations

import ast
import sys
import types

import pytest

from codemode.guest.language.bytecode import UnguardedCode, check_code
from codemode.guest.language.compiler import Refused, Unparsable, compile_program
from codemode.guest.language.names import DENIED, GUARDED, OWN, PLAIN, attribute_kind
from codemode.guest.language.rewrites import template_is_plain

# For each field of the grammar that holds identifiers: programs with `NAME` in that field.
BINDINGS: dict[tuple[str, str], list[str]] = {
    ("FunctionDef", "name"): ["def NAME(): pass"],
    ("AsyncFunctionDef", "name"): ["async def NAME(): pass"],
    ("ClassDef", "name"): ["class NAME: pass"],
    ("arg", "arg"): [
        "def f(NAME, /): pass",
        "def f(NAME): pass",
        "def f(*NAME): pass",
        "def f(*, NAME): pass",
        "def f(**NAME): pass",
        "x = lambda NAME: 1",
        "x = lambda NAME, /: 1",
        "class A:\n    def f(NAME): pass",
    ],
    ("alias", "asname"): ["import json as NAME", "from json import loads as NAME"],
    ("Name", "id"): [
        "NAME = 1",
        "NAME: int = 1",
        "NAME += 1",
        "for NAME in []: pass",
        "with x as NAME: pass",
        "[NAME for NAME in []]",
        "(NAME := 1)",
        "[(NAME := 1) for x in []]",
        "del NAME",
        "a, *NAME = []",
    ],
    ("Global", "names"): ["def f():\n    global NAME"],
    ("Nonlocal", "names"): ["def f():\n    NAME = 1\n    def g():\n        nonlocal NAME"],
    ("ExceptHandler", "name"): ["try: pass\nexcept ValueError as NAME: pass"],
    ("MatchAs", "name"): ["match 1:\n    case NAME: pass", "match 1:\n    case int() as NAME: pass"],
    ("MatchStar", "name"): ["match 1:\n    case [*NAME]: pass"],
    ("MatchMapping", "rest"): ["match 1:\n    case {**NAME}: pass"],
}
if sys.version_info >= (3, 12):
    BINDINGS |= {
        ("TypeVar", "name"): ["def f[NAME](): pass", "class A[NAME]: pass", "type X[NAME] = int"],
        ("ParamSpec", "name"): ["def f[**NAME](): pass"],
        ("TypeVarTuple", "name"): ["def f[*NAME](): pass"],
    }
ATTRIBUTES: dict[tuple[str, str], list[str]] = {
    ("Attribute", "attr"): [
        "x.NAME",
        "x.NAME = 1",
        "del x.NAME",
        "x.NAME += 1",
        "f'{x.NAME}'",
        "def f(a=x.NAME): pass",
    ],
    ("MatchClass", "kwd_attrs"): ["match 1:\n    case int(NAME=x): pass"],
    ("alias", "name"): ["from json import NAME", "import NAME", "import json.NAME"],
    ("ImportFrom", "module"): ["from NAME import x", "from json.NAME import x"],
}
HARMLESS = {
    ("keyword", "arg"),
    ("Constant", "kind"),
    ("arg", "type_comment"),
}  # `f(NAME=1)` binds nothing here


def test_every_identifier_of_the_grammar_is_covered() -> None:
    found = set()
    for kind in vars(ast).values():
        if (
            isinstance(kind, type)
            and issubclass(kind, ast.AST)
            and (kind.__doc__ or "").startswith(f"{kind.__name__}(")
        ):
            for match in kind.__doc__.replace("\n", " ").replace("(", ",").replace(")", ",").split(","):
                words = match.split()
                if len(words) == 2 and words[0].rstrip("?*") == "identifier":
                    found.add((kind.__name__, words[1]))
    assert len(found) > 15
    assert found - set(BINDINGS) - set(ATTRIBUTES) - HARMLESS == set()


def refuses(source: str) -> bool:
    try:
        compile_program(source)
    except (Refused, Unparsable):
        return True
    return False


HOSTILE_BINDINGS = [
    "__builtins__",
    "__class__",
    "__import__",
    "__build_class__",
    "_getattr_",
    "_write_",
    "__getattr__",
    "super",
]


@pytest.mark.parametrize("field", BINDINGS)
@pytest.mark.parametrize("name", HOSTILE_BINDINGS)
def test_a_hostile_name_cannot_be_bound(field: tuple[str, str], name: str) -> None:
    for template in BINDINGS[field]:
        assert not refuses(template.replace("NAME", "fine")), template
        assert refuses(template.replace("NAME", name)), template.replace("NAME", name)


HOSTILE_ATTRIBUTES = [
    "__globals__",
    "__subclasses__",
    "gi_frame",
    "f_back",
    "tb_frame",
    "cr_frame",
    "ag_frame",
    "mro",
    "__code__",
]


@pytest.mark.parametrize("field", ATTRIBUTES)
@pytest.mark.parametrize("name", HOSTILE_ATTRIBUTES)
def test_a_hostile_attribute_cannot_be_named(field: tuple[str, str], name: str) -> None:
    if name in ("mro", "gi_frame", "f_back", "tb_frame", "cr_frame", "ag_frame") and field[0] in (
        "ImportFrom",
        "alias",
    ):
        templates = ["from json import NAME"]
    else:
        templates = ATTRIBUTES[field]
    for template in templates:
        assert refuses(template.replace("NAME", name)), template.replace("NAME", name)


def test_look_alike_letters_are_the_names_they_stand_for() -> None:
    assert refuses("g().gi＿frame")
    assert refuses("x.𝑔i_frame")
    assert refuses("import 𝑜s")
    assert refuses("import ｊson")
    assert not refuses("größe = 1\nprint(größe)")


def test_the_kinds_of_names() -> None:
    assert [attribute_kind(name) for name in ("x", "append", "__len__", "_asdict", "_value_")] == [PLAIN] * 5
    assert [attribute_kind(name) for name in ("_x", "__x", "_A__x", "_")] == [OWN] * 4
    assert [attribute_kind(name) for name in ("format", "__class__", "__dict__", "__init__", "obj")] == [
        GUARDED
    ] * 5
    assert {
        attribute_kind(n) for n in ("__globals__", "mro", "gi_frame", "_convert_", "<own>", "__anything__")
    } == {DENIED}


def test_templates() -> None:
    assert template_is_plain("{} {0} {a[b.c]!r:>{w}} {p.x.y:{q.z}} 1.5 {{0.__class__}}")
    for template in (
        "{0.__class__}",
        "{a[x].__init__}",
        "{0:{1.__class__}}",
        "{0._x}",
        "{a.b.__dict__[c]}",
        "{0.gi_frame}",
    ):
        assert not template_is_plain(template), template


CODE = {
    "x.__globals__": False,
    "x.gi_frame": False,
    "x._private": False,
    "x.__class__": False,
    "x.__len__": True,
    "x.name": True,
    "x.__doc__ = 1": True,
    "x.__len__ = 1": False,
    "import _io": False,
    "import json": True,
    "from json import _x": False,
    "match x:\n    case int(__class__=y): pass": False,
    "match x:\n    case int(real=y): pass": True,
    "'{}'.format(1)": True,
    "'{0.__class__}'.format(1)": False,
    "s.format(1)": False,
    "class A:\n    def f(self):\n        return super().__init__()": True,
    "class A:\n    def f(self):\n        return super().__reduce__()": False,
    "class A:\n    def f(self):\n        return super().__setattr__('x', 1)": False,
    "def f(x):\n    return [y.__code__ for y in x]": False,
    "lambda x: x.f_back": False,
    "x = [" + ", ".join(f"a{n}" for n in range(300)) + "]\nx.mro": False,
}


@pytest.mark.parametrize("source", CODE)
def test_the_second_look_finds_what_a_broken_policy_lets_through(source: str) -> None:
    code = compile(source, "x", "exec")
    if CODE[source]:
        check_code(code)
    else:
        with pytest.raises(UnguardedCode):
            check_code(code)


def test_compiled_programs_keep_their_lines_and_columns() -> None:
    source = "x = 1\n\ndef f(a):\n    return a.b\n"
    code = compile_program(source).code
    function = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    plain = next(c for c in compile(source, "x", "exec").co_consts if isinstance(c, types.CodeType))
    assert list(function.co_positions()) == list(plain.co_positions())


def test_code_without_guarded_names_is_the_code_that_python_makes() -> None:
    source = """
def f(d, xs, *a, **k):
    d["a"] += 1
    for i, (x, y) in enumerate(xs):
        d[i] = x.real + y[0].imag
        a, *b = c = g(*a, **k)
    x.y.z = [p.q for p in xs if p]
    with open_(d) as t, t.u:
        del d[0], x.y
    return f"{x.y!r:>{d}}"
"""
    function = next(c for c in compile_program(source).code.co_consts if isinstance(c, types.CodeType))
    plain = next(c for c in compile(source, "x", "exec").co_consts if isinstance(c, types.CodeType))
    assert function.co_code == plain.co_code
