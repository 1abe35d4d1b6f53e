"""Synchronous and asynchronous programs: how calls, tasks and their failures behave."""
# ruff: noqa: E501  (each program stands on one line)

from __future__ import annotations

import time

import pytest
from running import Forge

ASYNC_PROGRAMS = {
    "top-level await": ("r = await tools.echo(x={'a': 1})\nr['a']", 1),
    "await in a comprehension": ("[await tools.echo(x=i) for i in range(3)]", [0, 1, 2]),
    "async def": (
        "async def one(i):\n    return await tools.echo(x=i)\n[await one(i) for i in range(3)]",
        [0, 1, 2],
    ),
    "async for": (
        "async def g():\n    for i in range(3):\n        yield i\nout=[]\nasync for x in g():\n    out.append(x)\nout",
        [0, 1, 2],
    ),
    "async comprehension": ("async def g():\n    yield 1\n    yield 2\n[x async for x in g()]", [1, 2]),
    "async with": (
        "class C:\n    async def __aenter__(self):\n        return await tools.echo(x=7)\n    async def __aexit__(self,*a):\n        return True\n"
        "async with C() as x:\n    raise ValueError\nx",
        7,
    ),
    "gather": ("import asyncio\nawait asyncio.gather(*[tools.echo(x=i) for i in range(4)])", [0, 1, 2, 3]),
    "one call twice in gather": ("import asyncio\nc=tools.echo(x=5)\nawait asyncio.gather(c, c)", [5, 5]),
    "gather with exceptions": (
        "import asyncio\nr = await asyncio.gather(tools.boom(message='m'), tools.echo(x=1), return_exceptions=True)\n[str(r[0]), r[1]]",
        ["m", 1],
    ),
    "task group": (
        "import asyncio\nasync with asyncio.TaskGroup() as tg:\n    a = tg.create_task(tools.echo(x=1))\n    b = tg.create_task(tools.echo(x=2))\n[a.result(), b.result()]",
        [1, 2],
    ),
    "create_task of a call": ("import asyncio\nt = asyncio.create_task(tools.echo(x=3))\nawait t", 3),
    "as_completed": (
        "import asyncio\nout=[]\nfor f in asyncio.as_completed([tools.slow(seconds=0.1, value='b'), tools.slow(seconds=0.0, value='a')]):\n    out.append(await f)\nout",
        ["a", "b"],
    ),
    "wait": (
        "import asyncio\ndone, pending = await asyncio.wait([tools.echo(x=1), tools.echo(x=2)])\nsorted(f.result() for f in done)",
        [1, 2],
    ),
    "semaphore and queue": (
        "import asyncio\nsem = asyncio.Semaphore(2)\nq = asyncio.Queue()\nasync def work(i):\n    async with sem:\n        await q.put(await tools.echo(x=i))\n"
        "await asyncio.gather(*(work(i) for i in range(4)))\nsorted([q.get_nowait() for _ in range(q.qsize())])",
        [0, 1, 2, 3],
    ),
    "timeout": (
        "import asyncio\ntry:\n    async with asyncio.timeout(0.05):\n        await tools.never()\nexcept TimeoutError:\n    r='late'\nr",
        "late",
    ),
    "wait_for": (
        "import asyncio\ntry:\n    await asyncio.wait_for(tools.never(), 0.05)\nexcept asyncio.TimeoutError:\n    r='late'\nr",
        "late",
    ),
    "asyncio.run": (
        "import asyncio\nasync def main():\n    return await tools.echo(x=6)\nasyncio.run(main())",
        6,
    ),
    "asyncio.run beside await": (
        "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return await tools.echo(x=6)\na = await tools.echo(x=1)\nb = asyncio.run(main())\n[a, b]",
        [1, 6],
    ),
    "asyncio.run without any await": (
        "import asyncio\nasync def main():\n    return tools.echo(x=6)\nasyncio.run(main())",
        6,
    ),
    "run_until_complete": (
        "import asyncio\nasync def main():\n    return await tools.echo(x=6)\nasyncio.get_event_loop().run_until_complete(main())",
        6,
    ),
    "failures caught in helpers": (
        "import asyncio\nasync def safe(f):\n    try:\n        return await f\n    except ToolCallError as e:\n        return str(e)\n"
        "await asyncio.gather(*[safe(tools.boom(message=str(i))) for i in range(20)])",
        [str(i) for i in range(20)],
    ),
    "finally runs on cancellation": (
        "import asyncio\nout=[]\nasync def f():\n    try:\n        await tools.never()\n    finally:\n        out.append('cleaned')\n"
        "t = asyncio.create_task(f())\nawait asyncio.sleep(0)\nt.cancel()\ntry:\n    await t\nexcept asyncio.CancelledError:\n    out.append('cancelled')\nout",
        ["cleaned", "cancelled"],
    ),
    "except group from a task group": (
        "import asyncio\nn=0\ntry:\n    async with asyncio.TaskGroup() as tg:\n        tg.create_task(tools.boom(message='a'))\nexcept* ToolCallError as g:\n    n=len(g.exceptions)\nn",
        1,
    ),
    "to_thread": ("import asyncio\nawait asyncio.to_thread(sum, [1, 2])", 3),
    "async generator closed early": (
        "out=[]\nasync def g():\n    try:\n        yield 1\n        yield 2\n    finally:\n        out.append('closed')\n"
        "async for x in g():\n    break\nimport asyncio\nawait asyncio.sleep(0)\nlen(out) <= 1",
        True,
    ),
}


