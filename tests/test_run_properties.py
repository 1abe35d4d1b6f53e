"""Whatever a program, its hooks, failures and cancellations do: every start has one end, inside the run.

Programs are made of random steps; the log of each is held against rules that know nothing of the engine.
"""

import json

import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode import CodeMode, Hooks, ToolError, as_json, text, tool
from codemode.tools.hooks import Accept, Block, Deny

VALUE = "value-of-the-tool"


@tool(
    render=lambda arguments, value: [text("shown")],
    parallel=True,
    presentation_meta=lambda a, v: {"m": VALUE},
)
async def quick(n: int) -> dict[str, str]:
    """Answer at once."""
    return {"v": VALUE}


@tool(render=lambda arguments, value: [text("shown")], parallel=lambda arguments: arguments["n"] % 2 == 0)
async def slow(n: int) -> dict[str, str]:
    """Answer after a moment."""
    await trio.sleep(0.002 * (n % 4))
    return {"v": VALUE}


@tool(render=lambda arguments, value: [text("shown")])
async def alone(n: int) -> dict[str, str]:
    """Answer alone."""
    await trio.sleep(0)
    return {"v": VALUE}


@tool(render=as_json)
def thread(n: int) -> int:
    """Answer from a thread."""
    return n


@tool(render=as_json, timeout=0.01)
async def late(n: int) -> int:
    """Take too long."""
    await trio.sleep(30)
    return n


@tool(render=as_json)
async def failing(n: int) -> int:
    """Fail in one way or another."""
    raise (ToolError("no", code="NO"), ValueError("bad"), KeyError("k"))[n % 3]


@tool(render=as_json)
async def wrong(n: int) -> int:
    """Return what was not declared."""
    return "text"


TOOLS = [quick, slow, alone, thread, late, failing, wrong]
NAMES = [*(each.name for each in TOOLS), "denied", "unknown"]

step = st.one_of(
    st.tuples(st.just("call"), st.sampled_from(NAMES), st.integers(0, 7)),
    st.tuples(st.just("gather"), st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 7)), max_size=6)),
    st.tuples(st.just("limit"), st.sampled_from(NAMES), st.integers(0, 7)),
    st.tuples(st.just("task"), st.sampled_from(NAMES), st.integers(0, 7)),
    st.tuples(st.just("loose"), st.sampled_from(NAMES), st.integers(0, 7)),
)
ends = st.sampled_from(
    ["", "return 1", "raise ValueError('end')", "return {1}", "while True: await asyncio.sleep(0)"]
)


def source(steps, end):
    lines = ["import asyncio", "await asyncio.sleep(0)"]
    for kind, *rest in steps:
        if kind == "gather":
            calls = ", ".join(f"tools['{name}'](n={n})" for name, n in rest[0] if name != "unknown")
            lines.append(f"await asyncio.gather({calls}{', ' if calls else ''}return_exceptions=True)")
            continue
        name, n = rest
        call = f"tools['{name}'](n={n})"
        if kind == "loose":
            lines.append(call if name != "unknown" else "pass")
        elif kind == "task":
            lines.append(f"asyncio.create_task({call})" if name != "unknown" else "pass")
        else:
            call = f"asyncio.wait_for({call}, 0.003)" if kind == "limit" else call
            lines += ["try:", f"    await {call}", "except Exception: pass"]
    return "\n".join([*lines, end])


def policy(call):
    return Deny("not this one") if call.name == "denied" or call.arguments.get("n") == 6 else None


def after(call, outcome):
    number = call.arguments.get("n")
    if number == 5 and not outcome.is_error:
        return Accept(content=[text("rewritten")])
    return Block(feedback="blocked") if number == 7 and call.name == "quick" else None


async def denied_body(n: int) -> int:
    """Never runs."""
    raise AssertionError


DENIED = tool(render=as_json, name="denied")(denied_body)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.lists(step, max_size=6), ends, st.none() | st.integers(0, 40)), min_size=1, max_size=4
    ),
    st.integers(1, 4),
)
def test_every_start_has_exactly_one_end_inside_its_run(programs, cap):
    outcomes = {}

    def observe(call, outcome):
        outcomes.setdefault(call.id, []).append(outcome)

    async def main():
        hooks = Hooks(pre_execute=(policy,), post_execute=(after,), observers=(observe,))
        async with CodeMode([*TOOLS, DENIED], hooks=hooks, max_parallel_calls=cap) as cm:
            for steps, end, cancel_after in programs:
                seconds = cancel_after / 1_000 if cancel_after is not None else 0.4
                with trio.move_on_after(seconds):
                    await cm.run(source(steps, end), "a random program")
            assert (await cm.run("return 1")).result == 1
            return list(cm.session.events())

    check_log(trio.run(main), outcomes)


def check_log(events, outcomes):
    open_run, open_calls, seen = None, {}, set()
    numbers = {}
    for event in events:
        data = event.data
        match event.type:
            case "tool/call":
                assert open_run is None
                open_run = data["callId"]
                numbers[open_run] = 0
            case "tool/code-dispatch-start":
                assert data["rootCallId"] == data["parentCallId"] == open_run
                assert data["subCallId"] not in seen
                seen.add(data["subCallId"])
                open_calls[data["subCallId"]] = data
                number = int(data["subCallId"].rpartition(":")[2])
                assert number > numbers[open_run], "calls start in the order they were made"
                numbers[open_run] = number
            case "tool/code-dispatch":
                start = open_calls.pop(data["subCallId"])
                assert {key: data[key] for key in start} == start
                assert set(data) - set(start) == {"content", "isError"}
                assert VALUE not in json.dumps(data)
                (outcome,) = outcomes[data["subCallId"]]
                assert outcome.is_error == data["isError"]
                assert [block["text"] for block in data["content"]] == [
                    block.text for block in outcome.content
                ]
            case "tool/result":
                assert data["callId"] == open_run
                assert not open_calls, "every call of a run ends inside it"
                open_run = None
    assert open_run is None
    assert all(len(each) == 1 for each in outcomes.values())
