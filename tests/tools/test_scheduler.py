"""When calls start and end: in order, overlapping up to the cap, exclusive ones alone."""

import contextvars

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
    def __init__(self, recorder, name, overlaps, seconds=1.0, decide_seconds=0.0, asks=False):
        self.recorder = recorder
        self.name = name
        self.overlaps = overlaps
        self.seconds = seconds
        self.decide_seconds = decide_seconds
        self.will_ask = asks
        self.asks = False
        self.scope = trio.CancelScope()

    is_undecided = True
    starts_at_once = False

    def may_overlap(self):
        return self.overlaps

    def stop(self):
        self.scope.cancel()

    async def decide(self):
        self.recorder.events.append(f"decide {self.name}")
        with self.scope:
            if self.decide_seconds:
                await trio.sleep(self.decide_seconds)
                self.recorder.events.append(f"decided {self.name}")
        self.asks = self.will_ask
        self.scope = trio.CancelScope()

    async def start(self):
        self.recorder.events.append(f"start {self.name}")
        self.recorder.active.add(self)
        await trio.sleep(0)

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


async def allow(jobs):
    for job in jobs:
        job.asks = False


async def run(jobs, cap=10, settle=100.0, answer=allow):
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, cap, answer)
        for job in jobs:
            assert scheduler.submit(job)
        await trio.sleep(settle)
        scheduler.close()


def seen(recorder):
    """Starts and ends, without the decisions before them."""
    return [event for event in recorder.events if not event.startswith("decide")]


async def test_exclusive_jobs_run_one_after_another(autojump_clock):
    recorder = Recorder()
    await run([FakeJob(recorder, name, False) for name in "abc"])
    assert seen(recorder) == ["start a", "end a", "start b", "end b", "start c", "end c"]


async def test_parallel_jobs_overlap_and_end_when_they_are_ready(autojump_clock):
    recorder = Recorder()
    await run([FakeJob(recorder, "slow", True, 5), FakeJob(recorder, "quick", True, 1)])
    assert seen(recorder) == ["start slow", "start quick", "end quick", "end slow"]


async def test_an_exclusive_job_runs_alone_between_parallel_ones(autojump_clock):
    recorder = Recorder()
    jobs = [FakeJob(recorder, name, name != "X") for name in ("a", "b", "X", "c")]
    await run(jobs)
    assert seen(recorder)[:2] == ["start a", "start b"]
    assert sorted(seen(recorder)[2:4]) == ["end a", "end b"]
    assert seen(recorder)[4:] == ["start X", "end X", "start c", "end c"]
    exclusive = jobs[2]
    assert not any(exclusive in pair for pair in recorder.overlaps)


async def test_no_more_than_the_cap_overlap(autojump_clock):
    recorder = Recorder()
    start = trio.current_time()
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, 3, allow)
        for index in range(9):
            scheduler.submit(FakeJob(recorder, index, True, 1.0))
        await trio.sleep(0.5)
        assert len(recorder.active) == 3
        while len(recorder.events) < 27:
            await trio.sleep(0.1)
        scheduler.close()
    assert trio.current_time() - start == pytest.approx(3.0, abs=0.15)


async def test_deciding_never_overlaps(autojump_clock):
    recorder = Recorder()
    await run([FakeJob(recorder, name, True, 5, decide_seconds=1) for name in "abc"])
    assert recorder.events[:6] == ["decide a", "decided a", "start a", "decide b", "decided b", "start b"]


async def test_closing_stops_what_runs_and_forgets_what_waits(autojump_clock):
    recorder = Recorder()
    jobs = [FakeJob(recorder, name, False, 50) for name in "ab"]
    start = trio.current_time()
    await run(jobs, settle=2)
    assert seen(recorder) == ["start a", "stopped a"]
    assert trio.current_time() - start == pytest.approx(2)


async def test_a_job_that_does_not_stop_is_named_and_left(autojump_clock):
    class Stubborn(FakeJob):
        def stop(self):
            pass

    recorder = Recorder()
    stubborn, quick = Stubborn(recorder, "stubborn", True, 100), FakeJob(recorder, "quick", True, 100)
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, 5, allow)
        scheduler.submit(stubborn)
        scheduler.submit(quick)
        await trio.sleep(1)
        scheduler.close()
        start = trio.current_time()
        assert await scheduler.ended(5) == [stubborn]
        assert trio.current_time() - start == pytest.approx(5)
    assert seen(recorder) == ["start stubborn", "start quick", "stopped quick", "end stubborn"]


