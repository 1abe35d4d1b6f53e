"""What somebody who waits for a run is told of its calls."""

import trio

from codemode import CodeMode, Hooks, Limits, as_json, tool
from codemode.tools import pipeline
from codemode.tools.tally import Tally


@tool(render=as_json)
async def hang() -> int:
    """Take forever."""
    await trio.sleep_forever()
    return 1


async def test_a_call_whose_end_nobody_was_told_of_is_no_longer_running(monkeypatch):
    monkeypatch.setattr(pipeline, "_SETTLE_SECONDS", 0.05)

    async def finalize(call, outcome):
        if not call.is_direct:
            await trio.sleep_forever()

    shown = []
    tally = Tally()
    watching = Hooks(guards=(lambda call: shown.append(str(tally)),))
    async with CodeMode(
        [hang],
        hooks=tally.hooks | watching | Hooks(finalize_content=(finalize,)),
        limits=Limits(wall_seconds=0.5),
    ) as cm:
        assert (await cm.run("tools.hang()")).error.kind == "timeout"
        shown.append(str(tally))
    assert shown == ["0 calls", "0 calls, hang running for 0 s", "1 call, hang failed"]
