"""Programs at random with hostile names in every place that holds one: nothing of the interpreter may be reached.

A program is a few dozen statements, each of which gets hold of something by some name in some way, shows it to a
witness (see `witness.py`) and keeps it for the others to go on from. Each statement is compiled alone first. What the
compiler accepts is looked through for names that no program may read or bind, by a list of our own; then those that
were accepted run together in a confined guest. A run may end in any way but one that only a program past the language
wall can reach: a crash, a forbidden system call, a broken protocol.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from textwrap import indent
from types import CodeType

from codemode.guest.language.compiler import Refused, Unparsable, compile_program
from codemode.guest.library import imports
from codemode.sandbox import Limits, LocalSandbox, zygote
from tests.escapes.runner import Echo
from tests.fuzz.campaign import Examine
from tests.sandbox.support import ECHO

__all__ = ["accepted", "examiner", "forbidden_names", "statement"]

LIMITS = Limits(cpu_seconds=1.0, wall_seconds=4.0, memory_bytes=192 * 1024 * 1024, log_bytes=256 * 1024)

FRAMES = "gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await ag_frame ag_code tb_frame tb_next f_back f_globals "
NEVER_READ = frozenset(
    f"""{FRAMES} f_locals f_builtins f_code co_consts mro __mro__ __base__ __bases__ __subclasses__ __globals__
    __builtins__ __code__ __closure__ __defaults__ __kwdefaults__ __self__ __func__ __wrapped__ __import__ __loader__
    __spec__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __subclasshook__ __instancecheck__ __prepare__
    __objclass__ __thisclass__ __self_class__ __weakref__ __abstractmethods__ __await__ __buffer__ __set_names__
    __cached__ __file__ __path__ __package__ __text_signature__ __signature__ with_traceback fget
    _getattr_ _write_ _abc_impl __call_me__""".split()
)
"""Attributes that no compiled program names, whatever the object."""

NEVER_BOUND = frozenset(
    """__builtins__ __import__ __build_class__ __debug__ _getattr_ _write_ _getitem_ _print_ _inplacevar_ _apply_
    __metaclass__ __globals__ __loader__ __spec__ __class__""".split()
)
"""Variables that no compiled program binds."""

GUARDED = """__class__ __dict__ __init__ __new__ __getattribute__ __getattr__ __setattr__ __delattr__ __get__ __set__
    __set_name__ __init_subclass__ __class_getitem__ __copy__ __deepcopy__ __dir__ __sizeof__ format format_map obj
    __traceback__ __context__ __cause__ __annotations__ __name__ __module__ __doc__ __call__ __slots__
    __match_args__ __type_params__ __value__ __origin__ __args__ __dataclass_fields__ __post_init__ __enter__ __exit__
    __iter__ __next__ __format__ __repr__ __hash__ __eq__ __missing__ __index__ __members__""".split()
PRIVATE = "_x __x _A__x _asdict _make _fields _replace _value_ _missing_ _member_map_ _generate_next_value_ _".split()
PUBLIC = """append name real items keys func args send throw close mro fget __len__ gi_frame register dispatch
    cache_info cache_clear default_factory maps data path codecs sys builtins os re modules exc_info stdout buffer
    raw tasks get_loop get_coro get_stack create_task run update setdefault pop read write open loads dumps tool split
    derive namespace parameters signature unwrap currentframe getmodule loader environ system popen stdin""".split()
LOOK_ALIKE = ("gi＿frame", "𝑓_back", "__ｇlobals__", "ｍro", "__𝓬ode__", "﹍﹍class__", "ſend", "_＿dict__")
NAMES = (*sorted(NEVER_READ), *sorted(NEVER_BOUND), *GUARDED, *PRIVATE, *PUBLIC, *LOOK_ALIKE)

MODULES = """json re math functools itertools collections dataclasses enum typing asyncio datetime decimal string
    operator contextlib copy types inspect random time statistics textwrap logging io abc csv weakref numbers
    fractions uuid html hashlib base64 struct bisect heapq calendar urllib.parse collections.abc os sys pathlib
    traceback builtins importlib gc ctypes codecs pickle socket subprocess threading warnings ast dis""".split()

SETUP = """\
import asyncio, collections, contextlib, copy, dataclasses, enum, functools, itertools, json, math, operator, random
import re, string, time, types, typing
class A:
    x = 1
    _x = 2
    def __init__(self, v=1):
        self.v = v
        self._p = [v]
    def method(self):
        return self
    @property
    def prop(self):
        return self._p
    @classmethod
    def made(cls):
        return cls()
    @staticmethod
    def free():
        return 1
