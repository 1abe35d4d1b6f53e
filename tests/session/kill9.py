"""The host is killed at a random moment, again and again, over one session file; then the file is looked at.

Run it as `python -m tests.session.kill9 --kills 200 [--seed N]` from the project's root. A child process does
real work (direct calls, programs with nested calls, cancelled runs, trims) and says over a pipe what it was
told is durable; the parent kills it with SIGKILL, also while it opens the file, and checks after each kill:

    the file opens; nothing that was reported durable is missing or different
    no pair was parted by a trim; a body that ran had its start logged before, if the engine promises that
    recovery gives every start exactly one end, inside what it belongs to, marks what it added, and does so once
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from codemode import Call, CodeMode, Event, Hooks, Session, as_json, as_text, text, tool
from codemode.content import content_from_json, text_of
from codemode.errors import SessionError
from codemode.session import export_lines
from codemode.session.pairs import KEYS
from codemode.session.replay import replay
from codemode.session.shown import render

PROJECT = Path(__file__).parents[2]

ENDS = {
    "turn/start": "turn/end",
    "tool/call": "tool/result",
    "run/start": "run/end",
    "tool/code-dispatch-start": "tool/code-dispatch",
}

# ----------------------------------------------------------------------------------------- the child


def report_body(call: Call) -> None:
    """Say that a body runs; `work` puts something in its place that does."""


@tool(render=as_text)
async def echo(said: str, call: Call, seconds: float = 0.0) -> str:
    """Return what was said, after a while."""
    report_body(call)
    await trio.sleep(seconds)
    return said


@tool(render=as_json, parallel=True)
async def square(n: int, call: Call) -> int:
    """Return a square, or fail for a negative number."""
    report_body(call)
    await trio.sleep(0.001)
    if n < 0:
        raise ValueError(f"{n} is negative")
    return n * n


@tool(
    render=lambda arguments, value: [text("x" * value)],
    presentation_meta=lambda arguments, value: {"n": value},
)
def large(size: int, call: Call) -> int:
    """Show many characters."""
    report_body(call)
    return size


PROGRAMS = (
    "import asyncio\nprint(await asyncio.gather(*[tools.square(n=n) for n in range(12)]))",
    "for n in range(5):\n    print(tools.echo(said=str(n), seconds=0.008))\nreturn tools.large(size=20_000)",
    "try:\n    tools.square(n=-1)\nexcept ToolCallError as error:\n    print(error)\nreturn 1/0",
    "import asyncio\nawait asyncio.gather(tools.echo(said='slow', seconds=5), tools.square(n=2))",
    "return 'no calls'",
)


class Reports:
    """Says what is durable, one line at a time, whole or not at all."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.results: dict[str, Event] = {}

    def say(self, *words: object) -> None:
        os.write(self._fd, (" ".join(map(str, words)) + "\n").encode())

    def watch(self, event: Event) -> None:
        if event.type == "tool/result":
            self.results[event.data["callId"]] = event

    def durable(self, session: Session) -> None:
        self.say("durable", session.committed)
        for call_id, event in self.results.items():
            if event.seq < session.committed:
                self.say("done", call_id, event.seq, digest(event))
        self.results = {k: e for k, e in self.results.items() if e.seq >= session.committed}


def digest(event: Event) -> str:
    shown = text_of(content_from_json(event.data["content"]))
    return hashlib.sha256(shown.encode()).hexdigest()


async def work(path: str, seed: int, fd: int) -> None:
    """Do random work until killed."""
    chance = random.Random(seed)
    reports = Reports(fd)

    def say_body(call: Call) -> None:
        if call.is_direct:
            reports.say("body", call.id)

    global report_body
    report_body = say_body

    async def ponder(call: Call) -> None:
        if call.is_direct:  # a moment between the call and its start, as when somebody is asked
            await trio.sleep(chance.random() * 0.015)

    hooks = Hooks(pre_execute=(ponder,))
    async with CodeMode([echo, square, large], session=path, hooks=hooks) as cm:
        cm.session.observe(reports.watch)
        reports.say("open", cm.session.next_seq, len(cm.session.recovered))
        while True:
            await one_piece(cm, chance)
            reports.durable(cm.session)


