"""Programs that try to get out, with the process wall down: none may hold what it reaches for.

A payload prints a line with `ESCAPED` when it got through. Our own stand here by family; the corpus that is
handed with the project is run too where it lies beside it.
"""
# ruff: noqa: E501  (each program stands on one line)

from __future__ import annotations

import ast
import json
import os
import sys
from pathlib import Path

import pytest
from running import ROOT, Forge

WALKS = [
    "().__class__.__base__",
    "().__class__.__mro__",
    "[].__class__.__bases__",
    "(lambda: 0).__globals__",
    "(lambda: 0).__code__",
    "print.__self__",
    "print.__reduce__()",
    "object.__subclasses__()",
    "int.mro()",
    "type(int).mro(bool)",
    "''.__class__.__init__.__globals__",
    "tools.echo._call",
    "tools._table",
    "tools.echo.__init__.__globals__",
    "json._default_encoder",
    "json.loads.__globals__",
    "json.JSONEncoder.default.__globals__",
    "type(json)('m')",
    "getattr(json, '__dict__')",
    "vars(json)",
    "re.compile",
    "random.Random._randbelow.__globals__",
    "getattr(object, '__' + 'subclasses' + '__')()",
    "getattr((), '__class__')",
    "list(map(getattr, [()], ['__class__']))",
    "functools.partial(getattr, ())('__class__')",
    "operator.attrgetter('__class__.__base__')(1)",
    "operator.attrgetter('gi_frame')(x for x in [])",
    "operator.methodcaller('__subclasses__')(object)",
    "object.__getattribute__((), '__class__')",
    "type.__getattribute__(int, '__subclasses__')()",
    "object.__getattribute__(A(), '__class__')",
    "super(A, A()).__getattribute__('__class__')",
    "A().__init__.__func__",
    "A.m.__func__",
    "A.p.fget",
    "A.__dict__['__dict__'].__get__(json)",
    "vars(A)['__dict__']",
    "(x.gi_frame for x in [])",
    "g().gi_frame",
    "g().gi_code",
    "getattr(g(), 'gi_frame')",
    "e.__traceback__.tb_frame",
    "getattr(e.__traceback__, 'tb_frame')",
    "e.obj",
    "getattr(e, 'obj')",
    "AttributeError.obj.__get__(e)",
    "sys.exc_info()[2].tb_frame",
    "traceback.walk_tb(e.__traceback__)",
    "asyncio.get_event_loop()._selector",
    "asyncio.Queue()._get_loop()",
    "asyncio.Queue()._loop",
    "q._loop",
    "contextlib.contextmanager(g)().gen.gi_frame",
    "functools.lru_cache(g).__wrapped__.__globals__",
    "functools.wraps(print, assigned=('__self__',), updated=())(A())",
    "functools.update_wrapper(A(), json.dumps, assigned=(), updated=('__globals__',))",
    "functools.update_wrapper(A(), asyncio.Queue()).x",
    "typing.get_type_hints(h)",
    "typing.get_origin(typing.Type[int])('X', (), {'__getattr__': 1})",
    "typing.ForwardRef('1')._evaluate({}, {}, frozenset())",
    "type[int]('B', (), {})",
    "type('B', (), {})",
    "type(A)('B', (), {})",
    "type(type(A))('B', (), {})",
    "type(g)(g.__code__, {})",
    "types.FunctionType(1, {})",
    "types.CodeType(0)",
    "type(g())()",
    "enum.Enum('X', {'__getattr__': lambda s, n: 1, 'A': 1})",
    "enum.Enum('X', 'A')._convert_('Y', 'os', lambda n: True)",
    "re.RegexFlag._convert_('Y', 'os', lambda n: True)",
    "getattr(re.RegexFlag, '_convert_')",
    "enum.Enum('X', {'A': 1}, type=type)",
    "enum.EnumMeta('X', (), {})",
    "abc.ABCMeta('X', (), {})",
    "dataclasses.make_dataclass('C', ['a'], namespace={'__getattr__': 1})",
    "dataclasses.make_dataclass('C', ['x=print(1)'])",
    "dataclasses.make_dataclass('C', ['a'], bases=(type,))",
    "collections.namedtuple('T', 'a', module='os')",
    "collections.namedtuple('T', ['a=print(1)'])",
    "copy.copy(R())",
    "eval('().__class__')",
    "eval('print(1)')",
    "eval('[x for x in [1]]')",
    "eval('(lambda: 0)')",
    "eval('(x := 1)')",
    "eval('__builtins__')",
    "eval('f\"{x}\"')",
    "eval(S('1'))",
    "ast.literal_eval(A())",
    "ast.parse('1')",
    "exec('1')",
    "compile('1', '', 'eval')",
    "open('/etc/passwd').read()",
    "__import__('os')",
    "__builtins__",
    "globals()",
    "locals()",
    "breakpoint()",
    "memoryview(b'')",
    "zoneinfo.ZoneInfo('../../../etc/passwd')",
    "pathlib.Path('/etc/passwd').read_text()",
    "pathlib.PurePath('a').parser.os",
    "os.path.os",
    "logging.root.manager",
    "string.Formatter().format('{0.__class__}', 1)",
    "'{0.__class__}'.format(1)",
    "'{0.gi_frame}'.format(g())",
    "'{:{0.__class__}}'.format(1)",
    "'{x.__class__}'.format_map({'x': 1})",
    "str.format('{0.__class__}', 1)",
    "str.format_map('{a._x}', {'a': json})",
    "S('{0.__class__}').format(1)",
    "S('{0.__class__}').parent()",
    "list(map(str.format, ['{0.__init__}'], [1]))",
    "getattr('{0.__class__}', 'format')(1)",
    "operator.methodcaller('format', 1)('{0.__class__}')",
    "'{0.obj}'.format(e)",
    "D.__init__(asyncio.Queue(), 1)",
    "D.__repr__(asyncio.Queue())",
    "D.__hash__(asyncio.Queue())",
    "D.__eq__(asyncio.Queue(), asyncio.Queue())",
    "(lambda queue: queue._loop)(asyncio.Queue())",
    "A.private(asyncio.Queue())",
    "A.private(types.SimpleNamespace(**{'<private attributes>': 1}))",
    "setattr(q, '<private attributes>', 1)",
    "setattr(json, 'dumps', 1)",
    "setattr(A, '__match_args__', ('__class__',))",
    "setattr(A(), '__class__', dict)",
    "setattr(g, '__code__', 1)",
    "delattr(math, 'pi')",
    "tools.echo.__call__.__globals__",
    "type(tools)(())",
    "type(tools.echo)()",
    "copy.copy(tools)._table",
    "asyncio.run.__globals__",
    "help()",
    "input()",
]