@pytest.mark.parametrize("name", ASYNC_PROGRAMS)
def test_asynchronous_programs(guest: Forge, name: str) -> None:
    source, expected = ASYNC_PROGRAMS[name]
    assert guest.value(source) == expected


def test_calls_overlap_in_a_program_with_await(guest: Forge) -> None:
    started = time.monotonic()
    source = (
        "import asyncio\nreturn await asyncio.gather(*[tools.slow(seconds=0.2, value=i) for i in range(10)])"
    )
    assert guest.value(source) == list(range(10))
    assert time.monotonic() - started < 1.5


def test_calls_are_sent_when_they_are_made(guest: Forge) -> None:
    ran = guest.run("a = tools.echo(x=1)\nb = tools.echo(x=2)\nreturn [await b, await a]")
    assert ran.result == [2, 1]
    assert ran.calls == [["echo", {"x": 1}], ["echo", {"x": 2}]]


def test_a_program_without_await_gets_values(guest: Forge) -> None:
    ran = guest.run("out = []\nfor n in range(3):\n    out.append(tools.echo(x=n) + 1)\nreturn out")
    assert ran.result == [1, 2, 3]
    assert len(ran.calls) == 3


@pytest.mark.parametrize("keyword", ["", "await "])
def test_a_failing_tool_raises_at_the_call(guest: Forge, keyword: str) -> None:
    source = f"""
out = []
for n in ("echo", "boom"):
    try:
        out.append({keyword}tools[n](**({{"x": 1}} if n == "echo" else {{"message": "quota 0 left"}})))
    except Exception as e:
        out.append([type(e).__name__, str(e), e.tool_name, e.message, e.code, isinstance(e, ToolCallError)])
return out
"""
    assert guest.value(source) == [
        1,
        ["ToolCallError", "quota 0 left", "boom", "quota 0 left", "E_BOOM", True],
    ]


def test_an_uncaught_tool_failure_names_line_and_message(guest: Forge) -> None:
    message = guest.failure("x = 1\nrows = tools.boom(message='no such table')\nreturn len(rows)")
    assert "line 2" in message
    assert "rows = tools.boom(message='no such table')" in message
    assert message.splitlines()[-1] == "ToolCallError: no such table"


def test_a_call_that_was_not_awaited_and_fails_fails_the_run(guest: Forge) -> None:
    ran = guest.run("await tools.echo(x=1)\ntools.boom(message='disk full')\nreturn 'done'")
    assert ran.kind == "exception"
    assert "boom" in ran.message
    assert "disk full" in ran.message
    assert "add `await`" in ran.message


def test_a_call_that_was_not_awaited_and_succeeds_is_waited_for(guest: Forge) -> None:
    ran = guest.run("await tools.echo(x=1)\ntools.slow(seconds=0.1, value=1)\nreturn 'done'")
    assert (ran.kind, ran.result, len(ran.calls), ran.cancels) == ("ok", "done", 2, [])


def test_a_task_that_failed_and_was_not_awaited_fails_the_run(guest: Forge) -> None:
    source = "import asyncio\nasync def f():\n    raise ValueError('lost')\nasyncio.create_task(f())\nawait asyncio.sleep(0.01)\nreturn 1"
    message = guest.failure(source)
    assert "ValueError: lost" in message
    assert "await the task" in message


def test_cancelling_a_call_tells_the_host(guest: Forge) -> None:
    source = "import asyncio\nt = asyncio.create_task(tools.never())\nawait asyncio.sleep(0)\nawait asyncio.sleep(0)\nt.cancel()\nawait asyncio.sleep(0.01)\nreturn 1"
    ran = guest.run(source)
    assert (ran.kind, ran.cancels) == ("ok", [1])


def test_a_failing_program_cancels_its_calls(guest: Forge) -> None:
    ran = guest.run("c = tools.never()\nawait tools.echo(x=1)\nraise ValueError('x')")
    assert ran.kind == "exception"
    assert ran.cancels == [1]


def test_a_deadlock_is_an_error(guest: Forge) -> None:
    message = guest.failure("import asyncio\nawait asyncio.Event().wait()", wall=5)
    assert "waits for something that can never happen" in message
    assert "timeout" in message


def test_a_lost_coroutine_is_said(guest: Forge) -> None:
    assert "await x" in guest.failure("async def f():\n    return 1\nreturn f()", "invalid-output")
    message = guest.failure("await tools.echo(x=1)\nreturn {'a': [tools.echo(x=2)]}", "invalid-output")
    assert message == "result.a[0]: a tool call that was not awaited; write `await` before it"