class E(enum.Enum):
    ONE = 1
@dataclasses.dataclass
class D:
    f: int = 1
    g: list = dataclasses.field(default_factory=list)
class S:
    __slots__ = ("s",)
T = collections.namedtuple("T", "a b")
def fn(a=1, *args, k=2, **kw):
    return a
def gen():
    yield 1
    yield 2
async def coro():
    return 1
async def agen():
    yield 1
@contextlib.contextmanager
def manager():
    yield 1
def closure(n=1):
    def inner():
        return n
    return inner
try:
    1 / 0
except ZeroDivisionError as error:
    err = error
pool = []
def see(*values):
    witness(*values)
    for v in values:
        pool.append(v)
        if type(v) in (list, tuple):
            witness(*v[:50])
        elif type(v) is dict:
            witness(*list(v.values())[:50])
"""

OBJECTS = """fn gen gen() coro agen agen() manager manager() closure() A A() A().method A.made A.free E E.ONE D D() S
    S() T T(1,2) err ValueError ValueError('x') int str type object super list dict print getattr tools tools.echo
    tools.echo(x={'a':[1]}) json re.compile('a') re.match('a','a') functools.partial(fn,1) functools.partial
    functools.lru_cache(fn) functools.wraps operator.attrgetter operator itertools.chain itertools.count() iter([1])
    collections collections.defaultdict(list) collections.ChainMap({}) collections.Counter typing.NamedTuple
    typing.Any typing.List[int] typing.get_type_hints types types.SimpleNamespace(a=1) asyncio asyncio.sleep
    asyncio.Queue contextlib.ExitStack() contextlib.suppress copy.copy copy.deepcopy random.Random() random time
    string.Template('$a') string.Formatter math 'text' b'x' 1 1.5 None ... NotImplemented [1] {'a':1} {1} (1,2)
    range(3) slice(1) property property(fn) classmethod(fn) staticmethod(fn) lambda:1 {}.items() 'a'.join [].append
    print.__name__ A.__init__ A.__dict__ A().__dict__ E.__members__ vars(A()) dir type(A) type(E) type(fn)
    type(gen()) type(err) type(print) type(None) type(type) type(json) dataclasses.fields(D)[0] enum.EnumMeta
    enum.Enum A.prop json.JSONEncoder() json.JSONDecoder globals locals vars eval open exec compile input breakpoint
    memoryview exit help str.format ''.format str.format_map int.from_bytes map(str,[1]) zip([1]) filter(None,[1])
    enumerate([1]) reversed([1]) frozenset() complex(1) bytearray(2) object()""".split()


FILL = f"""\
for make in ({", ".join(f"lambda: {each}" for each in OBJECTS)}):
    try:
        see(make())
    except Exception as problem:
        see(problem)