async def one_piece(cm: CodeMode, chance: random.Random) -> None:
    kind = chance.choice(["direct", "together", "turn", "program", "program", "beside", "cancelled", "trim"])
    if kind == "direct":
        await cm.call(*chance.choice(DIRECT))
    elif kind == "together":
        async with trio.open_nursery() as nursery:
            for name, arguments in DIRECT:
                nursery.start_soon(cm.call, name, arguments)
    elif kind == "turn":
        n = cm.session.next_seq
        cm.session.append("turn/start", {"turn": n})
        cm.session.append("user/message", {"message": {"role": "user", "content": "go"}, "turn": n})
        await cm.session.commit()
        await cm.run(PROGRAMS[0])
        cm.session.append("turn/end", {"turn": n, "reason": "completed"})
        await cm.session.commit()
    elif kind == "beside":  # so that commits fall into the middle of a run
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cm.run, PROGRAMS[1])
            for call in DIRECT * 3:
                await cm.call(*call)
    elif kind == "program":
        await cm.run(PROGRAMS[chance.choice([0, 1, 2, 4])])
    elif kind == "cancelled":
        with trio.move_on_after(chance.random() * 0.08):
            await cm.run(PROGRAMS[3])
    else:
        await cm.session.trim(max_bytes=60_000)


DIRECT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("echo", {"said": "hello", "seconds": 0.004}),
    ("square", {"n": 3}),
    ("square", {"n": -3}),
    ("large", {"size": 5_000}),
    ("nothing_like_it", {}),
)

# ---------------------------------------------------------------------------------------- the parent


@dataclass
class Report:
    """What all the kills together came to."""

    kills: int = 0
    while_opening: int = 0
    durable_events: int = 0
    done_calls: int = 0
    bodies: int = 0
    events: int = 0
    trimmed: int = 0
    with_recovery: int = 0
    recovered: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[str]:
        """Yield the report as lines of text."""
        yield f"{self.kills} kills, {self.while_opening} of them before the file was open"
        yield f"{self.events} events were in the file in the end or dropped by a trim ({self.trimmed})"
        yield f"{self.durable_events} events and {self.done_calls} results of calls reported durable: all there"
        yield f"{self.bodies} bodies reported as running"
        yield f"{self.with_recovery} openings had something to close: {dict(sorted(self.recovered.items()))}"
        yield f"direct calls were closed as {dict(sorted(self.codes.items()))}"


def kill_often(path: Path, kills: int, seed: int) -> Report:
    """Kill a working host `kills` times; raise `AssertionError` at the first promise that was not kept."""
    chance = random.Random(seed)
    report = Report()
    for number in range(kills):
        said = work_and_kill(path, seed=seed * 10_000 + number, chance=chance)
        report.kills += 1
        if not any(words[0] == "open" for words in said):
            report.while_opening += 1
        try:
            if is_session(path, said):
                trio.run(check, path, said, report)
        except AssertionError as error:
            raise AssertionError(f"after kill {number} of seed {seed}: {error}") from error
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return report


def work_and_kill(path: Path, seed: int, chance: random.Random) -> list[list[str]]:
    """Start a host, kill it at a random moment, and return what it had said, as lists of words."""
    reading, writing = os.pipe()
    with open(reading, "rb") as pipe:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.session.kill9", "--child", str(path), str(seed), str(writing)],
            cwd=PROJECT,
            pass_fds=[writing],
            stdin=subprocess.DEVNULL,
        )
        os.close(writing)
        heard = b""
        if chance.random() < 0.85:  # else it is killed while it starts, or opens the file and recovers it
            heard = pipe.readline()
            time.sleep(chance.random() ** 2 * 0.6)
        else:
            time.sleep(chance.random() * 0.9)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, f"the host had ended by itself: {process.returncode}"
        heard += pipe.read()
    whole = heard.decode().rpartition("\n")[0]
    return [line.split() for line in whole.splitlines()]


