"""What a model is told of `run_code`: true, short, within its budget, and completed by what a program finds."""

from __future__ import annotations

import ast
import re

import pytest

from codemode import CodeMode, Limits
from codemode.sdk.language import language
from codemode.sdk.prompt import DEFAULT_BUDGET, prompt, tokens
from codemode.sdk.signatures import signatures
from tests.sdk import toolsets
from tests.sdk.toolsets import raw


def listing(text: str) -> str:
    """What stands in the fence."""
    found = re.search(r"(?s)(`{3,})(?:python)?\n(.*)\n\1$", text)
    return found[2] if found else ""


def test_the_rules_take_few_tokens() -> None:
    assert tokens(prompt([])) < 400


def test_it_names_the_limits_that_hold() -> None:
    text = prompt(
        [], Limits(wall_seconds=7, cpu_seconds=2.5, memory_bytes=64 << 20, max_calls=1234), shown_bytes=99
    )
    assert "Limits: 7 s, 2.5 s of them computing, 64 MiB, 1,234 calls; 99 bytes of output are shown." in text


async def test_what_it_says_can_be_imported_can_be_imported() -> None:
    said = re.search(r"Can be imported: (.*)\.", prompt([]))
    assert said is not None
    names = said[1].split(", ")
    assert set(names) == {name.partition(".")[0] for name in language().modules}
    async with CodeMode() as cm:
        result = await cm.run("\n".join(f"import {name}" for name in names) + "\nreturn 'all'")
        assert result.result == "all", result.text
        refused = re.search(r"Not here: (.*)\.", prompt([]))
        assert refused is not None
        for name in refused[1].split(", "):
            error = (await cm.run(f"{name}('x')")).error
            assert error is not None
            assert f"{name}() is not available here" in error.message


async def test_the_rules_that_it_states_hold() -> None:
    async with CodeMode([raw("give", {"x": {}})]) as cm:
        assert (await cm.run("tools.give(x=1)")).result == {"x": 1}
        assert (await cm.run("return await tools.give(x=1)")).result == {"x": 1}
        assert (await cm.run("r = tools.give(x=1)\nr['y'] = 2")).error is not None
        assert (await cm.run("r = dict(tools.give(x=1))\nr['y'] = 2\nr")).result == {"x": 1, "y": 2}


def test_signatures_within_the_budget_stand_there_whole() -> None:
    text = prompt(toolsets.typed())
    assert listing(text) == signatures(toolsets.typed()).rstrip()
    assert "tools.search" not in text


@pytest.mark.parametrize("budget", [0, 10, 100, 1000, 5000, 12_000, DEFAULT_BUDGET])
def test_beyond_the_budget_tools_are_listed_in_fewer_words(budget: int) -> None:
    tools = toolsets.many(1000)
    text = prompt(tools, budget=budget)
    assert tokens(listing(text)) <= budget
    assert "There are 1,000 tools." in text
    assert '`tools.search("words")`' in text
    assert '`tools.describe("name")`' in text
    if budget >= 8000:
        assert all(f"tools.{each.name}" in text for each in tools)
    elif budget:
        assert "The first of them:" in text
    assert prompt(list(reversed(tools)), budget=budget) == text


def test_names_come_with_their_summaries_where_these_fit() -> None:
    text = prompt(toolsets.many(40), budget=1000)
    assert "tools.list_issue_0: List one issue of system 0\n" in listing(text)


@pytest.mark.parametrize("hostile", toolsets.HOSTILE)
def test_no_description_ends_the_fence(hostile: str) -> None:
    text = prompt([raw("x", description=hostile)])
    assert "async def x()" in listing(text)
    ast.parse(listing(text))
    listed = prompt([raw("x", description=hostile)], budget=0)
    assert hostile.strip() == "" or len(listed.splitlines()) == len(prompt([raw("x")], budget=0).splitlines())


async def test_the_tool_for_programs_is_described_by_it() -> None:
    async with CodeMode(toolsets.typed(), mode="code") as cm:
        (described,) = cm.describe()
        assert described["name"] == "run_code"
        assert described["description"] == cm.prompt()
        assert cm.prompt() == prompt(list(cm.registry), cm.limits, shown_bytes=50_000)
        narrowed = cm.scope(allow=["find"])
        assert "async def find(" in narrowed.prompt()
        assert "grow" not in narrowed.prompt()
    async with CodeMode(toolsets.many(200), prompt_budget=100) as cm:
        assert "There are 200 tools." in cm.prompt()
        assert "There are 200 tools." not in cm.prompt(100_000)


async def test_a_tool_that_is_added_is_in_the_next_prompt() -> None:
    async with CodeMode() as cm:
        assert "There are no tools." in cm.prompt()
        remove = cm.registry.register(raw("later"))
        assert "async def later()" in cm.prompt()
        remove()
        assert "There are no tools." in cm.prompt()
