"""What a model is told that no call of it tells: which background jobs have finished."""

from __future__ import annotations

import trio

from codemode import CodeMode, as_json, tool
from codemode.toolkits import Jobs
from codemode.toolkits.jobs import Job, Settled
from codemode.toolkits.processes.output import Piece as Printed
from codemode.toolkits.shell.following import job_tools
from tests.agent.scripted import NoSandbox, Scripted, agent, check_log, check_requests
from tests.conversation.scripts import answer, said, use


class NoOutput:
    def take(self) -> Printed:
        return Printed("", False, None)


async def test_the_model_is_told_once_which_jobs_have_finished():
    jobs = Jobs()
    done = trio.Event()
    background: list[Job] = []

    @tool(render=as_json, lifespan=jobs)
    async def begin() -> str:
        """Start a job that ends before the next request."""

        async def work(job: Job) -> Settled:
            await done.wait()
            return Settled("completed", "exit code: 0")

        background.append(jobs.start("bash", "run the\ntests", NoOutput(), work))
        done.set()
        await background[-1].finished.wait()
        return background[-1].id

    script = [
        answer(use("a", "begin")),
        answer(use("b", "begin"), use("c", "job_list")),
        answer(said("both have ended")),
        answer(said("nothing new")),
    ]
    model = Scripted(script)
    async with CodeMode([begin, *job_tools(jobs)], mode="native", sandbox=NoSandbox()) as cm:
        loop = agent(cm, model, notices=jobs.notices)
        await loop.run("go")
        await cm.call("begin", {})
        await loop.run("and now?")
        log = list(cm.session.events())
    first = (
        "background job bash-1 (bash: run the tests) finished [status: completed, exit code: 0]. "
        "Read its output with job_output."
    )
    contents = [body["messages"][-1]["content"] for body in model.requests]
    assert [[block.get("text", block["type"]) for block in content] for content in contents] == [
        ["go"],
        ["tool_result", first],
        ["tool_result", "tool_result"],  # of the second it knows by its own call
        ["and now?", first.replace("bash-1", "bash-3")],
    ]
    told = [
        event.data
        for event in log
        if event.type == "user/message" and event.data["message"]["source"] == "notice"
    ]
    assert [(each["turn"], "step" in each) for each in told] == [(0, False), (1, False)]
    check_requests(model.requests, script)
    check_log(log, model.requests)


async def test_an_answer_that_is_to_be_gone_on_with_is_not_interrupted_by_notices():
    lines = [["early"], ["late"], []]
    paused = answer(said("thinking"), stop="pause_turn")
    model = Scripted([paused, answer(said("ok"))])
    async with CodeMode([], mode="native", sandbox=NoSandbox()) as cm:
        await agent(cm, model, notices=lambda scope: lines.pop(0)).run("go")
    assert [block["text"] for block in model.requests[0]["messages"][-1]["content"]] == ["go", "early"]
    assert model.requests[1]["messages"][-1]["role"] == "assistant"
    assert lines == [["late"], []]


async def test_nor_is_one_that_a_later_turn_goes_on_with():
    lines: list[list[str]] = []
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    paused = answer(said("thinking"), search, stop="pause_turn")
    model = Scripted([paused, answer(said("ok")), answer(said("well"))])
    async with CodeMode([], mode="native", sandbox=NoSandbox()) as cm:
        loop = agent(cm, model, max_steps=1, notices=lambda scope: lines.pop() if lines else [])
        assert (await loop.run("go")).reason == "budget"
        lines.append(["a job has finished"])
        await loop.go_on()
        assert model.requests[1]["messages"][-1]["role"] == "assistant"
        await loop.run("and?")
    assert [block["text"] for block in model.requests[2]["messages"][-1]["content"]] == [
        "and?",
        "a job has finished",
    ]


async def test_a_turn_that_goes_on_belongs_to_the_exchange_that_it_goes_on_with():
    lines = [[], ["a job has finished"], []]
    model = Scripted([answer(use("a", "missing")), answer(said("one")), answer(said("two"))])
    async with CodeMode([], mode="native", sandbox=NoSandbox()) as cm:
        loop = agent(cm, model, max_steps=1, notices=lambda scope: lines.pop(0))
        assert (await loop.run("first")).reason == "budget"
        await loop.go_on()
        told = model.requests[1]["messages"][-1]["content"]
        assert [block["type"] for block in told] == ["tool_result", "text"]
        loop.forget(keep=1)
        await loop.run("second")
    assert model.requests[2]["messages"][0]["content"] == [said("first")]
    assert (
        model.requests[2]["messages"][: len(model.requests[1]["messages"])] == model.requests[1]["messages"]
    )
