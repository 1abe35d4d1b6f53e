"""The package's public names: all there, each from the module that makes it, loaded when it is asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import codemode
from codemode import toolkits


@pytest.mark.parametrize("package", [codemode, toolkits])
def test_every_public_name_is_there_and_nothing_else_is(package):
    package = importlib.reload(package)
    found = {name: getattr(package, name) for name in package.__all__}
    assert None not in found.values()
    assert set(package.__all__) <= set(dir(package))
    (homes,) = [
        cell.cell_contents for cell in package.__getattr__.__closure__ if isinstance(cell.cell_contents, dict)
    ]
    assert sorted(homes) == sorted(package.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        _ = package.absent


def test_the_command_line_loads_only_the_command_that_is_asked_for():
    program = (
        "import sys\nfrom codemode.cli import main\n"
        "try:\n    main(['--version'])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "print([name for name in ('trio', 'msgspec', 'codemode.engine') if name in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout
    assert output.splitlines()[-1] == "[]"
    assert output.startswith("codemode ")


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
    program = f"import {first}\nfrom codemode.toolkits import {name}\nprint(callable({name}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
