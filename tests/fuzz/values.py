"""Values at random against the `json` module: what is JSON goes through everything equal, what is not is refused at
its place."""

from __future__ import annotations

import copy
import decimal
import json
import math
from collections import OrderedDict, namedtuple
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from msgspec import Raw

from codemode import rendering, values, wire
from codemode.sandbox import bulk
from tests.fuzz.campaign import Examine

__all__ = ["examiner"]

Pair = namedtuple("Pair", "a b")

_TEXTS = ("", "a", "_", "é", "\0", "\x90\x91", "😀", "key", "__class__", "{0.x}", "\u2028", "long " * 20)
_NUMBERS = (
    0,
    1,
    -1,
    127,
    128,
    -32,
    -33,
    2**31,
    2**32,
    2**63 - 1,
    2**63,
    2**64 - 1,
    2**64,
    -(2**63),
    -(2**63) - 1,
)
_FLOATS = (0.0, -0.0, 0.1, 1e308, 5e-324, 1.0, 2.0**53, -1e-7)


class _Text(str):
    pass


class _Number(int):
    pass


_UNFIT = (
    lambda: math.nan,
    lambda: math.inf,
    lambda: b"x",
    lambda: {1},
    lambda: "\ud800",
    lambda: decimal.Decimal(1),
    lambda: Pair(1, 2),
    lambda: OrderedDict(a=1),
    object,
    lambda: int,
    lambda: 1 << values.MAX_INTEGER_BITS,
    lambda: _Text("x"),
    lambda: _Number(1),
    lambda: 1j,
    lambda: range(2),
    lambda: {1: 2},
    lambda: {("a",): 2},
    lambda: {"\udfff": 1},
    lambda: {_Text("x"): 1},
    lambda: {None: 1},
    lambda: deep(values.MAX_DEPTH + 1),
)


def deep(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"d": value}
    return value


def text(random: Random) -> str:
    if random.random() < 0.5:
        return random.choice(_TEXTS)
    code = random.choice((0x7F, 0xFF, 0xFFFF, 0x10FFFF))
    points = (random.randrange(code) for _ in range(random.randrange(12)))
    return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)


def scalar(random: Random) -> Any:
    kind = random.randrange(7)
    if kind < 2:
        return text(random)
    if kind == 2:
        return random.choice(_NUMBERS)
    if kind == 3:
        return random.getrandbits(random.choice((8, 70, 400, values.MAX_INTEGER_BITS))) * random.choice(
            (1, -1)
        )
    if kind == 4:
        return random.choice(_FLOATS) if random.random() < 0.5 else random.uniform(-1e9, 1e9)
    return random.choice((None, True, False))


def value(random: Random, depth: int) -> Any:
    """A JSON value; some of its arrays are tuples, some of its parts are shared, some are frozen already."""
    if depth == 0 or random.random() < 0.25:
        return scalar(random)
    size = random.choice((0, 1, 2, 3, 5, 15, 16, 17)) if random.random() < 0.9 else random.randrange(70)
    if size > 5:
        depth = 1
    parts = [value(random, depth - 1) for _ in range(size)]
    if parts and random.random() < 0.1:
        parts.append(parts[0])
    kind = random.randrange(6)
    if kind < 3:
        made: Any = {
            text(random) + ("" if random.random() < 0.5 else str(n)): part for n, part in enumerate(parts)
        }
        return made if kind else values.freeze(made)
    return tuple(parts) if kind == 3 else values.freeze(parts) if kind == 4 else parts


def plain(value_: Any) -> Any:
    """The same value of exact, ordinary types; tuples are arrays. Written apart from `values.thaw`."""
    if isinstance(value_, dict):
        return {key: plain(item) for key, item in value_.items()}
    if isinstance(value_, list | tuple):
        return [plain(item) for item in value_]
    return value_


def same(left: Any, right: Any) -> bool:
    """Equal in types, order and the sign of zero; frozen containers count as what they are frozen from."""
    for kind in (dict, list):
        if isinstance(left, kind) and isinstance(right, kind):
            if kind is dict and [*left] != [*right]:
                return False
            pairs = (
                zip(left.values(), right.values(), strict=True)
                if kind is dict
                else zip(left, right, strict=True)
            )
            return len(left) == len(right) and all(same(a, b) for a, b in pairs)
    return type(left) is type(right) and repr(left) == repr(right)


def frozen_through(value_: Any) -> bool:
    if isinstance(value_, dict | list):
        inner = value_.values() if isinstance(value_, dict) else value_
        return type(value_) in (values.FrozenDict, values.FrozenList) and all(map(frozen_through, inner))
    return True


