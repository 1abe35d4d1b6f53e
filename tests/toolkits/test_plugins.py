from __future__ import annotations

import gc
import sys
import textwrap
import threading
import weakref

import pytest
import trio
import trio.testing

from codemode import CodeMode, Registry, ToolDefinitionError
from codemode.toolkits import files, plugins
from tests.toolkits.calling import both, failure, from_program, shown, value
from tests.toolkits.support import fill

COUNTER = '''\
"""Counts."""
from codemode import tool, as_json, Hooks, Deny

state = []

@tool(render=as_json)
async def count_up(by: int = 1) -> int:
    """Count, and say how far.

    More."""
    state.append(by)
    return sum(state)

@tool(render=as_json)
def sync_name() -> str:
    return __name__

TOOLS = [count_up, sync_name]
HOOKS = Hooks(guards=(lambda call: "not by ten" if call.arguments.get("by") == 10 else None,))
'''


def modules():
    """The modules that are loaded, but for those of the standard library, which others load meanwhile."""
    return {name for name in sys.modules if name.partition(".")[0] not in sys.stdlib_module_names}


def allowing(asked=None):
    def approver(requests):
        if asked is not None:
            asked.extend((each.tool.name, each.reason) for each in requests)
        return "allow-once"

    return approver


def engine(registry, **options):
    return CodeMode(registry, approver=options.pop("approver", allowing()), **options)


@pytest.fixture
def registry(root):
    registry = Registry(files(root, write=True))
    for each in plugins(registry, root):
        registry.register(each)
    return registry


@pytest.fixture(autouse=True)
def no_trace_is_left():
    before = modules()
    yield
    assert modules() == before


async def test_a_file_is_mounted_called_and_unmounted_without_a_trace(root, registry):
    fill(root, {"count.py": COUNTER})
    asked = []
    before = modules()
    async with engine(registry, approver=allowing(asked)) as cm:
        names = [each.name for each in cm.registry]
        mounted = await value(cm, "plugin_mount", source="count.py")
        assert mounted == {
            "mountId": "plugin-1",
            "source": "count.py",
            "kind": "file",
            "tools": ["count_up", "sync_name"],
            "hooks": True,
        }
        assert asked == [
            ("plugin_mount", "it runs the Python code of 'count.py' in the host, outside of any sandbox")
        ]
        assert await value(cm, "count_up") == 1
        assert await from_program(cm, "count_up", by=2) == 3
        assert (await failure(cm, "count_up", by=10)).message == "not by ten"
        module = await value(cm, "sync_name")
        assert module in sys.modules
        assert await shown(cm, "plugin_inspect", source="plugin-1") == (
            "plugin-1: count.py\n- count_up(by: int = 1): Count, and say how far.\n- sync_name()\nHooks: guards"
        )
        there = weakref.ref(sys.modules[module].__dict__["count_up"].execute)
        assert await value(cm, "plugin_unmount", mountId="plugin-1") == {
            "mountId": "plugin-1",
            "tools": ["count_up", "sync_name"],
        }
        assert (await failure(cm, "count_up")).code == "UNKNOWN_TOOL"
        assert [each.name for each in cm.registry] == names
        assert await value(cm, "read", file_path="count.py", limit=10) is not None  # no hook is left
        assert modules() == before
        gc.collect()
        assert there() is None
        assert list(root.rglob("*.pyc")) == []


async def test_a_program_mounts_and_the_next_one_calls(root, registry):
    fill(root, {"count.py": COUNTER})
    async with engine(registry) as cm:
        assert (await from_program(cm, "plugin_mount", source="count.py"))["mountId"] == "plugin-1"
        assert await both(cm, "sync_name") == await both(cm, "sync_name")
        assert (
            await shown(cm, "plugin_unmount", mountId="plugin-1")
            == "Unmounted plugin-1: count_up, sync_name."
        )
        assert await shown(cm, "plugin_mount", source="count.py") == (
            "Mounted count.py as plugin-2: count_up, sync_name and hooks."
        )
        outcome = await cm.call("plugin_unmount", {"mountId": "plugin-2"})
        assert outcome.meta == {"mountId": "plugin-2", "tools": ["count_up", "sync_name"]}


async def test_without_approval_nothing_runs(root, registry, tmp_path):
    fill(root, {"evil.py": f"open({str(tmp_path / 'ran')!r}, 'w')\nTOOLS = []\n"})
    async with CodeMode(registry) as cm:
        assert (await failure(cm, "plugin_mount", source="evil.py")).code == "DENIED"
        assert await both(cm, "plugin_inspect", source="evil.py") == (root / "evil.py").read_text()
    assert not (tmp_path / "ran").exists()


