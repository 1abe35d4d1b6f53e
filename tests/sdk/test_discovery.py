"""`tools.search` and `tools.describe`, inside a program: at no cost, and never in a tool's way."""

from __future__ import annotations

from typing import Any

import pytest

from codemode import CodeMode, Limits, Tool
from codemode.sdk.signatures import document
from tests.sdk import toolsets
from tests.sdk.toolsets import raw

SERVICE = [
    raw("issues.list", {"repo": {"type": "string"}, "state": {"enum": ["open", "closed"]}}, description="List the issues of a repository."),
    raw("issues.create", {"repo": {}, "title": {}, "body": {}}, description="File a new issue. Needs the right to write."),
    raw("get_weather", {"city": {"type": "string", "description": "where, for example Paris"}}, description="The weather today."),
    raw("sendMail", {"recipients": {}, "subject": {}}, description="Send an e-mail to people."),
    raw("repo_delete", {"repo": {}}, description="Delete a repository for ever."),
]  # fmt: skip


async def value(tools: list[Tool], source: str, **options: Any) -> Any:
    async with CodeMode(tools, **options) as cm:
        result = await cm.run(source)
        assert result.error is None, result.text
        return result.result


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("open issues", "issues.list"),
        ("issue title", "issues.create"),
        ("weather in a city", "get_weather"),
        ("send mail", "sendMail"),
        ("mail subject", "sendMail"),
        ("delete repository", "repo_delete"),
        ("Paris", "get_weather"),
        ("ISSUES.LIST", "issues.list"),
        ("recipient", "sendMail"),
    ],
)
async def test_the_best_fit_comes_first(words: str, first: str) -> None:
    assert (await value(SERVICE, f"return [f['name'] for f in tools.search({words!r})]"))[0] == first


async def test_a_finding_says_how_to_call_it_and_what_it_does() -> None:
    assert await value(SERVICE, "return tools.search('weather', limit=1)") == [
        {"name": "get_weather", "call": "tools.get_weather(city: str = ...)", "summary": "The weather today"}
    ]


async def test_a_description_is_the_whole_signature_with_its_types() -> None:
    expected = {each.name: document(each).text for each in toolsets.typed()}
    assert await value(toolsets.typed(), "return {name: tools.describe(name) for name in tools}") == expected


async def test_neither_is_a_call_of_a_tool() -> None:
    source = "for i in range(50):\n    tools.search('issue'); tools.describe('sendMail')\nreturn tools['sendMail'](subject='x')"
    async with CodeMode(SERVICE, limits=Limits(max_calls=1)) as cm:
        result = await cm.run(source)
        assert result.result == {"subject": "x"}, result.text
        assert result.usage.calls == 1
        starts = [each for each in cm.session.events() if each.type == "tool/code-dispatch-start"]
        assert len(starts) == 1


async def test_both_work_in_a_program_with_await() -> None:
    source = "found = tools.search('mail')[0]\nreturn await tools[found['name']](subject=found['name'])"
    assert await value(SERVICE, source) == {"subject": "sendMail"}


async def test_a_tool_of_the_same_name_comes_first_and_the_helper_has_an_underscore() -> None:
    tools = [raw("search", {"x": {}}, description="Search the web."), raw("describe", {"x": {}})]
    assert await value(tools, "return [tools.search(x=1), tools['search'](x=2), tools.describe(x=3)]") == [
        {"x": 1},
        {"x": 2},
        {"x": 3},
    ]
    assert await value(tools, "return [tools.search_('web')[0]['name'], 'def search(' in tools.describe_('search')]") == ["search", True]  # fmt: skip
    async with CodeMode(tools, prompt_budget=0) as cm:
        assert '`tools.search_("words")`' in cm.prompt()
        assert '`tools.describe_("name")`' in cm.prompt()


async def test_helpers_are_no_tools() -> None:
    source = "return ['search' in tools, 'search' in dir(tools), sorted(tools), len(tools)]"
    assert await value([raw("a")], source) == [False, False, ["a"], 1]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("tools.describe('sendmail')", "did you mean 'sendMail'?"),
        ("tools.search(['a'])", "the words to look for as one text"),
        ("tools.search('a', limit=0)", "at least 1"),
        ("tools.describe(3)", "there is no tool '3'"),
    ],
)
async def test_wrong_use_says_what_to_do(source: str, says: str) -> None:
    async with CodeMode(SERVICE) as cm:
        error = (await cm.run(source)).error
        assert error is not None
        assert says in error.message


async def test_nothing_is_found_for_nothing() -> None:
    assert await value(SERVICE, "return [tools.search(''), tools.search('zzzzqq'), tools.search('!?')]") == [
        [],
        [],
        [],
    ]
    assert await value([], "return tools.search('x')") == []


async def test_what_is_found_among_a_thousand_tools_can_be_called_at_once() -> None:
    source = "name = tools.search('close invoice 768')[0]['name']\nreturn [name, tools[name](invoice_id=1)]"
    assert await value(toolsets.many(1000), source) == ["close_invoice_768", {"invoice_id": 1}]
