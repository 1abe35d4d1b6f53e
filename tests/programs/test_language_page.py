"""The page about the language says what the engine does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.programs.engine import Engine

ROOT = Path(__file__).resolve().parents[2]


def written(*options: str) -> str:
    script = [sys.executable, "docs/language_page.py", *options]
    return subprocess.run(script, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout


def test_the_page_is_what_the_engines_tables_say() -> None:
    page = (ROOT / "docs" / "language.md").read_text("utf-8")
    assert page == written(), "run: python docs/language_page.py > docs/language.md"


def test_the_tables_that_models_and_editors_are_told_of_are_the_engines() -> None:
    tables = (ROOT / "codemode" / "sdk" / "language.json").read_text("utf-8")
    assert tables == written("--tables"), (
        "run: python docs/language_page.py --tables > codemode/sdk/language.json"
    )


def test_what_the_page_says_to_be_refused_at_run_time_is_refused_with_its_cure(engine: Engine) -> None:
    refused = json.loads(written("--refused"))
    assert len(refused) > 8
    for what, source, says, _ in refused:
        error = engine.run(source).error
        assert error is not None, what
        assert error.kind == "exception", what
        assert says in error.message, (what, error.message)
