"""Packages of a deployment: pure ones under the rules of a program, and trusted ones, numpy among them.

What is loaded, what a program can do with it, what it cannot, and what a deployment is told that cannot have one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codemode import CodeMode, Limits, Package, RunResult, SandboxUnavailable, as_json, tool
from codemode.sandbox import LocalSandbox, zygote

SHAPES = {
    "shapes/__init__.py": '''
"""Shapes, as a deployment may have them."""
import json
import math as _math
from ._core import Kind, Square, _label
from .areas import *
from . import areas as all_areas

__version__ = "1.2"
__title__ = "shapes"
__all__ = ["Kind", "Square", "area", "describe", "total", "seen", "apply"]
_cache = {}

def describe(x):
    _cache[x] = _label(x)
    return json.dumps({"label": _cache[x]})

def seen():
    return sorted(_cache)

def total(squares):
    import shapes.areas
    return sum(shapes.areas.area(each) for each in squares)

def apply(function, *values):
    return function(*values)
''',
    "shapes/_core.py": """
from __future__ import annotations
import enum
from dataclasses import dataclass

class Kind(enum.Enum):
    PLAIN = 1

@dataclass
class Square:
    side: float
    _tag: str = "private"
    kind: Kind = Kind.PLAIN

    @property
    def area(self):
        return self.side ** 2

    def tag(self):
        return self._tag

def _label(x):
    return f"<{x}>"
""",
    "shapes/areas.py": """
from shapes._core import Square
__all__ = ["area"]
def area(square: Square) -> float:
    return square.area
""",
}
"""A package with relative, absolute, private and star imports, in a circle."""


NUMPY = Package("numpy", trusted=True)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write files of packages where the host finds them."""

    def write(**files: str) -> None:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    monkeypatch.syspath_prepend(str(tmp_path))
    return write


async def run(source: str, *packages: Package, tools: Any = (), **limits: Any) -> RunResult:
    async with CodeMode(tools, packages=packages, limits=Limits(**limits)) as cm:
        return await cm.run(source)


async def value(source: str, *packages: Package, tools: Any = ()) -> Any:
    result = await run(source, *packages, tools=tools)
    assert result.error is None, result.error
    return result.result


async def refusal(*packages: Package) -> str:
    with pytest.raises(SandboxUnavailable) as caught:
        async with LocalSandbox(spares=0, packages=packages):
            pass
    return str(caught.value)


# ------------------------------------------------------------------------------------ pure packages


async def test_a_pure_package_is_imported_in_every_form(install: Any) -> None:
    install(**SHAPES)
    source = """
import shapes
import shapes.areas as areas
from shapes import Square, area, describe
from shapes import *
s = Square(3)
return [str(s), s.area, s.tag(), area(s), areas.area(s), describe("q"), seen(), total([s, s]), shapes.__version__,
        isinstance(s, shapes.Square), type(s).__name__, s == Square(3), apply(lambda a, b: a + b, 1, 2)]
"""
    assert await value(source, Package("shapes")) == [
        "Square(side=3, _tag='private', kind=<Kind.PLAIN: 1>)",
        9,
        "private",
        9,
        9,
        '{"label": "<q>"}',
        ["q"],
        18,
        "1.2",
        True,
        "Square",
        True,
        3,
    ]


async def test_nothing_passes_through_a_package_to_the_next_run(install: Any) -> None:
    install(**SHAPES)
    async with CodeMode(packages=[Package("shapes")]) as cm:
        first = await cm.run("import shapes\nshapes.describe('left')\nreturn shapes.seen()")
        second = await cm.run("import shapes\nreturn shapes.seen()")
    assert (first.result, second.result) == (["left"], [])


