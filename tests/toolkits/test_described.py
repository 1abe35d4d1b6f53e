"""What a model is told of each toolkit's tools: every parameter, and what each is made of, says what it is for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codemode import CodeMode, Tool
from codemode.cli.toolkits import TOOLKITS
from codemode.toolkits import Jobs, PlanMode, StructuredOutput, agents, files, plugins, questions, shell, todo
from codemode.toolkits.lsp import lsp
from codemode.toolkits.skills import skills
from codemode.toolkits.terminal import terminal
from codemode.toolkits.web import SearXNG, web
from tests.toolkits.agents.model import Model


def every_tool(workspace: Path) -> dict[str, list[Tool]]:
    """The tools of each toolkit by its name."""
    jobs = Jobs()
    answer = {"type": "object", "properties": {"x": {"type": "integer", "description": "x"}}}
    return {
        "agents": agents(Model(), jobs=jobs),
        "files": files(workspace, write=True),
        "lsp": lsp(workspace),
        "plan": PlanMode(None).tools,
        "plugins": plugins(CodeMode().registry, workspace),
        "questions": questions(None),
        "shell": shell(workspace, jobs=jobs),
        "skills": skills([workspace]),
        "structured output": StructuredOutput(answer).tools,
        "terminal": terminal(workspace, jobs=jobs),
        "todo": todo(),
        "web": web(SearXNG("http://localhost:1")),
    }


def parameters(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The properties in a schema, also those of what its properties are made of, with their places."""
    if isinstance(schema, list):
        for each in schema:
            yield from parameters(each, path)
    elif isinstance(schema, dict):
        for name, each in schema.get("properties", {}).items():
            yield f"{path}.{name}", each
            yield from parameters(each, f"{path}.{name}")
        for key, each in schema.items():
            if key in ("$defs", "patternProperties"):
                for name, one in each.items():
                    yield from parameters(one, f"{path}.{name}")
            elif key not in ("properties", "default", "enum", "const", "examples"):
                yield from parameters(each, path)


def test_every_parameter_of_every_tool_says_what_it_is_for(tmp_path: Path) -> None:
    tools = every_tool(tmp_path)
    assert tools.keys() >= TOOLKITS.keys()
    told = [each.describe() for group in tools.values() for each in group]
    assert len(told) >= 29
    silent = [
        f"{each['name']}{path}"
        for each in told
        for path, schema in parameters(each["parameters"])
        if not str(schema.get("description", "")).strip()
    ]
    assert silent == []


def test_every_tool_says_what_it_does(tmp_path: Path) -> None:
    told = [each for group in every_tool(tmp_path).values() for each in group]
    assert [each.name for each in told if len(each.description) < 20] == []


@pytest.mark.parametrize("name", ["timeoutMs", "workdir"])
def test_what_may_be_left_out_is_described_where_its_type_stands(tmp_path: Path, name: str) -> None:
    (bash,) = [each for each in shell(tmp_path) if each.name == "bash"]
    found = bash.describe()["parameters"]["properties"][name]  # type: ignore[index]
    assert found["description"]
    assert all("description" not in each for each in found["anyOf"])


def test_the_arguments_of_every_tool_are_an_object_as_providers_want_them(tmp_path: Path) -> None:
    for group in every_tool(tmp_path).values():
        for each in group:
            schema = each.describe()["parameters"]
            assert isinstance(schema, dict)
            assert schema["type"] == "object", each.name
            assert "$ref" not in schema
            assert "title" not in schema
