"""Faults that users of such engines have reported, each as the behaviour that is right.

Everything goes through the public face, as a user meets it. A test's name says what holds; its program is
the small input that showed the fault elsewhere.
"""

# ruff: noqa: E501  (each program stands on one line)

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
import trio

from codemode import (
    CodeMode,
    Hooks,
    Limits,
    Output,
    Tool,
    ToolDefinitionError,
    ToolError,
    as_json,
    text,
    tool,
)
from codemode.tools.hooks import Ask
from tests.sandbox.support import descendants


class Detail(msgspec.Struct):
    """A value with parts."""

    id: int
    ratio: float
    tags: list[str]


@tool(render=as_json, parallel=True)
async def echo(
    value: int | str | float | bool | None | list | dict = None,
) -> int | str | float | bool | None | list | dict:
    """Give back what came."""
    return value


@tool(render=as_json)
async def call(name: str) -> str:
    """Answer, unless the name is boom."""
    if name == "boom":
        raise ToolError("it broke")
    return name


@tool(render=as_json)
def bad_sync() -> int:
    """Fail in a thread."""
    raise RuntimeError("sync: quota 0 left")


@tool(render=as_json)
async def bad_async() -> int:
    """Fail in the loop."""
    raise RuntimeError("async: quota 0 left")


@tool(render=as_json)
async def user(id: Annotated[str, msgspec.Meta(min_length=1)]) -> str:
    """A user's name."""
    return f"user {id}"


@tool(render=as_json, parallel=True)
async def slow(seconds: float = 0.1) -> float:
    """Take a while."""
    await trio.sleep(seconds)
    return seconds


@tool(render=as_json)
async def fetch(url: str, limit: int = 3) -> str:
    """Fetch."""
    return f"{url}:{limit}"


@tool(render=lambda arguments, value: [text("a long text for people")])
async def detail() -> Detail:
    """Something with parts and a text for people."""
    return Detail(7, 0.5, ["x"])


@tool(render=as_json)
async def kind_of(x: str | None) -> str:
    """Which type came."""
    return type(x).__name__


@tool(render=as_json)
async def load(name: str) -> list[int]:
    """Rows, if there are any."""
    raise ToolError(f"no table {name!r}", code="NOT_FOUND")


TOOLS = [echo, call, bad_sync, bad_async, user, slow, fetch, detail, kind_of, load]


@pytest.fixture
async def cm():
    async with CodeMode(TOOLS) as engine:
        yield engine


async def value(cm: CodeMode, source: str) -> Any:
    """Run a program that is to end well and return its result."""
    result = await cm.run(source)
    assert result.error is None, result.text
    return result.result


async def failure(cm: CodeMode, source: str, kind: str = "exception") -> str:
    """Run a program that is to fail in this way and return the message."""
    result = await cm.run(source)
    assert result.error is not None, result.text
    assert result.error.kind == kind, result.text
    return result.error.message


# ------------------------------------------------------------------- tool failures inside the program


@pytest.mark.parametrize("style", ["", "await "])
async def test_a_failing_tool_is_an_ordinary_exception_and_partial_results_stay(cm, style):
    source = f"""
out = []
for n in ("ok", "boom", "fine"):
    try:
        out.append({style}tools.call(n))
    except Exception as e:
        out.append(type(e).__name__)
    finally:
        out.append("finally")
return out
"""
    assert await value(cm, source) == ["ok", "finally", "ToolCallError", "finally", "fine", "finally"]


async def test_synchronous_and_asynchronous_tools_fail_alike(cm):
    for style in ("", "await "):
        source = f"""
out = []
for f in (tools.bad_sync, tools.bad_async):
    try:
        {style}f()
    except ToolCallError as e:
        out.append([e.tool_name, str(e)])
return out
"""
        sync, asynchronous = await value(cm, source)
        assert sync[0] == "bad_sync"
        assert "sync: quota 0 left" in sync[1]
        assert asynchronous[0] == "bad_async"
        assert "async: quota 0 left" in asynchronous[1]


async def test_an_argument_that_the_host_refuses_can_be_caught_and_the_program_goes_on(cm):
    source = """
try:
    tools.user(id="")
except ToolCallError as e:
    problem = str(e)
return [problem, tools.user(id="5")]
"""
    problem, second = await value(cm, source)
    assert "id" in problem
    assert "length" in problem
    assert "user(id: " in problem
    assert second == "user 5"


