"""A program from end to end: it runs confined, calls real tools, and its logs and result come back."""

import gc
import sqlite3

import pytest
import trio

from codemode import CodeMode, Hooks, Limits, Session, SessionError, ToolError, as_json, text, tool
from codemode.tools.dispatch import Dispatch
from codemode.tools.hooks import Accept, Ask, Block, Deny


@tool(render=as_json, parallel=True)
async def echo(
    value: int | str | float | bool | None | list | dict = None,
) -> int | str | float | bool | None | list | dict:
    """Give back what came."""
    return value


@tool(render=lambda arguments, value: [text(f"{len(value)} rows of {arguments['table']}")])
async def rows(table: str, *, limit: int = 3) -> list[dict[str, int]]:
    """The rows of a table."""
    return [{"id": n, "size": n * n} for n in range(limit)]


@tool(render=as_json)
async def boom(message: str = "it broke", code: str | None = None) -> int:
    """Fail."""
    raise ToolError(message, code=code)


@tool(render=as_json, parallel=True)
async def slow(seconds: float) -> float:
    """Take a while."""
    await trio.sleep(seconds)
    return seconds


TOOLS = [echo, rows, boom, slow]


@pytest.fixture
async def cm():
    async with CodeMode(TOOLS) as engine:
        yield engine


def dispatches(session):
    return [event for event in session.events() if event.type.startswith("tool/code-dispatch")]


async def test_a_program_computes_with_what_tools_return(cm):
    result = await cm.run(
        "table = tools.rows('users', limit=4)\n"
        "print('got', len(table))\n"
        "return {'total': sum(row['size'] for row in table), 'first': table[0]}"
    )
    assert result.error is None
    assert result.logs == ["got 4"]
    assert result.result == {"total": 14, "first": {"id": 0, "size": 0}}
    assert result.text == 'got 4\n{\n  "total": 14,\n  "first": {\n    "id": 0,\n    "size": 0\n  }\n}'


@pytest.mark.parametrize(
    ("source", "has_result", "value"),
    [
        ("return 1 + 2", True, 3),
        ("1 + 2", True, 3),
        ("x = 5\nx * 2", True, 10),
        ("return None", True, None),
        ("return", False, None),
        ("x = 1", False, None),
        ("print('hi')", False, None),
        ("", False, None),
        ("'just text'", True, "just text"),
        ("return 2**200", True, 2**200),
        ("return (1, (2.5, None))", True, [1, [2.5, None]]),
        ("return await tools.echo({'a': [1, {'b': True}]})", True, {"a": [1, {"b": True}]}),
    ],
)
async def test_the_result_is_what_is_returned_or_the_last_expression(cm, source, has_result, value):
    result = await cm.run(source)
    assert result.error is None, result.text
    assert (result.has_result, result.result) == (has_result, value)


async def test_values_cross_exactly_in_both_directions(cm):
    values = [3, 0.5, False, None, "é", 2**53 + 1, -(2**90), [], {}, {"k": [1.5, "x"]}]
    result = await cm.run(
        "import math\n"
        f"values = {values!r}\n"
        "back = [tools.echo(v) for v in values]\n"
        "zero = tools.echo(-0.0)\n"
        "return [back == values, [type(b).__name__ for b in back], back, math.copysign(1, zero)]"
    )
    equal, types, back, sign = result.result
    assert equal is True
    assert types == ["int", "float", "bool", "NoneType", "str", "int", "int", "list", "dict", "dict"]
    assert back == values
    assert sign == -1


async def test_gathered_calls_overlap(cm):
    result = await cm.run(
        "import asyncio\nreturn await asyncio.gather(*[tools.slow(0.05) for _ in range(20)])", "wait"
    )
    assert result.result == [0.05] * 20
    assert result.usage.wall_seconds < 0.5  # 1.0 one after another, 0.1 ten at a time


