"""Programs that attack through the packages of a deployment: out of the language, or into the runs that follow.

`shop` is a pure package that hands out more than it should: every program here tries to make something of that. After
each attempt another run looks at all that the package holds. `door` is a trusted package that gives programs the
interpreter itself; what is left then is the process wall.
"""
# ruff: noqa: E501  (each program stands on few lines)

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from codemode import CodeMode, Limits, Package, RunResult

SHOP = {
    "shop/__init__.py": """
import collections, contextlib, copy, dataclasses, enum, functools, json, logging, operator, re, string, sys, typing
from ._till import open_till, registry
count = 0
rates = {"tax": [19]}
queue = collections.deque([1, 2])
_log = logging.getLogger("shop")

def bump():
    global count
    count += 1
    return count

@functools.lru_cache(maxsize=None)
def double(x):
    return x * 2

class Account:
    interest = 0.1
    made = []

    def __init__(self, owner):
        self._balance = 0
        self.owner = owner
        Account.made.append(owner)

    def deposit(self, amount):
        self._balance += amount
        return self._balance

    @property
    def balance(self):
        return self._balance

    def __eq__(self, other):
        return self._balance == other._balance

    def __hash__(self):
        return 1

class Colour(enum.Enum):
    RED = 1

@dataclasses.dataclass
class Line:
    item: str
    _price: int = 3

class Job:
    steps = ()

    def __init_subclass__(cls, **options):
        registry[cls.__name__] = cls

    def run(self, x):
        return [getattr(self, step)(x) for step in self.steps]

def call(function, *args, **options):
    return function(*args, **options)

def read(x, name):
    return getattr(x, name)

def write(x, name, value):
    setattr(x, name, value)

def fill(template, *args, **options):
    return template.format(*args, **options)

def fill_map(template, values):
    return template.format_map(values)

def twin(x):
    return copy.deepcopy(x)

def numbers(n):
    secret = {"till": open_till}
    for each in range(n):
        yield each

@contextlib.contextmanager
def held():
    secret = open_till
    yield "held"

def fail(x):
    secret = open_till
    raise ValueError(x)

def timed(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner

def snapshot():
    return repr([count, rates, queue, sorted(registry), double.cache_info(), Account.interest, Account.made,
                 Account("x").deposit(1), Account.made.pop(), list(Colour), Line("a"), call(len, "ab"), fill("{}", 1), timed(len)("abc"),
                 json.dumps([1]), re.sub("a", "b", "a"), _log.name, [*vars(Account)], Job.steps, open_till.__name__,
                 sys.getrecursionlimit(), string.digits])
""",
    "shop/_till.py": """
import json, os, io
registry = {"json": json, "os": os}
def open_till(code):
    return io.StringIO(code)
""",
}

