"""The life of one call: every stage, in its order, and one outcome whatever happens."""

import threading

import msgspec
import pytest
import trio
from msgspec import UNSET

from codemode import Call, Failure, Output, Registry, Success, Tool, ToolError, as_json, text, tool
from codemode.tools.approval import Approvals
from codemode.tools.call import Token
from codemode.tools.hooks import Accept, Allow, Ask, Block, Deny, Hooks
from codemode.tools.pipeline import Pipeline
from codemode.values import FrozenDict, FrozenList


def shown(arguments, value):
    return [text(f"{arguments['n']} -> {value}")]


def card(arguments, value):
    return {"card": value}


@tool(render=shown, presentation_meta=card)
async def double(n: int) -> int:
    """Double a number."""
    return 2 * n


@tool(render=as_json)
def thread_name(n: int) -> str:
    """The name of the thread that runs this."""
    return threading.current_thread().name


@tool(render=as_json)
async def fails(how: str) -> int:
    """Fail in some way."""
    match how:
        case "coded":
            raise ToolError("no such row", code="ROW_NOT_FOUND")
        case "plain":
            raise RuntimeError("quota 0 left")
        case "mute":
            raise ValueError
        case "exit":
            raise SystemExit(3)
        case "group":
            raise ExceptionGroup("several", [KeyError("a"), ValueError("b")])
        case "nursery":
            async with trio.open_nursery():
                raise LookupError("inside")
        case "unprintable":
            raise Unprintable
        case "wrong":
            return "text"
    return 1


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError


def pipeline(*tools, mode="both", approver=None, **hooks):
    registry = Registry(tools or [double, thread_name, fails], hooks=Hooks(**hooks), mode=mode)
    return Pipeline(registry, approvals=Approvals(approver))


async def test_a_direct_call_ends_in_value_content_and_metadata():
    outcome = await pipeline().execute("double", {"n": 4}, id="c1")
    assert isinstance(outcome, Success)
    assert (outcome.value, outcome.content, outcome.meta) == (8, (text("4 -> 8"),), {"card": 8})


async def test_what_looks_like_content_is_a_value_as_any_other():
    """A body returns its value, and nothing that it returns is taken for what is to be shown."""
    blocks = [{"type": "text", "text": "for the model"}]

    @tool(render=lambda arguments, value: [text(f"{len(value)} blocks")])
    async def lists() -> list[dict[str, str]]:
        return blocks

    @tool(render=as_json)
    async def shows() -> list[str]:
        return [text("for the model")]

    engine = pipeline(lists, shows)
    outcome = await engine.execute("lists", {}, id="c1")
    assert (outcome.value, outcome.content) == (blocks, (text("1 blocks"),))
    assert (await engine.execute("shows", {}, id="c2")).error.code == "INVALID_OUTPUT"


async def test_a_nested_call_gets_no_metadata():
    outcome = await pipeline().execute("double", {"n": 4}, id="c1:1", root_id="c1", parent=Token())
    assert outcome.value == 8
    assert outcome.meta is UNSET


async def test_a_synchronous_body_runs_in_another_thread():
    outcome = await pipeline().execute("thread_name", {"n": 1}, id="c1")
    assert outcome.value != threading.current_thread().name


@pytest.mark.parametrize(
    ("how", "message", "code", "kind"),
    [
        ("coded", "no such row", "ROW_NOT_FOUND", "ToolError"),
        ("plain", "quota 0 left", None, "RuntimeError"),
        ("mute", "ValueError", None, "ValueError"),
        ("exit", "3", None, "SystemExit"),
        ("group", "several (2 sub-exceptions)", None, "ExceptionGroup"),
        ("nursery", "inside", None, "LookupError"),
        ("unprintable", "Unprintable, whose message could not be read", None, "Unprintable"),
        (
            "wrong",
            "tool 'fails' returned invalid output: expected int, got str",
            "INVALID_OUTPUT",
            "ToolOutputError",
        ),
    ],
)
async def test_whatever_a_body_raises_is_a_failure_with_its_own_message(how, message, code, kind):
    outcome = await pipeline().execute("fails", {"how": how}, id="c1")
    assert isinstance(outcome, Failure)
    assert (outcome.error.message, outcome.error.code, outcome.error.type) == (message, code, kind)
    assert outcome.content == (text(f"Error: {message}"),)


async def test_wrong_arguments_name_the_field_and_the_signature():
    outcome = await pipeline().execute("double", {"n": "4"}, id="c1")
    assert (
        outcome.error.message
        == "invalid arguments: expected int, got str at n; the signature is double(n: int)"
    )
    assert outcome.error.code == "INVALID_ARGUMENTS"