"""
"""Puts each object into the pool."""


@functools.cache
def _attributes() -> dict[str, list[str]]:
    """For each object the names that it has in an ordinary interpreter."""
    names: dict[str, object] = {"witness": lambda *found: None, "tools": None}
    exec(SETUP, names)
    found = {}
    for each in OBJECTS:
        try:
            found[each] = dir(eval(each, names))
        except Exception:
            found[each] = []
    return found


class _Maker:
    """Makes up statements."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.last: list[str] = []
        self.attributes = _attributes()

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def name(self) -> str:
        """A name that is hostile, or one that the object made last has."""
        return self.random.choice(self.last if self.last and self.random.random() < 0.5 else NAMES)

    def object(self, depth: int = 2) -> str:
        if self.random.random() < 0.25:
            self.last = self.random.choice([*self.attributes.values()])
            return f"pool[{self.random.randrange(-len(OBJECTS), len(OBJECTS))}]"
        if depth and self.random.random() < 0.2:
            return f"({self.reach(depth - 1)})"
        chosen = self.random.choice(OBJECTS)
        self.last = self.attributes[chosen]
        return f"({chosen})"

    def reach(self, depth: int = 2) -> str:
        """An expression that gets something from an object by a name."""
        p, o = self.object(0), self.object(depth)
        n, m = self.name(), self.name()
        split = self.random.randrange(len(n) + 1)
        spelled = self.one(f"{n!r}", f"{n[:split]!r} + {n[split:]!r}", f"str({n!r})", f"''.join({list(n)!r})")
        return self.one(
            f"{o}.{n}",
            f"{o}.{n}",
            f"{o}.{n}()",
            f"{o}.{n}({p})",
            f"{o}.{n}.{m}",
            f"{o}()",
            f"{o}({p})",
            f"{o}({p}, {spelled})",
            f"{o}({spelled}, {p})",
            f"{o}[{spelled}]",
            f"{o}[0]",
            f"getattr({o}, {spelled})",
            f"getattr({o}, {spelled}, None)",
            f"operator.attrgetter({spelled})({o})",
            f"operator.attrgetter('x.' + {spelled})({o})",
            f"operator.methodcaller({spelled})({o})",
            f"operator.methodcaller({spelled}, {p})({o})",
            f"operator.itemgetter({spelled})({o})",
            f"'{{0.{n}}}'.format({o})",
            f"'{{0.{n}.{m}}}'.format({o})",
            f"'{{a[{n}]}}'.format(a={o})",
            f"'{{a.{n}}}'.format_map({{'a': {o}}})",
            f"str.format('{{0.{n}}}', {o})",
            f"f'{{{o}.{n}!r}}'",
            f"format({o}, {spelled})",
            f"string.Formatter().format('{{0.{n}}}', {o})",
            f"string.Formatter().get_field('0.{n}', ({o},), {{}})",
            f"vars({o}).get({spelled})",
            f"{o}.__dict__[{spelled}]",
            f"dir({o})",
            f"list(map(getattr, [{o}], [{spelled}]))",
            f"list(map({o}, [{p}]))",
            f"sorted([{o}, {o}], key=operator.attrgetter({spelled}))",
            f"functools.reduce(getattr, [{spelled}, {m!r}], {o})",
            f"functools.partial(getattr, {o})({spelled})",
            f"functools.partial({o}, {p})({spelled})",
            f"functools.wraps({o}, assigned=({spelled},), updated=())(lambda: 1)",
            f"functools.update_wrapper(lambda: 1, {o}, assigned=(), updated=({spelled},))",
            f"functools.singledispatch({o})",
            f"functools.cached_property({o})",
            f"typing.get_type_hints({o})",
            f"typing.cast({o}, {p})",
            f"typing.NamedTuple('N', [({spelled}, int)])",
            f"collections.namedtuple('N', [{spelled}])",
            f"collections.namedtuple({spelled}, 'a', module={spelled})",
            f"dataclasses.make_dataclass('N', [{spelled}])",
            f"dataclasses.make_dataclass('N', ['a'], namespace={{{spelled}: {p}}})",
            f"dataclasses.replace({o}, **{{{spelled}: 1}})",
            f"dataclasses.asdict({o})",
            f"enum.Enum('N', {{{spelled}: {p}}})",
            f"enum.Enum('N', [{spelled}], module={spelled}, qualname={spelled})",
            f"type({spelled}, (), {{{n!r}: {p}}})",
            f"type({o})({p})",
            f"type({o}).{n}",
            f"type('N', ({o},), {{{spelled}: {p}}})",
            f"super(A, {o}).{n}",
            f"super(type({o}), {o}).{n}",
            f"object.{n}",
            f"types.{n}",
            f"types.SimpleNamespace(**{{{spelled}: {p}}})",
            f"types.MethodType({o}, {p})",
            f"copy.copy({o})",
            f"copy.deepcopy({o})",
            f"copy.replace({o}, **{{{spelled}: 1}})",
            f"json.loads('[1]', object_hook={o}, cls={p})",
            f"json.dumps({{'a': {o}}}, default={p}, cls=json.JSONEncoder)",
            f"re.sub('a', {o}, 'a')",
            f"itertools.starmap({o}, [({p}, {spelled})])",
            f"(lambda {self.one('a', n)}: a)({o})",
            f"[w for w in {o}]",
            f"[*{o}]",
            f"{{**{o}}}",
            f"dict({o})",
            f"{o}.{n} if {p} else {o}",
            f"({self.one('w', n)} := {o})",
            f"tools.echo(x={o})",
            f"tools[{spelled}](x={o})",
            f"tools.{n}",
            f"eval({spelled})",
            f"eval({f'fn.{n}'!r})",
            f"contextlib.ExitStack().{n}",
            f"contextlib.contextmanager({o})().gen",
            f"isinstance({o}, {p})",
            f"issubclass({o}, {p})",
            f"hasattr({o}, {spelled}) and {o}",
            f"next({o}, {p})",
            f"iter({o}, {p})",
            f"min([{o}], key=lambda v: v.{n})",
            f"__import__({spelled})",
            f"__builtins__[{spelled}]",
            f"{n}",
        )

    def statement(self, awaits: bool) -> str:
        p, r, o = self.object(0), self.reach(), self.object()
        n, m = self.name(), self.name()
        base = self.one("", "A", "dict", "Exception", o)
        bases = self.one("", o, r, "A", f"metaclass={o}", f"A, {n}={p}", f"*[{o}]")
        forms = [
            *[f"see({r})"] * 12,
            self.sweep(),
            self.sweep(),
            f"for w in dir({o}):\n    try:\n        see(getattr(pool[-1], w))\n    except Exception:\n        see({o})",
            f"for w in dir({o}):\n    try:\n        see(getattr({o}, w)({p}))\n"
            f"    except Exception as problem:\n        see(problem)",
            f"{o}.{n} = {p}",
            f"{o}.{n} += {p}\nsee({o})",
            f"{o}.{n}: int = {p}",
            f"del {o}.{n}",
            f"setattr({o}, {n!r}, {p})\nsee({o})",
            f"delattr({o}, {n!r})",
            f"{o}[{n!r}] = {p}",
            f"{o}.{n}[{m!r}] = {p}",
            f"{n} = {o}\nsee({n})",
            f"{n}: {r} = 1",
            f"for {self.one(n, f'{o}.{n}', f'w, {n}', f'*{n}, w')} in [({o}, {p})]:\n    see(w)",
            f"with {self.one('manager()', o)} as {self.one(n, f'{o}.{n}', 'w')}:\n    see(w)",
            f"see([w for {n} in {o} for w in [{p}]])",
            f"def {n}(*a, **k):\n    see(*a)\n    return {p}\nsee({o}.{m})",
            f"def f({self.one(n, '*' + n, '**' + n, n + ', /', '*, ' + n)}=1):\n    see({m})\nf()",
            f"def f({n}):\n    see({n})\nf({o})",
            f"def f(a: {r} = {o}) -> {p}:\n    global {n}\n    {n} = a\nsee(f())",
            f"def f():\n    {n} = 1\n    def g():\n        nonlocal {n}\n        {n} = {o}\n    g()\n    see({n})\nf()",
            f"@{o}\ndef f(*a):\n    see(*a)\nsee(f)",
            f"@{r}\nclass C:\n    pass\nsee(C)",
            f"class C({bases}):\n    {n} = {p}\nsee(C, C().{m})",
            f"class C({base}):\n    def {n}(self, *a, **k):\n        see(self, *a)\n"
            f"        return {p}\nsee(C().{m}, C() == {o}, {o} + C())",
            f"class C(A):\n    def method(self):\n        see(super().{n})\n"
            f"        see(super().{m}({p}))\nC().method()",
            f"class C:\n    {n}: {r} = {o}\n    __slots__ = ({m!r},)\nsee(C, C.__annotations__)",
            f"class {n}:\n    {m} = {o}\nsee({n})",
            f"import {self.module()} as {self.one('w', n)}\nsee(w)",
            f"import {self.module()}.{n}",
            f"from {self.module()} import {n}\nsee({n})",
            f"from {self.module()} import {n} as w\nsee(w)",
            f"from {self.module()} import *",
            f"import {n}",
            f"try:\n    {r}\nexcept Exception as {self.one('w', n)}:\n    see(w, w.{m})",
            f"try:\n    {r}\nexcept {o} as w:\n    see(w.__traceback__)",
            f"try:\n    {r}\nexcept* ValueError as w:\n    see(w.exceptions, w.{n})",
            f"try:\n    {o}.{n}\nexcept AttributeError as w:\n    see(w.obj, w.name, w.args, w.__context__)",
            f"match {o}:\n    case object({n}=w):\n        see(w)",
            f"match {o}:\n    case {p[1:-1] if p[1:-1].isidentifier() else 'A'}({n}=w):\n        see(w)",
            f"match {o}:\n    case A(w):\n        see(w)",
            f"match {o}:\n    case [w, *{n}]:\n        see(w)\n    case {{'a': w, **{m}}}:\n        see(w)\n"
            f"    case {n} as w:\n        see(w)",
            f"A.__match_args__ = ({n!r},)\nmatch {o}:\n    case A(w):\n        see(w)",
            f"g = gen()\nnext(g)\nsee(g.{n}({o}))",
            f"g = gen()\nsee(g.throw({o}))",
            f"raise {o} from {p}",
            f"assert {o}, {p}",
            f"global {n}\n{n} = {o}",
            f"print({o}, file={p}, sep={n!r})",
            f"see(lambda {n}=1: {m})",
        ]
        if sys.version_info >= (3, 12):
            forms += [
                f"type {n} = {r}\nsee({n}.__value__)",
                f"def f[{n}: {r}](a: {n}):\n    see({n}.__bound__)\nf({o})\nsee(f.__type_params__)",
                f"class C[{n}]:\n    {m} = {o}\nsee(C[int], C.__parameters__)",
            ]
        if awaits:
            forms += [
                f"see(await {o})",
                f"async for {self.one('w', n)} in {o}:\n    see(w)",
                f"async with {o} as w:\n    see(w)",
                f"c = coro()\nsee(c.{n})\nsee(await c)",
                f"t = asyncio.create_task(coro())\nsee(t.{n})\nawait t\nsee(t.{m})",
                f"see(await asyncio.gather({o}, coro(), return_exceptions=True))",
                f"see([w async for w in {o}])",
                f"async def {n}({m}=1):\n    return {p}\nsee(await {n}())",
                f"see(await asyncio.wait_for({o}, timeout=0.01))",
            ]
        return self.random.choice(forms)

    def sweep(self) -> str:
        """A few names, tried on everything that the program holds."""
        names = tuple(self.random.choice(NAMES) for _ in range(6))
        n = self.name()
        way = self.one(
            "getattr(o, n)",
            "operator.attrgetter(n)(o)",
            "vars(o)[n]",
            "operator.methodcaller(n)(o)",
            f"o.{n}",
            f"o.{n}()",
            f"type(o).{n}",
            "o()",
            "o(n)",
            "getattr(o, n)(o)",
            "copy.copy(o)",
        )
        return (
            f"for o in list(pool)[:200]:\n    for n in {names!r}:\n        try:\n            see({way})\n"
            "        except Exception as problem:\n            witness(problem)"
        )

    def module(self) -> str:
        return self.random.choice(MODULES)


