"""The calls of an answer: their scheduling, approvals, contexts and programs, and what the model is told of them."""

from __future__ import annotations

from typing import Any

import trio
import trio.testing

from codemode import Accept, CodeMode, Hooks, as_json, tool
from codemode.agent import Watcher
from tests.agent.scripted import (
    NoSandbox,
    Scripted,
    agent,
    check_log,
    check_requests,
    engine,
    order,
    stock,
    texts,
)
from tests.conversation.scripts import (
    answer,
    said,
    use,
)


async def test_parallel_calls_overlap_and_their_results_go_back_in_the_models_order():
    ended: list[int] = []
    together = trio.Event()

    @tool(render=as_json, parallel=True)
    async def wait(n: int) -> int:
        """The later ones end first."""
        running.append(n)
        if len(running) == 3:
            together.set()
        await together.wait()
        for _ in range(10 * (3 - n)):
            await trio.lowlevel.checkpoint()
        ended.append(n)
        return n

    running: list[int] = []
    model = Scripted([answer(*[use(f"t{n}", "wait", n=n) for n in range(3)]), answer(said("done"))])
    async with CodeMode([wait], mode="native", sandbox=NoSandbox()) as cm:
        await agent(cm, model).run("go")
        log = list(cm.session.events())
    assert sorted(running) == [0, 1, 2]
    assert ended == [2, 1, 0]
    assert texts(model.requests[1], 2) == ["0", "1", "2"]
    assert [event.data["callId"] for event in log if event.type == "tool/call"] == ["t0", "t1", "t2"]
    assert [event.data["callId"] for event in log if event.type == "tool/result"] == ["t2", "t1", "t0"]


async def test_an_exclusive_call_runs_alone():
    running = 0
    most: list[int] = []

    @tool(render=as_json)
    async def alone(n: int) -> int:
        """Never beside another one."""
        nonlocal running
        running += 1
        most.append(running)
        await trio.testing.wait_all_tasks_blocked()
        running -= 1
        return n

    model = Scripted([answer(*[use(f"t{n}", "alone", n=n) for n in range(3)]), answer(said("done"))])
    async with CodeMode([alone], mode="native", sandbox=NoSandbox()) as cm:
        await agent(cm, model).run("go")
    assert most == [1, 1, 1]


async def test_calls_that_wait_for_approval_are_asked_together_and_a_denial_is_a_result():
    asked: list[list[str]] = []

    def approver(requests: Any) -> list[str]:
        asked.append([each.call.id for each in requests])
        return ["allow-once", "deny"]

    calls = [use("a", "order", item="pear", count=2), use("b", "order", item="gold", count=1)]
    model = Scripted([answer(*calls), answer(said("Ordered the pears."))])
    async with engine(approver=approver) as cm:
        result = await agent(cm, model).run("Order pears and gold.")
    assert asked == [["a", "b"]]
    assert texts(model.requests[1], 2)[0] == "ordered 2 of pear"
    assert "was not approved" in texts(model.requests[1], 2)[1]
    assert result.reason == "completed"


async def test_contexts_of_outcomes_come_after_all_results_in_the_order_of_the_calls():
    def remark(call: Any, outcome: Any) -> Accept:
        return Accept(contexts=(f"remark on {call.id}", ""))

    second = trio.Event()

    @tool(render=as_json, parallel=True)
    async def wait(n: int) -> int:
        """The first one ends last."""
        if n == 1:
            await second.wait()
        else:
            second.set()
        return n

    model = Scripted([answer(use("a", "wait", n=1), use("b", "wait", n=2)), answer(said("ok"))])
    hooks = Hooks(post_execute=(remark,))
    async with CodeMode([wait], mode="native", sandbox=NoSandbox(), hooks=hooks) as cm:
        await agent(cm, model).run("go")
        log = list(cm.session.events())
    content = model.requests[1]["messages"][2]["content"]
    assert [block["type"] for block in content] == ["tool_result", "tool_result", "text", "text"]
    assert [block["text"] for block in content[2:]] == ["remark on a", "remark on b"]
    contexts = [event.data["message"] for event in log if event.type == "user/message"][1:]
    assert [(each["source"], each["callId"]) for each in contexts] == [("context", "b"), ("context", "a")]
    check_log(log, model.requests)


async def test_in_mode_code_the_model_sees_run_code_and_the_signatures_and_its_programs_run():
    program = (
        "counts = [tools.stock(item=i) for i in ('apple', 'plum')]\nprint('looking')\nreturn sum(counts)"
    )
    script = [
        answer(said("I write a program."), use("p", "run_code", code=program, description="count")),
        answer(use("q", "stock", item="apple")),
        answer(said("15.")),
    ]
    printed: list[tuple[str, str]] = []

    class Seen(Watcher):
        def printed(self, call_id: str, text: str) -> None:
            printed.append((call_id, text))

    model = Scripted(script)
    async with CodeMode([stock, order], mode="code") as cm:
        result = await agent(cm, model, watcher=Seen()).run("How many in all?")
        log = list(cm.session.events())
    assert result.text == "15."
    assert [each["name"] for each in model.requests[0]["tools"]] == ["run_code"]
    assert 'def stock(item: str = "apple") -> int' in model.requests[0]["tools"][0]["description"]
    assert texts(model.requests[1], 2) == ["looking\n15"]
    assert "only run_code can be called directly" in texts(model.requests[2], 4)[0]
    assert printed == [("p", "looking\n")]
    assert [event.data["name"] for event in log if event.type == "tool/code-dispatch"] == ["stock", "stock"]
    check_requests(model.requests, script)
    check_log(log, model.requests)
