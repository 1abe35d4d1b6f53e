"""Runs payloads one after another, each in a guest of its own, and looks around after each."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter

import trio

from codemode.sandbox import CallRequest, Limits, LocalSandbox, RunOutcome
from tests.escapes.arrangements import Standing, zygotes
from tests.escapes.left_behind import Witness, adopt_orphans, places, reap_orphans
from tests.escapes.payload import Payload
from tests.escapes.verdict import Verdict, how_it_ended, judge
from tests.sandbox.support import ECHO, descendants, eventually

__all__ = ["LIMITS", "run_all"]

LIMITS = Limits(cpu_seconds=1.0, wall_seconds=2.5, memory_bytes=256 * 1024 * 1024)

_SPARES = 1
_AFTERWARDS = "result = 1 + 1"


class Echo:
    """Answers each call with the argument that it was given."""

    def log(self, text: str) -> None:
        pass

    def call(self, request: CallRequest) -> None:
        request.answer(request.arguments.get("x"))

    def cancel(self, id: int) -> None:
        pass


async def run_all(payloads: list[Payload], standing: Standing) -> int:
    """Run them, print what became of them, and return the exit code."""
    started = time.monotonic()
    reaper = adopt_orphans()
    counts: Counter[Verdict] = Counter()
    troubles = 0
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        await trio.to_thread.run_sync(int)  # trio keeps a thread for later; let it be there before
        outside, looked_at = Witness(), ", ".join(places().values())
        for mode in ("code", "raw"):
            chosen = [payload for payload in payloads if payload.mode == mode]
            runnable = [p for p in chosen if p.applies and not (mode == "raw" and standing == "language")]
            for payload in chosen:
                if payload not in runnable:
                    why = (
                        "this Python is too old" if not payload.applies else "there is no language wall in it"
                    )
                    _print(payload, why, Verdict.NOT_APPLICABLE)
                    counts[Verdict.NOT_APPLICABLE] += 1
            if runnable:
                troubles += await _run_mode(runnable, standing, mode, counts)
        reap_orphans()  # the last spares, which end with their zygote
        for what in await outside.left():
            print(f"LEFT BEHIND at the end: {what}")
            troubles += 1
        os.chdir("/")
    ran = sum(counts.values()) - counts[Verdict.NOT_APPLICABLE]
    print(
        f"\n{ran} payloads, {_WALLS[standing]}: {counts[Verdict.CONTAINED]} contained, "
        f"{counts[Verdict.ESCAPED]} escaped, {counts[Verdict.PERMITTED]} got past a wall that need not stop them "
        f"alone; {counts[Verdict.NOT_APPLICABLE]} not applicable. {time.monotonic() - started:.0f} s"
    )
    print(
        f"after each: next run, descriptors, processes{'' if reaper else ' (orphans could not be looked for)'}, "
        f"files in {looked_at} (not in {tempfile.gettempdir()}: others write there): "
        f"{f'{troubles} TROUBLES' if troubles else 'nothing was left behind'}"
    )
    return 0 if not counts[Verdict.ESCAPED] and not troubles else 1


_WALLS = {"both": "both walls", "language": "the language wall alone", "process": "the process wall alone"}


async def _run_mode(payloads: list[Payload], standing: Standing, mode: str, counts: Counter[Verdict]) -> int:
    troubles = 0
    with zygotes(standing, mode):
        async with LocalSandbox(LIMITS, spares=_SPARES, max_spares=_SPARES) as sandbox:
            await _settled()
            witness = Witness()
            for payload in payloads:
                outcome, trouble = await _run(sandbox, payload)
                trouble += await witness.left()
                verdict = judge(payload, standing, outcome, LIMITS)
                counts[verdict] += 1
                troubles += len(trouble)
                _print(payload, how_it_ended(outcome), verdict, trouble)
    return troubles


async def _settled() -> bool:
    """Wait until the number of processes below this one has stayed the same for a while."""
    count, since = -1, time.monotonic()

    def calm() -> bool:
        nonlocal count, since
        now = len(descendants())
        if now != count:
            count, since = now, time.monotonic()
        return time.monotonic() - since > 0.2

    return await eventually(calm)


async def _run(sandbox: LocalSandbox, payload: Payload) -> tuple[RunOutcome, list[str]]:
    trouble = []
    try:
        outcome = await sandbox.run(payload.source, [ECHO], Echo())
    except Exception as error:
        outcome = RunOutcome(kind="worker-exit", message=f"THE HOST FAILED: {type(error).__name__}: {error}")
        trouble.append("the host failed")
    after = await sandbox.run(_AFTERWARDS, [ECHO], Echo())
    if after.result != 2:
        trouble.append(f"the next run failed: {after.kind} {after.message}")
    return outcome, trouble


def _print(payload: Payload, end: str, verdict: Verdict, trouble: list[str] | None = None) -> None:
    said = "; ".join([verdict.value, *(f"LEFT BEHIND: {each}" for each in trouble or ())])
    shown = end if len(end) <= 76 else end[:75] + "…"
    print(f"{payload.name:36} {payload.mode:4} {shown:76} {said}", flush=True)