async def test_a_failed_call_is_an_exception_at_the_call(cm):
    result = await cm.run(
        "seen = []\n"
        "for code in (None, 'NOT_FOUND'):\n"
        "    try:\n"
        "        tools.boom(code=code)\n"
        "    except ToolCallError as error:\n"
        "        seen.append([type(error).__name__, error.tool_name, error.message, error.code, str(error)])\n"
        "    finally:\n"
        "        seen.append('finally')\n"
        "return seen"
    )
    assert result.result == [
        ["ToolCallError", "boom", "it broke", None, "it broke"],
        "finally",
        ["ToolCallError", "boom", "it broke", "NOT_FOUND", "it broke"],
        "finally",
    ]


async def test_an_argument_that_does_not_fit_can_be_caught_and_names_field_and_tool(cm):
    result = await cm.run(
        "try:\n    tools.rows(table=5)\nexcept ToolCallError as error:\n    return [error.message, error.code]"
    )
    assert result.result == [
        "invalid arguments: expected str, got int at table; the signature is rows(table: str, *, limit: int = 3)",
        "INVALID_ARGUMENTS",
    ]


async def test_an_uncaught_error_shows_type_message_and_the_programs_own_line(cm):
    result = await cm.run(
        "data = {'a': 1}\n\ndef pick(key):\n    return data[key]\n\nprint('before')\npick('b')"
    )
    assert result.error.kind == "exception"
    assert "KeyError: 'b'" in result.error.message
    assert "return data[key]" in result.error.message
    assert "pick('b')" in result.error.message
    assert "codemode" not in result.error.message
    assert result.logs == ["before"]
    assert result.text.startswith("Error: run failed (exception): ")
    assert "Printed before:\nbefore" in result.text


async def test_nothing_passes_from_one_run_to_the_next(cm):
    assert (await cm.run("import json\njson.kept = 1\nkept = 1")).error is not None
    result = await cm.run("kept = 1")
    assert result.error is None
    result = await cm.run("return kept")
    assert result.error.kind == "exception"
    assert "NameError" in result.error.message


async def test_each_nested_call_is_recorded_once_at_start_and_end_without_its_value(cm):
    result = await cm.run(
        "tools.rows('users', limit=2)\n"
        "try:\n    tools.boom('secret reason')\nexcept ToolCallError: pass\n"
        "tools.nothing if False else None"
    )
    assert result.error is None
    events = dispatches(cm.session)
    assert [event.type.removeprefix("tool/code-dispatch") for event in events] == ["-start", "", "-start", ""]
    first_start, first_end, _, second_end = (event.data for event in events)
    call_id = first_start["rootCallId"]
    assert first_start == {
        "rootCallId": call_id,
        "parentCallId": call_id,
        "subCallId": f"{call_id}:1",
        "name": "rows",
        "arguments": {"table": "users", "limit": 2},
    }
    assert first_end == {
        **first_start,
        "content": [{"type": "text", "text": "2 rows of users"}],
        "isError": False,
    }
    assert second_end["isError"] is True
    assert second_end["content"] == [{"type": "text", "text": "Error: secret reason"}]


async def test_events_of_a_run_are_inside_its_direct_call(cm):
    await cm.run("tools.echo(1)")
    types = [event.type for event in cm.session.events()]
    assert types == [
        "tool/call",
        "tool/start",
        "run/start",
        "tool/code-dispatch-start",
        "tool/code-dispatch",
        "run/end",
        "tool/result",
    ]


async def test_the_session_file_is_complete_when_the_run_has_returned_and_holds_no_value(tmp_path):
    path = tmp_path / "session.db"

    @tool(render=lambda arguments, value: [text("a row")])
    async def secret() -> dict[str, str]:
        return {"token": "value-that-is-never-stored"}

    async with CodeMode([secret], session=path) as cm:
        await cm.run("row = tools.secret()\nprint(len(row['token']))")
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as reader:
            types = [row[0] for row in reader.execute("SELECT type FROM events ORDER BY seq")]
        assert types == [
            "tool/call",
            "tool/start",
            "run/start",
            "tool/code-dispatch-start",
            "tool/code-dispatch",
            "run/end",
            "tool/result",
        ]
    raw = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert b"a row" in raw
    assert b"value-that-is-never-stored" not in raw


