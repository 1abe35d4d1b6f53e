"""Ordinary programs, as models write them, and what they give. All run in one guest each."""
# ruff: noqa: E501  (each program stands on one line)

from __future__ import annotations

import sys
from typing import Any

import pytest
from running import NOTHING, Forge

PROGRAMS: dict[str, tuple[str, Any]] = {
    "item augmented": (
        "d={}\nfor w in 'a b a'.split():\n    d[w]=d.get(w,0)+1\nd['a']+=1\nreturn d",
        {"a": 3, "b": 1},
    ),
    "setdefault and augmented": (
        "c={}\nfor w in 'a b a'.split():\n    c.setdefault(w,0)\n    c[w]+=1\nreturn c",
        {"a": 2, "b": 1},
    ),
    "operators of a class": (
        "class P:\n    def __init__(self,x,y):\n        self.x=x; self.y=y\n"
        "    def __repr__(self):\n        return f'P({self.x},{self.y})'\n"
        "    def __add__(self,o):\n        return P(self.x+o.x,self.y+o.y)\nrepr(P(1,2)+P(3,4))",
        "P(4,6)",
    ),
    "attribute augmented": (
        "class C:\n    def __init__(self):\n        self.n=0\n    def inc(self):\n        self.n+=1\nc=C(); c.inc(); c.n",
        1,
    ),
    "super": (
        "class A:\n    def __init__(self,x):\n        self.x=x\nclass B(A):\n    def __init__(self,x):\n"
        "        super().__init__(x)\n        self.y=2\nb=B(1)\n[b.x,b.y]",
        [1, 2],
    ),
    "super with arguments": (
        "class A:\n    def __init__(self):\n        self.x=1\nclass B(A):\n    def __init__(self):\n"
        "        super(B, self).__init__()\n        A.__init__(self)\n        self.y=2\nb=B()\n[b.x,b.y]",
        [1, 2],
    ),
    "dataclass": (
        "from dataclasses import dataclass, field, asdict\n@dataclass(order=True)\nclass Item:\n    name: str\n"
        "    price: float = 0.0\n    tags: list = field(default_factory=list)\n"
        "[str(Item('a',2.5)), asdict(Item('b')), Item('a')<Item('b')]",
        ["Item(name='a', price=2.5, tags=[])", {"name": "b", "price": 0.0, "tags": []}, True],
    ),
    "frozen dataclass with post init": (
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass R:\n    a: int\n    b: int = 0\n"
        "    def __post_init__(self):\n        object.__setattr__(self, 'b', self.a * 2)\n"
        "try:\n    R(1).a = 2\nexcept Exception as e:\n    n = type(e).__name__\n[R(2).b, n]",
        [4, "FrozenInstanceError"],
    ),
    "dataclass with slots": (
        "from dataclasses import dataclass\n@dataclass(slots=True)\nclass S:\n    a: int\n    _b: int = 2\n"
        "    def both(self):\n        return self.a + self._b\nS(1).both()",
        3,
    ),
    "enum": (
        "from enum import Enum, auto\nclass Color(Enum):\n    RED=1\n    BLUE=auto()\n"
        "[[c.name for c in Color], Color(1).name, Color['BLUE'].value, str(Color.RED)]",
        [["RED", "BLUE"], "RED", 2, "Color.RED"],
    ),
    "enum members called like methods": (
        "from enum import Enum\nclass Op(Enum):\n    remove='r'\n    update='u'\n    clear='c'\n"
        "[Op.remove.value, Op.update.name, [o.value for o in Op]]",
        ["r", "update", ["r", "u", "c"]],
    ),
    "str enum and flag": (
        "from enum import StrEnum, Flag\nclass L(StrEnum):\n    A='a'\nclass F(Flag):\n    X=1\n    Y=2\n"
        "[L.A == 'a', (F.X|F.Y).value, F.X in (F.X|F.Y)]",
        [True, 3, True],
    ),
    "enum from names": ("from enum import Enum\nE=Enum('E','A B')\n[e.name for e in E]", ["A", "B"]),
    "annotated variables": (
        "total: int = 0\nitems: list[int] = [1,2,3]\nx: int\nfor i in items:\n    total += i\ntotal",
        6,
    ),
    "annotated global": (
        "total: int = 0\ndef add(n: int) -> None:\n    global total\n    total += n\nadd(2)\ntotal",
        2,
    ),
    "annotated signature": (
        "from typing import Optional\ndef f(xs: list[int], y: Optional[int]=None) -> dict[str, int]:\n"
        "    return {'n': len(xs) + (y or 0)}\nf([1], 3)",
        {"n": 4},
    ),
    "future annotations": (
        "from __future__ import annotations\ndef f(x: Undefined) -> Missing:\n    return x\nf(3)",
        3,
    ),
    "match": (
        "def f(c):\n    match c:\n        case {'type':'circle','r':r, **rest}:\n            return [r, rest]\n"
        "        case [x,y,*more]:\n            return len(more)\n        case str() as s:\n            return s\n"
        "        case 1 | 2:\n            return 'small'\n        case _:\n            return None\n"
        "[f({'type':'circle','r':2,'z':1}),f([1,2,3]),f('x'),f(1),f(9)]",
        [[2, {"z": 1}], 1, "x", "small", None],
    ),
    "match on classes": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int\n"
        "def f(v):\n    match v:\n        case P(0, y):\n            return ['axis', y]\n"
        "        case P(x=a, y=b) if a == b:\n            return 'diagonal'\n        case P():\n            return 'other'\n"
        "[f(P(0,3)), f(P(2,2)), f(P(1,2))]",
        [["axis", 3], "diagonal", "other"],
    ),
    "empty mapping pattern": ("d={'a':1}\ndel d['a']\nmatch d:\n    case {}:\n        r=1\nr", 1),
    "nonlocal": (
        "def counter():\n    n=0\n    def inc():\n        nonlocal n\n        n+=1\n        return n\n    return inc\n"
        "c=counter(); c(); c()",
        2,
    ),
    "generators": (
        "def gen(n):\n    for i in range(n):\n        yield i*i\nsum(x for x in gen(5) if x%2==0)",
        20,
    ),
    "generator sends": (
        "def g():\n    got = yield 1\n    yield got * 2\nx=g()\nnext(x)\nx.send(21)",
        42,
    ),
    "yield from": (
        "def a():\n    yield 1\n    return 5\ndef b():\n    r = yield from a()\n    yield r\nlist(b())",
        [1, 5],
    ),
    "unpacking": ("a,*b=[1,2,3]\n(x,y),z=(1,2),3\n[p,q]=b\n[a,b,x,y,z,p,q]", [1, [2, 3], 1, 2, 3, 2, 3]),
    "call with stars": ("def f(*a,**k):\n    return sum(a)+len(k)\nf(*[1,2],**{'z':1})", 4),
    "dict merge": ("a={'x':1}\n{**a,'y':2} | {'z':3}", {"x": 1, "y": 2, "z": 3}),
    "sorted by key": (
        "people=[{'n':'b','a':2},{'n':'a','a':1}]\n[p['n'] for p in sorted(people,key=lambda p:(-p['a'],p['n']))]",
        ["b", "a"],
    ),
    "str.format": (
        "'{} is {:>5.2f} and {name} {0!r} {d[k]}'.replace('{0!r} ','').format('x',3.14159,name='n',d={'k':7})",
        "x is  3.14 and n 7",
    ),
    "str.format with attributes": (
        "class P:\n    def __init__(self):\n        self.x = 3\n'{p.x} {0:{w}}'.format('a', p=P(), w=3)",
        "3 a  ",
    ),
    "format of a variable": (
        "t='{}-{b}'\nu=t.format\n[u(1,b=2), t.format_map({'b':1}) if 0 else 0]",
        ["1-2", 0],
    ),
    "percent format": ("'%s-%05d' % ('a',42)", "a-00042"),
    "f-strings": ("x=3\nw=8\n[f'{x=}', f'{x:>{w}}', f'{x!r}', f'{{}}']", ["x=3", "       3", "3", "{}"]),
    "main guard": ("def main():\n    return 5\nr=0\nif __name__=='__main__':\n    r=main()\nr", 5),
    "underscore names": (
        "def _helper(x):\n    return x*2\n_CACHE={}\n_CACHE['a']=_helper(2)\n_CACHE",
        {"a": 4},
    ),
    "private attributes": (
        "class A:\n    def __init__(self):\n        self._items=[]\n        self.__n=0\n"
        "    def _grow(self,x):\n        self._items.append(x)\n        self.__n+=1\n        return self\n"
        "    def size(self):\n        return [len(self._items), self.__n]\n"
        "    def same(self, other):\n        return self._items == other._items\n"
        "a=A()\n[a._grow(1)._grow(2).size(), a._items, a.same(A()), a._A__n]",
        [[2, 2], [1, 2], False, 2],
    ),
    "private class attributes": (
        "class R:\n    _all = {}\n    @classmethod\n    def add(cls, n):\n        cls._all[n] = cls\n        return cls._all\n"
        "    @staticmethod\n    def count():\n        return len(R._all)\nR.add('x')\nR.count()",
        1,
    ),
    "private through super": (
        "class A:\n    def _v(self):\n        return 1\nclass B(A):\n    def _v(self):\n        return super()._v() + 1\nB()._v()",
        2,
    ),
    "private in comprehension and lambda": (
        "class A:\n    def __init__(self):\n        self._k=2\n    def all(self, xs):\n"
        "        f = lambda x: x * self._k\n        return [f(x) + self._k for x in xs]\nA().all([1,2])",
        [4, 6],
    ),
    "name of a type": ("try:\n    int('x')\nexcept Exception as e:\n    r=type(e).__name__\nr", "ValueError"),
    "class by __class__": (
        "class A:\n    def __repr__(self):\n        return self.__class__.__name__\n"
        "    def clone(self):\n        return self.__class__()\nrepr(A().clone())",
        "A",
    ),
    "type comparisons": (
        "[type(5) is int, type([]) == list, isinstance(int, type), isinstance(5, int), type('a')(3), "
        "type(None) is type(None), isinstance(len, type)]",
        [True, True, True, True, "3", True, False],
    ),
    "isinstance with tuples": ("[isinstance(v, (int, str)) for v in (1, 'a', 2.0)]", [True, True, False]),
    "functions have types": (
        "import types\ndef f(): pass\n[isinstance(f, types.FunctionType), type(f).__name__, type(f) is type(lambda: 0)]",
        [True, "function", True],
    ),
    "custom exception": (
        "class MyErr(ValueError):\n    def __init__(self, m, code):\n        super().__init__(m)\n        self.code = code\n"
        "try:\n    raise MyErr('bad', 7)\nexcept MyErr as e:\n    r=[str(e), e.code, e.args]\nr",
        ["bad", 7, ["bad"]],
    ),
    "exception chain": (
        "try:\n    try:\n        1/0\n    except ZeroDivisionError as e:\n        raise KeyError('k') from e\n"
        "except KeyError as e:\n    r = type(e.__cause__).__name__\nr",
        "ZeroDivisionError",
    ),
    "try else finally": (
        "out=[]\ntry:\n    out.append(1)\nexcept ValueError:\n    out.append(9)\nelse:\n    out.append(2)\nfinally:\n    out.append(3)\nout",
        [1, 2, 3],
    ),
    "contextmanager": (
        "from contextlib import contextmanager\n@contextmanager\ndef c():\n    yield 1\nwith c() as x:\n    r=x\nr",
        1,
    ),
    "with class": (
        "class C:\n    def __enter__(self):\n        return 7\n    def __exit__(self, kind, value, tb):\n        return kind is ValueError\n"
        "with C() as x, C() as y:\n    raise ValueError\n[x,y]",
        [7, 7],
    ),
    "walrus": ("import re\nr=0\nif (m:=re.search(r'(\\d+)','ab12')):\n    r=m.group(1)\nr", "12"),
    "walrus in comprehension": ("[y for x in [1,2] if (y:=x*2)>2]", [4]),
    "defaultdict and counter": (
        "from collections import defaultdict, Counter\nd=defaultdict(list)\nd['a'].append(1)\nc=Counter('aab'); c['z']+=1\n"
        "[dict(d),c.most_common(1)]",
        [{"a": [1]}, [["a", 2]]],
    ),
    "datetime": (
        "from datetime import datetime, timedelta\nd=datetime.strptime('2024-01-02','%Y-%m-%d')+timedelta(days=1)\n"
        "d.strftime('%d %b %Y')",
        "03 Jan 2024",
    ),
    "json": ("import json\njson.loads(json.dumps({'a':[1,2]},indent=2))['a']", [1, 2]),
    "regex with function": ("import re\nre.sub(r'\\d',lambda m:str(int(m.group())*2),'a1b2')", "a2b4"),
    "itertools": ("import itertools\nlist(itertools.islice(itertools.chain([1],[2,3]),2))", [1, 2]),
    "slices": ("l=list(range(10))\nl[2:4]=[0]\ndel l[0:2]\nl[::-2]", [9, 7, 5, 0]),
    "set operations": ("sorted({1,2,3}&{2,3,4}|{9})", [2, 3, 9]),
    "chained assignment": ("a=b=[]\nx,y=z=(1,2)\n[a is b,x,z]", [True, 1, [1, 2]]),
    "one evaluation": ("n=[]\ndef f():\n    n.append(1)\n    return (1,2)\na, b = c = f()\nlen(n)", 1),
    "lru_cache": (
        "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef fib(n):\n    return n if n<2 else fib(n-1)+fib(n-2)\nfib(30)",
        832040,
    ),
    "property": (
        "class A:\n    def __init__(self):\n        self._x=1\n    @property\n    def x(self):\n        return self._x\n"
        "    @x.setter\n    def x(self,v):\n        self._x=v\n    @staticmethod\n    def s():\n        return 1\n"
        "    @classmethod\n    def k(cls):\n        return cls()\na=A(); a.x=5\n[a.x,A.s(),A.k().x]",
        [5, 1, 1],
    ),
    "cached_property": (
        "from functools import cached_property\nclass A:\n    @cached_property\n    def v(self):\n        return [1]\na=A()\na.v is a.v",
        True,
    ),
    "namedtuple": (
        "from collections import namedtuple\nP=namedtuple('P','x y')\np=P(1,2)\n[p.x, p._asdict(), p._replace(x=5).x, P._fields, str(p)]",
        [1, {"x": 1, "y": 2}, 5, ["x", "y"], "P(x=1, y=2)"],
    ),
    "typing classes": (
        "from typing import NamedTuple, TypedDict, Protocol, Generic, TypeVar\nclass P(NamedTuple):\n    x: int\n    y: int = 2\n"
        "class T(TypedDict):\n    a: int\nclass S(Protocol):\n    def f(self) -> int: ...\nV = TypeVar('V')\n"
        "class Box(Generic[V]):\n    def __init__(self, v: V):\n        self._v = v\n    def get(self) -> V:\n        return self._v\n"
        "[P(1).y, T(a=1), Box[int](3).get(), P(1)._asdict()]",
        [2, {"a": 1}, 3, {"x": 1, "y": 2}],
    ),
    "abstract classes": (
        "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def f(self): ...\nclass B(A):\n    def f(self):\n        return 1\n"
        "try:\n    A()\n    r=0\nexcept TypeError:\n    r=B().f()\nr",
        1,
    ),
    "metaclass ABCMeta": (
        "from abc import ABCMeta\nclass A(metaclass=ABCMeta):\n    pass\nisinstance(A, ABCMeta)",
        True,
    ),
    "class keywords": (
        "class Base:\n    def __init_subclass__(cls, tag=None, **kw):\n        super().__init_subclass__(**kw)\n        cls.tag = tag\n"
        "class A(Base, tag='x'):\n    pass\nA.tag",
        "x",
    ),
    "descriptors": (
        "class Pos:\n    def __set_name__(self, owner, name):\n        self.name = '_' + name\n"
        "    def __get__(self, obj, owner=None):\n        return self if obj is None else getattr(obj, self.name)\n"
        "    def __set__(self, obj, value):\n        if value < 0:\n            raise ValueError(self.name)\n        setattr(obj, self.name, value)\n"
        "class A:\n    n = Pos()\na = A()\na.n = 3\ntry:\n    a.n = -1\nexcept ValueError as e:\n    r = str(e)\n[a.n, r]",
        [3, "_n"],
    ),
    "getattr hooks": (
        "class D(dict):\n    def __getattr__(self, k):\n        try:\n            return self[k]\n        except KeyError:\n            raise AttributeError(k)\n"
        "    def __setattr__(self, k, v):\n        self[k] = v\nd = D(a=1)\nd.b = 2\n[d.a, d.b, hasattr(d, 'c')]",
        [1, 2, False],
    ),
    "attribute dict": (
        "class D(dict):\n    __getattr__ = dict.get\n    __setattr__ = dict.__setitem__\nd = D()\nd.x = 3\n[d.x, d.y]",
        [3, None],
    ),
    "__new__ and singleton": (
        "class S:\n    _one = None\n    def __new__(cls):\n        if cls._one is None:\n            cls._one = super().__new__(cls)\n        return cls._one\nS() is S()",
        True,
    ),
    "__slots__": (
        "class S:\n    __slots__ = ('a', '_b')\n    def __init__(self):\n        self.a = 1\n        self._b = 2\n    def t(self):\n        return self.a + self._b\nS().t()",
        3,
    ),
    "instance dict": (
        "class A:\n    def __init__(self, **kw):\n        self.__dict__.update(kw)\na=A(x=1)\n[vars(a), a.__dict__['x']]",
        [{"x": 1}, 1],
    ),
    "containers": (
        "class L:\n    def __init__(self):\n        self._d = {}\n    def __setitem__(self, k, v):\n        self._d[k] = v\n"
        "    def __getitem__(self, k):\n        return self._d[k]\n    def __delitem__(self, k):\n        del self._d[k]\n"
        "    def __len__(self):\n        return len(self._d)\n    def __contains__(self, k):\n        return k in self._d\n"
        "    def __iter__(self):\n        return iter(self._d)\n    def __bool__(self):\n        return True\n    def __call__(self, x):\n        return x\n"
        "l=L(); l['a']=1; l['a']+=1\n[l['a'], len(l), 'a' in l, list(l), l(3)]",
        [2, 1, True, ["a"], 3],
    ),
    "global": ("count=0\ndef inc():\n    global count\n    count+=1\ninc(); inc()\ncount", 2),
    "global made in a function": ("def f():\n    global made\n    made = 4\nf()\nmade", 4),
    "builtin rebound": ("sum = sum([1,2])\nmax = 3\nlist_ = list\n[sum, max]", [3, 3]),
    "builtin rebound in a loop": ("for id in [1,2]:\n    pass\nid", 2),
    "class body reads a global": ("rate = 5\nclass A:\n    rate = rate + 1\nA.rate", 6),
    "lambda and ternary": ("list(map(lambda x: 'e' if x%2==0 else 'o', range(3)))", ["e", "o", "e"]),
    "zip and enumerate": ("[[i,a,b] for i,(a,b) in enumerate(zip('ab',[1,2]))]", [[0, "a", 1], [1, "b", 2]]),
    "calling a call": ("def mk(k):\n    return lambda x: x*k\n[mk(3)(4), mk.__name__]", [12, "mk"]),
    "bytes": ("bytes('é', 'utf-8').hex()", "c3a9"),
    "three nested loops": (
        "d={}\nfor i in range(2):\n    for j in range(2):\n        for k in range(2):\n            d.setdefault(str(i),{}).setdefault(str(j),[]).append(k)\nd",
        {"0": {"0": [0, 1], "1": [0, 1]}, "1": {"0": [0, 1], "1": [0, 1]}},
    ),
    "multi-line strings": ('s="""a\nb"""\nreturn s', "a\nb"),
    "deep indentation of strings": ("def f():\n    return '''x\n      y'''\nf()", "x\n      y"),
    "map and len": ("sum(map(len, 'a bb'.split()))", 3),
    "exception names": (
        "try:\n    raise FileNotFoundError('x')\nexcept FileNotFoundError as e:\n    r=str(e)\nr",
        "x",
    ),
    "statistics": ("import statistics\nstatistics.median([3,1,2])", 2),
    "decorator with wraps": (
        "import functools\ndef deco(f):\n    @functools.wraps(f)\n    def w(*a):\n        return f(*a)+1\n    return w\n"
        "@deco\ndef g(x):\n    'doc'\n    return x\n[g(1), g.__name__, g.__doc__]",
        [2, "g", "doc"],
    ),
    "singledispatch": (
        "from functools import singledispatch\n@singledispatch\ndef f(x):\n    return 'any'\n@f.register\ndef _(x: int):\n    return 'int'\n"
        "@f.register(str)\ndef _(x):\n    return 'str'\n[f(1), f('a'), f([])]",
        ["int", "str", "any"],
    ),
    "total_ordering": (
        "from functools import total_ordering\n@total_ordering\nclass A:\n    def __init__(self,n):\n        self.n=n\n"
        "    def __eq__(self,o):\n        return self.n==o.n\n    def __lt__(self,o):\n        return self.n<o.n\nA(2)>=A(1)",
        True,
    ),
    "hash none and reflected": (
        "class A:\n    def __add__(self, o):\n        return 'sum'\n    __radd__ = __add__\n    __hash__ = None\n[A()+1, 1+A()]",
        ["sum", "sum"],
    ),
    "star import": ("from math import *\n[floor(2.5), pi > 3]", [2, True]),
    "import forms": (
        "import os.path as p, collections.abc, urllib.parse\nfrom collections.abc import Mapping as M\n"
        "[p.join('a','b'), isinstance({}, M), isinstance([], collections.abc.Sequence), urllib.parse.quote('a b')]",
        ["a/b", True, True, "a%20b"],
    ),
    "import in a function": ("def f():\n    import math\n    return math.sqrt(9)\nf()", 3.0),
    "optional import": ("try:\n    import numpy as np\nexcept ImportError:\n    np = None\nnp is None", True),
    "getattr and friends": (
        "class A: pass\na=A()\nsetattr(a,'x',1)\nr=[getattr(a,'x'), getattr(a,'y',5), hasattr(a,'y')]\ndelattr(a,'x')\n[r, hasattr(a,'x'), 'upper' in dir('')]",
        [[1, 5, False], False, True],
    ),
    "exception group": (
        "try:\n    raise ExceptionGroup('g', [ValueError('a'), TypeError('b')])\nexcept* ValueError as g:\n    r=[str(e) for e in g.exceptions]\nexcept* TypeError:\n    pass\nr",
        ["a"],
    ),
    "recursion over data": ("def walk(n):\n    return 1+sum(walk(c) for c in n)\nwalk([[],[[]]])", 4),
    "big integers": ("2**100", 2**100),
    "sort in place": ("xs=[3,1,2]\nxs.sort(reverse=True)\nxs.append(0)\nxs.insert(0,9)\nxs", [9, 3, 2, 1, 0]),
    "methods from classes": (
        "xs=[]\nlist.append(xs, 1)\ndict.update({}, a=1)\nlist(map(str.upper, ['a']))+xs",
        ["A", 1],
    ),
    "complex comprehension": ("{k: [v for v in vs if v] for k, vs in {'a': [0, 1]}.items()}", {"a": [1]}),
    "global in class method": (
        "n = 0\nclass A:\n    def bump(self):\n        global n\n        n += 1\nA().bump()\nn",
        1,
    ),
    "decorated class": ("def add(c):\n    c.extra = 1\n    return c\n@add\nclass A: pass\nA.extra", 1),
    "while else and for else": (
        "r=[]\nfor i in []:\n    pass\nelse:\n    r.append(1)\nwhile False:\n    pass\nelse:\n    r.append(2)\nr",
        [1, 2],
    ),
    "del of a variable": ("x=1\ndel x\ntry:\n    x\nexcept NameError:\n    r='gone'\nr", "gone"),
    "assert": ("try:\n    assert 1 == 2, 'no'\nexcept AssertionError as e:\n    r=str(e)\nr", "no"),
    "qualified names": (
        "class Customer:\n    class Inner: pass\n    def m(self): pass\n[repr(Customer), Customer.Inner.__qualname__, Customer.m.__qualname__, (lambda: 0).__qualname__]",
        ["<class '__main__.Customer'>", "Customer.Inner", "Customer.m", "<lambda>"],
    ),
    "thread pool": (
        "from concurrent.futures import ThreadPoolExecutor, as_completed\nwith ThreadPoolExecutor(max_workers=4) as ex:\n"
        "    r = list(ex.map(lambda x: x*2, [1,2]))\n    fs = [ex.submit(pow, 2, n) for n in (1,2)]\n    r += [f.result() for f in as_completed(fs)]\nr",
        [2, 4, 2, 4],
    ),
    "eval of an expression": (
        "n = 3\ndef f():\n    global n\nx = eval('2 ** 3 + n * a[0]', {'a': [10], 'n': 2})\n[x, eval('n + 1'), eval('[1, 2][0] < 2')]",
        [28, 4, True],
    ),
    "reading the version": ("import sys\nsys.version_info >= (3, 11)", True),
    "bare expression string": ("'just text'", "just text"),
    "trailing semicolon and comment": ("x = 1; x + 1  # done", 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_means_what_it_means_in_python(guest: Forge, name: str) -> None:
    source, expected = PROGRAMS[name]
    assert guest.value(source) == expected


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_type_parameters(guest: Forge) -> None:
    source = """
type Pair[T] = tuple[T, T]
class Stack[T]:
    def __init__(self) -> None:
        self._items: list[T] = []
    def push(self, item: T) -> None:
        self._items.append(item)
    def top(self) -> T:
        return self._items[-1]
def first[T](xs: list[T]) -> T:
    return xs[0]
s = Stack[int]()
s.push(4)
return [s.top(), first([7]), f"{'a' + "b"}"]
"""
    assert guest.value(source) == [4, 7, "ab"]


RESULTS: dict[str, tuple[str, Any]] = {
    "a return": ("return {'a': 1}", {"a": 1}),
    "a return inside a block": ("for i in range(3):\n    if i == 1:\n        return i", 1),
    "a returned None": ("return None", None),
    "a bare return": ("return", NOTHING),
    "falling off the end": ("x = 1", NOTHING),
    "a last expression": ("x = 1\nx + 1", 2),
    "a last expression that is None": ("print('a')", NOTHING),
    "a last expression after a return that was not taken": ("if False:\n    return 1\n2", 2),
    "nothing at all": ("", NOTHING),
    "only a comment": ("# nothing", NOTHING),
    "a tuple": ("return 1, 2", [1, 2]),
    "a false value": ("0", 0),
    "an awaited None": ("await tools.echo(x=None)", NOTHING),
    "a returned awaited None": ("return await tools.echo(x=None)", None),
}


@pytest.mark.parametrize("name", RESULTS)
def test_what_is_the_result(guest: Forge, name: str) -> None:
    source, expected = RESULTS[name]
    result = guest.value(source)
    assert result == expected
    assert type(result) is type(expected)


def test_exact_values_cross(guest: Forge) -> None:
    values = [2**53 + 1, -(2**70), 0.1, -0.0, True, None, "é\U0001f600", [], {}, [[{"a": [1]}]]]
    ran = guest.value(f"a = {values!r}\nb = tools.echo(x=a)\nreturn [a == b, b]")
    assert ran == [True, values]
    assert repr(ran[1][3]) == "-0.0"


def test_a_warmed_guest_keeps_no_trace(guest: Forge) -> None:
    source = "try:\n    Pair\n    r = 1\nexcept NameError:\n    r = 0\nreturn [r, tools.echo(x=2)]"
    ran = guest.run(source, warm=True)
    assert (ran.kind, ran.result, ran.logs) == ("ok", [0, 2], "")
    assert ran.calls == [["echo", {"x": 2}]]


def test_a_recursion_through_c_code_ends_as_an_error_whatever_limit_was_asked_for(guest: Any) -> None:
    source = (
        "import sys\nsys.setrecursionlimit(10**6)\ndef f(n):\n    return sum(f(n - 1) for _ in [1])\n"
        "try:\n    f(10**6)\nexcept RecursionError:\n    return sys.getrecursionlimit() <= 100_000"
    )
    assert guest.value(source, cpu=20, wall=30.0) is True


def test_a_deep_last_expression_is_evaluated_or_said_to_be_too_deep(guest: Any) -> None:
    assert guest.value("+".join(["1"] * 900)) == 900
    assert "nested too deeply, or too large, to be compiled" in guest.failure("+".join(["1"] * 200_000))


def test_processor_time_advances_finely(guest: Any) -> None:
    source = (
        "import time\nseen = set()\nwhile len(seen) < 1000 and time.process_time() < 2:\n"
        "    seen.add(time.process_time())\nreturn len(seen)"
    )
    assert guest.value(source) == 1000


def test_abstract_classes_of_the_library_take_the_program_s_classes_only(guest: Any) -> None:
    source = (
        "import numbers, collections.abc\nfrom abc import ABC\nclass Mine(ABC): pass\nclass Own: pass\n"
        "Mine.register(int)\ncollections.abc.Sized.register(Own)\n"
        "try:\n    numbers.Number.register(str)\nexcept TypeError as error:\n    said = str(error)\n"
        "return [isinstance(1, Mine), isinstance(Own(), collections.abc.Sized), isinstance('', numbers.Number), said[:24]]"
    )
    assert guest.value(source) == [True, True, False, "register() tells an abstr"[:24]]