async def check(path: Path, said: list[list[str]], report: Report) -> None:
    """Raise `AssertionError` unless the session keeps what was promised; recovers it."""
    with Session.read(path) as log:
        first, before = log.first_seq, list(log.events())
    check_reports({event.seq: event for event in before}, first, said, report)
    async with Session.open(path) as session:
        added = list(session.recovered)
        events = list(session.events())
    assert events == [*before, *added], "recovery changed what was there"
    check_pairs(events)
    check_marks(before, added)
    async with Session.open(path) as session:
        assert session.recovered == (), "a second recovery found something to do"
        assert list(session.events()) == events
    shown = [line.text for entry in replay(events) for line in render(entry)]
    assert not any("unfinished" in line for line in shown), "something recovered is shown as unfinished"
    assert len(list(export_lines(events))) == len(events) + 1
    report.with_recovery += bool(added)
    report.recovered.update(event.type for event in added)
    report.codes.update(event.data["error"]["code"] for event in added if event.type == "tool/result")
    report.events = first + len(events)
    report.trimmed = first


def is_session(path: Path, said: list[list[str]]) -> bool:
    """Tell whether the file is a session yet; if not, nothing can have been reported."""
    if not path.exists():
        problem = "does not exist"
    else:
        try:
            Session.read(path).close()
            return True
        except SessionError as error:
            problem = str(error)
    if not said and problem.endswith(("does not exist", "it has not become a session yet")):
        return False
    raise AssertionError(f"after {said[-1:]}: {problem}")


def check_reports(events: dict[int, Event], first: int, said: list[list[str]], report: Report) -> None:
    next_seq = max(events, default=first - 1) + 1
    assert sorted(events) == list(range(first, next_seq))
    started = {event.data["callId"] for event in events.values() if event.type == "tool/start"}
    results = {event.data["callId"] for event in events.values() if event.type == "tool/result"}
    dropped = set()
    opened = 0
    for what, *words in said:
        if what == "open":
            opened = int(words[0])
            assert next_seq >= opened, f"{opened} events were there on opening; {next_seq} are now"
        elif what == "durable":
            assert next_seq >= int(words[0]), f"event {words[0]} was durable; {next_seq} are there"
            report.durable_events += max(0, int(words[0]) - opened)
            opened = max(opened, int(words[0]))
        elif what == "done":
            call_id, seq, digest_then = words[0], int(words[1]), words[2]
            report.done_calls += 1
            if seq < first:
                dropped.add(call_id)
                continue
            event = events[seq]
            assert (event.type, event.data["callId"]) == ("tool/result", call_id), f"event {seq} is another"
            assert digest(event) == digest_then, f"event {seq} shows something else"
    if any(event.data.get("startLogged") for event in events.values()):
        for what, *words in said:
            if what == "body" and words[0] not in dropped:
                report.bodies += 1
                assert words[0] in started or first, f"{words[0]} ran, and its start is not in the log"
                assert words[0] in started or words[0] not in results, f"{words[0]} has half of its events"


def check_pairs(events: list[Event]) -> None:
    begun: Counter[Any] = Counter()
    ended: Counter[Any] = Counter()
    for event in events:
        key = event.data.get(KEYS.get(event.type, ""))
        if event.type in ENDS:
            begun[ENDS[event.type], key] += 1
        elif event.type in ENDS.values():
            ended[event.type, key] += 1
            assert begun[event.type, key] == ended[event.type, key], (
                f"event {event.seq} ends what is not begun"
            )
        if event.type.startswith("tool/code-dispatch"):
            run = ("run/end", event.data["rootCallId"])
            assert begun[run] == 1, f"event {event.seq} stands before its run"
            assert ended[run] == 0, f"event {event.seq} stands after its run"
    assert begun == ended, f"without exactly one end: {begun - ended}"
    assert set(begun.values()) <= {1}


def check_marks(before: list[Event], added: list[Event]) -> None:
    if not added:
        return
    assert added[-1].type == "session/recovered"
    assert added[-1].data == {"closed": len(added) - 1}
    assert all(event.data["recovered"] is True for event in added[:-1])
    assert {event.time for event in added} == {before[-1].time}


def main() -> int:
    """Be the child, or kill children and report."""
    if sys.argv[1:2] == ["--child"]:
        with suppress(BrokenPipeError):
            trio.run(work, sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return 0
    parser = argparse.ArgumentParser(prog="python -m tests.session.kill9", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        report = kill_often(Path(directory, "a.session"), options.kills, options.seed)
        print(*report.lines(), f"{time.monotonic() - began:.0f} s", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