def statement(random: Random, awaits: bool) -> str:
    return _Maker(random).statement(awaits)


def accepted(source: str) -> CodeType | None:
    """What a source is compiled to; None if it is refused, as a program's fault and not the compiler's."""
    try:
        return compile_program(source, given=("witness",), exports=imports.exports).code
    except (Refused, Unparsable):
        return None


_READING = {
    dis.opmap[name]
    for name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM")
    if name in dis.opmap
}
_READING |= {dis.opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR")}
_BINDING = {
    dis.opmap[name]
    for name in (
        "STORE_NAME",
        "STORE_GLOBAL",
        "STORE_FAST",
        "STORE_DEREF",
        "DELETE_NAME",
        "DELETE_FAST",
        "DELETE_GLOBAL",
    )
}


def forbidden_names(code: CodeType) -> Iterator[str]:
    """The names in compiled code that no program may name there, by what its instructions say."""
    for line in dis.get_instructions(code):
        name = line.argval if isinstance(line.argval, str) else ""
        if line.opcode in _READING and name in NEVER_READ:
            yield f"reads .{name}"
        if line.opcode in _BINDING and name in NEVER_BOUND - {"__class__"}:
            yield f"binds {name}"
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 2]:
        if name in NEVER_BOUND:
            yield f"takes {name}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from forbidden_names(constant)