async def test_a_pure_package_gives_a_program_nothing_that_it_has_not_itself(install: Any) -> None:
    """What a package imports are facades, its functions have no builtins but a program's."""
    install(
        **SHAPES,
        **{
            "handed.py": """
import json, sys, os, io, operator, typing
modules = {"json": json, "sys": sys}
class Holder:
    module = json
    def __init__(self):
        self.os = os
        self._sys = sys
holder = Holder()
def call(name, *args):
    return operator.attrgetter(name)(*args)
def look(x, name):
    return getattr(x, name)
def hooks():
    return __name__
"""
        },
    )
    attempts = {
        "shapes.json.codecs": "has no attribute 'codecs'",
        "shapes.all_areas.sys": "has no attribute 'sys'",
        "handed.modules['json'].codecs": "has no attribute 'codecs'",
        "handed.holder.os.system": "has no attribute 'system'",
        "handed.holder._sys.modules": "has no attribute 'modules'",
        "handed.Holder.module.decoder.scanner": "has no attribute 'scanner'",
        "handed.io.open": "has no attribute 'open'",
        "handed.call('__globals__', shapes.describe)": "cannot be read this way",
        "handed.look(shapes.describe, '__globals__')": "is not available",
        "handed.look(handed.Holder, '__subclasses__')": "is not available",
        "handed.typing.sys": "has no attribute 'sys'",
        "handed.__builtins__": "is not available",
        "shapes.describe.__globals__": "is not available",
    }
    async with CodeMode(packages=[Package("shapes"), Package("handed")]) as cm:
        assert (await cm.run("import handed\nreturn handed.hooks()")).result == "handed"
        for attempt, said in attempts.items():
            result = await cm.run(f"import shapes, handed\nreturn repr({attempt})")
            assert result.error is not None, attempt
            assert said in result.error.message, (attempt, result.error.message)


async def test_a_package_cannot_be_changed(install: Any) -> None:
    install(**SHAPES)
    result = await run("import shapes\nshapes.describe = None", Package("shapes"))
    assert result.error is not None
    assert "cannot set 'describe' attribute of immutable type 'shapes'" in result.error.message


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "x = (1).__class__.__bases__",
            "own, line 1: `.__bases__` is not available: the class hierarchy is not",
        ),
        ("import os\nx = os.environ", "own, line 2: AttributeError: "),
        ("x = open('/etc/passwd')", "own, line 1: RuntimeError: open() is not available here"),
        ("import subprocess", "own, line 1: No module named 'subprocess' here: there are no processes here"),
        ("from os import environ", "own, line 1: ImportError: cannot import name 'environ' from 'os'"),
        ("__builtins__ = {}", "own, line 1: the name `__builtins__` cannot be bound"),
        ("def broken(:", "own, line 1: SyntaxError: "),
        ("from .. import other", "own, line 1: this relative import leads out of the package own"),
        ("print('hello')", "own, line 1: RuntimeError: no program runs: a package cannot do this while"),
        ("raise SystemExit(3)", "own, line 1: SystemExit: 3"),
        ("import helper", "own, line 1: No module named 'helper' here"),
    ],
)
async def test_source_that_says_more_than_a_program_may_is_refused_with_its_place(
    install: Any, source: str, said: str
) -> None:
    install(**{"own.py": source, "helper.py": ""})
    told = await refusal(Package("own"))
    assert told.startswith("the package 'own' cannot be given to programs: ")
    assert said in told


async def test_a_module_that_a_package_lacks_is_named(install: Any) -> None:
    install(**{"own/__init__.py": "from .other import x"})
    assert "own, line 1: No module named 'own.other'. Change that, or trust" in await refusal(Package("own"))


async def test_one_package_uses_another_that_was_named_before_it(install: Any) -> None:
    install(
        **{"helper.py": "def double(x): return 2 * x", "own.py": "import helper\nfour = helper.double(2)"}
    )
    assert await value("import own\nreturn own.four", Package("helper"), Package("own")) == 4


async def test_a_missing_module_or_name_of_a_package_is_explained(install: Any) -> None:
    install(**SHAPES)
    async with CodeMode(packages=[Package("shapes")]) as cm:
        messages = []
        for source in ("import shapes.colours", "from shapes import squares", "shapes.area(1)"):
            failed = (await cm.run(source)).error
            assert failed is not None
            messages.append(failed.message)
    assert "No module named 'shapes.colours' here: shapes is here without it; dir(shapes)" in messages[0]
    assert "cannot import name 'squares' from 'shapes': did you mean" in messages[1]
    assert "Hint: write `import shapes` first" in messages[2]


