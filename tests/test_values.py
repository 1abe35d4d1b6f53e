"""JSON values: what is accepted, what is refused and how, what frozen means."""

import asyncio
import copy
import datetime
import decimal
import enum
import json
import math
import pickle
from collections import Counter, OrderedDict, namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.values import (
    MAX_DEPTH,
    FrozenDict,
    FrozenList,
    FrozenValueError,
    InvalidValue,
    adopt,
    check,
    freeze,
    thaw,
)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=20,
)


def same(left, right):
    """Equal, with the same types and the same sign of zero."""
    if isinstance(left, float):
        return (
            isinstance(right, float) and left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and list(left) == list(right)
            and all(same(left[k], right[k]) for k in left)
        )
    if isinstance(left, list | tuple):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


@given(json_values)
def test_freezing_and_thawing_keep_every_value(value):
    frozen = freeze(value)
    assert same(value, frozen)
    assert same(value, thaw(frozen))
    assert same(value, copy.deepcopy(frozen))
    check(value)
    check(frozen)


@given(json_values)
def test_a_frozen_value_is_detached_from_its_source(value):
    before = json.dumps(value)
    source = json.loads(before)
    frozen = freeze(source)
    if isinstance(source, list):
        source.append("later")
    elif isinstance(source, dict):
        source["later"] = 1
    assert json.dumps(frozen) == before


def test_tuples_are_arrays_and_big_integers_and_minus_zero_survive():
    assert same(freeze({"a": (1, (2,))}), {"a": [1, [2]]})
    assert freeze(2**4000) == 2**4000
    assert math.copysign(1, freeze(-0.0)) == -1


Point = namedtuple("Point", "x y")


class Colour(enum.IntEnum):
    RED = 1


def a_function():
    pass


async def a_coroutine():
    pass