@asynccontextmanager
async def examiner() -> AsyncIterator[Examine]:
    async def examine(random: Random) -> None:
        if random.random() < 0.6:
            good(value(random, random.randrange(6)), random)
        else:
            bad(random)

    yield examine


def good(made: Any, random: Random) -> None:
    """Everything that a JSON value goes through keeps it."""
    before = json.dumps(made, allow_nan=False)
    oracle = json.loads(before)
    assert same(plain(made), oracle), "the json module disagrees with `plain`"
    values.check(made)
    frozen = values.freeze(made)
    assert same(frozen, oracle)
    assert frozen_through(frozen)
    thawed = values.thaw(frozen)
    assert same(thawed, oracle)
    assert not isinstance(thawed, values.FrozenDict | values.FrozenList)
    assert same(copy.deepcopy(frozen), oracle)
    assert same(values.freeze(frozen), oracle)
    adopted = values.adopt(plain(made))
    assert same(adopted, oracle)
    assert frozen_through(adopted)
    data = wire.encode_value(random.choice((frozen, made, thawed)))
    for back in (wire.decode_frozen(data), wire.decode_untrusted(data), bulk.decode(Raw(data))):
        assert same(back, oracle)
        assert frozen_through(back)
    assert same(json.loads(rendering.json_text(frozen)), oracle)
    assert json.dumps(frozen) == before
    refuse_changes(frozen, random)
    assert json.dumps(frozen) == before
    change_everything(thawed)
    assert json.dumps(frozen) == before == json.dumps(made)


def refuse_changes(frozen: Any, random: Random) -> None:
    """Try every way to change one container of a frozen value."""
    containers: list[Any] = []

    def collect(part: Any) -> None:
        if isinstance(part, dict | list):
            containers.append(part)
            for inner in part.values() if isinstance(part, dict) else part:
                collect(inner)

    collect(frozen)
    if not containers:
        return
    part = random.choice(containers)
    if isinstance(part, dict):
        changes = [
            lambda: part.__setitem__("new", 1),
            lambda: part.update(new=1),
            lambda: part.setdefault("new", 1),
            lambda: part.pop("new", None),
            part.popitem,
            part.clear,
            lambda: part.__delitem__(next(iter(part), "x")),
            lambda: part.__ior__({"new": 1}),
            lambda: setattr(part, "x", 1),
        ]
    else:
        changes = [
            lambda: part.append(1),
            lambda: part.extend([1]),
            lambda: part.insert(0, 1),
            part.pop,
            part.clear,
            part.sort,
            part.reverse,
            lambda: part.remove(1),
            lambda: part.__setitem__(slice(None), [1]),
            lambda: part.__delitem__(slice(None)),
            lambda: part.__iadd__([1]),
            lambda: part.__imul__(2),
            lambda: setattr(part, "x", 1),
        ]
    for change in changes:
        try:
            change()
        except values.FrozenValueError:
            continue
        raise AssertionError("a frozen value took a change")


def change_everything(part: Any) -> None:
    if isinstance(part, dict):
        for inner in part.values():
            change_everything(inner)
        part["changed"] = 1
    elif isinstance(part, list):
        for inner in part:
            change_everything(inner)
        part.append("changed")


def bad(random: Random) -> None:
    """One unfit part somewhere in a value: both refuse it, and the path leads there."""
    unfit = random.choice(_UNFIT)()
    made: Any = unfit
    steps: list[str | int] = []
    for _ in range(random.randrange(5)):
        if random.random() < 0.5:
            around = [value(random, 1) for _ in range(random.randrange(4))]
            at = random.randrange(len(around) + 1)
            around.insert(at, made)
            made = tuple(around) if random.random() < 0.3 else around
            steps.append(at)
        else:
            key = text(random)
            siblings = {text(random): value(random, 1) for _ in range(random.randrange(4))}
            siblings.pop(key, None)
            made = {**siblings, key: made}
            steps.append(key)
    refusals = []
    for examine in (values.freeze, values.check):
        try:
            examine(made, root="value")
        except values.InvalidValue as error:
            refusals.append(error)
    assert len(refusals) == 2, f"{unfit!r} was taken as JSON"
    assert str(refusals[0]) == str(refusals[1])
    expected = "value" + "".join(map(values._step, reversed(steps)))
    assert refusals[0].path.startswith(expected), (refusals[0].path, expected)
    str(refusals[0]).encode()  # a message can be sent
