"""A task of several turns over the wire, in a host that is killed on the way: it goes on, and ends right."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import trio

from codemode import Session
from codemode.session import Event
from codemode.session.replay import ReplayedCall, replay
from tests.agent.scripted import check_log, check_requests, committed, pairs
from tests.agent.server import Play, Recorded, recorded, refused
from tests.conversation.checker import problems
from tests.conversation.scripts import Json, answer, events, redacted, said, stream_bytes, thought, use

PROJECT = Path(__file__).parents[2]
PROGRAM = """\
import asyncio
counts = await asyncio.gather(*[tools.stock(item=item) for item in ("apple", "plum")])
print("counted")
return sum(counts)
"""

FIRST = [
    answer(
        thought("two counts and an order"),
        said("I look and order."),
        use("a", item="apple"),
        use("b", item="fig"),
        use("c", "order", item="pear", count=2),
        id="m1",
    ),
    answer(thought("now the sum", "sig2"), use("d", "run_code", code=PROGRAM, description="sum up"), id="m2"),
    answer(said("15 in all; 2 pears are ordered."), id="m3"),
]
SECOND = [
    answer(
        redacted(),
        use("e", item="plum"),
        use("f", "deliver", to="far"),
        use("g", "order", item="kiwi", count=1),
        id="m4",
    ),
    answer(thought("the delivery is unknown", "sig3"), use("h", "deliver", to="near"), id="m5"),
    answer(said("Delivered nearby instead."), id="m6"),
]
ANSWERS = [*FIRST, *SECOND]


def whole(message: Json) -> Play:
    return Play(stream_bytes(events(message)), size=64)


async def life(server: Recorded, path: str, *messages: str, until: str | None = None) -> list[str]:
    """Let a host live until it ends, or until it says something, when it is killed; return what it said."""
    command = [sys.executable, "-m", "tests.agent.worker", server.url, path, *messages]
    process = await trio.lowlevel.open_process(
        command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    told = ""
    try:
        assert process.stdout is not None
        async for data in process.stdout:
            told += data.decode()
            if until is not None and until in told.splitlines():
                process.send_signal(signal.SIGKILL)
        assert process.stderr is not None
        errors = await process.stderr.receive_some(100_000)
        code = await process.wait()
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
    await process.stdout.aclose()
    await process.stderr.aclose()
    assert code == (0 if until is None else -signal.SIGKILL), errors.decode()
    return told.splitlines()


def results(body: Json, index: int) -> dict[str, str]:
    return {
        block["tool_use_id"]: block["content"][0]["text"]
        for block in body["messages"][index]["content"]
        if block["type"] == "tool_result"
    }


def read(path: str) -> list[Event]:
    with Session.read(path) as reader:
        return list(reader.events())


async def test_a_task_with_a_program_parallel_tools_an_approval_a_cut_stream_and_a_crash_ends_right(
    tmp_path: Path,
):
    path = str(tmp_path / "a.session")
    body = stream_bytes(events(FIRST[1]))
    script = [
        refused(529, "overloaded_error"),
        whole(FIRST[0]),
        Play(body, cut=len(body) - 200),  # breaks off inside the call of run_code
        *[whole(each) for each in (*FIRST[1:], *SECOND)],
    ]
    messages = ("Count, and order pears.", "Deliver them, and order a kiwi.")
    async with recorded(script) as server:
        first = await life(server, path, *messages, until="deliver far")
        assert [line for line in first if line.startswith("approve")] == ["approve c"]
        before = read(path)
        second = await life(server, path, *messages)
        requests = server.requests
        assert server.script == []
    assert json.loads(second[-1]) == {"reasons": ["completed"], "text": ""}
    assert "deliver near" in second

    # Each answer is kept as it came, and each request was valid and carried what had come before it.
    log = read(path)
    assert json.dumps(committed(log)) == json.dumps([each["content"] for each in ANSWERS])
    check_requests(requests, ANSWERS)
    assert len(requests) == 8
    assert requests[0] == requests[1]
    assert requests[2] == requests[3]
    pairs(log)

    # What the model was told: values of parallel calls and the approved one, of the program, and after the crash.
    assert results(requests[2], 2) == {"a": "3", "b": "Error: no item 'fig'", "c": "ordered 2 of pear"}
    assert results(requests[4], 4) == {"d": "counted\n15"}
    told = results(requests[6], 8)
    assert told["e"] == "12"  # its result was durable before the next call began
    assert told["f"].startswith(
        "Error: the host ended while tool 'deliver' was at work; the outcome of this call is"
    )
    assert told["g"].startswith(
        "Error: the host ended before this call of tool 'order' started; nothing was done"
    )

    # The log is the one of the first life, closed, and gone on with.
    assert log[: len(before)] == before
    reasons = [event.data["reason"] for event in log if event.type == "turn/end"]
    assert reasons == ["completed", "interrupted", "completed"]
    retried = [event.data["reason"] for event in log if event.type == "step/retry"]
    assert len(retried) == 2
    assert "529" in retried[0]
    assert "broke off" in retried[1]
    calls = [each for each in replay(log) if isinstance(each, ReplayedCall)]
    assert [each.id for each in calls] == ["a", "b", "c", "d", "e", "f", "g", "h"]
    program = next(each for each in calls if each.id == "d")
    assert program.run is not None
    assert sorted(each.arguments["item"] for each in program.run.calls) == ["apple", "plum"]
    since = next(
        event.seq for event in log if event.type == "turn/end" and event.data["reason"] == "interrupted"
    )
    check_log(log, requests[6:], since=since)


async def test_a_host_that_is_killed_again_and_again_ends_right(tmp_path: Path):
    """Killed at any moment. The model goes by how far the conversation has come, so each life goes on from there."""
    path = str(tmp_path / "a.session")
    chance = random.Random(5)
    plan: dict[int, Json] = {}

    def choose(body: Any) -> Play:
        count = sum(message["role"] == "assistant" for message in body["messages"])
        if count not in plan:
            turn, step = divmod(count, 3)
            if step == 2:
                plan[count] = answer(said(f"That was turn {turn}."), id=f"m{count}")
            else:
                calls = [use(f"t{count}_{n}", item=item) for n, item in enumerate(("apple", "plum"))]
                program = use(f"t{count}_p", "run_code", code=PROGRAM, description="sum")
                near = use(f"t{count}_d", "deliver", to="near")
                plan[count] = answer(
                    thought(f"{count}", f"sig{count}"), redacted(), *calls, program, near, id=f"m{count}"
                )
        data = stream_bytes(events(plan[count]))
        cut = chance.randrange(len(data)) if chance.random() < 0.2 else None
        return Play(data, cut=cut, size=512)

    messages = [f"question {n}" for n in range(2)]
    async with recorded(choose) as server:
        lives = 0
        while lives < 2:
            lives += 1
            command = [sys.executable, "-m", "tests.agent.worker", server.url, path, *messages]
            process = await trio.lowlevel.open_process(command, cwd=PROJECT, stdout=subprocess.PIPE)
            assert process.stdout is not None
            heard = b""
            while b"ready" not in heard:
                heard += await process.stdout.receive_some()
            with trio.move_on_after(chance.uniform(0.0, 0.4)):
                await process.wait()
            process.kill()
            await process.wait()
            await process.stdout.aclose()
        told = await life(server, path, *messages)
        requests = server.requests
    assert set(json.loads(told[-1])["reasons"]) <= {"completed"}
    log = read(path)
    pairs(log)
    answers = [plan[count]["content"] for count in range(len(plan))]
    assert json.dumps(committed(log)) == json.dumps(answers[: len(committed(log))])
    for body in requests:
        count = sum(message["role"] == "assistant" for message in body["messages"])
        assert problems(body["messages"], answers[:count]) == []
    spoken = [event.data["message"]["content"][0]["text"] for event in log if event.type == "user/message"]
    assert spoken == messages
