"""Reported faults: names, signatures, schemas.

A test's name says what holds; its program is the small input that showed the fault elsewhere.
"""

# ruff: noqa: E501  (each program stands on one line)

from __future__ import annotations

import re
from typing import Any

import pytest

from codemode import (
    CodeMode,
    Output,
    Tool,
    ToolDefinitionError,
    as_json,
    tool,
)
from tests.reported_faults.support import TOOLS, echo, failure, value


async def test_parameters_of_any_name_can_be_given_by_keyword():
    names = [
        "name",
        "self",
        "args",
        "kwargs",
        "tool",
        "from",
        "class",
        "_hidden",
        "model_dump",
        "model_config",
    ]
    schema = {"type": "object", "properties": {n: {"type": "string"} for n in names}, "required": names}

    async def body(arguments: Any, *rest: Any) -> Any:
        return dict(arguments)

    odd = Tool(
        name="odd",
        description="Take parameters of any name.",
        parameters=schema,
        output=Output({"type": "object"}, as_json),
        execute=body,
    )
    async with CodeMode([odd]) as cm:
        given = ", ".join(f"{n}='{n}'" for n in names if n not in ("from", "class"))
        source = f"return tools.odd({given}, **{{'from': 'from', 'class': 'class'}})"
        assert await value(cm, source) == {n: n for n in names}
        source = f"return tools.odd({given}, from_='from', class_='class')"
        assert await value(cm, source) == {n: n for n in names}
        source = f"return tools.odd({dict.fromkeys(names, 'x')!r})"
        assert await value(cm, source) == dict.fromkeys(names, "x")


async def test_tool_names_that_are_no_identifiers_stay_reachable_and_apart():
    def made(name: str) -> Tool:
        async def which() -> str:
            """Say which."""
            return name

        return tool(render=as_json, name=name)(which)

    names = ["a-b", "a.b", "a_b", "class", "print"]
    async with CodeMode([made(n) for n in names]) as cm:
        assert await value(cm, f"return [tools[n]() for n in {names!r}]") == names
        assert await value(cm, "print('still print')\nreturn [tools.a_b(), tools.print()]") == [
            "a_b",
            "print",
        ]
    with pytest.raises(ToolDefinitionError, match="a-b"):
        CodeMode([made("a-b"), made("a-b")])


async def test_positional_arguments_follow_the_schemas_order(cm):
    assert await value(
        cm, "return [tools.fetch('http://x'), tools.fetch('u', 5), tools.fetch('u', limit=6)]"
    ) == ["http://x:3", "u:5", "u:6"]
    message = await failure(cm, "tools.fetch('a', 1, 2)")
    assert "fetch(url: str, *, limit: int = 3)" in message or "fetch(url: str, limit: int = 3)" in message


async def test_names_that_begin_with_an_underscore_can_be_used(cm):
    source = "def _helper(x):\n    return x + 1\n_cache = {}\n_cache['k'] = _helper(1)\nfor _ in range(2): pass\nreturn [_cache, _]"
    assert await value(cm, source) == [{"k": 2}, 1]


async def test_every_name_that_is_listed_can_be_called(cm):
    names = await value(cm, "return sorted(tools)")
    assert names == sorted(t.name for t in TOOLS)
    assert await value(cm, "return [callable(tools[n]) and callable(getattr(tools, n)) for n in tools]") == [
        True
    ] * len(TOOLS)
    assert sorted(d["name"] for d in cm.describe() if d["name"] != "run_code") == names


async def test_what_is_found_from_code_can_be_called_and_needs_no_underscore():
    async with CodeMode(TOOLS, prompt_budget=0) as cm:
        assert 'tools.search("words")' in cm.prompt()
        name = await value(cm, "return tools.search('echo')[0]['name']")
        assert await value(cm, f"return {name!r} in tools and callable(tools[{name!r}])") is True


async def test_every_name_that_a_model_is_told_resolves():
    async with CodeMode(TOOLS) as cm:
        told = re.findall(r"(?m)^async def (\w+)\(", cm.prompt())
        assert sorted(told) == sorted(t.name for t in TOOLS)
        assert await value(cm, f"return all(callable(getattr(tools, n)) for n in {told!r})") is True


async def test_a_check_before_the_run_refuses_nothing_that_runs():
    async with CodeMode(TOOLS, check="strict") as cm:
        source = (
            "class A:\n    def f(self): return 1\nclass B(A):\n    def f(self): return super().f() + 1\n"
            "try:\n    raise FileNotFoundError('x')\nexcept FileNotFoundError:\n    pass\n"
            "return [sum(map(len, 'a bb'.split())), getattr(B(), 'f')()]"
        )
        assert await value(cm, source) == [3, 2]


async def test_a_direct_call_of_a_tool_that_only_programs_may_call_says_the_way():
    async with CodeMode([echo], mode="code") as cm:
        outcome = await cm.call("echo", {"value": 1})
        assert outcome.is_error
        assert "run_code" in outcome.error.message
        assert "tools.echo" in outcome.error.message
