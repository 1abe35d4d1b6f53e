"""When calls start and end: in order, overlapping up to the cap, exclusive ones alone."""

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from codemode.tools.scheduler import Scheduler


class Recorder:
    """What happened, in order, and how many jobs were under way at each moment."""

    def __init__(self):
        self.events = []
        self.active = set()
        self.overlaps = []


class FakeJob:
    def __init__(self, recorder, name, overlaps, seconds=1.0, prepare_seconds=0.0):
        self.recorder = recorder
        self.name = name
        self.overlaps = overlaps
        self.seconds = seconds
        self.prepare_seconds = prepare_seconds
        self.scope = trio.CancelScope()

    def may_overlap(self):
        return self.overlaps

    def stop(self):
        self.scope.cancel()

    async def prepare(self):
        self.recorder.events.append(f"prepare {self.name}")
        self.recorder.active.add(self)
        if self.prepare_seconds:
            await trio.sleep(self.prepare_seconds)
            self.recorder.events.append(f"prepared {self.name}")

    async def complete(self, turn):
        with self.scope:
            for other in self.recorder.active:
                if other is not self:
                    self.recorder.overlaps.append((self, other))
            await trio.sleep(self.seconds)
            async with turn:
                self.recorder.events.append(f"end {self.name}")
        if self.scope.cancelled_caught:
            self.recorder.events.append(f"stopped {self.name}")
        self.recorder.active.discard(self)


async def run(jobs, cap=10, settle=100.0):
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, cap)
        for job in jobs:
            assert scheduler.submit(job)
        await trio.sleep(settle)
        scheduler.close()


async def test_exclusive_jobs_run_one_after_another(autojump_clock):
    recorder = Recorder()
    await run([FakeJob(recorder, name, False) for name in "abc"])
    assert recorder.events == ["prepare a", "end a", "prepare b", "end b", "prepare c", "end c"]


async def test_parallel_jobs_overlap_and_end_when_they_are_ready(autojump_clock):
    recorder = Recorder()
    await run([FakeJob(recorder, "slow", True, 5), FakeJob(recorder, "quick", True, 1)])
    assert recorder.events == ["prepare slow", "prepare quick", "end quick", "end slow"]


async def test_an_exclusive_job_runs_alone_between_parallel_ones(autojump_clock):
    recorder = Recorder()
    jobs = [FakeJob(recorder, name, name != "X") for name in ("a", "b", "X", "c")]
    await run(jobs)
    assert recorder.events[:2] == ["prepare a", "prepare b"]
    assert sorted(recorder.events[2:4]) == ["end a", "end b"]
    assert recorder.events[4:] == ["prepare X", "end X", "prepare c", "end c"]
    exclusive = jobs[2]
    assert not any(exclusive in pair for pair in recorder.overlaps)


async def test_no_more_than_the_cap_overlap(autojump_clock):
    recorder = Recorder()
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, 3)
        for index in range(9):
            scheduler.submit(FakeJob(recorder, index, True, 1.0))
        await trio.sleep(0.5)
        assert len(recorder.active) == 3
        while len(recorder.events) < 18:
            await trio.sleep(0.1)
        scheduler.close()
    assert trio.current_time() - start == pytest.approx(3.0, abs=0.15)


async def test_preparing_never_overlaps(autojump_clock):
    recorder = Recorder()
    await run([FakeJob(recorder, name, True, 5, prepare_seconds=1) for name in "abc"])
    assert recorder.events[:6] == [
        "prepare a",
        "prepared a",
        "prepare b",
        "prepared b",
        "prepare c",
        "prepared c",
    ]


async def test_closing_stops_what_runs_and_forgets_what_waits(autojump_clock):
    recorder = Recorder()
    jobs = [FakeJob(recorder, name, False, 50) for name in "ab"]
    start = trio.current_time()
    await run(jobs, settle=2)
    assert recorder.events == ["prepare a", "stopped a"]
    assert trio.current_time() - start == pytest.approx(2)


async def test_nothing_can_be_submitted_after_closing(autojump_clock):
    recorder = Recorder()
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, 2)
        scheduler.close()
        assert scheduler.submit(FakeJob(recorder, "late", True)) is False
    assert recorder.events == []


async def test_a_withdrawn_job_never_starts_or_is_stopped(autojump_clock):
    recorder = Recorder()
    running, waiting, last = (FakeJob(recorder, name, False, 5) for name in ("running", "waiting", "last"))
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, 2)
        for job in (running, waiting, last):
            scheduler.submit(job)
        await trio.sleep(1)
        scheduler.withdraw(waiting)
        scheduler.withdraw(running)
        await trio.sleep(20)
        scheduler.close()
    assert recorder.events == ["prepare running", "stopped running", "prepare last", "end last"]


@pytest.mark.parametrize("cap", [0, -1, True, 1.5, None])
async def test_a_cap_is_a_positive_integer(cap):
    async with trio.open_nursery() as nursery:
        with pytest.raises(ValueError, match="must be a positive integer"):
            Scheduler(nursery, cap)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=12), st.integers(1, 4))
def test_every_job_starts_in_order_and_ends_once_whatever_the_mix(shape, cap):
    recorder = Recorder()
    jobs = [FakeJob(recorder, index, overlaps, seconds) for index, (overlaps, seconds) in enumerate(shape)]
    trio.run(run, jobs, cap, clock=trio.testing.MockClock(autojump_threshold=0))
    starts = [event for event in recorder.events if event.startswith("prepare")]
    assert starts == [f"prepare {index}" for index in range(len(jobs))]
    assert sorted(e for e in recorder.events if e.startswith("end")) == sorted(
        f"end {i}" for i in range(len(jobs))
    )
    assert all(left.overlaps and right.overlaps for left, right in recorder.overlaps)