async def test_the_tools_own_message_reaches_the_program_and_the_model(cm):
    message = await failure(cm, "tools.bad_async()")
    assert "async: quota 0 left" in message
    assert "ToolCallError" in message
    assert "tools.bad_async()" in message


async def test_a_failed_tool_raises_where_it_is_called_and_is_no_value(cm):
    message = await failure(cm, "rows = tools.load('missing')\nreturn len(rows)")
    assert "line 1" in message
    assert "no table 'missing'" in message
    assert "line 2" not in message


async def test_an_error_names_every_line_of_the_programs_own_chain(cm):
    source = "def inner(xs):\n    return xs[9]\n\ndef outer():\n    return inner([1])\n\nouter()"
    message = await failure(cm, source)
    for part in ("line 7", "line 5, in outer", "return inner([1])", "line 2, in inner", "return xs[9]"):
        assert part in message
    assert message.endswith("IndexError: list index out of range")


async def test_a_syntax_error_has_name_message_line_and_caret(cm):
    message = await failure(cm, "x = 1\ny = (2))\n")
    assert message.splitlines()[:3] == ["SyntaxError: unmatched ')' (line 2)", "    y = (2))", "           ^"]


async def test_each_end_of_a_run_has_a_kind_of_its_own(cm):
    limits = Limits(cpu_seconds=0.5, max_calls=3, log_bytes=2000)
    async with CodeMode([echo], limits=limits) as small:
        ends = {
            "while True: pass": "timeout",
            "return {1}": "invalid-output",
            "print('x' * 5000)": "output-limit",
            "for i in range(9): tools.echo(i)": "call-limit",
            "x = [0] * 10**10": "memory-limit",
            "1 / 0": "exception",
        }
        kinds = {source: (await small.run(source)).error.kind for source in ends}
    assert kinds == ends


async def test_a_killed_worker_is_said_to_be_lost_and_the_next_run_works(cm):
    async with trio.open_nursery() as nursery:
        result = {}

        async def run() -> None:
            result["it"] = await cm.run("print('before')\nwhile True: pass")

        nursery.start_soon(run)
        busy = await _busy_descendant()
        os.kill(busy, signal.SIGKILL)
    assert result["it"].error.kind == "worker-exit"
    assert await value(cm, "return 'next'") == "next"


async def _busy_descendant() -> int:
    """The process below this one that computes: the guest of a program that never ends."""
    with trio.fail_after(10):
        while True:
            for pid in descendants():
                if _ticks(pid) > 10 and not descendants(pid):  # not the process that forks the guests
                    return pid
            await trio.sleep(0.02)


