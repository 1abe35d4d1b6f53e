"""Checking before running: what is certain to fail is found in the program's own lines, and nothing else is refused."""

from __future__ import annotations

import sys
import time
from typing import Any, TypedDict

import pytest
import trio

from benchmarks.programs import CPU_BOUND
from codemode import CheckUnavailable, CodeMode, as_json, tool
from codemode.sdk.checking import Checker
from tests.programs.corpus import FILES, programs
from tests.programs.engine import TOOLS as CORPUS_TOOLS
from tests.programs.test_human_eval import problems
from tests.sdk import toolsets
from tests.sdk.checked_programs import FAIL, RUN_WELL
from tests.sdk.toolsets import raw


class Owner(TypedDict):
    login: str


class Issue(TypedDict):
    number: int
    title: str
    owner: Owner


@tool(render=as_json, parallel=True)
async def issues(repo: str, state: str = "open", limit: int = 10) -> list[Issue]:
    """The issues of a repository."""
    return [Issue(number=n, title=f"issue {n}", owner=Owner(login="ann")) for n in range(min(limit, 3))]


@tool(render=as_json, parallel=True)
async def close(number: int, why: str | None = None) -> bool:
    """Close an issue."""
    return True


@tool(render=as_json, parallel=True)
async def pets(owner: str) -> list[toolsets.Cat | toolsets.Dog]:
    """All pets of an owner."""
    return [toolsets.Cat(lives=9)]


