"""Programs made up at random: every kind of target, block and expression, with each evaluation printed.

`t(n)` prints that it was reached, so that two interpreters agree only if they evaluate the same things in
the same order and as often. Programs are bounded: loops go over short lists, numbers stay small, and what
cannot be computed raises, which is compared as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["asynchronous_program", "program"]

T = TypeVar("T")

PRELUDE = """\
def t(v):
    print("t", v)
    return v

class Box:
    def __init__(self, n=0):
        self.n = n
        self._p = [n]

    def __getitem__(self, k):
        print("get", k)
        return self._p[0]

    def __setitem__(self, k, v):
        print("set", k, v)
        self._p = [v]

    def __iadd__(self, o):
        print("iadd", o)
        self.n += 1
        return self

    def __lt__(self, o):
        print("lt", o)
        return True

    def __iter__(self):
        print("iter")
        yield from (self.n, self.n + 1)

class Manager:
    def __init__(self, swallow=False):
        self.swallow = swallow

    def __enter__(self):
        print("enter")
        return 5

    def __exit__(self, kind, error, trace):
        print("exit", kind and kind.__name__.replace("UnboundLocal", "Name"))
        return self.swallow

def call(*args, **kwargs):
    print("call", args, sorted(kwargs))
    return args[0] if args else kwargs.get("k", 1)

a, b, c = 1, 2, 3
xs = [1, 2, 3]
d = {"k": 1}
box = Box(4)
"""

NAMES = ("a", "b", "c")
LEAVES = (
    *("t(0)", "t(1)", "t(2)", "t(-1)", "t('s')", "t([])", "t(None)", "t(1)", "t(0)"),
    *("a", "b", "c", "xs", "box.n", "d['k']", "True", "1.5"),
)
PLACES = (*NAMES, "box.n", "box", "box[t(7)]", "xs[t(0)]", "d[t(1)]", "box._p[t(0)]")


ASYNC_PRELUDE = """\
import asyncio
from contextlib import asynccontextmanager

async def later(v):
    print("later", v)
    await asyncio.sleep(0)
    return v

async def agen(v):
    for i in range(2):
        print("agen", i)
        yield i
    print("agen end", v)

@asynccontextmanager
async def amanager():
    print("aenter")
    try:
        yield 6
    finally:
        print("aexit")