async def test_a_dotted_name_gives_that_module_alone(install: Any) -> None:
    install(**{"outer/__init__.py": "", "outer/inner.py": "x = 1", "outer/other.py": "x = 2"})
    assert await value("import outer.inner\nreturn outer.inner.x", Package("outer.inner")) == 1
    result = await run("import outer.other", Package("outer.inner"))
    assert result.error is not None
    assert "No module named 'outer.other' here" in result.error.message


async def test_a_compiled_package_is_not_taken_for_a_pure_one() -> None:
    told = await refusal(Package("numpy._core._multiarray_umath"))
    assert told.startswith(
        "the package 'numpy._core._multiarray_umath' cannot be given to programs: numpy, line "
    )
    told = await refusal(Package("_msgspec_is_compiled"))
    assert "is not installed" in told


# ------------------------------------------------------------------------------- what each run has anew

OWN_CHANCE = """
import os, random
from logging import getLogger
state = {"drawn": os.urandom(8).hex(), "times": 0}
def renew():
    state["drawn"] = os.urandom(8).hex()
    state["times"] += 1
os.register_at_fork(after_in_child=renew)
os.register_at_fork(before=renew, after_in_parent=renew)
def draw():
    return state["drawn"]
def times():
    return state["times"]
def shared():
    return random.random()
"""
"""A trusted package that draws when it is loaded, as compiled ones with a generator of their own do."""


async def test_each_run_draws_random_numbers_of_its_own_through_packages(install: Any) -> None:
    install(
        **{
            "chance.py": OWN_CHANCE,
            "dice.py": "import random\ndef roll():\n    return random.random()",
            "loaded.py": "import chance\ndef draw():\n    return chance.draw()",
        }
    )
    draws = [
        "import dice\nreturn dice.roll()",
        "import random\nreturn random.random()",
        "import chance\nreturn chance.draw()",
        "from chance import shared\nreturn shared()",
        "import loaded\nreturn loaded.draw()",
        "import numpy\nreturn float(numpy.random.random())",
        "import numpy.random as chances\nreturn chances.permutation(99).tolist()",
        "import numpy\nreturn float(numpy.random.default_rng().random())",
        "import chance, numpy\nreturn int(numpy.random.randint(10**9))",
    ]
    packages = [Package("chance", trusted=True), NUMPY, Package("dice"), Package("loaded")]
    async with CodeMode(packages=packages) as cm:
        for source in draws:
            drawn = [(await cm.run(source)).result for _ in range(3)]
            assert None not in drawn, source
            assert len({str(value) for value in drawn}) == 3, source
        twice = "import chance\na = chance.draw()\nimport loaded\nreturn [a == chance.draw(), chance.times()]"
        assert (await cm.run(twice)).result == [True, 1]
        own = "import numpy as np\nnp.random.seed(3)\nimport numpy, chance\nreturn np.random.randint(0, 10, 3).tolist()"
        assert (await cm.run(own)).result == [8, 9, 3]


async def test_a_package_that_cannot_be_renewed_is_not_used_with_the_numbers_of_another_run(
    install: Any,
) -> None:
    install(
        **{
            "stuck.py": "import os\ndef renew():\n    raise OSError('no entropy')\n"
            "os.register_at_fork(after_in_child=renew)"
        }
    )
    result = await run("import stuck", Package("stuck", trusted=True))
    assert result.error is not None
    assert "a package could not be made ready for this run: OSError: no entropy" in result.error.message


# ---------------------------------------------------------------------------------------- what is said


async def test_a_package_that_is_not_there_is_named() -> None:
    told = await refusal(Package("no_such_package"))
    assert told.startswith("the package 'no_such_package' is not installed in the environment of ")
    assert told.endswith("; install it, or mend the name")
    assert "there is no module of that name" in await refusal(Package("email.nothing", trusted=True))


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("name", ["json", "os.path", "xml.dom"])
async def test_a_name_that_programs_know_already_is_refused(name: str, trusted: bool) -> None:
    told = await refusal(Package(name, trusted=trusted))
    assert f"programs find another module under the name {name.partition('.')[0]!r}" in told


