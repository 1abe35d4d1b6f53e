"""The example of the page on HTTP APIs, run as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "openapi.md").read_text()
BLOCK = re.compile(r"<!-- (file|run|prints)(?:: (\S+))? -->\n```\w*\n(.*?)```\n", re.DOTALL)


def test_the_example_prints_what_the_page_says(tmp_path):
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    printed, compared = "", 0
    for kind, name, content in BLOCK.findall(PAGE):
        if kind == "prints":
            assert printed == content
            compared += 1
            continue
        (tmp_path / name).write_text(content)
        if kind == "run":
            done = subprocess.run(
                [sys.executable, name],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, "")
            printed = done.stdout
    assert compared == 1