async def test_a_closed_scheduler_without_jobs_has_ended(autojump_clock):
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, 5, allow)
        scheduler.close()
        assert await scheduler.ended(0.1) == []
        idle = Scheduler(nursery, 5, allow)
        idle.submit(FakeJob(Recorder(), "a", False, 0))
        await trio.sleep(1)
        idle.close()
        start = trio.current_time()
        assert await idle.ended(5) == []
        assert trio.current_time() == start


async def test_what_a_job_raises_ends_the_others_and_is_raised_at_the_end(autojump_clock):
    class Broken(FakeJob):
        async def complete(self, turn):
            raise LookupError("broken")

    recorder = Recorder()
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, 5, allow)
        for job in (FakeJob(recorder, "other", True, 50), Broken(recorder, "broken", True)):
            scheduler.submit(job)
        await trio.sleep(1)
        with pytest.raises(LookupError, match="broken"):
            await scheduler.ended(5)
    assert seen(recorder) == ["start other", "start broken", "stopped other"]


async def test_asks_that_wait_together_are_answered_together_before_the_first_of_them_starts(autojump_clock):
    recorder = Recorder()
    batches = []

    async def answer(jobs):
        batches.append([job.name for job in jobs])
        recorder.events.append("answered")
        await trio.sleep(3)
        await allow(jobs)

    jobs = [FakeJob(recorder, name, False, 1, asks=name in "bcd") for name in "abcde"]
    await run(jobs, answer=answer)
    assert batches == [["b", "c", "d"]]
    assert seen(recorder) == ["start a", "end a", "answered"] + [
        f"{w} {n}" for n in "bcde" for w in ("start", "end")
    ]


async def test_closing_ends_a_question(autojump_clock):
    recorder = Recorder()

    async def never(jobs):
        await trio.sleep_forever()

    start = trio.current_time()
    await run([FakeJob(recorder, "a", False, asks=True)], settle=2, answer=never)
    assert trio.current_time() - start == pytest.approx(2)
    assert seen(recorder) == []


async def test_nothing_can_be_submitted_after_closing(autojump_clock):
    recorder = Recorder()
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, 2, allow)
        scheduler.close()
        assert scheduler.submit(FakeJob(recorder, "late", True)) is False
    assert recorder.events == []


async def test_a_withdrawn_job_never_starts_or_is_stopped(autojump_clock):
    recorder = Recorder()
    running, waiting, last = (FakeJob(recorder, name, False, 5) for name in ("running", "waiting", "last"))
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, 2, allow)
        for job in (running, waiting, last):
            scheduler.submit(job)
        await trio.sleep(1)
        scheduler.withdraw(waiting)
        scheduler.withdraw(running)
        await trio.sleep(20)
        scheduler.close()
    assert seen(recorder) == ["start running", "stopped running", "start last", "end last"]


@pytest.mark.parametrize("cap", [0, -1, True, 1.5, None])
async def test_a_cap_is_a_positive_integer(cap):
    async with trio.open_nursery() as nursery:
        with pytest.raises(ValueError, match="must be a positive integer"):
            Scheduler(nursery, cap, allow)


class TwoPartJob(FakeJob):
    """A job whose body is over some time before it ends; with nothing to decide if it is `plain`."""

    def __init__(self, recorder, name, overlaps, seconds=1.0, settling=0.0, plain=True):
        super().__init__(recorder, name, overlaps, seconds)
        self.settling = settling
        self.starts_at_once = plain
        self.is_undecided = not plain
        self.scheduler = None

    def start_now(self):
        self.recorder.events.append(f"start {self.name}")
        self.recorder.active.add(self)

    async def complete(self, turn):
        with self.scope:
            for other in self.recorder.active:
                if other is not self:
                    self.recorder.overlaps.append((self, other))
            await trio.sleep(self.seconds)
            self.recorder.events.append(f"over {self.name}")
            await self.scheduler.make_room(self)
            await trio.sleep(self.settling)
            async with turn:
                self.recorder.events.append(f"end {self.name}")
        self.recorder.active.discard(self)


