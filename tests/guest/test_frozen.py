"""What tools return: it reads like any dict or list, and nothing changes it."""

from __future__ import annotations

import pytest
from running import Forge


def test_a_value_reads_like_any_other(guest: Forge) -> None:
    source = """
import json, copy
v = tools.rows()
d = v[0]
out = {
    "types": [isinstance(d, dict), isinstance(v, list), type(d) is dict, type(v) is list, d.__class__ is dict],
    "json": json.loads(json.dumps(v)) == v,
    "match": None,
    "slice": v[:1] + v[1:] == v,
    "union": (d | {"z": 1})["z"],
    "spread": [*v, {**d}] == v + [d],
    "sorted": [r["id"] for r in sorted(v, key=lambda r: -r["id"])],
    "repr": repr(d) == repr(dict(d)),
    "items": list(d.items()) == [(k, d[k]) for k in d],
    "get": d.get("none", 5),
    "equal": d == dict(d) and v == list(v),
    "str": str(v)[:2],
}
match d:
    case {"id": 1, "tags": [first, *rest], **more}:
        out["match"] = [first, rest, more]
return out
"""
    assert guest.value(source) == {
        "types": [True, True, True, True, True],
        "json": True,
        "match": ["x", ["y"], {"name": "a"}],
        "slice": True,
        "union": 1,
        "spread": True,
        "sorted": [2, 1],
        "repr": True,
        "items": True,
        "get": 5,
        "equal": True,
        "str": "[{",
    }


def test_copies_are_ordinary(guest: Forge) -> None:
    source = """
import copy
v = tools.rows()
a = [dict(r) for r in v]
a[0]["id"] = 9
b = copy.deepcopy(v)
b[0]["tags"].append("z")
c = v + []
c.append(1)
e = v[0].copy()
e["n"] = 1
f = list(v)
f.clear()
g = {**v[0], "seen": True}
return [a[0]["id"], b[0]["tags"], len(c), e["n"], f, g["seen"], v[0]["tags"]]
"""
    assert guest.value(source) == [9, ["x", "y", "z"], 3, 1, [], True, ["x", "y"]]


CHANGES = [
    "d['id'] = 5",
    "d['id'] += 1",
    "del d['id']",
    "d |= {'a': 1}",
    "d.update(a=1)",
    "d.pop('id')",
    "d.popitem()",
    "d.clear()",
    "d.setdefault('q', 1)",
    "xs[0] = 1",
    "xs[0:1] = []",
    "xs += [1]",
    "xs *= 2",
    "del xs[0]",
    "xs.append(1)",
    "xs.extend([1])",
    "xs.insert(0, 1)",
    "xs.pop()",
    "xs.remove(xs[0])",
    "xs.clear()",
    "xs.sort(key=str)",
    "xs.reverse()",
    "list.append(xs, 1)",
    "list.extend(xs, [1])",
    "list.insert(xs, 0, 1)",
    "list.pop(xs)",
    "list.remove(xs, xs[0])",
    "list.clear(xs)",
    "list.sort(xs, key=str)",
    "list.reverse(xs)",
    "list.__setitem__(xs, 0, 1)",
    "list.__delitem__(xs, 0)",
    "list.__iadd__(xs, [1])",
    "list.__init__(xs, [1])",
    "xs.__init__([1])",
    "xs.__iadd__([1])",
    "xs.__setitem__(0, 1)",
    "dict.update(d, a=1)",
    "dict.pop(d, 'id')",
    "dict.popitem(d)",
    "dict.clear(d)",
    "dict.setdefault(d, 'q', 1)",
    "dict.__setitem__(d, 'id', 1)",
    "dict.__delitem__(d, 'id')",
    "dict.__ior__(d, {'a': 1})",
    "dict.__init__(d, a=1)",
    "d.__init__(a=1)",
    "getattr(list, 'append')(xs, 1)",
    "getattr(xs, 'append')(1)",
    "getattr(dict, '__setitem__')(d, 'id', 1)",
    "type(xs).append(xs, 1)",
    "type(d).update(d, a=1)",
    "type(xs).clear(xs)",
    "d.__class__.clear(d)",
    "list(map(list.append, [xs], [1]))",
    "functools.partial(list.append, xs)(1)",
    "functools.reduce(lambda a, b: a.append(b), [1], xs)",
    "operator.setitem(d, 'id', 1)",
    "operator.delitem(xs, 0)",
    "operator.iadd(xs, [1])",
    "operator.iconcat(xs, [1])",
    "operator.ior(d, {'a': 1})",
    "operator.imul(xs, 2)",
    "operator.methodcaller('append', 1)(xs)",
    "operator.attrgetter('append')(xs)(1)",
    "heapq.heapify(xs)",
    "heapq.heappush(xs, 1)",
    "heapq.heappop(xs)",
    "heapq.heapreplace(xs, 1)",
    "heapq.heappushpop(xs, xs[0])",
    "bisect.insort(xs, 1, key=str)",
    "random.shuffle(xs)",
    "collections.ChainMap(d).update(a=1)",
    "collections.Counter.update(d, 'abc')",
    "collections.abc.MutableSequence.append(xs, 1)",
    "collections.abc.MutableMapping.update(d, a=1)",
    "setattr(d, 'x', 1)",
    "d.x = 1",
    "object.__setattr__(d, 'x', 1)",
    "L.append(xs, 1)",
    "L.sort(xs)",
    "L.__init__(xs)",
    "super(L, L()).append.__self__",
    "super(L, xs).append(1)",
    "copy.deepcopy([1], d)",
    "xs.sort",
]