def test_what_is_no_package_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="must be a name as it is imported"):
        Package("my-lib")
    with pytest.raises(ValueError, match="named twice"):
        LocalSandbox(packages=[Package("a"), Package("a")])
    with pytest.raises(ValueError, match="parts of 'a' are trusted and others not"):
        LocalSandbox(packages=[Package("a.b"), Package("a.c", trusted=True)])
    with pytest.raises(TypeError, match="must be Package"):
        LocalSandbox(packages=["numpy"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="give the packages to the sandbox itself"):
        CodeMode(packages=[Package("a")], sandbox=LocalSandbox())


async def test_a_package_that_starts_threads_is_refused(install: Any) -> None:
    install(
        **{
            "busy.py": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
        }
    )
    assert (
        "loading it starts 1 thread, and guests cannot be forked from a process with threads"
        in await refusal(Package("busy", trusted=True))
    )


async def test_a_package_that_takes_too_long_or_ends_the_process_is_named(
    install: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(**{"slow.py": "import time\ntime.sleep(60)", "deadly.py": "import os\nos._exit(3)"})
    assert "the package 'deadly' cannot be given to programs: loading it ended the process" in await refusal(
        Package("deadly", trusted=True)
    )
    monkeypatch.setattr(zygote, "BOOT_SECONDS", 1.0)
    monkeypatch.setattr(zygote, "_END_SECONDS", 0.1)
    assert (await refusal(Package("slow", trusted=True))).startswith(
        "the package 'slow' had not been loaded 1 s after the start"
    )


async def test_a_trusted_package_that_fails_says_why(install: Any) -> None:
    install(**{"own.py": "import no_such_dependency", "bad.py": "raise ValueError('no good')"})
    assert "it needs 'no_such_dependency', which is not installed" in await refusal(
        Package("own", trusted=True)
    )
    assert "importing it fails: ValueError: no good" in await refusal(Package("bad", trusted=True))


async def test_the_model_is_told_what_is_installed() -> None:
    engine = CodeMode(packages=[Package("idna")], mode="code")
    (described,) = engine.describe()
    assert isinstance(described["description"], str)
    assert ", zoneinfo, idna." in described["description"]


# ---------------------------------------------------------------------------------------- numpy


@pytest.fixture(scope="module")
def numpy_programs() -> dict[str, tuple[str, Any]]:
    return {
        "array maths": (
            "a = np.arange(12.0).reshape(3, 4)\nreturn [a.sum(), a.T.shape, a[a > 9].tolist(), (a @ a.T)[0, 0], "
            "np.append([1], [2]).tolist(), np.insert([1, 2], 1, 5).tolist(), a.dtype.name, type(a).__name__]",
            [66.0, [4, 3], [10.0, 11.0], 14.0, [1, 2], [1, 5, 2], "float64", "ndarray"],
        ),
        "linear algebra": (
            "import numpy.linalg as la\nm = np.array([[2.0, 0], [0, 4]])\n"
            "try:\n    la.inv(np.zeros((2, 2)))\nexcept la.LinAlgError as error:\n    said = str(error)\n"
            "big = np.random.default_rng(1).normal(size=(300, 300))\n"
            "return [la.inv(m).tolist(), round(la.det(m), 9), said, bool(np.allclose(la.solve(big, big @ big), big)), "
            "sorted(la.eigvalsh(m).tolist()), la.svd(m)[1].tolist()]",
            [[[0.5, 0.0], [0.0, 0.25]], 8.0, "Singular matrix", True, [2.0, 4.0], [4.0, 2.0]],
        ),
        "transforms": (
            "return [np.fft.fft([1, 2, 3, 4]).real.tolist(), np.fft.ifft(np.fft.fft([1, 2])).real.tolist()]",
            [[10.0, -2.0, -2.0, -2.0], [1.0, 2.0]],
        ),
        "chance": (
            "np.random.seed(3)\nold = np.random.randint(0, 10, 3).tolist()\nrng = np.random.default_rng(7)\n"
            "import copy\ntwin = copy.deepcopy(rng)\n"
            "return [old, rng.integers(100) == twin.integers(100), sorted(rng.permutation(4).tolist())]",
            [[8, 9, 3], True, [0, 1, 2, 3]],
        ),
        "tools": (
            "x = np.array(tools.echo(x=[1.0, 2.5]))\nreturn tools.echo(x=(x * 2).tolist())",
            [2.0, 5.0],
        ),
        "subclass": (
            "class Labelled(np.ndarray):\n    pass\nreturn np.zeros(2).view(Labelled).tolist()",
            [0.0, 0.0],
        ),
    }


@tool(render=as_json)
def echo(x: list[float]) -> list[float]:
    """Give it back."""
    return x


async def test_numpy_computes_behind_both_walls(numpy_programs: dict[str, tuple[str, Any]]) -> None:
    async with CodeMode([echo], packages=[NUMPY]) as cm:
        for name, (source, expected) in numpy_programs.items():
            result = await cm.run(f"import numpy as np\n{_plain(source)}")
            assert result.error is None, (name, result.error)
            assert result.result == expected, name


def _plain(source: str) -> str:
    """Scalars of numpy are no JSON values; these programs return lists of them."""
    head, _, tail = source.rpartition("return ")
    return f"{head}plain = lambda v: v.tolist() if hasattr(v, 'tolist') else v\nreturn [plain(v) for v in {tail}]"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("return np.arange(3)", "result: ndarray is not a JSON value; use x.tolist()"),
        ("return np.int64(3)", "result: int64 is not a JSON value; use x.tolist()"),
        ("import json\njson.dumps(np.int64(3))", "Hint: convert it first, with x.tolist()"),
        ("np.save('a', np.zeros(3))", "PermissionError"),
        ("np.zeros(3).dumps()", "pickling is not available here"),
        (
            "import io\nb = io.BytesIO()\nnp.save(b, np.array([{}], dtype=object))",
            "pickling is not available",
        ),
        ("np.os", "has no attribute 'os'"),
        ("np.lib.sys", "has no attribute 'sys'"),
        ("np.zeros(3).__reduce__()", "`.__reduce__` is not available"),
        ("np._core", "type object 'numpy' has no private attributes here\nHint: attributes that begin"),
        ("import numpy._core", "`numpy._core` is a private module"),
        ("import numpy.testing", "No module named 'numpy.testing' here: numpy is here without it"),
        ("np.pi = 3", "immutable type"),
        ("np.ones((100_000, 100_000))", "memory"),
    ],
)
async def test_what_numpy_cannot_do_here_is_said(numpy: CodeMode, source: str, said: str) -> None:
    result = await numpy.run(f"import numpy as np\n{source}")
    assert result.error is not None
    assert said in result.error.message


