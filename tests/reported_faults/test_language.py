"""Reported faults: language that models write and engines refuse.

A test's name says what holds; its program is the small input that showed the fault elsewhere.
"""

# ruff: noqa: E501  (each program stands on one line)

from __future__ import annotations

import pytest

from tests.reported_faults.support import failure, value

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