async def test_the_end_of_the_engine_unmounts_everything(root, registry):
    fill(
        root,
        {"count.py": COUNTER, "other.py": COUNTER.replace("count_up", "other_up").replace("sync_name", "o")},
    )
    before = modules()
    async with engine(registry) as cm:
        await value(cm, "plugin_mount", source="count.py")
        await value(cm, "plugin_mount", source="other.py")
        assert "count_up" in registry
        async with engine(registry) as other:
            assert (await failure(other, "plugin_inspect")).code == "IN_USE"
    assert "count_up" not in registry
    assert registry.hooks.guards == ()
    assert modules() == before
    async with engine(registry) as cm:
        assert (
            await shown(cm, "plugin_inspect")
            == "Mounted:\n(nothing)\nEntry points of codemode.plugins:\n(none)"
        )


METHODS = """
from codemode import as_json, tool
def f() -> int: return 1
TOOLS = [tool(render=as_json, name=name, method="agents.run")(f) for name in "ab"]
"""


@pytest.mark.parametrize(
    ("source", "code", "says"),
    [
        ("1 / 0", "PLUGIN_FAILED", "ZeroDivisionError: division by zero"),
        ("def f(:", "PLUGIN_FAILED", "SyntaxError"),
        ("import sys\nsys.exit(3)", "PLUGIN_FAILED", "SystemExit: 3"),
        ("from codemode import tool\n@tool\ndef f(): ...", "PLUGIN_FAILED", "no return annotation"),
        ("x = 1", "PLUGIN_INVALID", "it has no TOOLS"),
        ("TOOLS = [1]", "PLUGIN_INVALID", "1 in TOOLS is no tool"),
        ("TOOLS = 'abc'", "PLUGIN_INVALID", "it has no TOOLS"),
        ("TOOLS = []", "PLUGIN_INVALID", "neither tools nor hooks"),
        ("TOOLS = []\nHOOKS = 1", "PLUGIN_INVALID", "HOOKS is int"),
        (COUNTER.replace("count_up", "read"), "PLUGIN_INVALID", "there is a tool 'read' already"),
        (
            COUNTER.replace("sync_name", "plugin_mount"),
            "PLUGIN_INVALID",
            "there is a tool 'plugin_mount' already",
        ),
        (COUNTER + "TOOLS = [count_up] * 2", "PLUGIN_INVALID", "already"),
        (METHODS, "PLUGIN_INVALID", "there is a tool with method='agents.run' already"),
        (COUNTER + "TOOLS = [count_up] * 101", "PLUGIN_INVALID", "more than 100"),
        ("x" * (2**20 + 1), "FS_TOO_LARGE", "1 MiB"),
    ],
)
async def test_what_cannot_be_mounted_leaves_nothing(root, registry, source, code, says):
    fill(root, {"p.py": source})
    before = modules()
    async with engine(registry, sandbox=object()) as cm:
        names = [each.name for each in cm.registry]
        error = await failure(cm, "plugin_mount", source="p.py")
        assert error.code == code
        assert says in error.message
        assert [each.name for each in cm.registry] == names
        assert cm.registry.hooks.guards == ()
        assert {name for name in modules() - before if "plugin" in name} == set()


async def test_an_error_names_the_line(root, registry):
    fill(root, {"p.py": "x = 1\n\ny = x.nothing\n"})
    async with engine(registry, sandbox=object()) as cm:
        error = await failure(cm, "plugin_mount", source="p.py")
        assert f"at line 3 of {root}/p.py: AttributeError" in error.message


async def test_sources_that_are_none(root, registry):
    (root / "out.py").symlink_to(root.parent / "outside" / "secret.txt")
    async with engine(registry, sandbox=object()) as cm:
        for source, code in [
            ("none.py", "FS_NOT_FOUND"),
            ("../outside/x.py", "FS_NOT_FOUND"),
            ("../../x.py", "FS_OUTSIDE_WORKSPACE"),
            ("out.py", "FS_OUTSIDE_WORKSPACE"),
            ("os", "PLUGIN_NOT_FOUND"),
            ("", "INVALID_ARGUMENTS"),
        ]:
            assert (await failure(cm, "plugin_mount", source=source)).code in (
                code,
                "FS_OUTSIDE_WORKSPACE",
            ), source
            assert (await failure(cm, "plugin_inspect", source=source)).code in (code, "FS_OUTSIDE_WORKSPACE")
        assert (await failure(cm, "plugin_unmount", mountId="plugin-7")).code == "PLUGIN_NOT_MOUNTED"
    alone = Registry()
    for each in plugins(alone):
        alone.register(each)
    async with engine(alone, sandbox=object()) as cm:
        assert (await failure(cm, "plugin_mount", source="a.py")).code == "PLUGIN_NOT_FOUND"
    with pytest.raises(ToolDefinitionError):
        plugins(alone, root / "none")