@pytest.mark.parametrize("arguments", [{"n": {1}}, [1], None, {1: 2}])
async def test_arguments_that_are_no_json_fail_before_any_policy(arguments):
    seen = []
    outcome = await pipeline(pre_execute=(seen.append,)).execute("double", arguments, id="c1")
    assert outcome.error.code == "INVALID_ARGUMENTS"
    assert outcome.error.message.startswith("arguments")
    assert seen == []


async def test_an_unknown_tool_is_a_failure_that_names_the_nearest():
    outcome = await pipeline().execute("dubble", {}, id="c1")
    assert (outcome.error.code, outcome.error.message) == (
        "UNKNOWN_TOOL",
        "unknown tool 'dubble'; did you mean 'double'?",
    )


async def test_in_code_mode_only_programs_call_tools_and_nobody_is_asked():
    asked = []
    engine = pipeline(mode="code", pre_execute=(asked.append,))
    direct = await engine.execute("double", {"n": 1}, id="c1")
    assert direct.error.code == "UNKNOWN_TOOL"
    assert "call tools.double(…) inside a run_code program instead" in direct.error.message
    assert asked == []
    nested = await engine.execute("double", {"n": 1}, id="c1:1", parent=Token())
    assert nested.value == 2


async def test_run_code_is_no_tool_in_native_mode_and_never_a_nested_one():
    body = Tool("run_code", "", {}, Output({}, as_json), lambda arguments, call: trio.sleep(0))
    for mode, parent, expected in (
        ("both", None, Success),
        ("native", None, Failure),
        ("both", Token(), Failure),
    ):
        engine = Pipeline(Registry(mode=mode), run_code=body)
        assert isinstance(await engine.execute("run_code", {}, id="c1", parent=parent), expected)


async def test_hooks_come_in_the_order_of_the_design():
    order = []

    async def around(call, proceed):
        order.append("around in")
        outcome = await proceed()
        order.append("around out")
        return outcome

    @tool(render=lambda arguments, value: order.append("render") or [text("x")])
    async def body(n: int) -> int:
        order.append("body")
        return n

    engine = pipeline(
        body,
        pre_execute=(lambda call: order.append("pre"),),
        guards=(lambda call: order.append("guard"),),
        around=(around,),
        post_execute=(lambda call, outcome: order.append("post"),),
        finalize_content=(lambda call, outcome: order.append("finalize"),),
        observers=(lambda call, outcome: order.append("observer"),),
    )
    await engine.execute("body", {"n": 1}, id="c1")
    assert order == [
        "pre",
        "guard",
        "around in",
        "body",
        "render",
        "around out",
        "post",
        "finalize",
        "observer",
    ]


async def test_hooks_see_frozen_arguments_and_values():
    @tool(render=as_json)
    async def rows(filter: dict[str, list[int]]) -> list[dict[str, int]]:
        return [{"n": 1}]

    seen = []
    engine = pipeline(
        rows,
        pre_execute=(lambda call: seen.append(call.arguments),),
        observers=(lambda call, outcome: seen.append(outcome.value),),
    )
    await engine.execute("rows", {"filter": {"a": [1]}}, id="c1")
    arguments, value = seen
    assert type(arguments["filter"]["a"]) is FrozenList
    assert (type(value), type(value[0])) == (FrozenList, FrozenDict)


@pytest.mark.parametrize(
    ("hooks", "message"),
    [
        ({"pre_execute": (lambda call: Deny("not on Sundays"),)}, "not on Sundays"),
        ({"pre_execute": (lambda call: Ask("really?"), lambda call: Deny("no"))}, "no"),
        ({"guards": (lambda call: None, lambda call: "guarded")}, "guarded"),
        (
            {"pre_execute": (lambda call: Ask("writes a file"),)},
            "writes a file (tool 'double' needs approval, and nobody is there to give it)",
        ),
        (
            {"pre_execute": (lambda call: Ask("writes a file"),), "approver": lambda requests: "deny"},
            "the call of tool 'double' was not approved (writes a file)",
        ),
    ],
)
async def test_a_denied_call_fails_with_the_reason_and_its_body_does_not_run(hooks, message):
    outcome = await pipeline(**hooks).execute("double", {"n": 1}, id="c1")
    assert (outcome.error.message, outcome.error.code) == (message, "DENIED")


async def test_an_approved_call_runs_and_a_guard_can_still_deny_it():
    async def approve(requests):
        await trio.sleep(0)
        (request,) = requests
        assert (request.tool, request.arguments, request.reason) == (double, {"n": 1}, "sure?")
        return "allow-once"

    asks = {"pre_execute": (lambda call: Ask("sure?"), lambda call: Allow()), "approver": approve}
    assert (await pipeline(**asks).execute("double", {"n": 1}, id="c1")).value == 2
    denied = await pipeline(**asks, guards=(lambda call: "never",)).execute("double", {"n": 1}, id="c1")
    assert denied.error.message == "never"