def test_a_forgotten_await_is_said(guest: Forge) -> None:
    for use in ("r['a']", "r.items()", "len(r)", "r + 1", "for x in r: pass"):
        message = guest.failure(f"await tools.echo(x=1)\nr = tools.echo(x={{}})\n{use}")
        assert "await" in message.splitlines()[-1], message


def test_a_second_await_of_one_call_does_not_call_again(guest: Forge) -> None:
    ran = guest.run(
        "c = tools.echo(x=1)\na = await c\ntry:\n    await c\nexcept RuntimeError as e:\n    b = str(e)\nreturn [a, b]"
    )
    assert ran.result == [1, "this call of echo was awaited before; keep its value in a variable"]
    assert len(ran.calls) == 1


def test_sleep_works_in_both_styles(guest: Forge) -> None:
    assert (
        guest.value("import time\nt=time.monotonic()\ntime.sleep(0.05)\nreturn time.monotonic()-t >= 0.05")
        is True
    )
    source = "import asyncio,time\nt=time.monotonic()\nawait asyncio.gather(*[asyncio.sleep(0.05) for _ in range(20)])\nreturn time.monotonic()-t < 0.5"
    assert guest.value(source) is True


ARGUMENTS = {
    "keywords": ("tools.add(a=1, b=2)", [["add", {"a": 1, "b": 2}]]),
    "positionals": ("tools.add(1, 2)", [["add", {"a": 1, "b": 2}]]),
    "mixed": ("tools.add(1, b=2)", [["add", {"a": 1, "b": 2}]]),
    "one dict": ("tools.add({'a': 1, 'b': 2})", [["add", {"a": 1, "b": 2}]]),
    "a dict for a parameter that takes objects": ("tools.echo({'k': 1})", [["echo", {"x": {"k": 1}}]]),
    "a dict of parameters all the same": ("tools.echo({'x': 1})", [["echo", {"x": 1}]]),
    "an empty dict as value": ("tools.echo({})", [["echo", {"x": {}}]]),
    "names of the language": (
        "tools.odd(name='n', self='s', args='a', tool='t', **{'from': 'f'})",
        [["odd", {"name": "n", "self": "s", "args": "a", "tool": "t", "from": "f"}]],
    ),
    "from with an underscore": ("tools.odd(from_='f')", [["odd", {"from": "f"}]]),
    "names that are no identifiers": ("tools['my-tool'](1)", [["my-tool", {"value": 1}]]),
    "a tuple": ("tools.echo((1, 2))", [["echo", {"x": [1, 2]}]]),
    "a tool's value": (
        "tools.echo(tools.rows()[0])",
        [["rows", {}], ["echo", {"x": {"id": 1, "name": "a", "tags": ["x", "y"]}}]],
    ),
    "None": ("tools.echo(None)", [["echo", {"x": None}]]),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(guest: Forge, name: str) -> None:
    source, calls = ARGUMENTS[name]
    ran = guest.run(source)
    assert (ran.kind, ran.calls) == ("ok", calls), ran.message


WRONG_ARGUMENTS = {
    "too many": (
        "tools.add(1, 2, 3)",
        "TypeError: add() takes at most 2 positional arguments, got 3; its signature: add(a, b)",
    ),
    "twice": ("tools.add(1, a=2)", "TypeError: add() got the argument 'a' twice; its signature: add(a, b)"),
    "not JSON": ("tools.echo(x={1, 2})", "arguments.x: set is not a JSON value; use sorted(x) or list(x)"),
    "bytes": ("tools.echo(x=b'a')", "arguments.x: bytes is not a JSON value"),
    "not a number": ("tools.echo(x=[float('nan')])", "arguments.x[0]: nan is not a JSON number"),
    "unknown tool": (
        "tools.ecko(x=1)",
        "AttributeError: there is no tool 'ecko'; did you mean 'echo'? available: add, boom",
    ),
    "private": ("tools._table", "AttributeError: 'tools' object has no private attributes here"),
    "unknown item": ("tools['nope']", "there is no tool 'nope'; available: add"),
}


@pytest.mark.parametrize("name", WRONG_ARGUMENTS)
def test_wrong_arguments_are_explained(guest: Forge, name: str) -> None:
    source, expected = WRONG_ARGUMENTS[name]
    ran = guest.run(source)
    assert ran.kind == "exception"
    assert expected in ran.message
    assert ran.calls == []


def test_arguments_have_a_limit(guest: Forge) -> None:
    message = guest.failure("tools.echo(x='a' * 2000)", result_bytes=1000)
    assert "ValueError: the arguments of echo" in message
    assert "1,000" in message


def test_tools_list_their_names_and_cannot_be_changed(guest: Forge) -> None:
    assert guest.value(
        "[sorted(tools), dir(tools) == sorted(tools), 'echo' in tools, len(tools)]", tools=("echo", "add")
    ) == [
        ["add", "echo"],
        True,
        True,
        2,
    ]
    for change in (
        "tools.echo = 1",
        "tools['echo'] = 1",
        "del tools.echo",
        "tools.echo.x = 1",
        "setattr(tools, 'new', 1)",
    ):
        assert guest.run(f"{change}\nreturn tools.echo(x=1)").kind == "exception"