async def test_so_many_and_no_more(root, registry, monkeypatch):
    monkeypatch.setattr("codemode.toolkits.mounting.mounts.MAX_MOUNTS", 1)
    fill(root, {"count.py": COUNTER})
    async with engine(registry, sandbox=object()) as cm:
        await value(cm, "plugin_mount", source="count.py")
        assert (await failure(cm, "plugin_mount", source="count.py")).code == "PLUGIN_LIMIT"


async def test_a_plugin_that_takes_too_long_is_left_and_cleans_up_after_itself(root, registry, monkeypatch):
    monkeypatch.setattr("codemode.toolkits.mounting.mounts.LOAD_SECONDS", 0.2)
    gate = threading.Event()
    monkeypatch.setattr("codemode.gate", gate, raising=False)
    fill(root, {"slow.py": "import codemode\ncodemode.gate.wait(30)\n" + COUNTER})
    before = modules()
    async with engine(registry, sandbox=object()) as cm:
        error = await failure(cm, "plugin_mount", source="slow.py")
        assert (error.code, "took more than" in error.message) == ("PLUGIN_FAILED", True)
        assert modules() > before
        gate.set()
        with trio.fail_after(20):
            while modules() != before:
                await trio.sleep(0.01)
        assert "count_up" not in registry


async def test_unmounting_ends_the_lifespan_of_its_tools(root, registry):
    fill(
        root,
        {
            "life.py": """\
from contextlib import AbstractAsyncContextManager
import codemode
from codemode import tool, as_json

class Life(AbstractAsyncContextManager):
    async def __aenter__(self):
        codemode.journal.append("entered")
    async def __aexit__(self, *details):
        codemode.journal.append("left")

@tool(render=as_json, lifespan=Life())
async def live() -> None: ...

TOOLS = [live]
"""
        },
    )
    import codemode

    codemode.journal = []
    try:
        async with engine(registry, sandbox=object()) as cm:
            await value(cm, "plugin_mount", source="life.py")
            await value(cm, "live")
            await value(cm, "plugin_unmount", mountId="plugin-1")
            await trio.testing.wait_all_tasks_blocked()
            assert codemode.journal == ["entered", "left"]
    finally:
        del codemode.journal


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package that offers plugins."""
    place = tmp_path / "site"
    fill(
        place,
        {
            "offered/__init__.py": "",
            "offered/tools.py": textwrap.dedent(COUNTER).replace(
                "state = []", "from offered.inner import START\nstate = [START]"
            ),
            "offered/inner.py": "START = 40\n",
            "offered-1.5.dist-info/METADATA": "Metadata-Version: 2.1\nName: offered\nVersion: 1.5\n",
            "offered-1.5.dist-info/entry_points.txt": (
                "[codemode.plugins]\ncounting = offered.tools\none = offered.tools:count_up\nbroken = offered.none\n"
            ),
        },
    )
    monkeypatch.syspath_prepend(str(place))
    return place


async def test_an_entry_point_is_mounted_and_its_package_goes_with_it(package, registry):
    before = modules()
    async with engine(registry) as cm:
        assert await shown(cm, "plugin_inspect") == (
            "Mounted:\n(nothing)\nEntry points of codemode.plugins:\n- broken: offered.none of offered 1.5\n"
            "- counting: offered.tools of offered 1.5\n- one: offered.tools:count_up of offered 1.5"
        )
        assert (
            await both(cm, "plugin_inspect", source="one")
            == "one: offered.tools:count_up of offered 1.5, not mounted"
        )
        assert (await value(cm, "plugin_mount", source="counting"))["kind"] == "entry-point"
        assert await value(cm, "count_up", by=2) == 42
        assert "offered.inner" in sys.modules
        await value(cm, "plugin_unmount", mountId="plugin-1")
        assert modules() == before

        assert (await value(cm, "plugin_mount", source="one"))["tools"] == ["count_up"]
        assert await value(cm, "count_up") == 41  # it starts afresh
        await value(cm, "plugin_unmount", mountId="plugin-2")

        error = await failure(cm, "plugin_mount", source="broken")
        assert error.code == "PLUGIN_FAILED"
        assert "No module named 'offered.none'" in error.message
        assert modules() == before


async def test_a_package_that_was_there_before_stays(package, registry):
    import offered

    try:
        async with engine(registry, sandbox=object()) as cm:
            await value(cm, "plugin_mount", source="counting")
            assert offered.tools.state == [40]
            await value(cm, "plugin_unmount", mountId="plugin-1")
            assert sys.modules["offered"] is offered
            assert not hasattr(offered, "tools")
            assert not hasattr(offered, "inner")
    finally:
        del sys.modules["offered"]
