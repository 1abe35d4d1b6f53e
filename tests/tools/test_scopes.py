"""A global layer and scopes over it: one view for listing, describing, binding and calling."""

import pytest

from codemode import CodeMode, Hooks, Registry, ToolDefinitionError, as_json, tool
from codemode.tools.hooks import Deny


def named(name, answer, method=None):
    @tool(render=as_json, name=name, method=method)
    async def body() -> str:
        """Say who answers."""
        return answer

    return body


@pytest.fixture
def registry():
    return Registry([named("a", "global a"), named("b", "global b"), named("c", "global c")])


def names(layer):
    return [each.name for each in layer]


def test_a_scope_sees_what_is_below_and_its_own_tools_shadow(registry):
    own = named("b", "scope b")
    scope = registry.scope([own, named("d", "scope d")])
    assert names(scope) == ["a", "b", "c", "d"]
    assert scope.get("b") is own
    assert registry.get("b") is not own
    assert names(registry) == ["a", "b", "c"]


def test_restrictions_intersect_and_spare_the_scopes_own_tools(registry):
    scope = registry.scope([named("b", "own")], allow=["a", "b"])
    lift = scope.restrict(deny=["a"])
    assert names(scope) == ["b"]
    assert scope.get("a") is None
    lift()
    lift()
    assert names(scope) == ["a", "b"]


def test_a_scope_over_a_scope_narrows_further(registry):
    outer = registry.scope([named("d", "outer d")], deny=["a"])
    inner = outer.scope(allow=["b", "d"])
    assert names(inner) == ["b", "d"]
    outer.restrict(deny=["b"])
    assert names(inner) == ["d"]


def test_changes_below_are_seen_at_once(registry):
    scope = registry.scope()
    remove = registry.register(named("late", "x"))
    assert "late" in scope
    remove()
    assert "late" not in scope
    assert [each["name"] for each in scope.describe()] == ["a", "b", "c"]


def test_whoever_watches_is_told_of_changes_anywhere_in_the_tree_until_it_ends(registry):
    scope, told = registry.scope(), []
    unwatch = scope.watch(lambda: told.append(sorted(each.name for each in scope)))
    remove = registry.register(named("z", "z"))
    scope.restrict(deny=["z"])
    remove()
    assert told == [["a", "b", "c", "z"], ["a", "b", "c"], ["a", "b", "c"]]
    unwatch()
    registry.register(named("y", "y"))
    assert len(told) == 3


@pytest.mark.parametrize(
    ("restrict", "says"),
    [
        ({}, "without allow or deny changes nothing"),
        ({"deny": ["nope"]}, "names unknown tools: 'nope'; there are: a, b, c"),
        ({"allow": ["run_code"]}, "'run_code' cannot be restricted"),
    ],
)
def test_a_restriction_that_means_nothing_is_refused(registry, restrict, says):
    with pytest.raises(ValueError, match=says):
        registry.scope().restrict(**restrict)


def test_a_global_layer_and_a_text_are_refused(registry):
    with pytest.raises(ValueError, match="make one first: registry.scope"):
        registry.restrict(deny=["a"])
    with pytest.raises(TypeError, match="lists of names"):
        registry.scope(deny="a")


def test_a_double_name_is_refused_in_one_layer_only(registry):
    scope = registry.scope([named("a", "own")])
    with pytest.raises(ToolDefinitionError, match="registered already in this scope"):
        scope.register(named("a", "again"))


def test_a_double_method_is_refused_in_one_layer_only(registry):
    remove = registry.register(named("x", "global x", "agents.run"))
    words = "tool 'y': method='agents.run' is that of tool 'x' already; remove that one first"
    with pytest.raises(ToolDefinitionError, match=words):
        registry.register(named("y", "global y", "agents.run"))
    assert names(registry) == ["a", "b", "c", "x"]
    scope = registry.scope()
    with_own = scope.register(named("y", "scope y", "agents.run"))
    with pytest.raises(ToolDefinitionError, match="is that of tool 'y' already in this scope"):
        scope.register(named("z", "scope z", "agents.run"))
    assert names(scope) == ["a", "b", "c", "y"]  # shadowed as by its name
    assert names(registry) == ["a", "b", "c", "x"]
    with_own()
    assert names(scope) == ["a", "b", "c", "x"]
    remove()
    registry.register(named("y", "global y", "agents.run"))
    assert names(scope) == ["a", "b", "c", "y"]