@pytest.mark.parametrize("change", CHANGES)
def test_no_way_changes_a_value(guest: Forge, change: str) -> None:
    source = f"""
import bisect, collections, collections.abc, copy, functools, heapq, operator, random
class L(list):
    pass
v = tools.rows()
d, xs = v[0], v
before = copy.deepcopy(v)
try:
    {change}
except Exception as e:
    problem = type(e).__name__ + ": " + str(e)
else:
    problem = ""
return [v == before, len(v), problem]
"""
    ran = guest.run(source)
    if ran.kind == "exception":  # refused before it ran
        assert "cannot be used here" in ran.message
        return
    assert ran.result[:2] == [True, 2], change
    if change not in (
        "xs.sort",
        "operator.iconcat(xs, [1])",
    ):  # the first only reads, the second makes a new list
        assert ran.result[2], f"{change} said nothing"


def test_the_refusal_says_how_to_copy(guest: Forge) -> None:
    message = guest.failure("r = tools.rows()[0]\nr['seen'] = True")
    assert "FrozenValueError: this dict is a tool's value and cannot be changed" in message
    assert "{**value, 'key': ...}" in message
    assert "line 2" in message


def test_the_programs_own_lists_change_through_their_class(guest: Forge) -> None:
    source = """
import heapq
class L(list):
    def append(self, x):
        super().append(x * 2)
class Reg:
    items = []
    def update(self): return "updated"
    @classmethod
    def clear(cls): return cls.__name__
    @staticmethod
    def sort(x): return x
a = []
list.append(a, 1); list.extend(a, [3, 2]); list.sort(a)
d = {}
dict.update(d, x=1); dict.setdefault(d, "y", 2)
l = L(); l.append(1); L.append(l, 2); list.append(l, 9)
h = [3, 1]; heapq.heapify(h); heapq.heappush(h, 0)
from collections import deque, Counter
q = deque(); deque.append(q, 1); c = Counter(); Counter.update(c, "aa")
s = set(); set.update(s, [1])
def late(self): return "late"
Reg.pop = late
r = [Reg.update(Reg()), Reg.clear(), Reg.sort(4), Reg().pop()]
del Reg.pop
return [a, d, list(l), h, list(q), dict(c), list(s), r, hasattr(Reg, "pop")]
"""
    assert guest.value(source) == [
        [1, 2, 3],
        {"x": 1, "y": 2},
        [2, 4, 9],
        [0, 3, 1],
        [1],
        {"a": 2},
        [1],
        ["updated", "Reg", 4, "late"],
        False,
    ]


@pytest.mark.parametrize(
    "attempt",
    [
        "class L(list):\n    def m(self, t): super().__setitem__(t, 0, 9)\nL.m(L, value)",
        "class L(list):\n    def m(self, t): super().__init__(t, [])\nL.m(L, value)",
        "class L(list):\n    def m(self, t): super().__delitem__(t, 0)\nL.m(L, value)",
        "class L(list):\n    m = lambda self, t: super().append(t, 9)\nL.m(L, value)",
        "class L(list):\n    @classmethod\n    def m(cls, t): super().append(t, 9)\nL.m(value)",
        "class L(list):\n    @staticmethod\n    def m(cls, t): super().append(t, 9)\nL.m(L, value)",
        "class L(list):\n    def m(self, t):\n        self = L\n        super().append(t, 9)\nL().m(value)",
        "class L(list):\n    def m(self, t):\n        s = super()\n        s.append(t, 9)\nL.m(L, value)",
        "class L(list):\n    def m(self, t): getattr(super(), 'append')(t, 9)\nL.m(L, value)",
        "class L(list):\n    def m(self, t):\n        def f(c): super().append(t, 9)\n        f(L)\nL().m(value)",
        "class L(list):\n    def __new__(cls, t):\n        super().append(t, 9)\nL(value)",
        "class L(list):\n    def __init_subclass__(cls):\n        super().append(value, 9)\nclass M(L): pass",
        "class M:\n    def m(self, t): super().append(t, 9)\nclass L(M, list): pass\nL.m(L, value)",
        "class L(list): pass\nsuper(L, L).append(value, 9)",
        "class L(list): pass\ns = super\ns(L, L).append(value, 9)",
        "class L(list): pass\n(lambda f: f(L, L))(super).append(value, 9)",
        "class L(list): pass\n[super][0](L, L).__setitem__(value, 0, 9)",
        "import operator\nclass L(list): pass\noperator.methodcaller('append', value, 9)(super(L, L))",
        "class L(list): pass\nmatch super(L, L):\n    case object(append=f): f(value, 9)",
        "import collections\nclass D(collections.OrderedDict): pass\nsuper(D, D).update(row, {'x': 1})",
        "import collections\nclass D(collections.Counter): pass\nsuper(collections.Counter, D).update(row, {'x': 1})",
        "class D(dict):\n    def m(self, t): super().__ior__(t, {'x': 1})\nD.m(D, row)",
    ],
)
def test_no_super_changes_a_value(guest: Forge, attempt: str) -> None:
    source = f"value = tools.echo([3, 1, 2])\nrow = tools.echo({{'a': 1}})\ntry:\n{_indented(attempt)}\n"
    source += "except Exception as error:\n    print(type(error).__name__)\nreturn [[*value], {**row}]"
    assert guest.value(source) == [[3, 1, 2], {"a": 1}]


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
