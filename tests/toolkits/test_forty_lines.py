"""A program of forty lines that does a day's small work: search, read, edit, run the tests, poll, report."""

import shutil
import sys
from pathlib import Path

import pytest

from codemode import Limits
from codemode.toolkits import files, shell
from tests.toolkits.engine import engine

PROJECT = Path(__file__).parents[2]

PROGRAM = '''
import re

# Search: where is the bound, and who names it?
found = tools.grep(r"^MAX_INTEGER_BITS = \\d+", include="*.py")["matches"]
assert len(found) == 1, found
path, at = found[0]["path"], found[0]["lineNumber"]
users = {m["path"] for m in tools.grep(r"\\bMAX_INTEGER_BITS\\b", include="*.py")["matches"]} - {path}

# Read it, with what stands around it.
lines = tools.read(path, offset=max(at - 3, 1), limit=7)["lines"]
bound = re.search(r"[\\d_]+$", found[0]["line"]).group()
print(f"{path}:{at} says {bound}; named in {sorted(users)}")


def test():
    """Run the tests in the background, look after the job until it ends, and say how."""
    job = tools.bash("python -m pytest tests/test_values.py -k 'survive or refuse' -p no:cacheprovider",
                     "the tests", run_in_background=True)["jobId"]
    text, polls = "", 0
    while True:
        seen = tools.job_output(job, wait=True, timeout_ms=500)
        text, polls = text + seen["text"], polls + 1
        if seen["job"]["status"] != "running":
            break
    passed, failed = (re.search(rf"(\\d+) {word}", text) for word in ("passed", "failed"))
    return {
        "status": seen["job"]["status"], "detail": seen["job"]["detail"], "polled": polls > 0,
        "passed": int(passed[1]) if passed else 0, "failed": int(failed[1]) if failed else 0,
    }


# Edit, test, and take it back if it was wrong.
change = tools.edit(path, f"MAX_INTEGER_BITS = {bound}", "MAX_INTEGER_BITS = 8")
broken = test()
tools.edit(path, "MAX_INTEGER_BITS = 8", f"MAX_INTEGER_BITS = {bound}")
after = test()
print("jobs:", ", ".join(f"{job['id']} {job['status']}" for job in tools.job_list()))
return {"path": path, "broken": broken, "after": after, "unchanged": tools.read(path)["lines"][at - 1]["text"]}
'''


@pytest.fixture
def demo(tmp_path):
    """The workspace of the demonstration, with the tests of one of its modules."""
    for each in ("codemode", "tests/test_values.py", "pyproject.toml"):
        source, target = PROJECT / each, tmp_path / each
        target.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return tmp_path


async def test_it_works_in_the_demo_workspace(demo):
    assert len([line for line in PROGRAM.splitlines() if line.strip()]) <= 45
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    tools = [*files(demo, write=True), *shell(demo, environment={"PATH": path})]
    async with engine(tools, limits=Limits(wall_seconds=100)) as made:
        done = await made.cm.run(PROGRAM)
    assert done.error is None, done.error.message
    assert done.result["path"] == "codemode/values.py"
    after, broken = done.result["after"], done.result["broken"]
    assert (after["status"], after["detail"], after["failed"]) == ("completed", "exit code: 0", 0)
    assert after["passed"] > 10
    assert (broken["status"], broken["detail"]) == ("failed", "exit code: 1")
    assert broken["failed"] > 0
    assert broken["failed"] + broken["passed"] == after["passed"]
    assert done.result["unchanged"] == found_line(PROJECT / "codemode/values.py")
    assert "codemode/values.py:" in done.logs[0]
    assert done.logs[1] == "jobs: bash-1 failed, bash-2 completed"


def found_line(path):
    (line,) = (line for line in path.read_text().splitlines() if line.startswith("MAX_INTEGER_BITS ="))
    return line