async def test_what_a_long_run_does_is_durable_before_it_ends(tmp_path):
    path = tmp_path / "session.db"
    async with CodeMode([rows, slow], session=path) as cm, trio.open_nursery() as nursery:
        nursery.start_soon(cm.run, "tools.rows('users')\ntools.slow(60)")
        with trio.fail_after(10):
            types = []
            while "tool/code-dispatch" not in types:
                await trio.sleep(0.05)
                with Session.read(path) as reader:
                    types = [event.type for event in reader.events()]
        nursery.cancel_scope.cancel()
    assert types[:5] == [
        "tool/call",
        "tool/start",
        "run/start",
        "tool/code-dispatch-start",
        "tool/code-dispatch",
    ]


async def test_a_direct_call_gives_its_outcome_and_is_recorded_with_metadata():
    @tool(render=as_json, presentation_meta=lambda arguments, value: {"card": value})
    async def one() -> int:
        return 1

    async with CodeMode([one]) as cm:
        outcome = await cm.call("one", {})
        nested = await cm.run("return tools.one()")
        events = list(cm.session.events())
    assert (outcome.value, outcome.meta) == (1, {"card": 1})
    assert nested.result == 1
    results = [event.data for event in events if event.type == "tool/result"]
    assert results[0]["meta"] == {"card": 1}
    assert "meta" not in results[1]
    (end,) = [event.data for event in events if event.type == "tool/code-dispatch"]
    assert "meta" not in end


async def test_a_failed_direct_call_is_an_outcome():
    async with CodeMode(TOOLS) as cm:
        outcome = await cm.call("boom", {"code": "NOPE"})
        unknown = await cm.call("bom", {})
    assert (outcome.error.message, outcome.error.code) == ("it broke", "NOPE")
    assert "did you mean 'boom'" in unknown.error.message


async def test_programs_and_direct_calls_go_through_the_same_hooks():
    seen = []

    def watch(call):
        seen.append((call.name, call.is_direct))
        if call.name == "boom":
            return Deny("boom is not allowed")
        return None

    def rewrite(call, outcome):
        return Accept(content=[text("shown instead")]) if call.name == "rows" else None

    async with CodeMode(TOOLS, hooks=Hooks(pre_execute=(watch,), post_execute=(rewrite,))) as cm:
        result = await cm.run(
            "try:\n    tools.boom()\nexcept ToolCallError as e:\n    why = e.message\n"
            "return [why, len(tools.rows('t'))]"
        )
        assert result.result == ["boom is not allowed", 3]
        ends = [event.data for event in dispatches(cm.session) if event.type == "tool/code-dispatch"]
    assert seen == [("run_code", True), ("boom", False), ("rows", False)]
    assert [end["content"][0]["text"] for end in ends] == ["Error: boom is not allowed", "shown instead"]


async def test_a_run_that_a_hook_refuses_has_its_own_kind():
    for hooks in (
        Hooks(pre_execute=(lambda call: Ask("runs code"),)),
        Hooks(post_execute=(lambda call, outcome: Block(feedback="not today"),)),
    ):
        async with CodeMode(TOOLS, hooks=hooks) as cm:
            result = await cm.run("return 1")
        assert result.error.kind == "refused"
        assert not result.has_result


async def test_calls_that_are_under_way_when_a_run_ends_are_stopped_and_recorded(cm):
    result = await cm.run(
        "import asyncio\n"
        "task = asyncio.create_task(asyncio.wait_for(tools.slow(60), 120))\n"
        "await asyncio.sleep(0.05)\n"
        "return 'done'"
    )
    assert result.result == "done", result.text
    ends = [event.data for event in dispatches(cm.session) if event.type == "tool/code-dispatch"]
    assert [(end["name"], end["isError"]) for end in ends] == [("slow", True)]
    assert result.usage.wall_seconds < 10


async def test_a_call_that_timed_out_in_the_program_is_stopped(cm):
    result = await cm.run(
        "import asyncio\n"
        "try:\n    await asyncio.wait_for(tools.slow(60), 0.05)\n"
        "except TimeoutError:\n    return [await tools.echo('next')]"
    )
    assert result.result == ["next"], result.text


async def test_a_call_nobody_awaits_is_finished_and_its_failure_is_not_silent(cm):
    result = await cm.run("tools.boom('lost')\nx = await tools.echo(1)\nreturn 'done'")
    assert result.error.kind == "exception"
    assert "boom" in result.error.message
    assert "lost" in result.error.message


