"""Our own payloads, with both walls and with each alone; and the runner, on payloads that must get through.

What lies in `payloads/open/` is known to get past the wall that should have stopped it. It is not run here; once it is
mended, it moves up among the others.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAYLOADS = HERE / "payloads"
ROOT = HERE.parents[1]

ARRANGEMENTS = ([], ["--language-only"], ["--process-only"])


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.escapes", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def payload(directory: Path, name: str, source: str, header: str = "") -> Path:
    path = directory / f"{name}.py"
    path.write_text(f"# {name}\n{header}{source}\n", encoding="utf-8")
    return path


def test_our_own_payloads_are_contained_with_both_walls_and_with_each_alone() -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.escapes", str(PAYLOADS), *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for options in ARRANGEMENTS
    ]
    try:
        said = [process.communicate(timeout=180)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    for process, text in zip(started, said, strict=True):
        bad = [line for line in text.splitlines() if line.endswith("ESCAPED") or "LEFT BEHIND" in line]
        assert process.returncode == 0, "\n".join(bad) or text[-2000:]
        assert "nothing was left behind" in text


def test_there_are_payloads_of_every_family() -> None:
    numbers = [int(path.name[:3]) for path in PAYLOADS.glob("*.py")]
    assert len(numbers) == len(set(numbers)) >= 40
    families = {number // 10 for number in numbers}
    assert families >= {50, 51, 52, 53, 54, 55, 56, 57, 58, 60, 62, 63}


@pytest.mark.parametrize("options", ARRANGEMENTS, ids=lambda options: options[0] if options else "both")
def test_a_payload_that_gets_through_is_reported_and_counts(tmp_path: Path, options: list[str]) -> None:
    payload(tmp_path, "001-prints", "print('ESCAPED', 1)")
    payload(tmp_path, "002-leaves", "result = {'a': ['ESCAPED']}")
    payload(tmp_path, "003-raises", "raise ValueError('ESCAPED')")
    payload(tmp_path, "004-asks", "result = await echo(x='fine')")
    done = run(tmp_path, *options)
    verdicts = dict(re.findall(r"^(00\d-\w+) .* (contained|ESCAPED)$", done.stdout, re.MULTILINE))
    assert verdicts == {
        "001-prints": "ESCAPED",
        "002-leaves": "ESCAPED",
        "003-raises": "contained",
        "004-asks": "contained",
    }
    assert "2 contained, 2 escaped" in done.stdout
    assert done.returncode == 1


def test_a_wall_that_need_not_stop_a_payload_alone_is_not_blamed(tmp_path: Path) -> None:
    payload(
        tmp_path, "001-walk", "print('ESCAPED', ().__class__)", "# walls: language=must os=backstop host=-\n"
    )
    done = run(tmp_path, "--process-only")
    assert "which this wall alone need not stop" in done.stdout
    assert "0 escaped, 1 got past" in done.stdout
    assert done.returncode == 0


def test_an_index_has_the_last_word_on_the_walls(tmp_path: Path) -> None:
    payload(
        tmp_path, "001-walk", "print('ESCAPED', ().__class__)", "# walls: language=must os=backstop host=-\n"
    )
    index = '[["001", "walk", "tries", ["-", "must", "-"], "code"]]'
    (tmp_path / "INDEX.json").write_text(index, encoding="utf-8")
    done = run(tmp_path, "--process-only")
    assert "1 escaped" in done.stdout
    assert done.returncode == 1


def test_files_that_a_program_makes_are_noticed(tmp_path: Path) -> None:
    # Only with the process wall down can a file be made, and only past the language wall: the guest's own first
    # lines make one here.
    payload(tmp_path, "001-nothing", "result = 1")
    home = tmp_path / "home"
    home.mkdir()
    script = f"""
import sys, trio
from pathlib import Path
from tests.escapes import arrangements, payload, runner
shipped = arrangements.first_lines
first = "import time; time.sleep(0.5); open({str(home / "made-by-a-guest")!r}, 'w').close()\\n"
arrangements.first_lines = lambda *how: first + shipped(*how)
sys.exit(trio.run(runner.run_all, payload.find([Path({str(tmp_path)!r})]), "language"))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "LEFT BEHIND" in done.stdout, done.stdout + done.stderr
    assert "made-by-a-guest" in done.stdout
    assert done.returncode == 1


def test_line_numbers_are_the_payloads_own(tmp_path: Path) -> None:
    payload(tmp_path, "001-line", "x = 1\ny = 1 / 0")
    done = run(tmp_path)
    assert "ZeroDivisionError" in done.stdout
    assert done.returncode == 0


def test_what_has_nothing_to_run_is_wrong_usage(tmp_path: Path) -> None:
    assert run(tmp_path).returncode == 2
    assert run(tmp_path / "missing.py").returncode == 2
    assert run().returncode == 2