async def broken(*_):
    raise LookupError("broken hook")


@pytest.mark.parametrize("point", ["pre_execute", "guards", "around", "post_execute", "finalize_content"])
async def test_a_hook_that_raises_fails_the_call_and_observers_still_see_one_outcome(point):
    seen = []
    engine = pipeline(**{point: (broken,)}, observers=(lambda call, outcome: seen.append(outcome),))
    outcome = await engine.execute("double", {"n": 1}, id="c1")
    assert isinstance(outcome, Failure)
    assert "broken hook" in outcome.error.message
    assert seen == [outcome]


async def test_an_observer_that_raises_changes_nothing():
    seen = []
    engine = pipeline(observers=(broken, lambda call, outcome: seen.append(outcome.value)))
    assert (await engine.execute("double", {"n": 1}, id="c1")).value == 2
    assert seen == [2]


async def test_a_cached_success_of_another_call_is_made_again_under_this_tool():
    kept = []

    async def cache(call, proceed):
        if kept:
            return kept[0]
        kept.append(await proceed())
        return kept[0]

    engine = pipeline(around=(cache,))
    first = await engine.execute("double", {"n": 4}, id="c1")
    second = await engine.execute("double", {"n": 5}, id="c2")
    assert (first.content, second.content) == ((text("4 -> 8"),), (text("5 -> 8"),))
    assert second.token is not first.token
    other = await engine.execute("fails", {"how": "none"}, id="c3")
    assert other.content == (text("8"),)


async def test_authored_content_and_metadata_of_a_foreign_success_are_ignored():
    async def own(call, proceed):
        outcome = await proceed()
        return msgspec.structs.replace(outcome, content=(text("forged"),), meta={"forged": True})

    async def made_up(call, proceed):
        return Success(token=call.token, value="not a number", content=(text("forged"),))

    outcome = await pipeline(around=(own,)).execute("double", {"n": 1}, id="c1")
    assert (outcome.content, outcome.meta) == ((text("1 -> 2"),), {"card": 2})
    refused = await pipeline(around=(made_up,)).execute("double", {"n": 1}, id="c1")
    assert refused.error.code == "INVALID_OUTPUT"


async def test_an_around_hook_may_retry_and_return_a_failure_of_its_own():
    tries = []

    @tool(render=as_json)
    async def flaky() -> int:
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("gone")
        return len(tries)

    async def retry(call, proceed):
        outcome = await proceed()
        while isinstance(outcome, Failure):
            outcome = await proceed()
        return outcome

    assert (await pipeline(flaky, around=(retry,)).execute("flaky", {}, id="c1")).value == 3


async def test_replacing_content_keeps_value_and_metadata():
    engine = pipeline(
        post_execute=(lambda call, outcome: Accept(content=[text("hidden")], contexts=("note",)),)
    )
    outcome = await engine.execute("double", {"n": 1}, id="c1")
    assert (outcome.value, outcome.content, outcome.meta) == (2, (text("hidden"),), {"card": 2})
    assert outcome.contexts == ("note",)


async def test_replacing_the_value_checks_and_renders_again():
    engine = pipeline(post_execute=(lambda call, outcome: Accept(value=100),))
    outcome = await engine.execute("double", {"n": 1}, id="c1")
    assert (outcome.value, outcome.content, outcome.meta) == (100, (text("1 -> 100"),), {"card": 100})
    wrong = await pipeline(post_execute=(lambda call, outcome: Accept(value="x"),)).execute(
        "double", {"n": 1}, id="c"
    )
    assert "expected int, got str" in wrong.error.message
    both = Accept(value=1, content=[text("x")])
    refused = await pipeline(post_execute=(lambda call, outcome: both,)).execute("double", {"n": 1}, id="c1")
    assert "not both" in refused.error.message


async def test_blocking_removes_the_value():
    engine = pipeline(post_execute=(lambda call, outcome: Block(feedback="secret inside"),))
    outcome = await engine.execute("double", {"n": 1}, id="c1")
    assert isinstance(outcome, Failure)
    assert (outcome.error.message, outcome.content) == ("secret inside", (text("secret inside"),))


async def test_denials_and_failures_go_through_post_execute_and_a_failure_gets_no_value():
    seen = []
    engine = pipeline(
        guards=(lambda call: "no",),
        post_execute=(lambda call, outcome: seen.append(outcome) or Accept(value=1),),
    )
    outcome = await engine.execute("double", {"n": 1}, id="c1")
    assert seen[0].error.message == "no"
    assert "cannot give a value to a call that failed" in outcome.error.message