def _ticks(pid: int) -> int:
    """Processor time of a process that runs at this moment, else 0."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) if fields[0] == "R" else 0


async def test_a_call_that_nobody_awaited_and_that_fails_fails_the_run(cm):
    message = await failure(cm, "tools.load('x')\nawait tools.echo(1)\nreturn 'done'")
    assert "no table 'x'" in message
    assert "await" in message


async def test_malformed_exceptions_are_reported_like_others(cm):
    source = "class Bad(Exception):\n    def __str__(self):\n        raise KeyError('in str')\nraise Bad()"
    message = await failure(cm, source)
    assert "Bad" in message
    assert "__str__" in message
    huge = await failure(cm, "raise ValueError('x' * 5_000_000)")
    assert huge.count("x") < 70_000
    assert "ValueError" in huge
    assert "line 1" in huge


@pytest.mark.parametrize(
    "source", ["import socket", "().__class__.__bases__", "def f(:", "x = 1\0", "\ud800"]
)
async def test_what_cannot_run_is_an_ordinary_result_with_a_message(cm, source):
    result = await cm.run(source)
    assert result.error is not None
    assert result.error.kind in ("exception", "refused")
    assert len(result.error.message) > 20
    assert await value(cm, "return 1") == 1


# ----------------------------------------------------------------------------- async, parallel, order


async def test_an_asynchronous_tools_value_is_a_value_and_no_coroutine(cm):
    result = await cm.run("x = tools.fetch('u')\nprint(x)\nreturn x")
    assert (result.logs, result.result) == (["u:3"], "u:3")


async def test_twenty_gathered_calls_take_about_as_long_as_one(cm):
    start = time.perf_counter()
    source = "import asyncio\nreturn sum(await asyncio.gather(*[tools.slow(0.1) for _ in range(20)]))"
    assert await value(cm, source) == pytest.approx(2.0)
    assert time.perf_counter() - start < 1.5


async def test_gathered_calls_of_which_one_needs_approval_pause_in_place_and_run_once():
    made = []

    @tool(render=as_json, parallel=True)
    async def act(name: str) -> str:
        """Act."""
        made.append(name)
        return name

    asked = []

    async def approver(requests: Any) -> Any:
        asked.extend(request.arguments["name"] for request in requests)
        return "allow-once"

    def ask(call: Any) -> Any:
        return Ask("sure?") if call.arguments.get("name") == "b" else None

    async with CodeMode([act], hooks=Hooks(pre_execute=[ask]), approver=approver) as cm:
        source = "import asyncio\nreturn await asyncio.gather(tools.act('a'), tools.act('b'), tools.act('c'))"
        assert await value(cm, source) == ["a", "b", "c"]
    assert sorted(made) == ["a", "b", "c"]
    assert asked == ["b"]


async def test_reads_overlap_and_a_write_runs_alone():
    now: dict[str, int] = {"reads": 0, "most": 0}
    beside_write = []

    @tool(render=as_json, parallel=True)
    async def read() -> int:
        """Read."""
        now["reads"] += 1
        now["most"] = max(now["most"], now["reads"])
        await trio.sleep(0.02)
        now["reads"] -= 1
        return 1

    @tool(render=as_json)
    async def write() -> int:
        """Write."""
        beside_write.append(now["reads"])
        await trio.sleep(0.02)
        beside_write.append(now["reads"])
        return 2

    async with CodeMode([read, write]) as cm:
        source = (
            "import asyncio\n"
            "return await asyncio.gather(*[tools.read() for _ in range(5)], tools.write(), *[tools.read() for _ in range(5)])"
        )
        assert await value(cm, source) == [1] * 5 + [2] + [1] * 5
    assert now["most"] == 5
    assert beside_write == [0, 0]


async def test_await_works_at_the_top_level(cm):
    assert await value(cm, "return await tools.fetch('a')") == "a:3"


async def test_a_synchronous_tool_that_sleeps_does_not_hold_the_host():
    @tool(render=as_json)
    def sleepy() -> int:
        """Sleep in a thread."""
        time.sleep(0.5)
        return 1

    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await trio.sleep(0.01)
            ticks += 1

    async with CodeMode([sleepy]) as cm, trio.open_nursery() as nursery:
        nursery.start_soon(tick)
        assert await value(cm, "return tools.sleepy()") == 1
        nursery.cancel_scope.cancel()
    assert ticks > 20


# ------------------------------------------------------------------------- values across the boundary


async def test_json_types_arrive_exactly(cm):
    source = "a, b, c, d = [tools.echo(v) for v in (3, 0.5, False, None)]\nreturn [a + 1, b * 2, c is False, d is None]"
    assert await value(cm, source) == [4, 1.0, True, True]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("int", "class is not a JSON value"),
        ("def f(): pass\nf", "function is not a JSON value"),
        ("(x for x in [])", "generator is not a JSON value"),
        ("return {3, 1}", "set is not a JSON value"),
        (r"return b'\xff\x00'", "bytes is not a JSON value"),
        ("return float('nan')", "nan is not a JSON number"),
        (
            "import datetime\nreturn {'d': datetime.date(2024, 1, 2)}",
            "result.d: date is not a JSON value; use x.isoformat()",
        ),
    ],
)
async def test_a_result_that_is_no_json_says_where_and_what_to_return_instead(cm, source, says):
    message = await failure(cm, source, "invalid-output")
    assert says in message
    assert "use" in message or "return" in message or "call it" in message


async def test_bytes_as_an_argument_are_refused_with_the_cure(cm):
    message = await failure(cm, r"tools.echo(b'\xff')")
    assert "arguments.value: bytes is not a JSON value" in message
    assert "decode" in message


async def test_a_program_gets_the_value_and_not_its_rendering(cm):
    assert await value(cm, "v = tools.detail()\nreturn [v['id'] + 1, v['ratio'], v['tags'][0]]") == [
        8,
        0.5,
        "x",
    ]


async def test_none_as_an_argument_stays_none(cm):
    assert await value(cm, "return [tools.kind_of(None), tools.kind_of(x='None')]") == ["NoneType", "str"]


async def test_nested_values_are_used_without_parsing(cm):
    source = "v = tools.echo({'a': {'b': [{'c': 5}]}})\nreturn v['a']['b'][0]['c'] * 2"
    assert await value(cm, source) == 10


async def test_large_integers_negative_zero_and_depth_are_safe(cm):
    back = await value(cm, "return [2**53 + 1, tools.echo(-(2**70)), -0.0, tools.echo(-0.0)]")
    assert repr(back) == f"[{2**53 + 1}, {-(2**70)}, -0.0, -0.0]"
    deep = "x = []\nfor _ in range(5000):\n    x = [x]\nreturn x"
    assert "nested" in await failure(cm, deep, "invalid-output")
    assert "nested" in await failure(cm, deep.replace("return x", "tools.echo(x)"))


async def test_a_tools_value_is_changed_in_a_copy_and_the_refusal_says_how(cm):
    message = await failure(cm, "r = tools.echo({'a': 1})\nr['seen'] = True")
    assert "copy" in message
    assert "{**value, 'key': ...}" in message
    source = "r = dict(tools.echo({'a': [1]}))\nr['seen'] = True\nimport copy\nd = copy.deepcopy(tools.echo({'a': [1]}))\nd['a'].append(2)\nreturn [r, d]"
    assert await value(cm, source) == [{"a": [1], "seen": True}, {"a": [1, 2]}]


# ------------------------------------------------------------------------- names, signatures, schemas


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


# ------------------------------------------------------- language that models write and engines refuse

LANGUAGE = {
    "items are augmented": (
        "c={}\nfor w in 'a b a'.split():\n    c.setdefault(w,0); c[w]+=1\nreturn c",
        {"a": 2, "b": 1},
    ),
    "names and attributes are augmented, classes made": (
        "t=0; t+=2\nclass P:\n    x=1\np=P(); p.x+=5\nreturn [t, p.x]",
        [2, 6],
    ),
    "annotations are accepted": (
        "total: float = 0\ndef f(xs: list[int]) -> dict[str, int]:\n    return {'n': len(xs)}\ntotal += 1\nreturn [total, f([1])]",
        [1, {"n": 1}],
    ),
    "nonlocal, match and async are accepted": (
        "def counter():\n    n = 0\n    def inc():\n        nonlocal n\n        n += 1\n        return n\n    return inc\n"
        "async def a():\n    return 1\ninc = counter(); inc()\nmatch [inc(), await a()]:\n    case [x, y]:\n        return [x, y]",
        [2, 1],
    ),
    "loop variables are seen in nested loops": (
        "d = {}\nfor i in range(2):\n    for j in range(2):\n        for k in range(2):\n            d.setdefault(str(i), {}).setdefault(str(j), {})[str(k)] = i + j + k\nreturn [d['1']['1']['1'], i, j, k]",
        [3, 1, 1, 1],
    ),
    "generators yield": ("def g():\n    for i in range(3): yield i*i\nreturn list(g())", [0, 1, 4]),
    "builtin types stay types": (
        "return [isinstance(v, (int, str)) for v in (1, 'a', 2.0)]",
        [True, True, False],
    ),
    "bytes are there": ("return bytes('é', 'utf-8').hex()", "c3a9"),
    "the result of a call can be called": (
        "def mk(k): return lambda x: x*k\nreturn [mk(3)(4), mk.__name__]",
        [12, "mk"],
    ),
    "print works in a method without any set-up": (
        "class A:\n    def m(self):\n        print('hi')\n        return 1\nreturn A().m()",
        1,
    ),
    "collections, statistics and itertools are there": (
        "from collections import Counter, defaultdict\nimport statistics, itertools\nd = defaultdict(int)\nd['a'] += 1\n"
        "return [Counter('aab')['a'], statistics.median([3, 1, 2]), d['a'], list(itertools.chain([1], [2]))]",
        [2, 2, 1, [1, 2]],
    ),
    "the clock can be read": (
        "from datetime import datetime\nimport time\nreturn [datetime.utcnow().year > 2000, datetime.now() is not None, time.time() > 0]",
        [True, True, True],
    ),
    "with, match, class and del are accepted": (
        "d={'a':1}; del d['a']\nfrom contextlib import suppress\nwith suppress(KeyError):\n    d['x']\nmatch d:\n    case {}:\n        r = 'empty'\nclass A: pass\nreturn [r, A.__name__]",
        ["empty", "A"],
    ),
    "map, getattr, super and exception names are accepted": (
        "class A:\n    def f(self): return 1\nclass B(A):\n    def f(self): return super().f() + 1\n"
        "try:\n    raise FileNotFoundError('x')\nexcept FileNotFoundError:\n    r = 'caught'\n"
        "return [sum(map(len, 'a bb'.split())), getattr(B(), 'f')(), r]",
        [3, 2, "caught"],
    ),
    "strings of several lines are byte for byte": (
        's="""a\nb"""\nt = """\n  x\n\ty"""\nreturn [s, t]',
        ["a\nb", "\n  x\n\ty"],
    ),
    "items, loops, stores and augmentation work together": (
        "x=[3]\nd={}\nfor v in x:\n    d['k']=v\n    d['k']+=x[0]\nreturn d",
        {"k": 6},
    ),
}


@pytest.mark.parametrize("what", LANGUAGE)
async def test_ordinary_language_is_accepted_and_means_what_it_means(cm, what):
    source, expected = LANGUAGE[what]
    assert await value(cm, source) == expected


async def test_an_error_has_the_line_of_the_source(cm):
    message = await failure(cm, 's = """a\nb"""\nraise ValueError(s)')
    assert "line 3" in message
    assert "raise ValueError(s)" in message


async def test_internal_names_are_never_shown(cm):
    for source in ("n += 1", "class P(Q): pass", "x[0]", "for i in 5: pass", "a.b.c", "del q"):
        message = await failure(cm, source)
        for internal in (
            "_getattr_",
            "_getitem_",
            "_inplacevar_",
            "__metaclass__",
            "_write_",
            "<own>",
            "<program>",
            "codemode",
        ):
            assert internal not in message


async def test_a_name_of_an_earlier_run_is_explained(cm):
    assert await value(cm, "data = 5\nreturn data") == 5
    assert "runs do not share variables" in await failure(cm, "return data")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("ls -la", "this is a shell command; write Python"),
        ("pwd", "this is a shell command"),
        ("cat notes.txt | head -5", "this is a shell command"),
        ("```python\nprint(1)\n```", "without the Markdown fence"),
        ("const x = 1;", "write Python"),
    ],
)
async def test_a_program_that_is_no_python_says_what_to_send(cm, source, says):
    assert says in await failure(cm, source)


async def test_what_is_not_there_says_what_to_write_instead(cm):
    cures = {
        "import requests": "use a tool that fetches",
        "open('x')": "files are reached through the tools",
        "import os\nos.system('ls')": "use a tool that runs commands",
        "Counter('a')": "from collections import Counter",
        "json.loads('1')": "import json",
        "import pandas": "use lists",
    }
    for source, cure in cures.items():
        assert cure in await failure(cm, source), source


# ------------------------------------------------------------------------------- limits and output


async def test_there_are_limits_by_default():
    limits = Limits()
    assert limits.cpu_seconds <= 60
    assert limits.wall_seconds <= 600
    assert limits.memory_bytes <= 1 << 30
    async with CodeMode() as cm:
        for source in ("'x' * 10**10", "[0] * 10**10", "x = []\nwhile True: x.append('y' * 10**6)"):
            assert (await cm.run(source)).error.kind == "memory-limit"


async def test_a_program_that_never_ends_is_killed_and_the_host_keeps_ticking():
    gaps = []

    async def tick() -> None:
        last = time.perf_counter()
        while True:
            await trio.sleep(0.01)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    async with CodeMode(limits=Limits(wall_seconds=1)) as cm, trio.open_nursery() as nursery:
        nursery.start_soon(tick)
        start = time.perf_counter()
        assert (await cm.run("while True: pass")).error.kind == "timeout"
        assert time.perf_counter() - start < 4
        nursery.cancel_scope.cancel()
    assert len(gaps) > 30
    assert sorted(gaps)[len(gaps) // 2] < 0.05


async def test_each_run_has_a_budget_of_its_own():
    async with CodeMode([echo], limits=Limits(max_calls=10, log_bytes=1000)) as cm:
        for _ in range(10):
            result = await cm.run("for i in range(4): tools.echo(i)\nprint('x' * 400)")
            assert result.error is None, result.text


async def test_printed_text_is_kept_whole_and_what_is_cut_for_the_model_says_so(cm):
    result = await cm.run("for i in range(15_000): print('token', i)")
    assert result.error is None
    assert len(result.logs) == 15_000
    assert result.logs[-1] == "token 14999"
    assert len(result.text) < len("\n".join(result.logs))
    assert result.text.startswith("token 0\n")
    assert result.text.rstrip().endswith("token 14999")
    assert "bytes in all, cut here" in result.text


async def test_logs_before_a_limit_are_kept(cm):
    result = await cm.run("print('first')\nwhile True: print('flood' * 1000)")
    assert result.error.kind == "output-limit"
    assert result.logs[0] == "first"