# What a program tries, and what is to come of it: a part of the error's text, or the value. `get` gives what can be had.
GET = """
import shop
def get(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return f"{type(error).__name__}"
"""
REFUSED = "refused"  # before the program starts, or by an error that names what may not be used
ATTEMPTS: dict[str, tuple[str, object]] = {
    # ------------------------------------------------------------------------------- real modules
    "a module's modules": (
        "return [hasattr(m, n) for m in (shop.json, shop.sys, shop.logging, shop.typing, shop.re, shop.registry['os']) "
        "for n in ('codecs', 'modules', 'os', 'sys', '_getframe', 'system', 'environ', 'path_hooks')]",
        [False] * 48,
    ),
    "a package's own entry among the modules": (
        "return [get(lambda: shop.read(shop, n)) for n in ('__loader__', '__spec__', '__builtins__', '__path__')] + sorted(n for n in vars(shop) if n[:2] == '__')",
        ["AttributeError"] * 4 + ["__doc__", "__module__", "__slots__"],
    ),
    "a function's globals by name": (
        "return [get(shop.read, f, n) for f in (shop.bump, shop.open_till, shop.Account.deposit, shop.double) "
        "for n in ('__globals__', '__code__', '__closure__', '__builtins__', '__wrapped__', '__self__')]",
        ["AttributeError"] * 24,
    ),
    "the same by attrgetter, handed over": (
        "import operator\nreturn [get(lambda: shop.call(operator.attrgetter(n), shop.bump)) for n in "
        "('__globals__', 'bump.__globals__', '__class__.__mro__')] + "
        "[get(lambda: shop.call(operator.methodcaller('__reduce_ex__', 4), shop.Line('a')))]",
        ["AttributeError"] * 4,
    ),
    "names that lie about themselves": (
        "class Name(str):\n    def __eq__(self, other):\n        return True\n    def __hash__(self):\n        return hash('owner')\n"
        "    def startswith(self, *a):\n        return False\n"
        "return [get(shop.read, shop.bump, Name('__globals__')), get(shop.write, shop.Account, Name('__bases__'), ())]",
        ["TypeError", "TypeError"],
    ),
    # ------------------------------------------------------------------------- frames and tracebacks
    "a generator's frame": (
        "g = shop.numbers(3)\nnext(g)\nreturn [get(shop.read, g, n) for n in ('gi_frame', 'gi_code', 'gi_yieldfrom')]",
        ["AttributeError"] * 3,
    ),
    "a context manager's generator": (
        "h = shop.held()\nh.__enter__()\nreturn [get(shop.read, h.gen, n) for n in ('gi_frame', 'gi_code')]"
        " + [get(shop.read, h, 'func.__globals__')]",
        ["AttributeError"] * 3,
    ),
    "a traceback's frames": (
        "try:\n    shop.fail('x')\nexcept ValueError as caught:\n    error, t = caught, caught.__traceback__\n"
        "return [get(shop.read, t, n) for n in ('tb_frame', 'tb_next', 'tb_lasti')] + "
        "[get(shop.read, error, 'with_traceback')]",
        ["AttributeError"] * 4,
    ),
    "the object of an error": (
        "try:\n    shop.json.nothing\nexcept AttributeError as error:\n    return get(shop.read, error, 'obj')",
        "AttributeError",
    ),
    "text of a traceback": (
        "import traceback\ntry:\n    shop.fail('x')\nexcept ValueError:\n    text = traceback.format_exc()\n"
        "return ['secret' in text, 'open_till' in text, '/' in text]",
        [False, False, False],
    ),
    # ---------------------------------------------------------------------------------- format strings
    "templates": (
        "a = shop.Account('a')\nreturn [get(shop.fill, t, a) for t in ('{0.__class__}', '{0.deposit.__func__.__globals__}', "
        "'{0.__init__.__globals__[registry]}', '{:{0.__class__}}', '{0.__dict__}')] + "
        "[get(shop.fill_map, '{a.__class__}', {'a': a}), get(lambda: shop.call('{0.__class__}'.format, a))]",
        ["AttributeError"] * 7,
    ),
    "a template that changes while it is looked at": (
        "class T(str):\n    n = 0\n    def __str__(self):\n        return 'plain'\n    def __contains__(self, x):\n        return False\n"
        "    def replace(self, *a):\n        return 'plain'\nreturn get(shop.fill, T('{0.__class__}'), shop.bump)",
        "AttributeError",
    ),
    # ------------------------------------------------------------------------------- classes and subclasses
    "a subclass that reads what is private of others": (
        "import random, logging\nclass A(shop.Account):\n    pass\nfound = []\n"
        "for foreign in (random.Random(1), logging.getLogger(), len, ValueError('x')):\n"
        "    found.append(get(shop.Account.deposit, foreign, 1))\n"
        "    found.append(get(shop.Account.__eq__, A('x'), foreign))\nreturn found",
        ["AttributeError"] * 8,
    ),
    "a subclass with hooks of every kind": (
        "seen = []\nclass A(shop.Account):\n    def __getattr__(self, name):\n        seen.append(name)\n        return shop.bump\n"
        "    def __setattr__(self, name, value):\n        seen.append(name)\n        object.__setattr__(self, name, value)\n"
        "a = A('x')\na.deposit(1)\nshop.Account('y') == a\nreturn [seen, a.balance, a.whatever is shop.bump]",
        [["_balance", "owner", "_balance", "whatever"], 1, True],
    ),
    "the metaclass": (
        "return [get(shop.call, type(shop.Account), 'X', (), {}), get(shop.call, type(shop.Colour), 'X', (), {}), "
        "get(shop.call, type(type(shop.Account)), 'X', (object,), {'__getattribute__': len})]",
        ["TypeError"] * 3,
    ),
    "the hierarchy": (
        "return [get(shop.read, shop.Account, n) for n in ('__subclasses__', 'mro', '__mro__', '__bases__', '__base__')]",
        ["AttributeError"] * 5,
    ),
    "steps of a job by name": (
        "class Evil(shop.Job):\n    steps = ('__reduce__', '__subclasshook__', '__init_subclass__')\nreturn Evil().run(1)",
        REFUSED,
    ),
    # -------------------------------------------------------------------------- copies, decorators, caches
    "a copy's memo": (
        "class C:\n    def __deepcopy__(self, memo):\n        return [type(each).__name__ for each in memo.values()]\n"
        "return shop.twin([shop.Account('x'), C()])[1]",
        ["list", "Account", "dict", "list"],
    ),
    "an object that says how it is copied": (
        "import collections\nclass C(collections.UserDict):\n    pass\nc = C()\nc.__dict__['__reduce_ex__'] = lambda n: (len, ('abc',))\n"
        "return get(shop.twin, c)",
        "TypeError",
    ),
    "what a decorator has wrapped": (
        "f = shop.timed(len)\nreturn [get(shop.read, f, '__wrapped__'), f.__name__, get(shop.write, f, '__code__', None), "
        "get(shop.write, f, '__defaults__', ())]",
        ["AttributeError", "len", "AttributeError", "AttributeError"],
    ),
    "a key that passes for another in a cache": (
        "class K:\n    def __hash__(self):\n        return hash(2)\n    def __eq__(self, other):\n        return True\n"
        "    def __mul__(self, n):\n        return 'poison'\nreturn [shop.double(K()), shop.double(2)]",
        ["poison", 4],
    ),
    # --------------------------------------------------------------------- what the next run might see
    "everything that can be changed is changed": (
        "shop.bump()\nshop.rates['tax'].append(7)\nshop.rates.clear()\nshop.queue.clear()\nshop.registry['json'] = None\n"
        "shop.double(5)\nshop.Account('left')\nshop._log.name = 'mine'\nshop.Account.made.clear()\nreturn shop.bump()",
        2,
    ),
    "methods of its classes are replaced": (
        "def evil(self, amount):\n    return 'evil'\na = shop.Account('a')\na.deposit = lambda amount: 'evil'\n"
        "return [get(shop.write, c, n, evil) for c, n in ((shop.Account, 'deposit'), (shop.Line, '_price'), "
        "(shop.Job, 'steps'), (shop.Account, 'interest'))] + [shop.Account('b').deposit(1)]",
        [*["TypeError"] * 4, 1],
    ),
    "its functions are replaced": (
        "def evil(*args):\n    return 'evil'\nfound = []\n"
        "for change in (lambda: setattr(shop, 'call', evil), lambda: shop.write(shop, 'call', evil), "
        "lambda: delattr(shop, 'call'), lambda: shop.write(shop.json, 'dumps', evil), lambda: setattr(len, 'x', 1), "
        "lambda: shop.write(shop.registry['os'], 'sep', 'x')):\n    found.append(get(change))\nreturn found",
        ["TypeError", "TypeError", "TypeError", "TypeError", "AttributeError", "TypeError"],
    ),
    "the library is changed through it": (
        "found = []\nfor c in (dict, shop.collections.deque, shop.enum.Enum, shop.logging.Logger, Exception):\n"
        "    found.append(get(shop.write, c, 'x', 1))\nshop.sys.setrecursionlimit(500)\nshop.re.purge()\nreturn found",
        ["TypeError"] * 5,
    ),
    "an enumeration is given members": (
        "return [get(shop.write, shop.Colour, 'RED', 2), get(shop.write, shop.Colour.RED, '_value_', 2) is None or 0, "
        "get(shop.write, shop.Colour, '_member_map_', {})]",
        ["AttributeError", True, "TypeError"],
    ),
    "a module of that name is made": (
        "import sys\nfound = [hasattr(sys, 'modules'), get(lambda: __import__)]\nreturn found",
        REFUSED,
    ),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("packages")
    for name, text in {**SHOP, "door.py": DOOR}.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


@pytest.fixture
async def shop(place: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CodeMode]:
    monkeypatch.syspath_prepend(str(place))
    async with CodeMode(packages=[Package("shop")]) as cm:
        yield cm


async def test_no_attempt_leads_out_of_a_pure_package_or_into_the_next_run(shop: CodeMode) -> None:
    look = "import shop\nreturn shop.snapshot()"
    untouched = await shop.run(look)
    assert untouched.error is None
    wrong = {}
    for name, (source, expected) in ATTEMPTS.items():
        result = await shop.run(GET + source)
        got = REFUSED if _is_refusal(result) else result.error.message if result.error else result.result
        if got != expected:
            wrong[name] = got
        assert (await shop.run(look)).result == untouched.result, name
    assert not wrong, "\n".join(f"{name}: {got!r}" for name, got in wrong.items())


def _is_refusal(result: RunResult) -> bool:
    return result.error is not None and "not available" in result.error.message


# --------------------------------------------------------------------------------- a trusted package

DOOR = """
import ctypes, os, socket, subprocess, sys, threading, builtins, signal, mmap
state = {"seen": 0}
def give(name):
    return {"os": os, "sys": sys, "ctypes": ctypes, "socket": socket, "subprocess": subprocess, "signal": signal,
            "threading": threading, "builtins": builtins, "mmap": mmap}[name]
def run(source):
    found = {}
    exec(source, found)
    return found.get("result")
"""


@pytest.fixture
async def door(place: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[CodeMode]:
    monkeypatch.syspath_prepend(str(place))
    async with CodeMode(packages=[Package("door", trusted=True)], limits=Limits(wall_seconds=5)) as cm:
        yield cm


async def _through(door: CodeMode, source: str) -> RunResult:
    return await door.run(f"import door\nreturn door.run({source!r})")


async def test_a_package_that_gives_everything_still_gives_no_file_process_or_secret(
    door: CodeMode, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEMODE_TEST_SECRET", "hidden")
    harmless = {
        "open('/etc/passwd')": "PermissionError",
        f"open({str(place / 'door.py')!r}, 'a')": "PermissionError",
        "os.listdir('/')": "PermissionError",
        "open('/proc/self/environ')": "PermissionError",
        "open('/tmp/x', 'w')": "PermissionError",
    }
    for attempt, error in harmless.items():
        result = await _through(door, f"import os\nresult = repr({attempt})")
        assert result.error is not None, attempt
        assert error in result.error.message, attempt
    seen = await _through(door, "import os\nresult = sorted(dict(os.environ))")
    assert seen.error is None
    assert set(seen.result) <= {"LC_CTYPE", "LC_ALL"}


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.socket()",
        "os.fork()",
        "os.execv('/bin/sh', ['sh'])",
        "os.kill(1, 9)",
        "os.kill(os.getppid(), 9)",
        "subprocess.run(['true'])",
        "threading.Thread(target=print).start()",
        "ctypes.CDLL(None).system(b'true')",
        "ctypes.string_at(0)",
        "os.setuid(0)",
        "os.register_at_fork(after_in_child=print) or os.fork()",
    ],
)
async def test_what_it_gives_ends_its_own_run_at_most(door: CodeMode, attempt: str) -> None:
    change = (
        "import door; door.state['seen'] += 1; door.run = None; import os, builtins; builtins.len = None\n"
    )
    modules = "import ctypes, os, socket, subprocess, threading\n"
    result = await _through(door, f"{change}{modules}result = repr({attempt})")
    assert result.error is not None
    after = await door.run(
        "import door\nreturn [door.state, door.run('result = len([1])'), door.run('import os; result = os.getpid() > 1')]"
    )
    assert after.error is None, after.error
    assert after.result == [{"seen": 0}, 1, True]