async def test_cancelling_a_run_ends_everything_and_leaves_a_complete_log(tmp_path):
    started = trio.Event()

    @tool(render=as_json)
    async def hang() -> int:
        started.set()
        await trio.sleep_forever()

    async with Session.open(tmp_path / "s.db") as session:
        async with CodeMode([hang], session=session) as cm:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cm.run, "tools.hang()")
                await started.wait()
                nursery.cancel_scope.cancel()
            assert (await cm.run("return 1")).result == 1
        events = list(session.events())
    types = [event.type for event in events]
    assert types[:7] == [
        "tool/call",
        "tool/start",
        "run/start",
        "tool/code-dispatch-start",
        "tool/code-dispatch",
        "run/end",
        "tool/result",
    ]
    assert events[4].data["isError"] is True
    assert events[5].data["outcome"] == "abort"


async def test_runs_may_overlap(cm):
    results = {}

    async def one(number):
        results[number] = (await cm.run(f"tools.slow(0.05)\nreturn {number}")).result

    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(one, number)
    assert results == {number: number for number in range(8)}


async def test_printed_text_streams_while_the_program_runs(cm):
    pieces = []
    result = await cm.run(
        "for i in range(3):\n    print('line', i)\n    tools.slow(0.02)", on_log=pieces.append
    )
    assert "".join(pieces) == "line 0\nline 1\nline 2\n"
    assert len(pieces) == 3
    assert result.logs == ["line 0", "line 1", "line 2"]


async def test_printed_lines_are_what_print_writes(cm):
    result = await cm.run(
        "print('a', end='')\nprint('b')\nprint()\nprint('c\\nd')\nprint('no newline', end='')"
    )
    assert result.logs == ["ab", "", "c", "d", "no newline"]


@pytest.mark.parametrize(
    ("source", "limits", "kind", "says"),
    [
        ("print('before')\nwhile True: pass", {"cpu_seconds": 0.5}, "timeout", "processor time"),
        ("print('before')\nimport time\ntime.sleep(60)", {"wall_seconds": 0.5}, "timeout", "0.5"),
        ("print('before')\nx = [0] * 10**10", {}, "memory-limit", "512"),
        ("print('before')\nfor _ in range(10_000): tools.echo(1)", {"max_calls": 50}, "call-limit", "50"),
        (
            "import asyncio\nprint('before')\nawait asyncio.gather(*[tools.slow(5) for _ in range(30)])",
            {"max_calls_in_flight": 20},
            "call-limit",
            "20 tool calls under way at once",
        ),
        ("print('before')\nfor i in range(1_000_000): print(i)", {}, "output-limit", "1"),
        ("print('before')\nreturn {1, 2}", {}, "invalid-output", "sorted(x) or list(x)"),
        ("print('before')\nreturn 'x' * 20_000_000", {}, "output-limit", "16"),
        ("print('before')\nreturn 1 / 0", {}, "exception", "ZeroDivisionError: division by zero"),
        ("print('before')\nraise SystemExit(3)", {}, "exception", "SystemExit"),
    ],
)
async def test_each_limit_has_its_kind_a_message_and_the_logs_before(source, limits, kind, says):
    async with CodeMode([echo, slow], limits=Limits(**limits)) as cm:
        result = await cm.run(source)
        assert (result.error.kind, result.logs[:1]) == (kind, ["before"]), result.text[:500]
        assert says in result.error.message
        assert (await cm.run("return 'next'")).result == "next"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("open('/etc/passwd')", "tool"),
        ("import socket", "socket"),
        ("import subprocess", "subprocess"),
        ("import os\nos.system('id')", "os"),
        ("return ().__class__.__base__.__subclasses__()", "__base__"),
        ("tools.rows('t')[0]['id'] = 5", "copy"),
        ("tools.rows('t').append(1)", "copy"),
        ("list.append(tools.rows('t'), 1)", "copy"),
        ("tools.rowz('t')", "rows"),
        ("x = (1\n", "line 1"),
    ],
)
async def test_what_is_refused_says_so_in_words_for_the_writer(cm, source, says):
    result = await cm.run(source)
    assert result.error.kind == "exception"
    assert says in result.error.message
    assert "/site-packages/" not in result.error.message
    assert (await cm.run("return 1")).result == 1


