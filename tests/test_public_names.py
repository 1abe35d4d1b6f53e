"""What can be imported from the packages, in whatever order."""

import subprocess
import sys

import pytest

import codemode
import codemode.toolkits


@pytest.mark.parametrize(
    ("first", "name"),
    [
        ("codemode.toolkits.questions", "questions"),
        ("codemode.toolkits.todo", "todo"),
        ("codemode.toolkits.shell.bash", "shell"),
        ("codemode.toolkits.planning", "questions"),
    ],
)
def test_a_public_name_is_the_same_whichever_module_was_imported_before(first, name):
    code = f"import {first}\nfrom codemode.toolkits import {name}\nprint(callable({name}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


@pytest.mark.parametrize("package", [codemode, codemode.toolkits])
def test_every_public_name_is_there(package):
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