SETTING = """
import abc, ast, asyncio, collections, contextlib, copy, dataclasses, enum, functools, json, logging, math, operator, os
import pathlib, random, re, string, sys, traceback, types, typing, zoneinfo
class A:
    def m(self): pass
    @property
    def p(self): return 1
    def private(self): return self._loop
class S(str):
    def parent(self): return super().format(1)
class R:
    def __init__(self): self.__dict__["__reduce_ex__"] = lambda p: (print, ("reduced",))
@dataclasses.dataclass(order=True, unsafe_hash=True)
class D:
    _loop: int = 0
def g(): yield 1
def h(x: "().__class__.__base__.__subclasses__()[0]"): pass
q = asyncio.Queue()
try:
    json.nope
except AttributeError as error:
    e = error
"""


@pytest.mark.parametrize("payload", WALKS)
def test_a_walk_ends_before_it_leaves(guest: Forge, payload: str) -> None:
    ran = guest.run(f"{SETTING}got = {payload}\nprint('ESCAPED', got)")
    if payload in ("re.compile", "sys.exc_info()[2].tb_frame"):  # the first is harmless, a test of this test
        assert ("ESCAPED" in ran.logs) == (payload == "re.compile")
        return
    assert ran.kind == "exception", (ran.kind, ran.logs)
    assert "ESCAPED" not in ran.logs


