"""A task as a model has it: many calls made one by one, turn by turn, or by one program. What it costs in context.

The task: look up some customers by number, and say how many are active and what they owe together. Call by call, the
model asks for one customer a turn and sees each answer; as one program it writes the program and sees the end of it.
No model takes part: what a model would have to write and read is built, block by block, in the form of the Anthropic
Messages API, and counted in bytes. What it would think and say beside that is the same or less for the program.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, TypedDict

from msgspec import Struct

from benchmarks.bench import Bench
from benchmarks.records import Curve, Grid, Row
from codemode import CodeMode, as_json, tool
from codemode.content import text_of

__all__ = ["PLOT_BYTES", "PLOT_SECONDS", "Transcript", "call_by_call", "measure", "one_program"]

SIZES = (1, 10, 100, 1_000)
PLOT_BYTES = "context"
PLOT_SECONDS = "calls"


class Customer(TypedDict):
    id: int
    name: str
    email: str
    city: str
    active: bool
    owes: float
    notes: str


class Answer(TypedDict):
    active: int
    owes: float


@tool(render=as_json)
async def customer(id: int) -> Customer:
    """Look up one customer by number."""
    return {
        "id": id,
        "name": f"Customer {id}",
        "email": f"customer{id}@example.org",
        "city": ("Bergen", "Porto", "Ghent")[id % 3],
        "active": id % 2 == 0,
        "owes": id % 50 / 4,
        "notes": "Prefers to be written to. Asked twice for the new price list.",
    }


def program(count: int) -> str:
    """Return the program that a model would write for the task."""
    return (
        "active, owes = 0, 0.0\n"
        f"for id in range(1, {count + 1}):\n"
        "    customer = tools.customer(id=id)\n"
        '    if customer["active"]:\n'
        "        active += 1\n"
        '        owes += customer["owes"]\n'
        'return {"active": active, "owes": owes}'
    )


class Transcript:
    """What is in a model's context after its turns: the blocks that it wrote and those that it was answered with."""

    def __init__(self) -> None:
        self.content_bytes = 0
        self.envelope_bytes = 0
        self.read_bytes = 0
        self.turns = 0

    def turn(self, name: str, arguments: dict[str, Any], answered: str) -> None:
        """Add one turn: the model calls a tool and gets an answer. Before it writes it reads all that was before."""
        self.turns += 1
        self.read_bytes += self.content_bytes + self.envelope_bytes
        number = f"toolu_{self.turns:024}"
        asked = {"type": "tool_use", "id": number, "name": name, "input": arguments}
        result = {
            "type": "tool_result",
            "tool_use_id": number,
            "content": [{"type": "text", "text": answered}],
        }
        turn = [{"role": "assistant", "content": [asked]}, {"role": "user", "content": [result]}]
        whole = len(json.dumps(turn, ensure_ascii=False).encode())
        content = len(json.dumps(arguments, ensure_ascii=False).encode()) + len(answered.encode())
        self.content_bytes += content
        self.envelope_bytes += whole - content

    def end(self) -> None:
        """The model reads it all once more, to say what came out."""
        self.read_bytes += self.content_bytes + self.envelope_bytes


class Done(Struct, frozen=True, kw_only=True):
    """One way of doing the task, once: seconds of the engine, and what was in the context."""

    answer: Answer
    seconds: float
    turns: int
    content_bytes: int
    envelope_bytes: int
    read_bytes: int


async def call_by_call(cm: CodeMode, count: int) -> Done:
    """Do the task with one direct call a turn; the model adds up."""
    transcript = Transcript()
    active, owes, seconds = 0, 0.0, 0.0
    for id in range(1, count + 1):
        start = perf_counter()
        outcome = await cm.call("customer", {"id": id})
        shown = text_of(outcome.content)
        seconds += perf_counter() - start
        transcript.turn("customer", {"id": id}, shown)
        found = json.loads(shown)
        if found["active"]:
            active += 1
            owes += found["owes"]
    return _done({"active": active, "owes": owes}, seconds, transcript)


async def one_program(cm: CodeMode, count: int) -> Done:
    """Do the task with one program, in one turn."""
    transcript = Transcript()
    source = program(count)
    start = perf_counter()
    ran = await cm.run(source, "add up what active customers owe")
    seconds = perf_counter() - start
    transcript.turn("run_code", {"code": source, "description": "add up what active customers owe"}, ran.text)
    return _done(json.loads(ran.text), seconds, transcript)


def _done(answer: Answer, seconds: float, transcript: Transcript) -> Done:
    transcript.end()
    return Done(
        answer=answer,
        seconds=seconds,
        turns=transcript.turns,
        content_bytes=transcript.content_bytes,
        envelope_bytes=transcript.envelope_bytes,
        read_bytes=transcript.read_bytes,
    )


async def measure(bench: Bench) -> Row:
    sizes = SIZES if bench.scale >= 0.1 else SIZES[:2]
    ways: dict[str, Callable[[CodeMode, int], Awaitable[Done]]] = {
        "call by call": call_by_call,
        "one program": one_program,
    }
    found: dict[tuple[str, int], list[Done]] = {}
    async with CodeMode([customer], session=bench.new_file()) as cm:
        for size in sizes:
            for _ in range(bench.count(5 if size < 1_000 else 3, 1) + 1):  # the first does not count
                for name, way in ways.items():
                    found.setdefault((name, size), []).append(await way(cm, size))
    lines: list[tuple[str, list[float | str]]] = []
    for size in sizes:
        answers = {json.dumps(done.answer, sort_keys=True) for name in ways for done in found[name, size]}
        if len(answers) != 1:
            raise AssertionError(f"the two ways of {size} calls gave {sorted(answers)}")
        for name in ways:
            done = found[name, size][-1]
            lines.append(
                (
                    f"{size:,} call{'s' if size > 1 else ''}, {name}",
                    [
                        float(done.turns),
                        float(done.content_bytes),
                        float(done.envelope_bytes),
                        float(done.content_bytes + done.envelope_bytes),
                        float(done.read_bytes),
                        _seconds(found[name, size]) * 1000,
                    ],
                )
            )
    return Row(
        id="W",
        name="workload",
        title="One task of many calls, call by call and as one program",
        grids=[
            Grid(
                title="What enters a model's context, in bytes",
                columns=[
                    "task",
                    "turns",
                    "content",
                    "envelopes",
                    "context at the end",
                    "read over all turns",
                    "ms",
                ],
                lines=lines,
            )
        ],
        curves=[
            *(
                Curve(
                    plot=PLOT_BYTES,
                    name=f"{name}, {label}",
                    points=[(float(size), float(of(found[name, size][-1]))) for size in sizes],
                )
                for name in ways
                for label, of in (
                    ("in the context at the end", lambda done: done.content_bytes + done.envelope_bytes),
                    ("read over all turns", lambda done: done.read_bytes),
                )
            ),
            *(
                Curve(
                    plot=PLOT_SECONDS,
                    name=name,
                    points=[(float(size), _seconds(found[name, size])) for size in sizes],
                )
                for name in ways
            ),
        ],
        notes=[
            "Content is what the model writes as arguments and what a tool shows; the envelope is what the messages "
            "put around it. A model reads the whole context anew at every turn (a provider's cache makes that "
            "cheaper, not shorter). Milliseconds are the engine's alone: a model's own time for every turn, some "
            "seconds, comes on top. Descriptions of tools are the same in both ways and are not counted.",
        ],
    )


def _seconds(done: list[Done]) -> float:
    return statistics.median(each.seconds for each in done[1:] or done)