REFUSED = [
    (float("nan"), "$: nan is not a JSON number; use None or a string for it"),
    (float("-inf"), "$: -inf is not a JSON number; use None or a string for it"),
    (b"x", "$: bytes is not a JSON value; use x.decode() for text, base64.b64encode(x).decode() for data"),
    ({"rows": [{"when": datetime.date(2024, 1, 2)}]}, "$.rows[0].when: date is not a JSON value; use x.isoformat()"),
    ([{1, 2}], "$[0]: set is not a JSON value; use sorted(x) or list(x)"),
    ({1: "a"}, "$: dict key of type int; JSON keys are strings; use str(key), or a list of pairs"),
    ({"a key": [decimal.Decimal(1)]}, "$['a key'][0]: Decimal is not a JSON value; use str(x) to keep every digit, or "
     "float(x)"),
    (Colour.RED, "$: Colour is not a JSON value; use x.value or x.name"),
    (Point(1, 2), "$: Point is not a JSON value; use x._asdict() or list(x)"),
    (Counter("a"), "$: Counter is not a JSON value; use dict(x)"),
    (OrderedDict(a=1), "$: OrderedDict is not a JSON value; use dict(x)"),
    (a_function, "$: function is not a JSON value; call it, and use what it returns"),
    (Point, "$: class is not a JSON value; use x.__name__, or an instance's data"),
    ({}.keys(), "$: dict_keys is not a JSON value; use list(x)"),
    ((i for i in "a"), "$: generator is not a JSON value; use list(x)"),
    (ValueError("x"), "$: ValueError is not a JSON value; use str(x)"),
    (object(), "$: object is not a JSON value; use its data as dicts, lists, strings and numbers"),
    (10**4300, "$: integer of more than 4,300 digits; use hex(x) or a rounded number"),
    ("a\ud800", "$: text with a lone surrogate at index 1; decode the bytes with errors='replace', or use "
     ".encode('utf-8', 'replace').decode()"),
    ({"\udfff": 1}, "$['\\udfff']: text with a lone surrogate at index 0; decode the bytes with errors='replace', "
     "or use .encode('utf-8', 'replace').decode()"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_json_is_refused_with_its_place_and_a_cure(value, message):
    for examine in (freeze, check):
        with pytest.raises(InvalidValue) as caught:
            examine(value)
        assert str(caught.value) == message


def test_an_unawaited_coroutine_is_refused_with_the_cure():
    coroutine = a_coroutine()
    with pytest.raises(InvalidValue, match="it was never awaited; use await x"):
        check(coroutine)
    asyncio.run(coroutine)


def test_cycles_are_refused_and_shared_parts_are_not():
    cycle = [1]
    cycle.append({"again": cycle})
    with pytest.raises(InvalidValue, match="contains itself"):
        freeze(cycle)
    with pytest.raises(InvalidValue, match="contains itself"):
        check(cycle)
    shared = {"a": 1}
    assert freeze([shared, shared]) == [{"a": 1}, {"a": 1}]


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_nesting_is_accepted_up_to_the_documented_bound():
    assert freeze(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    for examine in (freeze, check):
        with pytest.raises(InvalidValue, match=f"nested more than {MAX_DEPTH} levels deep"):
            examine(nested(MAX_DEPTH + 1))
        with pytest.raises(InvalidValue, match=f"nested more than {MAX_DEPTH} levels deep"):
            examine(nested(5_000))


def test_the_root_of_a_path_can_be_named():
    with pytest.raises(InvalidValue, match=r"^result\.a\[1\]: set"):
        freeze({"a": [0, set()]}, root="result")


class StrLikeKey(str):
    __slots__ = ()


def test_a_subclass_of_a_json_type_is_no_json_type():
    for value in (StrLikeKey("a"), {StrLikeKey("a"): 1}):
        with pytest.raises(InvalidValue):
            check(value)


DICT_CHANGES = [
    lambda d: d.__setitem__("a", 2),
    lambda d: d.__delitem__("a"),
    lambda d: d.update(b=1),
    lambda d: d.pop("a"),
    lambda d: d.popitem(),
    lambda d: d.setdefault("b", 1),
    lambda d: d.clear(),
    lambda d: d.__ior__({"b": 1}),
    lambda d: setattr(d, "a", 1),
]
LIST_CHANGES = [
    lambda x: x.__setitem__(0, 2),
    lambda x: x.__setitem__(slice(0, 1), [2]),
    lambda x: x.__delitem__(0),
    lambda x: x.append(1),
    lambda x: x.extend([1]),
    lambda x: x.insert(0, 1),
    lambda x: x.pop(),
    lambda x: x.remove(3),
    lambda x: x.clear(),
    lambda x: x.reverse(),
    lambda x: x.sort(),
    lambda x: x.__iadd__([1]),
    lambda x: x.__imul__(2),
    lambda x: setattr(x, "a", 1),
]


@pytest.mark.parametrize("change", DICT_CHANGES)
def test_a_frozen_dict_refuses_every_change_and_says_how_to_copy(change):
    frozen = freeze({"a": 1})
    with pytest.raises(FrozenValueError, match=r"copy: new = \{\*\*value"):
        change(frozen)
    assert frozen == {"a": 1}


@pytest.mark.parametrize("change", LIST_CHANGES)
def test_a_frozen_list_refuses_every_change_and_says_how_to_copy(change):
    frozen = freeze([3, 1])
    with pytest.raises(FrozenValueError, match=r"copy: new = list\(value\)"):
        change(frozen)
    assert frozen == [3, 1]


def test_every_method_that_changes_a_dict_or_list_is_overridden():
    def changing(kind, sample):
        names = []
        for name in dir(kind):
            method = getattr(kind, name)
            if name in ("__init__", "__setattr__", "__delattr__", "__class__") or not callable(method):
                continue
            for args in (
                (),
                (0,),
                (0, 0),
                ({"n": 0},),
                ([0],),
                ("k",),
                ("k", 0),
                ([("n", 0)],),
                (slice(0, 1), []),
            ):
                victim = kind(sample)
                try:
                    method(victim, *args)
                except Exception:
                    pass  # most arguments do not fit most methods
                if victim != sample:
                    names.append(name)
                    break
        return names

    for kind, frozen_kind, sample in ((dict, FrozenDict, {"k": 1}), (list, FrozenList, [2, 1, 0])):
        found = changing(kind, sample)
        assert len(found) >= 8
        assert [name for name in found if name not in frozen_kind.__dict__] == []


def test_copies_of_frozen_values_are_ordinary():
    frozen = freeze({"rows": [{"n": 2}, {"n": 1}]})
    assert type(frozen.copy()) is type(frozen | {"x": 1}) is type({"x": 1} | frozen) is dict
    assert type(dict(frozen)) is type({**frozen}) is type(copy.copy(frozen)) is dict
    rows = frozen["rows"]
    assert (
        type(rows[:1])
        is type(rows + [])
        is type(rows * 1)
        is type(rows.copy())
        is type(copy.copy(rows))
        is list
    )
    deep = copy.deepcopy(frozen)
    deep["rows"][0]["n"] = 9
    assert frozen["rows"][0]["n"] == 2
    assert type(pickle.loads(pickle.dumps(frozen))) is dict


def test_frozen_values_read_like_any_other():
    frozen = freeze({"rows": [{"n": 2}, {"n": 1}], "name": "x"})
    assert isinstance(frozen, dict)
    assert isinstance(frozen["rows"], list)
    assert json.loads(json.dumps(frozen)) == frozen
    first, *rest = frozen["rows"]
    assert (first, rest) == ({"n": 2}, [{"n": 1}])
    match frozen:
        case {"rows": [{"n": n}, *_], **others}:
            assert (n, others) == (2, {"name": "x"})
        case _:
            pytest.fail("a frozen dict matches a mapping pattern")
    assert sorted(frozen["rows"], key=lambda row: row["n"])[0] == {"n": 1}
    assert repr(frozen) == "{'rows': [{'n': 2}, {'n': 1}], 'name': 'x'}"


@given(json_values)
def test_adopting_a_decoded_value_freezes_it_deeply(value):
    adopted = adopt(json.loads(json.dumps(value)))

    def deeply_frozen(part):
        if isinstance(part, dict):
            return type(part) is FrozenDict and all(map(deeply_frozen, part.values()))
        if isinstance(part, list):
            return type(part) is FrozenList and all(map(deeply_frozen, part))
        return True

    assert deeply_frozen(adopted)
    assert adopted == json.loads(json.dumps(value))