@pytest.mark.parametrize(
    ("render", "says"),
    [
        (lambda arguments, value: 1 / 0, "division by zero"),
        (lambda arguments, value: "text", "content is a list of blocks"),
        (lambda arguments, value: ["text"], "a content block is Text or Image, not str"),
        (lambda arguments, value: [text("\ud800")], "lone surrogate"),
        (lambda arguments, value: value.append(1), "cannot be changed"),
    ],
)
async def test_a_render_that_fails_is_an_output_error(render, says):
    @tool(render=render)
    async def listing() -> list[int]:
        return [1]

    outcome = await pipeline(listing).execute("listing", {}, id="c1")
    assert outcome.error.code == "INVALID_OUTPUT"
    assert says in outcome.error.message


async def test_metadata_that_is_no_json_is_an_output_error():
    @tool(render=as_json, presentation_meta=lambda arguments, value: {1})
    async def listing() -> list[int]:
        return [1]

    outcome = await pipeline(listing).execute("listing", {}, id="c1")
    assert outcome.error.code == "INVALID_OUTPUT"
    assert "meta: set is not a JSON value" in outcome.error.message


async def test_the_last_word_on_content_is_taken_once_for_successes_and_failures():
    words = []

    def last_word(call, outcome):
        words.append(outcome.is_error)
        return [text("final")]

    @tool(render=as_json, finalize_content=last_word)
    async def body(fail: bool) -> int:
        if fail:
            raise ValueError("x")
        return 1

    engine = pipeline(body)
    assert (await engine.execute("body", {"fail": False}, id="c1")).content == (text("final"),)
    assert (await engine.execute("body", {"fail": True}, id="c2")).content == (text("final"),)
    assert words == [False, True]


async def test_a_tool_that_takes_too_long_ends_with_its_own_code(autojump_clock):
    @tool(render=as_json, timeout=2)
    async def slow() -> int:
        await trio.sleep(60)
        return 1

    start = trio.current_time()
    outcome = await pipeline(slow).execute("slow", {}, id="c1")
    assert (outcome.error.message, outcome.error.code) == ("tool call timed out after 2 s", "TOOL_TIMEOUT")
    assert trio.current_time() - start == pytest.approx(2)


@pytest.mark.parametrize("where", ["body", "pre_execute", "around", "post_execute", "finalize_content"])
async def test_a_cancelled_call_ends_once_as_aborted_and_cancellation_goes_on(where, autojump_clock):
    seen = []

    async def hang(*args):
        await trio.sleep_forever()

    @tool(render=as_json)
    async def body() -> int:
        if where == "body":
            await trio.sleep_forever()
        return 1

    hooks = {} if where == "body" else {where: (hang,)}
    engine = pipeline(body, **hooks, observers=(lambda call, outcome: seen.append(outcome),))
    with trio.move_on_after(1) as scope:
        await engine.execute("body", {}, id="c1")
    assert scope.cancelled_caught
    (outcome,) = seen
    before = where in ("pre_execute", "around")
    assert outcome.error.code == ("ABORTED_BEFORE_DISPATCH" if before else "ABORTED")
    assert outcome.content[0].text.startswith("Error: tool call aborted")


async def test_a_call_of_a_cancelled_caller_never_starts():
    ran = []

    @tool(render=as_json)
    async def body() -> int:
        ran.append(1)
        return 1

    seen = []
    engine = pipeline(body, observers=(lambda call, outcome: seen.append(outcome.error.code),))
    with trio.CancelScope() as scope:
        scope.cancel()
        await engine.execute("body", {}, id="c1")
    assert (ran, seen) == ([], ["ABORTED_BEFORE_DISPATCH"])


async def test_a_thread_that_does_not_stop_does_not_hold_its_caller(autojump_clock):
    release = threading.Event()

    @tool(render=as_json, timeout=0.05)
    def stuck() -> int:
        release.wait(30)
        return 1

    try:
        outcome = await pipeline(stuck).execute("stuck", {}, id="c1")
    finally:
        release.set()
    assert outcome.error.code == "TOOL_TIMEOUT"


async def test_a_body_can_ask_for_its_call():
    @tool(render=as_json)
    async def whoami(call: Call, n: int = 1) -> list[str]:
        return [call.id, call.name]

    assert whoami.parameters.names == ("n",)
    assert (await pipeline(whoami).execute("whoami", {}, id="c7")).value == ["c7", "whoami"]


async def test_a_tool_that_was_removed_meanwhile_does_not_run():
    registry = Registry()
    remove = registry.register(double)
    registry.add_hooks(Hooks(pre_execute=(lambda call: remove(),)))
    engine = Pipeline(registry)
    outcome = await engine.execute("double", {"n": 1}, id="c1")
    assert outcome.error.code == "UNKNOWN_TOOL"


def test_a_wrong_mode_is_refused():
    with pytest.raises(ValueError, match="choose 'native', 'code' or 'both'"):
        pipeline(mode="python")