async def test_a_program_reaches_the_tool_of_the_scope_by_a_method_that_one_below_has():
    registry = Registry([named("x", "below", "agents.run")])
    async with CodeMode(registry) as cm:
        scope = cm.scope([named("y", "own", "agents.run")])
        for each, answer in ((cm, "below"), (scope, "own")):
            assert (await each.run("return agents.run()")).result == answer
            assert each.prompt().count("# agents.run() -> str") == 1


def test_mode_and_hooks_are_inherited_outer_first(registry):
    def one(call):
        return None

    def two(call):
        return None

    scope = registry.scope(hooks=Hooks(guards=(one,)), mode="code")
    inner = scope.scope(hooks=Hooks(guards=(two,)))
    assert (registry.mode, scope.mode, inner.mode) == ("both", "code", "code")
    assert inner.hooks.guards == (one, two)
    remove = registry.add_hooks(Hooks(guards=(two,)))
    assert inner.hooks.guards == (two, one, two)
    remove()
    assert inner.hooks.guards == (one, two)
    assert registry.hooks == Hooks()


async def test_listed_bound_and_callable_are_the_same_set_in_every_scope(registry):
    async with CodeMode(registry) as cm:
        scope = cm.scope([named("b", "scope b"), named("d", "scope d")], deny=["a"])
        for face, expected in (
            (cm, {"a": "global a", "b": "global b", "c": "global c"}),
            (scope, {"b": "scope b", "c": "global c", "d": "scope d"}),
        ):
            described = [each["name"] for each in face.describe()]
            assert described == [*expected, "run_code"]
            bound = await face.run("return {name: tools[name]() for name in tools}")
            assert bound.result == expected
            for name in "abcd":
                outcome = await face.call(name, {})
                assert outcome.is_error is (name not in expected)
                if name in expected:
                    assert outcome.value == expected[name]


def test_the_hash_of_the_signatures_changes_with_what_can_be_called(registry):
    before = registry.signatures_hash
    assert registry.signatures_hash == before
    assert registry.scope().signatures_hash == before
    remove = registry.register(named("d", "x"))
    assert registry.signatures_hash != before
    remove()
    assert registry.signatures_hash == before
    assert registry.scope(deny=["a"]).signatures_hash != before


async def test_a_scope_has_hooks_and_a_mode_of_its_own(registry):
    async with CodeMode(registry) as cm:
        strict = cm.scope(hooks=Hooks(pre_execute=(lambda call: Deny("no a") if call.name == "a" else None,)))
        assert (await strict.call("a", {})).error.message == "no a"
        assert (await cm.call("a", {})).value == "global a"
        code = cm.scope(mode="code")
        refused = await code.call("a", {})
        assert "call tools.a(…) inside a run_code program instead" in refused.error.message
        assert (await code.run("return tools.a()")).result == "global a"
        assert [each["name"] for each in code.describe()] == ["run_code"]
        native = cm.scope(mode="native")
        assert (await native.run("return 1")).error.kind == "refused"
        assert [each["name"] for each in native.describe()] == ["a", "b", "c"]


async def test_a_tool_that_is_removed_while_a_program_runs_fails_at_its_next_call(registry):
    @tool(render=as_json)
    async def remove_a() -> None:
        """Remove the tool a."""
        remove()

    async with CodeMode(registry) as cm:
        scope = cm.scope([remove_a])
        remove = scope.registry.register(named("e", "e"))
        result = await scope.run(
            "before = tools.e()\ntools.remove_a()\n"
            "try:\n    tools.e()\nexcept ToolCallError as error:\n    return [before, error.code]"
        )
    assert result.result == ["e", "UNKNOWN_TOOL"]
