"""Programs made up at random mean inside what they mean under plain CPython."""

from __future__ import annotations

import ast
import warnings

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.programs.engine import Engine, Plain, ended
from tests.programs.generated import asynchronous_program, program

many = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 2**64 - 1)


def is_python(source: str) -> bool:
    """What the generator does not see: a name that is used and declared global later, and the like."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<generated>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return False
    return True


def compare(engine: Engine, plain: Plain, source: str) -> None:
    assume(is_python(source))
    expected = plain.run(source)
    result = engine.run(source)
    got = ended(result)
    assert got.printed == expected.printed, source
    assert (got.result, got.headline) == (expected.result, expected.headline), source
    assert got.places == expected.places, source


@many
@given(seed=seeds)
def test_a_generated_program_means_the_same_inside(engine: Engine, plain: Plain, seed: int) -> None:
    compare(engine, plain, program(seed))


@many
@given(seed=seeds)
def test_a_generated_asynchronous_program_means_the_same_inside(
    engine: Engine, plain: Plain, seed: int
) -> None:
    compare(engine, plain, asynchronous_program(seed))