@pytest.fixture
async def numpy() -> Any:
    async with CodeMode(packages=[NUMPY]) as cm:
        yield cm


async def test_a_module_that_was_not_imported_is_named_in_the_hint(numpy: CodeMode) -> None:
    result = await numpy.run("np.zeros(3)")
    assert result.error is not None
    assert "Hint: write `import numpy as np` first" in result.error.message


async def test_the_process_wall_stands_around_a_trusted_package(
    monkeypatch: pytest.MonkeyPatch, no_language_wall: None
) -> None:
    """With the language wall down: no file, no socket, no thread, an empty environment; numpy itself is loaded."""
    from tests.sandbox.support import Recorder

    first, last = zygote.BOOTSTRAP.split("from codemode.guest.zygote")
    monkeypatch.setattr(zygote, "BOOTSTRAP", f"{first}{_LOAD_NUMPY}from codemode.guest.zygote{last}")
    async with LocalSandbox() as sandbox:
        facts = """
import os, threading, numpy
seen = [numpy.ones(3).sum() == 3, dict(os.environ) in ({}, {"LC_CTYPE": "C.UTF-8"})]
for attempt in (lambda: open("/etc/passwd"), lambda: numpy.load("/etc/passwd")):
    try:
        attempt()
        seen.append("opened")
    except OSError:
        seen.append("refused")
done([bool(seen[0]), *seen[1:]])
"""
        assert (await sandbox.run(facts, (), Recorder())).result == [True, True, "refused", "refused"]
        thread = "import threading\nthreading.Thread(target=print).start()\ndone(1)"
        assert (await sandbox.run(thread, (), Recorder())).kind == "worker-exit"


_LOAD_NUMPY = """\
from codemode.guest.library import packages
packages.load_trusted(["numpy"], lambda name: None)
"""
