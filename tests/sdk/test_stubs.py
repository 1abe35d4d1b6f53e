"""Stubs say of programs what is so inside: the same names in both directions, and the types of the tools."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typeshed_client import ImportedName, get_search_context, get_stub_names

from codemode import CodeMode, RunResult, as_json, tool
from codemode.sdk.language import language
from codemode.sdk.stub_files import write_stubs
from codemode.sdk.stubs import MODULE, builtins_stub, tools_stub
from tests.sdk import toolsets
from tests.sdk.checkers import TY, complaints
from tests.sdk.toolsets import raw

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("stubs")
    write_stubs(directory, [toolsets.find])
    return directory


async def inside(source: str) -> RunResult:
    async with CodeMode([toolsets.find]) as cm:
        result = await cm.run(source)
        assert result.error is None, result.text
        return result


def test_the_files_of_the_repository_are_what_the_tables_say() -> None:
    names = {file.name for file in (ROOT / "sandbox_stubs").iterdir()}
    assert names == {"__builtins__.pyi", f"{MODULE}.pyi"}
    assert (ROOT / "sandbox_stubs" / "__builtins__.pyi").read_text("utf-8") == builtins_stub(), (
        "python docs/stubs.py"
    )
    assert (ROOT / "sandbox_stubs" / f"{MODULE}.pyi").read_text("utf-8") == tools_stub([]).text


def exported(written: Path, module: str) -> set[str]:
    """The public names of a module as its stub has them, for this version of Python."""
    context = get_search_context(
        typeshed=written / "typeshed" / "stdlib",
        search_path=[],
        version=sys.version_info[:2],
        platform="linux",
    )
    found = get_stub_names(module, search_context=context)
    assert found is not None, f"there is no stub of {module}"
    return {
        name
        for name, info in found.items()
        if info.is_exported
        and not name.startswith("_")
        and not (
            module == "builtins" and isinstance(info.ast, ImportedName) and info.ast.name not in (None, name)
        )
    }


async def test_modules_have_the_same_names_inside_and_in_their_stubs(written: Path) -> None:
    modules = [name for name in language().modules if name not in ("types", "typing")]
    lines = [f"import {name}" for name in modules]
    listed = ", ".join(f"{name!r}: [n for n in dir({name}) if n[0] != '_']" for name in modules)
    there = (await inside("\n".join([*lines, f"return {{{listed}}}"]))).result
    submodules = {
        name: {other.rpartition(".")[2] for other in modules if other.startswith(f"{name}.")}
        for name in modules
    }
    different = {}
    for name in modules:
        stub, runtime = exported(written, name) - submodules[name], set(there[name]) - submodules[name]
        if stub != runtime:
            different[name] = {"stub only": sorted(stub - runtime), "inside only": sorted(runtime - stub)}
    assert different == {}


async def test_all_that_is_in_types_and_typing_inside_is_in_their_stubs(written: Path) -> None:
    source = "import types, typing\nreturn [[n for n in dir(m) if n[0] != '_'] for m in (types, typing)]"
    for module, names in zip(("types", "typing"), (await inside(source)).result, strict=True):
        assert set(names) - exported(written, module) == set()


def test_modules_that_there_are_not_have_no_stub(written: Path) -> None:
    stdlib = written / "typeshed" / "stdlib"
    there = {file.name.removesuffix(".pyi") for file in stdlib.iterdir() if not file.name.startswith("_")}
    tops = {name.partition(".")[0] for name in language().modules}
    needed = {"VERSIONS", "builtins", "genericpath", "ntpath", "posixpath", "typing_extensions"}
    assert there == tops | needed


async def test_builtins_are_the_same_inside_and_in_the_stubs(written: Path) -> None:
    tree = ast.parse(builtins_stub())
    ours = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    ours |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}  # type: ignore[union-attr]
    assert ours == {"tools", "ToolCallError", *language().unavailable}
    python = exported(written, "builtins") - {
        "reveal_type",
        "reveal_locals",
        "ellipsis",
        "function",
        "WindowsError",
    }
    tries = [
        f"try:\n    {name}\n    found.append({name!r})\nexcept NameError:\n    pass"
        for name in sorted(python | ours)
    ]
    source = "\n".join(["found = []", *tries, "return found"])
    there = set((await inside(source)).result)
    absent = {"copyright", "credits", "license", "PythonFinalizationError", "EncodingWarning"}
    assert (python | ours) - there - absent == set()
    assert set(language().builtins) - python - {"__debug__", "None", "True", "False"} == set()


def test_what_stubs_say_of_a_tool_call_error_is_so() -> None:
    (node,) = [
        each for each in ast.parse(builtins_stub()).body if getattr(each, "name", "") == "ToolCallError"
    ]
    assert {each.target.id for each in node.body if isinstance(each, ast.AnnAssign)} == {
        "tool_name",
        "message",
        "code",
        "type",
    }  # type: ignore[attr-defined, union-attr]


async def test_a_tool_call_error_has_the_attributes_of_its_stub() -> None:
    source = "try:\n    tools.find(3)\nexcept ToolCallError as e:\n    return [e.tool_name, e.toolName, e.code, type(e.message).__name__]"
    assert (await inside(source)).result == ["find", "find", "INVALID_ARGUMENTS", "str"]


@pytest.mark.parametrize("style", ["sync", "async"])
def test_stubs_of_every_kind_of_tool_check(tmp_path: Path, style: str) -> None:
    tools = [*toolsets.typed(), *(raw(name) for name in toolsets.NAMES)]
    stub = tools_stub(tools, style)  # type: ignore[arg-type]
    assert complaints(tmp_path, codemode_tools__pyi=stub.text, __builtins____pyi=builtins_stub()) == []
    assert set(stub.callables.values()) == {each.name for each in tools}


@pytest.mark.parametrize("style", ["sync", "async"])
def test_stubs_have_the_objects_beside_the_tools(tmp_path: Path, style: str) -> None:
    @tool(render=as_json, method="agents.run")
    async def agent(prompt: str) -> list[int]:
        """Start an agent."""
        return []

    stub = tools_stub([agent, *toolsets.typed()], style)  # type: ignore[arg-type]
    program = "from typing import reveal_type\nreveal_type(agents.run('x'))\nagents.run(3)\nagents.rnu()\ntools.agent('x')\n"
    files = {"codemode_tools__pyi": stub.text, "__builtins____pyi": builtins_stub(stub.objects)}
    said = [line for line in complaints(tmp_path, program__py=program, **files) if "program.py" in line]
    assert "`list[int]`" in said[0] or "`Pending[list[int]]`" in said[0]
    assert [line.split(":")[1] for line in said] == ["2", "3", "4"]


PROGRAM = """\
import json, os, enum, dataclasses, collections
from datetime import datetime
places = tools.find("x", limit=3)
reveal_type(places[0]["path"])
places[0]["pth"]
tools.fnd("x")
os.listdir(".")
import subprocess
class Size(enum.Enum):
    SMALL = 1
@dataclasses.dataclass
class Point:
    x: int
reveal_type((Point(1).x, Size.SMALL.value, collections.Counter("a"), datetime.now()))
os.path.exists("x"), json.dumps({})
try:
    tools.find("y")
except ToolCallError as error:
    reveal_type(error.code)
"""


def test_a_checker_knows_tools_modules_and_what_is_not_there(written: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    paths = ["--typeshed", str(written / "typeshed"), "--extra-search-path", str(written / "stubs")]
    command = [TY, "check", "--output-format", "concise", *paths, "program.py"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    lines = {int(line.split(":")[1]): line for line in said.splitlines() if line.startswith("program.py")}
    assert "Revealed type: `str`" in lines.pop(4)
    assert 'Unknown key "pth" for TypedDict `Place`' in lines.pop(5)
    assert "has no attribute `fnd`" in lines.pop(6)
    assert "`listdir`" in lines.pop(7)
    assert "subprocess" in lines.pop(8)
    assert "`tuple[int, Literal[1], Counter[str], datetime]`" in lines.pop(14)
    assert "`str | None`" in lines.pop(19)
    assert lines == {}


def test_written_tables_are_json() -> None:
    json.loads((ROOT / "codemode" / "sdk" / "language.json").read_text("utf-8"))
