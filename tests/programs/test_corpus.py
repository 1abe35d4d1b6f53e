"""Each program of the corpus means inside what it means under plain CPython."""

from __future__ import annotations

import ast
import json

import pytest

from benchmarks.programs import CPU_BOUND
from tests.programs.corpus import FILES, programs
from tests.programs.engine import Engine, Plain, ended
from tests.programs.library_names import modules

ALL = [(stem, name) for stem in FILES for name in programs(stem)]


@pytest.mark.parametrize(("stem", "name"), ALL, ids=lambda part: part)
def test_a_program_means_the_same_inside(engine: Engine, plain: Plain, stem: str, name: str) -> None:
    source = programs(stem)[name]
    expected = plain.run(source)
    result = engine.run(source)
    got = ended(result)
    assert (expected.headline is not None) == (stem == "failures"), expected
    headline = expected.headline
    if headline is not None:
        headline = "\n".join([headline, *expected.notes])
    assert (got.result, got.printed, got.headline) == (expected.result, expected.printed, headline), (
        result.text
    )
    assert got.places == expected.places
    assert json.dumps(got.result) == json.dumps(expected.result)  # True is no 1, and order counts


@pytest.mark.parametrize("name", CPU_BOUND)
def test_a_program_that_only_computes_gives_the_same_value(engine: Engine, plain: Plain, name: str) -> None:
    expected = plain.run(CPU_BOUND[name])
    assert expected.headline is None
    result = engine.run(CPU_BOUND[name])
    assert json.dumps(result.result) == json.dumps(expected.result), result.text


def _grammar() -> set[str]:
    """The names of all kinds of nodes that a program may hold, in this Python."""
    abstract = {kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)}
    leaves = {kind for kind in abstract if not kind.__subclasses__() or "_fields" in vars(kind)}
    found = {
        kind.__name__ for kind in leaves if kind.__module__ in ("ast", "_ast") and "_fields" in vars(kind)
    }
    sums = {kind.__name__ for kind in abstract if kind.__subclasses__()}
    elsewhere = {"Expression", "FunctionType", "Interactive", "TypeIgnore"}  # no parts of a program
    old = {
        "AugLoad",
        "AugStore",
        "ExtSlice",
        "Index",
        "Param",
        "Suite",
        "Bytes",
        "Ellipsis",
        "NameConstant",
        "Num",
        "Str",
    }
    return found - sums - elsewhere - old


def test_every_kind_of_node_stands_in_some_program() -> None:
    used = {
        type(node).__name__
        for stem in FILES
        for source in programs(stem).values()
        for node in ast.walk(ast.parse(source))
    }
    assert _grammar() - used == set()
    assert len(_grammar()) > 85


def test_every_module_of_the_library_is_used_by_some_program() -> None:
    used = set()
    for stem in FILES:
        for source in programs(stem).values():
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Import):
                    used |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    used.add(node.module or "")
                    used |= {f"{node.module}.{alias.name}" for alias in node.names}
    used |= {name.rpartition(".")[0] for name in used} | {name.partition(".")[0] for name in used}
    assert modules() - used == set()


def test_there_are_enough_programs() -> None:
    assert len(ALL) >= 350