async def test_tools_can_be_added_and_removed_between_runs(cm):
    @tool(render=as_json)
    async def late() -> str:
        return "here"

    remove = cm.registry.register(late)
    assert (await cm.run("return tools.late()")).result == "here"
    remove()
    assert (await cm.run("tools.late()")).error.kind == "exception"


async def test_a_tool_of_any_name_and_parameters_can_be_called():
    tools = [
        tool(render=as_json, name=name)(_named)
        for name in ("my-tool", "my.tool", "my_tool", "class", "print", "_hidden", "__proto__", "ünïcode")
    ]
    async with CodeMode(tools) as cm:
        result = await cm.run(
            "return [tools[name](name='n', self='s', tool='t', args=['a']) for name in sorted(tools)]\n"
        )
    assert result.error is None, result.text
    assert result.result == [["n", "s", "t", "a"]] * len(tools)


async def _named(name: str, self: str, tool: str, args: list[str]) -> list[str]:
    return [name, self, tool, *args]


async def test_an_engine_is_entered_before_it_is_used():
    with pytest.raises(RuntimeError, match="async with CodeMode"):
        await CodeMode(TOOLS).run("return 1")


async def test_an_empty_description_is_refused_before_anything_runs(cm):
    result = await cm.run("return 1", " ")
    assert result.error.kind == "refused"
    assert "description is empty" in result.error.message


async def test_a_long_output_is_cut_in_the_middle_for_the_model_only(cm):
    result = await cm.run("print('head')\nfor i in range(20_000): print('line', i)\nprint('tail')")
    assert len(result.logs) == 20_002
    assert len(result.text.encode()) <= 50_000
    assert result.text.startswith("head\n")
    assert result.text.endswith("\ntail")
    assert "bytes in all, cut here" in result.text


async def test_a_log_that_cannot_be_written_ends_the_run_with_that_error(cm, monkeypatch):
    append = cm.session.append

    def failing(type, data, **options):
        if type == "tool/code-dispatch-start" and data["arguments"].get("table") == "last":
            raise SessionError("the disk is full")
        return append(type, data, **options)

    monkeypatch.setattr(cm.session, "append", failing)
    with trio.fail_after(20):
        with pytest.raises(SessionError, match="the disk is full"):
            await cm.run("tools.rows('first')\ntools.rows('last')\nreturn 1")
        assert (await cm.run("return len(tools.rows('first'))")).result == 3


async def test_that_a_direct_body_starts_is_durable_before_it_does_and_a_refused_one_never_starts(tmp_path):
    path = tmp_path / "a.session"

    @tool(render=as_json)
    async def stored() -> list[str]:
        """The types of the events that a crash would leave now."""
        with Session.read(path) as log:
            return [event.type for event in log.events()]

    async with CodeMode([stored], session=path) as cm:
        outcome = await cm.call("stored", {})
        assert outcome.value == ["tool/call", "tool/start"]
        await cm.run("return 1")
    hooks = Hooks(guards=(lambda call: "no",))
    async with CodeMode([stored], session=path, hooks=hooks) as cm:
        await cm.call("stored", {})
    with Session.read(path) as log:
        events = list(log.events())
    assert [event.data["startLogged"] for event in events if event.type == "tool/call"] == [True] * 3
    assert [event.type for event in events][-2:] == ["tool/call", "tool/result"]
    assert [event.type for event in events].count("tool/start") == 2


async def test_a_call_that_has_ended_is_let_go_of_at_once():
    """Its arguments and its value may be large: nothing waits for the garbage collector."""

    @tool(render=as_json, parallel=True)
    async def twice(n: int) -> int:
        """Double."""
        return 2 * n

    program = "import asyncio\nreturn sum(await asyncio.gather(*[tools.twice(n=n) for n in range(6)]))"
    async with CodeMode([twice], max_parallel_calls=2) as cm:
        await cm.run(program)
        gc.collect()
        gc.disable()
        try:
            assert (await cm.run(program)).result == 30
            assert [each for each in gc.get_objects() if isinstance(each, Dispatch)] == []
        finally:
            gc.enable()