def _first_lines() -> str:
    """First lines for a zygote whose guests have a witness."""
    here = Path(__file__)
    observed = here.parents[1] / "escapes" / "guests" / "observed.py"
    return f"""\
import sys
standin = type(sys)("codemode.guest.program")
for path in {str(observed)!r}, {str(here.with_name("witness.py"))!r}:
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), standin.__dict__)
standin.GIVEN["witness"] = standin.witness
sys.modules["codemode.guest.program"] = standin
"""


@asynccontextmanager
async def examiner() -> AsyncIterator[Examine]:
    imports.load()  # what `from module import *` brings is known in the guest's own tables
    shipped = zygote.BOOTSTRAP
    zygote.BOOTSTRAP = _first_lines() + shipped
    try:
        async with LocalSandbox(LIMITS, spares=1) as sandbox:

            async def examine(random: Random) -> None:
                await examine_program(random, sandbox)

            yield examine
    finally:
        zygote.BOOTSTRAP = shipped


async def examine_program(random: Random, sandbox: LocalSandbox) -> None:
    awaits = random.random() < 0.3
    maker = _Maker(random)
    chosen = []
    for _ in range(random.randrange(10, 40)):
        source = maker.statement(awaits)
        code = accepted(source)
        if code is not None:
            assert not (found := list(forbidden_names(code))), f"{found} in:\n{source}"
            chosen.append(source)
    program = SETUP + FILL + ("await asyncio.sleep(0)\n" if awaits else "")
    for source in chosen:
        program += f"try:\n{indent(source, '    ')}\nexcept Exception as problem:\n    witness(problem)\n"
    whole = accepted(program)
    if whole is not None:
        assert not (found := list(forbidden_names(whole))), f"{found} in:\n{program}"
    outcome = await sandbox.run(program + "result = len(pool)\n", [ECHO], Echo())
    escaped = [line for line in outcome.logs if "ESCAPED:" in line]
    assert not escaped, f"{escaped[:5]} from:\n{program.removeprefix(SETUP + FILL)}"
    assert outcome.kind != "worker-exit", f"{outcome.message}\n{program}"
    if whole is not None and outcome.kind == "exception":
        assert "The program was not started" not in outcome.message, f"{outcome.message}\n{program}"