PROGRAMS = {
    "traceback in __exit__": "class C:\n    def __enter__(self): return self\n    def __exit__(self, t, v, tb):\n        match tb:\n            case object(tb_frame=f):\n                print('ESCAPED')\n        return True\nwith C():\n    1/0",
    "type of a traceback": "class C:\n    def __enter__(self): return self\n    def __exit__(self, t, v, tb):\n        T = type(tb)\n        T(None, None, 0, 0)\n        print('ESCAPED')\nwith C():\n    1/0",
    "match args": "class A:\n    __match_args__ = ('__class__',)\nmatch A():\n    case A(c):\n        print('ESCAPED')",
    "match args computed": "names = ['__cl' + 'ass__']\nclass A:\n    __match_args__ = tuple(names)\nmatch A():\n    case A(c):\n        print('ESCAPED')",
    "match args of a dataclass on a registered class": "import asyncio, abc\nfrom dataclasses import dataclass\n@dataclass\nclass A(abc.ABC):\n    _loop: int\nA.register(asyncio.Queue)\nmatch asyncio.Queue():\n    case A(loop):\n        print('ESCAPED', loop)",
    "private keyword pattern": "import asyncio\nmatch asyncio.Queue():\n    case object(_loop=loop):\n        print('ESCAPED')",
    "base class type": "class M(type):\n    pass\nprint('ESCAPED')",
    "base class BaseException": "class B(BaseException): pass\nprint('ESCAPED')",
    "base class of groups": "class E(ExceptionGroup):\n    def split(self, t): return 'AAAA'\nprint('ESCAPED')",
    "split of a group": "eg = ExceptionGroup('x', [ValueError(1)])\neg.split = lambda t: 'AAAA'\ntry:\n    raise eg\nexcept* ValueError as e:\n    print('ESCAPED')",
    "split by setattr": "eg = ExceptionGroup('x', [ValueError(1)])\nsetattr(eg, 'spl' + 'it', lambda t: 'AAAA')\ntry:\n    raise eg\nexcept* ValueError as e:\n    print('ESCAPED')",
    "split by a dataclass": "from dataclasses import dataclass\n@dataclass\nclass D:\n    split: object\neg = ExceptionGroup('x', [ValueError(1)])\nD.__init__(eg, lambda t: 'AAAA')\ntry:\n    raise eg\nexcept* ValueError as e:\n    print('ESCAPED')",
    "split by update_wrapper": "import functools\nclass A: pass\na = A()\nsetattr(a, 'split', lambda t: 'AAAA')\neg = ExceptionGroup('x', [ValueError(1)])\nfunctools.update_wrapper(eg, a, assigned=())\ntry:\n    raise eg\nexcept* ValueError as e:\n    print('ESCAPED')",
    "field names as code": "from dataclasses import dataclass\nclass A: pass\nA.__annotations__['x=print(\"ESCAPED\")'] = int\ndataclass(A)",
    "field names changed later": "from dataclasses import dataclass, fields\n@dataclass\nclass A:\n    x: int\nfields(A)[0].name = 'x=print(\"ESCAPED\")'\n@dataclass\nclass B(A):\n    y: int = 1\nB(1)",
    "denied field name": "from dataclasses import dataclass\n@dataclass\nclass A:\n    tb_frame: object\nprint('ESCAPED')",
    "metaclass by stars": "class A(**{'metaclass': lambda *a, **k: print('ESCAPED')}): pass",
    "hooks in a class body": "class A:\n    _getattr_ = 1\nprint('ESCAPED')",
    "unspellable marks": "class A: pass\nsetattr(A, '<own>', 1)\nprint('ESCAPED')",
    "names in a str subclass": "class N(str):\n    def startswith(self, *a): return False\n    def __eq__(self, o): return False\n    def __hash__(self): return 1\ngetattr(object, N('__subclasses__'))\nprint('ESCAPED')",
    "setattr with a str subclass": "class N(str): pass\nclass A: pass\nsetattr(A(), N('__class__'), dict)\nprint('ESCAPED')",
    "a class that lies": "class A:\n    __class__ = property(lambda s: dict)\nprint('ESCAPED')",
    "reduce": "import copy\nclass A:\n    def __reduce_ex__(self, p):\n        return (print, ('ESCAPED',))\ncopy.copy(A())",
    "del": "class A:\n    def __del__(self):\n        print('ESCAPED')\na = A()",
    "poisoned module": "import json\njson.dumps = lambda x: 'ESCAPED'\nprint(json.dumps(1))",
    "poisoned class": "import json\njson.JSONEncoder.default = lambda s, o: 'ESCAPED'\nprint(json.dumps(object()))",
    "poisoned class method": "import collections\ncollections.Counter.update = lambda *a: print('ESCAPED')\ncollections.Counter().update()",
    "poisoned builtin class": "list.append = lambda *a: print('ESCAPED')\n[].append(1)",
    "poisoned through augmented assignment": "import math\nmath.pi += 1\nprint('ESCAPED')",
    "state on a tool": "tools.echo.cache = 'ESCAPED'\nprint(tools.echo.cache)",
    "engine names rebound": "def len(x): return 10**9\nstr = int = list = dict = None\nprint('fine')\nresult = 'ok'",
    "augmented format": "class X:\n    def __radd__(self, other):\n        print('ESCAPED', other('{0.__class__}', 1))\ns = 'a'\ns.format += X()",
    "augmented obj": "class X:\n    def __radd__(self, other):\n        print('ESCAPED', other)\ntry:\n    [].x\nexcept AttributeError as e:\n    e.obj += X()",
    "obj through super": "class E(AttributeError):\n    def peek(self):\n        return super().obj\ntry:\n    raise E('x', name='n', obj=[1])\nexcept E as e:\n    print('ESCAPED', e.peek())",
    "relative import": "from . import x\nprint('ESCAPED')",
    "private import": "import _strptime\nprint('ESCAPED')",
    "import of the engine": "import codemode.guest\nprint('ESCAPED')",
    "future": "from __future__ import barry_as_FLUFL\nx = 1 <> 2\nprint('ESCAPED')",
    "forged await": "class A:\n    def __await__(self):\n        yield 1\nawait A()\nprint('ESCAPED')",
    "forged async iterator": "class A:\n    def __aiter__(self): return self\n    def __anext__(self): return 5\nasync for x in A():\n    print('ESCAPED')",
    "a call's class": "c = tools.echo(x=1)\nT = type(c)\nawait c\nT()\nprint('ESCAPED')",
    "a call driven by hand": "c = tools.echo(x=1)\nawait tools.echo(x=2)\nc.send(None)\nprint('ESCAPED')",
    "the loop of a call": "c = tools.echo(x=1)\nawait c\nprint('ESCAPED', c.get_loop())",
    "the coroutine of a task": "import asyncio\nasync def f(): pass\nt = asyncio.create_task(f())\nawait t\nprint('ESCAPED', getattr(t, 'get_' + 'coro')())",
    "descriptor of the frozen": "super(list, tools.rows()).append(1)\nprint('ESCAPED')",
    "class of the frozen": "v = tools.rows()\nif type(v) is not list or v.__class__ is not list:\n    print('ESCAPED')\nv.__class__ = dict",
    "mapping proxy": "class A: pass\nclass X:\n    def __eq__(self, other):\n        print('ESCAPED', type(other))\nvars(A).x\n",
    "callable stand-ins": "T = type(lambda: 0)\nif callable(T): print('ESCAPED')\nT()",
    "a hidden line": "# harmless\rimport os\rprint('ESCAPED', os.getcwd())",
    "generic alias of the private": "import types, asyncio\nclass A:\n    def f(self):\n        return self._loop\nprint('ESCAPED', A.f(types.GenericAlias(asyncio.Queue(), ())))",
    "type hints of text": "from functools import singledispatch\n@singledispatch\ndef f(x): pass\n@f.register\ndef _(x: '().__class__'): pass\nprint('ESCAPED')",
    "default hooks": "f = lambda x=().__class__.__base__: x\nprint('ESCAPED', f())",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_tries_does_not_get_out(guest: Forge, name: str) -> None:
    ran = guest.run(PROGRAMS[name])
    assert "ESCAPED" not in ran.logs, ran.logs
    assert ran.kind in ("exception", "ok"), ran.message
    if name != "engine names rebound" and "match" not in name:
        assert ran.kind == "exception", name


# ------------------------------------------------------------------------------------- the corpus


def corpus() -> Path | None:
    """Where the handed corpus lies, if it does."""
    named = os.environ.get("CODEMODE_ESCAPES")
    for place in ([Path(named)] if named else []) + [ROOT.parent / "shared" / "escapes"]:
        if (place / "INDEX.json").is_file():
            return place
    return None


def payloads() -> list[Path]:
    place = corpus()
    return (
        []
        if place is None
        else sorted(
            path for path in place.glob("*.py") if "\n# mode: code" in path.read_text("utf-8", "replace")
        )
    )


def test_the_corpus_is_named_if_it_is_asked_for() -> None:
    """A wrong `CODEMODE_ESCAPES` is an error; without one, the payloads above stand alone."""
    if os.environ.get("CODEMODE_ESCAPES"):
        assert corpus() is not None
    if corpus() is not None:
        index = json.loads((corpus() or Path()).joinpath("INDEX.json").read_text())
        assert len(payloads()) > 100
        assert {row[4] for row in index} >= {"code", "raw"}
    families = {payload.partition(".")[0] for payload in WALKS}
    assert len(WALKS) + len(PROGRAMS) > 150
    assert len(families) > 40


RESOURCES = range(230, 277)  # these only use up time or memory, which no language stops


@pytest.mark.parametrize("path", payloads(), ids=lambda path: path.stem)
def test_the_corpus_does_not_get_out(guest: Forge, path: Path) -> None:
    with open(path, encoding="utf-8", errors="surrogatepass", newline="") as file:
        source = file.read()
    header = dict(
        line[2:].split(": ", 1) for line in source.split("\n")[:9] if line.startswith("# ") and ": " in line
    )
    if header.get("python") == ">=3.12" and sys.version_info < (3, 12):
        return
    if "generate" in header:
        source = _generated(header["generate"])
    if len(source.encode("utf-8", "replace")) > 1 << 20:
        return  # the host refuses it before anything starts
    if "__future__" not in source and "generate" not in header:
        source = f"echo = tools.echo\n{source}\ntry:\n    outcome = result\nexcept NameError:\n    outcome = None\nreturn outcome"
    heavy = int(path.name[:3]) in RESOURCES
    ran = guest.run(source, cpu=1, wall=0.7 if heavy else 3.0, memory=128 << 20)
    assert "ESCAPED" not in ran.logs + repr(ran.result)


def _generated(expression: str) -> str:
    """Evaluate the expression of a header: text, repeated and joined."""
    names = {"range": range, "str": str}
    for node in ast.walk(ast.parse(expression, mode="eval")):
        assert not isinstance(node, ast.Attribute) or node.attr == "join"
    return str(eval(expression, {"__builtins__": names}))
