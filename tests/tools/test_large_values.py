"""Large values: exact for the program, and made beside everything else that the host does."""

import threading
from dataclasses import dataclass

import msgspec
import pytest

from codemode import CodeMode, Limits, text, tool
from codemode.schemas import has_more_parts

THREADS = []


def shown(arguments, value):
    THREADS.append(threading.current_thread())
    return [text(f"{len(value)} rows")]


@tool(render=shown)
async def rows(count: int) -> list[dict[str, int]]:
    """That many rows."""
    return [{"n": n, "square": n * n} for n in range(count)]


@tool(render=shown)
async def wrong_at_the_end(count: int) -> list[int]:
    """That many numbers, and something else."""
    return [*range(count), "x"]  # type: ignore[list-item]


@pytest.mark.parametrize(("count", "aside"), [(3, False), (20_000, True)])
async def test_a_large_value_is_checked_and_rendered_in_a_thread(count, aside):
    THREADS.clear()
    async with CodeMode([rows], limits=Limits(memory_bytes=2**30)) as cm:
        outcome = await cm.call("rows", {"count": count})
        result = await cm.run(f"got = tools.rows({count})\nreturn [len(got), got[-1]]")
    assert outcome.value[-1] == {"n": count - 1, "square": (count - 1) ** 2}
    assert outcome.content[0].text == f"{count} rows"
    assert result.result == [count, {"n": count - 1, "square": (count - 1) ** 2}]
    assert [thread is not threading.main_thread() for thread in THREADS] == [aside, aside]


async def test_what_is_wrong_in_a_large_value_is_said_as_in_a_small_one():
    async with CodeMode([wrong_at_the_end]) as cm:
        large = await cm.call("wrong_at_the_end", {"count": 9_000})
        small = await cm.call("wrong_at_the_end", {"count": 1})
    assert large.error.message == small.error.message.replace("[1]", "[9000]")
    assert large.error.code == small.error.code == "INVALID_OUTPUT"


class Point(msgspec.Struct):
    x: list[int]


@dataclass
class Pair:
    left: object
    right: object


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (1, 1),
        ("x" * 100, 1),
        ([], 1),
        ([1, 2], 3),
        ({"a": [1, (2, 3)]}, 6),
        (Point([1, 2]), 4),
        (Pair({"a": 1}, None), 4),
        ([[[[1]]]], 5),
    ],
)
def test_parts_are_counted_up_to_a_bound(value, parts):
    assert has_more_parts(value, parts - 1)
    assert not has_more_parts(value, parts)


def test_a_value_in_itself_has_more_parts_than_any_bound():
    circle = []
    circle.append(circle)
    assert has_more_parts(circle, 5_000)
