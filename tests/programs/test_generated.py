"""Programs made up at random mean inside what they mean under plain CPython."""

from __future__ import annotations

import ast
import re
import sys
import warnings

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.programs.engine import Engine, Plain, ended
from tests.programs.generated import asynchronous_program, program

# The same programs every time, so that a failure is the change's and not the day's; other seeds by --hypothesis-seed
# with `derandomize` off.
many = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 2**64 - 1)

# Plain CPython 3.11.2 ends some of these programs early that 3.11.7, and the sandbox on both, run to their end.
pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11, 4), reason="plain CPython before 3.11.4 cannot be compared with"
)


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
    # That a coroutine was lost is said when it is freed, on our side only.
    printed = re.sub(r"line \d+: RuntimeWarning: coroutine '\w+' was never awaited\n", "", got.printed)
    assert printed == expected.printed, source
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