TOOLS = [issues, close, pets, *[each for each in toolsets.typed() if each.name in ("find", "table")], raw("my-tool", {"x": {}}), raw("loose", output={"type": "object", "properties": {"a": {"type": "integer"}}}),
         raw("shut", output={"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False})]  # fmt: skip

# Programs that fail at a line, whatever happens: the line, and what is said of it.
WRONG = {
    "tools.isues('r')": (1, "there is no tool 'isues'; did you mean 'issues'?"),
    "x = 1\n\ntools['nothing'](1)": (3, "there is no tool 'nothing'; there are: close, find"),
    "tools['my-tol'](x=1)": (1, "there is no tool 'my-tol'; did you mean 'my-tool'?"),
    "tools.issues()": (1, "the call of issues lacks 'repo'; its signature: issues(repo: str"),
    "tools.issues('r', limt=3)": (1, "issues has no parameter 'limt'; did you mean 'limit'?"),
    "tools.issues('r', 'open', 3, 4)": (1, "too many arguments for issues"),
    "tools.issues(3)": (1, "argument 'repo' of issues is str, not Literal[3]"),
    "tools.issues('r', limit='3')": (1, "argument 'limit' of issues is int, not Literal[\"3\"]"),
    "n = str(3)\ntools.issues(repo='r', limit=n)": (2, "argument 'limit' of issues is int, not str"),
    "tools.close(None)": (1, "argument 'number' of close is int, not None"),
    "tools.close([1])": (1, "argument 'number' of close is int, not list[int]"),
    "tools.find('x', kind='fil')": (1, "argument 'kind' of find"),
    "for issue in tools.issues('r'):\n    print(issue['titel'])": (2, "Issue has no field 'titel'; did you mean 'title'?"),
    "found = tools.issues('r')\nprint(found[0]['owner']['name'])": (2, "Owner has no field 'name'; it has 'login'"),
    "found = tools.issues('r')\nfound[0].title": (2, "values are dicts: write value['title'], not value.title"),
    "found = tools.issues('r')\nfound['title']": (2, "'title' is no index of list[Issue]; take an element first"),
    "found = tools.issues('r')\nfound.items": (2, "list[Issue] has no attribute 'items'; it is a list"),
    "[i['nr'] for i in tools.issues('r')]": (1, "Issue has no field 'nr'"),
    "r = tools.shut()\nr['b']": (2, "has no field 'b'; it has 'a'"),
    "def main():\n    return tools.isues('r')\nmain()": (2, "there is no tool 'isues'"),
    "try:\n    tools.isues('r')\nexcept ToolCallError:\n    pass": (2, "there is no tool 'isues'"),
    "s = '''\n\n'''; tools.isues('é')": (3, "there is no tool 'isues'"),
    "é = '名'; tools.isues('é'); x = 1": (1, "there is no tool 'isues'"),
    "found = tools.issues('r')\nawait tools.close(1)\nfound[0]": (3, "this tool call is not awaited"),
    "for i in await tools.issues('r'):\n    i['titel']": (2, "Issue has no field 'titel'"),
    "import asyncio\na, b = await asyncio.gather(tools.issues('r'), tools.close(1))\na[0]['titel']": (3, "Issue has no field 'titel'"),
}  # fmt: skip

# Programs that run, or that nobody can be certain of; some look wrong.
RIGHT = [
    "try:\n    tools.isues('r')\nexcept AttributeError:\n    pass",
    "try:\n    tools['isues']\nexcept KeyError:\n    pass",
    "if 'isues' in tools:\n    tools.isues('r')",
    "hasattr(tools, 'isues') and tools.isues('r')",
    "tools = {'a': 1}\ntools['a']\ntools.get('b')",
    "def f(tools):\n    return tools.anything\nclass T:\n    anything = 1\nf(T())",
    "try:\n    tools.issues(3)\nexcept ToolCallError as error:\n    print(error.message, error.code, error.tool_name)",
    "try:\n    tools.issues()\nexcept Exception:\n    pass",
    "from contextlib import suppress\nwith suppress(Exception):\n    tools.issues()",
    "tools.issues({'repo': 'r', 'limit': 2})",
    "a = {'repo': 'r'}\ntools.issues(a)\ntools.issues(**a)\ntools.issues(*['r'])",
    "a = dict(repo='r', limit=2)\ntools.issues(**a)",
    "for s in ['open', 'closed']:\n    tools.issues('r', s)",
    "for k in ['file', 'dir']:\n    tools.find('x', kind=k)",
    "k = 'file' if len('x') else 'dir'\ntools.find('x', kind=k, near=[1, 2], names=('a', 'b'))",
    "tools.table({'a': [1], 'b': (2, 3)}, options={'x': 1, 'y': 'z'})",
    "rows = {}\nfor n in range(3):\n    rows.setdefault(str(n), []).append(n)\ntools.table(rows)",
    "i = dict(tools.issues('r')[0])\ni['extra'] = 1\nprint(i['extra'])",
    "i = tools.issues('r')[0].copy()\ni['extra'] = 1\nprint(i['extra'])",
    "import copy\ni = copy.deepcopy(tools.issues('r')[0])\ni.update(extra=1)\nprint(i['extra'])",
    "i = {**tools.issues('r')[0], 'extra': 1}\nprint(i['extra'])",
    "i = tools.issues('r')[0] | {'extra': 1}\nprint(i['extra'])",
    "i = tools.issues('r')[0]\nif 'extra' in i:\n    print(i['extra'])\nprint(i.get('other'))",
    "i = tools.issues('r')[0]\ntry:\n    print(i['extra'])\nexcept KeyError:\n    print('none')",
    "key = 'title'\nprint([i[key] for i in tools.issues('r')])\nfor k, v in tools.issues('r')[0].items():\n    print(k, v)",
    "def show(n: str):\n    return tools.close(n)\nshow(3)",
    "def unused():\n    tools.isues()\nprint('x')",
    "class Tools: pass\nclass Pending: pass\nt, p = Tools(), Pending()\nvars(t).update(x=1)\nsetattr(p, 'y', 2)\nt.x + p.y",
    "class Issue:\n    title = 'x'\nprint(Issue().title)",
    "tools.issues('r', limit=True)",
    "tools.loose(b=1)['b']",
    "tools['my-tool'](x=1, y=2)\ntools['my-tool']()",
    "for name in ('issues', 'find'):\n    print(tools[name])\nprint(tools.search('x'), tools.describe('find'), len(tools), list(tools))",
    "import asyncio\nasync with asyncio.TaskGroup() as group:\n    jobs = [group.create_task(f()) for f in ()]\ncalls = [tools.close(n) for n in range(3)]\nprint(await asyncio.gather(*calls))",
    "import asyncio\nasync def one(n):\n    return await tools.close(n)\nprint([await c for c in asyncio.as_completed([tools.close(1)])])\nprint(await one(1))",
    "call = tools.close(1)\nprint(await asyncio.wait_for(call, 5)) if False else await call",
    "n = 1\ndef f():\n    nonlocal n\n    n += 1\nf()\nreturn n",
    "if tools.close(1):\n    return 'early'\nprint('late')",
    "sum(map(len, 'a bb'.split()))\ntry:\n    raise FileNotFoundError('x')\nexcept FileNotFoundError:\n    pass",
    "x: int = 'no'\nprint(x)",
    "import numpy  # type: ignore" if False else "print(1)",
    "this is no python",
    "",
    "\x00",
    "x = '" + "a" * 100_000 + "'",
    "tools.close(1)\r\nprint(2)\r\n",
]  # fmt: skip


@pytest.fixture(scope="module")
def checker() -> Checker:
    return Checker()


async def test_what_is_certain_to_fail_is_found_in_its_own_line(checker: Checker) -> None:
    found = await checker.check_all(list(WRONG), TOOLS)
    for (source, (line, says)), findings in zip(WRONG.items(), found, strict=True):
        certain = [each for each in findings if each.certain]
        assert certain, source
        assert certain[0].line == line, (source, certain)
        assert says in certain[0].message, (source, certain)
        assert not certain[0].message.startswith(("a ", "an ")), certain  # a type may begin with any sound


async def test_what_is_found_does_fail_there() -> None:
    async with CodeMode(TOOLS) as cm:
        for source, (line, _) in WRONG.items():
            error = (await cm.run(source)).error
            assert error is not None, source
            assert f"line {line}" in error.message, (source, error.message)


async def test_what_may_run_is_not_refused(checker: Checker) -> None:
    found = await checker.check_all(RIGHT, TOOLS)
    refused = {
        source: [each for each in findings if each.certain]
        for source, findings in zip(RIGHT, found, strict=True)
    }
    assert {source: findings for source, findings in refused.items() if findings} == {}


async def test_programs_that_run_well_are_not_refused(checker: Checker) -> None:
    assert len(RUN_WELL) > 250
    async with CodeMode(TOOLS) as cm:
        failed = {source: error for source in RUN_WELL if (error := (await cm.run(source)).error) is not None}
    assert failed == {}
    found = await checker.check_all(RUN_WELL, TOOLS)
    refused = {
        source: findings
        for source, findings in zip(RUN_WELL, found, strict=True)
        if any(each.certain for each in findings)
    }
    assert refused == {}


async def test_programs_that_fail_are_refused_with_their_own_line(checker: Checker) -> None:
    async with CodeMode(TOOLS) as cm:
        for source, line in FAIL.items():
            error = (await cm.run(source)).error
            assert error is not None, source
            assert f"  line {line}" in error.message, (source, error.message)
    found = await checker.check_all(list(FAIL), TOOLS)
    refused = {
        source: [each.line for each in findings if each.certain]
        for source, findings in zip(FAIL, found, strict=True)
    }
    assert refused == {source: [line] for source, line in FAIL.items()}


async def test_methods_of_other_objects_are_checked_like_tools(checker: Checker) -> None:
    @tool(render=as_json, parallel=True, method="agents.run")
    async def agent(prompt: str, read_only: bool = False) -> str:
        """Start an agent."""
        return f"{prompt}!"

    programs = {
        "agents.run('x')": [],
        "agents.run('x', read_only=True).upper()": [],
        "agents = [1]\nagents.rnu": [],
        "if hasattr(agents, 'stop'):\n    agents.stop()": [(2, False)],
        "agents.rnu('x')": [(1, True)],
        "agents.run(3)": [(1, True)],
        "tools.issues(agents.run('x'), limit=agents.run('x'))": [(1, True)],
        "import asyncio\nawait asyncio.gather(*(agents.run(n) for n in range(3)))": [(2, True)],
    }
    found = await checker.check_all(list(programs), [*TOOLS, agent])
    assert [[(each.line, each.certain) for each in findings] for findings in found] == list(programs.values())
    assert found[4][0].message == "agents has no 'rnu'; did you mean 'run'?; it has: run"
    assert found[5][0].message.startswith(
        "argument 'prompt' of agents.run is str, not Literal[3]; its signature: agents.run("
    )
    async with CodeMode([*TOOLS, agent]) as cm:
        for source, findings in programs.items():
            failed = (await cm.run(source)).error is not None
            assert failed == any(certain for _, certain in findings) or "agents = " in source, source


async def test_what_may_run_well_all_the_same_is_said_with_its_reason(checker: Checker) -> None:
    sources = {
        "try:\n    tools.isues('r')\nexcept AttributeError:\n    pass": "caught",
        "try:\n    n = tools.close(1)\nexcept ToolCallError:\n    tools.isues('r')": "unreached",
        "def f():\n    tools.isues('r')\nprint(1)": "unreached",
        "n: str = 3\ntools.close(n)": "unsure",
    }
    found = await checker.check_all(list(sources), TOOLS)
    assert [[(each.certain, each.perhaps) for each in findings] for findings in found] == [
        [(False, reason)] for reason in sources.values()
    ]
    assert found[0][0].said() == (
        "line 2: perhaps: there is no tool 'isues'; did you mean 'issues'?; the program may catch what is raised"
    )


async def test_strict_runs_what_may_run_well_and_warns(checker: Checker) -> None:
    async with CodeMode(TOOLS, check="strict") as cm:
        result = await cm.run("try:\n    tools.issues('r', limt=3)\nexcept ToolCallError:\n    return 5")
        assert result.result == 5
        (warning,) = result.warnings
        assert warning.startswith("line 2: perhaps: issues has no parameter 'limt'")
        assert result.text.startswith("5\n\nThe check before the run said:\nline 2: perhaps: ")
        assert (await cm.run("n: str = 3\ntools.close(n)")).warnings == ()  # what is unsure is no warning
        both = await cm.run("def f():\n    tools.isues()\ntools.clsoe(1)")
        assert both.error is not None
        assert both.error.message.split("\n")[1:] == [
            "line 2: perhaps: there is no tool 'isues'; did you mean 'issues'?; perhaps no run comes to this line",
            "line 3: there is no tool 'clsoe'; did you mean 'close'?",
        ]


async def test_no_program_of_the_corpus_is_refused(checker: Checker) -> None:
    sources = [source for stem in FILES for source in programs(stem).values()]
    sources += [
        f"{each['prompt']}{each['canonical_solution']}\n{each['test']}\ncheck({each['entry_point']})\nreturn 'passed'"
        for each in problems()
    ]
    sources += CPU_BOUND.values()
    assert len(sources) > 500
    # The last one is wrong: what finds nothing at all would pass otherwise.
    found = await checker.check_all([*sources, "tools.ekko(1)"], CORPUS_TOOLS, seconds=100)
    assert [each.message for each in found.pop()] == ["there is no tool 'ekko'; there are: boom, echo, rows"]
    assert [(at, findings) for at, findings in enumerate(found) if findings] == []


async def test_columns_count_characters(checker: Checker) -> None:
    (finding,) = await checker.check("é = '名'; tools.isues('é')", TOOLS)
    assert (finding.line, finding.column) == (1, 10)


# ------------------------------------------------------------------------------- in a run


async def test_a_strict_check_refuses_before_any_tool_runs() -> None:
    called: list[int] = []

    @tool(render=as_json)
    async def count(n: int) -> int:
        called.append(n)
        return n

    async with CodeMode([count], check="strict") as cm:
        result = await cm.run("tools.count(1)\ntools.cuont(2)")
        assert result.error is not None
        assert result.error.kind == "refused"
        assert result.error.message == (
            "the program was not started, no tool was called; correct it first:\n"
            "line 2: there is no tool 'cuont'; did you mean 'count'?"
        )
        assert called == []
        assert "run/start" not in [each.type for each in cm.session.events()]
        outcome = await cm.call("run_code", {"code": "tools.cuont(2)", "description": "count"})
        assert outcome.is_error
        assert "line 1: there is no tool 'cuont'" in outcome.content[0].text  # type: ignore[union-attr]
        assert (await cm.run("tools.count(1)")).result == 1
        assert called == [1]
        assert (await cm.run("tools.count(3)\ntools.cuont(2)", check="off")).error.kind == "exception"  # type: ignore[union-attr]
        assert called == [1, 3]


async def test_a_warning_stands_below_the_result() -> None:
    async with CodeMode(TOOLS) as cm:
        source = "if len(tools) > 100:\n    tools.isues('r')\nreturn 5"
        result = await cm.run(source, check="warn")
        warning = "line 2: there is no tool 'isues'; did you mean 'issues'?"
        assert result.result == 5
        assert result.warnings == (warning,)
        assert result.text == f"5\n\nThe check before the run said:\n{warning}"
        assert (await cm.run(source)).warnings == ()
        failed = await cm.run("tools.isues('r')", check="warn")
        assert failed.error is not None
        assert failed.warnings


async def test_a_scopes_own_tools_are_what_is_checked_against() -> None:
    async with CodeMode(TOOLS, check="strict") as cm:
        scope = cm.scope([raw("own")], deny=["issues"])
        assert (await scope.run("tools.own()")).error is None
        refused = (await scope.run("tools.issues('r')")).error
        assert refused is not None
        assert "there is no tool 'issues'" in refused.message
        assert (await cm.run("tools.issues('r')")).error is None


async def test_wrong_choices_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="choose 'off', 'warn' or 'strict'"):
        CodeMode(check="always")  # type: ignore[arg-type]
    async with CodeMode() as cm:
        with pytest.raises(ValueError, match="choose"):
            await cm.run("1", check="yes")  # type: ignore[arg-type]


async def test_without_the_checker_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ty", None)
    with pytest.raises(CheckUnavailable, match=r"pip install 'codemode\[check\]'"):
        CodeMode(check="strict")
    async with CodeMode() as cm:
        with pytest.raises(CheckUnavailable):
            await cm.run("1", check="warn")


async def test_a_check_that_fails_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with CodeMode(TOOLS, check="strict") as cm:
        checker = cm._core.checks._checker
        assert checker is not None
        monkeypatch.setattr(checker, "_ty", "/bin/false")
        result = await cm.run("tools.close(1)")
        assert result.result is True
        assert result.warnings[0].startswith("not checked: the type checker failed")


async def test_a_check_that_takes_too_long_ends_with_its_processes(checker: Checker, tmp_path: Any) -> None:
    script = tmp_path / "slow"
    script.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    script.chmod(0o755)
    slow = Checker()
    slow._ty = str(script)
    start = time.monotonic()
    with pytest.raises(CheckUnavailable, match="took longer than 1 s"):
        await slow.check("print(1)", TOOLS, seconds=1)
    assert time.monotonic() - start < 30
    pid = int((tmp_path / "pid").read_text())
    with trio.fail_after(10):
        while _is_running(pid):
            await trio.sleep(0.02)


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
