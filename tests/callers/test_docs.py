"""The examples of the page on callers without trio, run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "without-trio.md").read_text()
BLOCK = re.compile(r"<!-- (run|prints)(?:: (\S+))? -->\n```\w*\n(.*?)```\n", re.DOTALL)


def test_every_example_prints_what_the_page_says(tmp_path):
    printed, compared = "", 0
    for kind, name, content in BLOCK.findall(PAGE):
        if kind == "prints":
            assert printed == content
            compared += 1
            continue
        (tmp_path / name).write_text(content)
        done = subprocess.run(
            [sys.executable, name], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        printed = done.stdout
    assert compared == 2
