"""Checks programs in a process of its own: `python -I checker DIR TY PYTHON SECONDS`. Standard library only.

DIR holds the programs and the stubs for both styles, in `sync` and `async`. Programs are parsed here, never in the
host; the type checker `ty` reads them as they stand, so that lines are their own. What comes out is one JSON object:
the findings, each with the names that the host makes a sentence of, and whether it is certain.

The directory is run as it is, not as a part of its package, so that nothing else is loaded.
"""

from __future__ import annotations

import ast
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from program import Program  # type: ignore[import-not-found]


def main(directory: Path, ty: str, python: str, seconds: int) -> dict[str, Any]:
    """Return `{"findings": [of each program]}`, or `{"failed": why}`. The programs are `0.py`, `1.py`, …"""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    files = sorted(directory.glob("*.py"), key=lambda file: int(file.stem))
    findings: list[list[dict[str, Any]]] = [[] for _ in files]
    programs: dict[str, dict[int, Program]] = {"sync": {}, "async": {}}
    for at, file in enumerate(files):
        source = file.read_bytes().decode("utf-8", "surrogatepass")
        try:
            program = Program(ast.parse(source), source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            # Not certain: the engine reads it again, and says better what is wrong.
            line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
            text = getattr(error, "msg", None) or str(error) or "it is nested too deeply"
            findings[at] = [
                {"line": line, "column": column, "kind": "unparsable", "certain": False, "name": text}
            ]
            continue
        programs["async" if program.is_async else "sync"][at] = program
    names = json.loads((directory / "sync" / "names.json").read_text("utf-8"))
    for style, chosen in programs.items():
        if not chosen:
            continue
        command = [
            ty, "check", "--output-format", "gitlab", "--python-version", python, "--no-progress", "--exit-zero",
            "--project", str(directory), "--extra-search-path", str(directory / style), *(f"{at}.py" for at in chosen),
        ]  # fmt: skip
        environment = {"PATH": os.environ.get("PATH", "")}
        done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, check=False)
        if done.returncode != 0:
            return {
                "failed": done.stderr.decode("utf-8", "replace")[-2000:] or f"exit code {done.returncode}"
            }
        for each in json.loads(done.stdout):
            at, begin = (
                int(each["location"]["path"].removesuffix(".py")),
                each["location"]["positions"]["begin"],
            )
            found = chosen[at].read(each["check_name"], each["description"], begin["line"], begin["column"])
            if found is not None:
                findings[at].append(found)
        for at, program in chosen.items():
            findings[at].extend(program.unknown_items(names))
            findings[at].sort(key=lambda each: (each["line"], each["column"]))
    return {"findings": findings}


if __name__ == "__main__":
    answer = main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
    sys.stdout.write(json.dumps(answer))