async def run_two_parts(jobs, cap, settle=100.0):
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, cap, allow)
        for job in jobs:
            job.scheduler = scheduler
            assert scheduler.submit(job)
        await trio.sleep(settle)
        scheduler.close()


@pytest.mark.parametrize("plain", [True, False])
async def test_a_body_that_is_over_makes_room_for_the_next(plain, autojump_clock):
    recorder = Recorder()
    jobs = [TwoPartJob(recorder, name, True, 1.0, 0.5, plain) for name in "abc"]
    await run_two_parts(jobs, cap=1)
    assert seen(recorder) == [
        "start a", "over a", "start b", "end a", "over b", "start c", "end b", "over c", "end c",
    ]  # fmt: skip


@pytest.mark.parametrize("plain", [True, False])
async def test_calls_that_only_have_to_end_are_not_heaped_up(plain, autojump_clock):
    recorder = Recorder()
    jobs = [TwoPartJob(recorder, index, True, 1.0, 10.0, plain) for index in range(9)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_two_parts, jobs, 2)
        for seconds, under_way in ((0.5, 2), (1.0, 4), (5.0, 4)):
            await trio.sleep(seconds)
            assert len(recorder.active) == under_way
    assert sorted(event for event in seen(recorder) if event.startswith("end")) == [
        f"end {i}" for i in range(9)
    ]


async def test_a_start_that_fails_fails_all_and_not_the_job_that_made_room(autojump_clock):
    recorder = Recorder()
    jobs = [TwoPartJob(recorder, index, True) for index in range(3)]

    def fail():
        raise LookupError("no log")

    jobs[2].start_now = fail
    failed = []
    async with trio.open_nursery() as nursery:
        scheduler = Scheduler(nursery, 1, allow, lambda: failed.append(trio.current_time()))
        for job in jobs:
            job.scheduler = scheduler
            scheduler.submit(job)
        start = trio.current_time()
        with pytest.raises(LookupError, match="no log"):
            await scheduler_failed(scheduler, failed)
        assert trio.current_time() - start == pytest.approx(2.0, abs=0.1)
    assert "start 1" in recorder.events


async def scheduler_failed(scheduler, failed):
    while not failed:
        await trio.sleep(0.05)
    await scheduler.ended(60)


async def test_a_job_sees_the_context_of_the_run_and_not_of_the_one_before_it(autojump_clock):
    seen, variable = [], contextvars.ContextVar("variable", default="the run's")

    class Setting(TwoPartJob):
        async def complete(self, turn):
            seen.append(variable.get())
            variable.set(self.name)
            await super().complete(turn)

    for plain in (True, False):
        await run_two_parts([Setting(Recorder(), index, True, 1.0, 0.5, plain) for index in range(5)], cap=2)
    assert seen == ["the run's"] * 10


async def test_an_exclusive_job_waits_for_the_ends_and_not_only_the_bodies(autojump_clock):
    recorder = Recorder()
    jobs = [
        TwoPartJob(recorder, "a", True, 1.0, 5.0),
        TwoPartJob(recorder, "X", False),
        TwoPartJob(recorder, "b", True),
    ]
    await run_two_parts(jobs, cap=4)
    assert seen(recorder) == [
        "start a", "over a", "end a", "start X", "over X", "end X", "start b", "over b", "end b",
    ]  # fmt: skip


@given(
    st.lists(st.tuples(*[st.booleans()] * 3, st.integers(0, 3), st.integers(0, 2)), max_size=12),
    st.integers(1, 4),
)
def test_every_job_starts_in_order_and_ends_once_whatever_the_mix(shape, cap):
    recorder = Recorder()
    jobs = [
        TwoPartJob(recorder, index, overlaps, seconds, settling, plain)
        if two_parts
        else FakeJob(recorder, index, overlaps, seconds)
        for index, (overlaps, two_parts, plain, seconds, settling) in enumerate(shape)
    ]
    trio.run(run_two_parts, jobs, cap, clock=trio.testing.MockClock(autojump_threshold=0))
    starts = [event for event in recorder.events if event.startswith("start")]
    assert starts == [f"start {index}" for index in range(len(jobs))]
    assert sorted(e for e in recorder.events if e.startswith("end")) == sorted(
        f"end {i}" for i in range(len(jobs))
    )
    assert all(left.overlaps and right.overlaps for left, right in recorder.overlaps)
