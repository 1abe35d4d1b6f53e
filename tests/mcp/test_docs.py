"""The examples of the page on MCP, run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "mcp.md").read_text()
BLOCK = re.compile(r"<!-- (file|run|shell|prints)(?:: (\S+))? -->\n```\w*\n(.*?)```\n", re.DOTALL)


def test_every_example_prints_what_the_page_says(tmp_path):
    binaries = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}", "PYTHON": sys.executable}
    printed, compared = "", 0
    for kind, name, content in BLOCK.findall(PAGE):
        if kind == "prints":
            assert printed == content
            compared += 1
            continue
        if name:
            (tmp_path / name).write_text(content)
        if kind in ("run", "shell"):
            command = [sys.executable, name] if kind == "run" else ["sh", "-c", content]
            done = subprocess.run(
                command,
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            printed = done.stdout
    assert compared == 2
