"""Reported faults: values across the boundary.

A test's name says what holds; its program is the small input that showed the fault elsewhere.
"""

# ruff: noqa: E501  (each program stands on one line)

from __future__ import annotations

import pytest

from tests.reported_faults.support import failure, value


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