"""


class Maker:
    """Makes up one program. `awaits` says whether parts of it may be awaited."""

    def __init__(self, seed: int, awaits: bool) -> None:
        self.random = random.Random(seed)
        self.awaits = awaits  # here: not in a function without `async`
        self.asynchronous = awaits
        self.binds = True  # whether `:=` may stand here
        self.annotates = True

    def within(self, make: Callable[..., T], *args: Any, **flags: bool) -> T:
        """Make a part that stands inside something, where other rules hold."""
        before = vars(self).copy()
        vars(self).update(flags)
        made = make(*args)
        vars(self).update({flag: before[flag] for flag in flags})
        return made

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def name(self) -> str:
        return self.one(*NAMES)

    def expression(self, depth: int = 2) -> str:
        if depth == 0:
            return self.one(*LEAVES)

        def e() -> str:
            return self.expression(depth - 1)

        def part() -> str:  # of a comprehension
            return self.within(e, binds=False)

        def inner() -> str:  # of a lambda or a generator expression
            return self.within(e, binds=False, awaits=False)

        name = self.name
        kinds: list[Callable[[], str]] = [
            lambda: f"({e()} {self.one('+', '-', '*', '%', '//', '|', '&')} {e()})",
            lambda: f"({e()} {self.one('<', '==', '!=', 'is', 'in', 'not in', '>=')} {e()} < {e()})",
            lambda: f"({e()} {self.one('and', 'or')} {e()})",
            lambda: f"(not {e()})",
            lambda: f"(-{e()})",
            lambda: f"({e()} if {e()} else {e()})",
            lambda: f"[{e()}, *xs, {e()}]",
            lambda: f"({e()}, *box)",
            lambda: f"{{{e()}: {e()}, **d}}",
            lambda: f"'%s' % ({e()},)",
            lambda: f"xs[{e()}]",
            lambda: f"xs[{e()}:{e()}]",
            lambda: f"box[{e()}, {e()}]",
            lambda: f"call({e()}, *xs, j={e()})",
            lambda: f"(lambda {name()}, y={e()}: {inner()})({e()})",
            lambda: f"[{part()} for {name()} in xs if {part()}]",
            lambda: f"{{{part()} for {name()} in {part()}}}",
            lambda: f"{{{name()}: {part()} for {name()} in [0, 1] for {name()} in xs}}",
            lambda: f"sum({inner()} for {name()} in xs)",
            lambda: f"list(({inner()} for x in xs))",
            lambda: f"f'{{{name()}}}-{{{name()}=}}'" if depth == 1 else f"str({e()})",
            lambda: f"getattr(box, 'n', {e()})",
            lambda: f"box._p[{e()}]",
            lambda: f"isinstance({e()}, int)",
        ]
        if self.binds:
            kinds += [lambda: f"({name()} := {e()})", lambda: f"[y := {e()}, y]"]
            kinds.append(lambda: f"[(y := {part()}) for {name()} in xs]")
        if self.awaits:
            kinds += [lambda: f"(await later({e()}))"] * 4
            kinds.append(lambda: f"[{part()} async for {name()} in agen({part()})]")
        return self.random.choice(kinds)()

    def target(self, depth: int = 1) -> str:
        """Something to assign one value to."""
        kinds = [
            *NAMES,
            "box.n",
            f"box[{self.expression(1)}]",
            f"d[{self.expression(0)}]",
            f"xs[{self.expression(0)}]",
            "xs[0:1]",
            "box._p[0]",
        ]
        if depth:
            kinds.append(f"({self.target(depth - 1)}, {self.target(depth - 1)})")
            kinds.append(f"[{self.target(depth - 1)}, *{self.name()}]")
        return self.one(*kinds)

    def block(self, depth: int, where: str = "module") -> list[str]:
        """Some statements, as lines. `where` says what may stand here: module, loop or function."""
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(depth, where)
        return lines

    def statement(self, depth: int, where: str) -> list[str]:
        kinds = self._simple(where)
        if depth:
            compound = self._compound(depth, where)
            kinds = [*kinds, *compound, *compound]
        return self.random.choice(kinds)()

    def _simple(self, where: str) -> list[Callable[[], list[str]]]:
        e, name, target = self.expression, self.name, self.target
        kinds: list[Callable[[], list[str]]] = [
            lambda: [f"{target()} = {e()}"],
            lambda: [f"{target()} = {target()} = {e()}"],
            lambda: [f"{target()} = {e(1)}, {e(1)}"],
            lambda: [f"{self.one(*PLACES)} {self.one('+', '-', '*', '%')}= {e(1)}"],
            lambda: [f"{self.one(*PLACES)} {self.one('+', '-', '*', '%')}= {e(1)}"],
            lambda: [f"del {self.one(*NAMES, 'd[t(1)]', 'xs[0]', 'box.n')}"],
            lambda: [f"assert {e(1)}, {e(0)}"],
            lambda: [f"print({e()})"],
            lambda: [f"raise {self.one('ValueError', 'KeyError', 'TypeError')}({e(0)})"],
            lambda: [e()],
        ]
        if self.annotates:
            kinds.append(lambda: [f"{name()}: int = {e(1)}"])
        if where == "loop":
            kinds += [lambda: ["break"], lambda: ["continue"], lambda: [f"if {e(0)}: continue"]]
        if where == "function":
            kinds += [lambda: [f"return {e(1)}"], lambda: [f"if {e(0)}: return"]]
        return kinds

    def _compound(self, depth: int, where: str) -> list[Callable[[], list[str]]]:
        e, name, target = self.expression, self.name, self.target

        def body(inner: str = where) -> list[str]:
            return indented(self.block(depth - 1, inner))

        def function() -> list[str]:  # the body of one without `async`
            return self.within(body, "function", awaits=False, annotates=False)

        def inside(deep: int = 1) -> str:  # an expression in one
            return self.within(e, deep, awaits=False)

        kinds: list[Callable[[], list[str]]] = [
            lambda: [f"if {e(1)}:", *body(), f"elif {e(0)}:", *body(), "else:", *body()],
            lambda: [f"for {target()} in {e(1)}:", *body("loop"), "else:", *body()],
            lambda: [f"for {name()} in [0, 1]:", *body("loop")],
            lambda: [
                *("try:", *body(), "except (ValueError, LookupError) as err:"),
                *("    print(type(err).__name__, err)", *body(), "except TypeError:", *body()),
                *("else:", *body(), "finally:", *body()),
            ],
            lambda: ["try:", *body(), "finally:", *body()],
            lambda: [
                "try:",
                *body("module"),
                "except* ValueError as group:",
                "    print(len(group.exceptions))",
            ],
            lambda: [f"with Manager({e(0)}) as {target()}, Manager():", *body()],
            lambda: [
                *(f"match {e(1)}:", f"    case [{name()}, *rest] if {e(0)}:", *indented(body())),
                *(
                    "    case int() | None:",
                    *indented(body()),
                    "    case {'k': k, **others}:",
                    *indented(body()),
                ),
                *(f"    case str(s) | s if {e(0)}:", *indented(body())),
            ],
            lambda: [
                *(f"def f({name()}=({e(1)}), *args, k={e(0)}):", f"    kept = {inside()}", "    def g():"),
                *("        nonlocal kept", f"        kept = {inside()}", "        return kept", "    g()"),
                *(*function(), "    return kept", f"print(f({e(0)}), f(k={e(0)}))"),
            ],
            lambda: ["def f():", f"    global {name()}", *function(), "print(f())"],
            lambda: [
                *("class K:", f"    x = {inside()}", f"    y = [{e(0)} for {name()} in xs]"),
                *("    def m(self):", *indented(function()), "print(K().m(), K.x, K.__name__)"),
            ],
        ]
        if self.awaits:
            kinds += [
                lambda: [
                    "async def co():",
                    *self.within(body, "function", annotates=False),
                    "print(await co())",
                ],
                lambda: [f"async for {target()} in agen({e(0)}):", *body("loop")],
                lambda: [f"async with amanager() as {target()}:", *body()],
                lambda: [f"print(await asyncio.gather(later({e(0)}), later({e(0)})))"],
            ]
        else:
            kinds.append(
                lambda: [
                    *("def f():", *function(), f"    yield {inside()}"),
                    *(f"    got = yield from [{e(0)}, {e(0)}]", "print(list(f()))"),
                ]
            )
        return kinds

    def program(self) -> str:
        lines = [ASYNC_PRELUDE + PRELUDE if self.asynchronous else PRELUDE]
        for _ in range(5):
            # A name that is not bound is another kind of NameError in a function's body; its line is not.
            lines += [
                "try:",
                *indented(self.statement(3, "module")),
                "except NameError:",
                "    print('unbound')",
            ]
            lines += ["except Exception as err:", "    print(type(err).__name__, err)"]
            lines += ["a, b, c, xs, d, box = 1, 2, 3, [1, 2, 3], {'k': 1}, Box(4)"]
        lines += self.block(2)
        lines += ["await later(0)"] * self.asynchronous
        return "\n".join([*lines, "[str(box.n), str(d), str(xs)]"]) + "\n"


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def program(seed: int) -> str:
    """Return a program without `await`."""
    return Maker(seed, awaits=False).program()


def asynchronous_program(seed: int) -> str:
    """Return a program with `await` at its top level and in its functions."""
    return Maker(seed, awaits=True).program()
