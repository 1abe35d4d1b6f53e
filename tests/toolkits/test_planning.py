from __future__ import annotations

import pytest

from codemode import Allow, CodeMode, Hooks, Session, as_json, tool
from codemode.toolkits import PlanMode, Reply
from tests.toolkits.calling import failure, from_program, shown, value

PLAN = "# Move the tests\n\n1. read\n2. write"
APPROVED = Reply(("Approve",))


def asking(*replies):
    waiting = list(replies)

    async def asker(questions):
        asker.asked.append(questions)
        return [waiting.pop(0)]

    asker.asked = []
    return asker


@tool(render=as_json, read_only=True)
async def look() -> str:
    return "seen"


@tool(render=as_json, approval="it deletes")
async def remove() -> str:
    return "gone"


@tool(render=as_json, parallel=True)
async def overlaps() -> str:
    """May overlap, which says nothing about what it changes."""
    return "done"


def engine(mode, **options):
    return CodeMode([look, remove, overlaps, *mode.tools], hooks=mode.hooks, **options)


def modes(session):
    return [event.data["active"] for event in session.events() if event.type == "plan/mode"]


async def test_only_what_declares_to_change_nothing_passes_until_the_plan_is_approved():
    mode = PlanMode(asking(APPROVED))
    asked = []

    def approver(requests):
        asked.append(requests)
        return "allow-once"

    async with engine(mode, approver=approver) as cm:
        mode.enter(cm.session)
        mode.enter(cm.session)
        assert await value(cm, "look") == await from_program(cm, "look") == "seen"
        for name in ("remove", "overlaps"):
            error = await failure(cm, name)
            assert error.code == "DENIED"
            assert error.message.startswith(f"plan mode: {name!r} may change things")
        assert asked == []  # nobody is asked to approve what can only fail
        outcome = await cm.call("exit_plan_mode", {"plan": PLAN})
        assert outcome.value == {"approved": True}
        assert outcome.meta == {"title": "Move the tests", "plan": PLAN}
        assert outcome.content[0].text == (
            "The user approved the plan. Plan mode is over: carry the plan out, from its first step on."
        )
        assert await value(cm, "remove") == "gone"
        assert modes(cm.session) == [True, False]


async def test_a_program_leaves_plan_mode_and_goes_on():
    mode = PlanMode(asking(APPROVED))
    async with engine(mode) as cm:
        mode.enter(cm.session)
        result = await cm.run(
            f"""
before = []
try:
    tools.overlaps()
except ToolCallError as error:
    before.append(error.code)
return [before, tools.exit_plan_mode(plan={PLAN!r}), tools.overlaps()]
"""
        )
        assert result.result == [["DENIED"], {"approved": True}, "done"]
        assert mode.is_active is False


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply(("Keep planning",)), "the user wants to keep planning"),
        (Reply(("Approve",), "but without step 2"), "they said: but without step 2"),
        (Reply(custom="smaller steps"), "they said: smaller steps"),
    ],
)
async def test_everything_but_plain_approval_keeps_the_mode(reply, says):
    mode = PlanMode(asking(reply))
    async with engine(mode) as cm:
        mode.enter(cm.session)
        error = await failure(cm, "exit_plan_mode", plan=PLAN)
        assert error.code == "PLAN_NOT_APPROVED"
        assert says in error.message
        assert (await failure(cm, "overlaps")).code == "DENIED"
        assert modes(cm.session) == [True]


async def test_errors_have_codes():
    mode = PlanMode(None)
    async with engine(mode) as cm:
        assert (await failure(cm, "exit_plan_mode", plan=PLAN)).code == "PLAN_MODE_INACTIVE"
        mode.enter(cm.session)
        assert (await failure(cm, "exit_plan_mode", plan=PLAN)).code == "NO_PROVIDER"
        for plan in ("", "no heading", "#no blank", "\n#   \n", "# x" * 10_000):
            assert (await failure(cm, "exit_plan_mode", plan=plan)).code == "INVALID_ARGUMENTS"
        mode.leave(cm.session)
        assert await value(cm, "overlaps") == "done"
    cancelled = PlanMode(asking(None))
    async with engine(cancelled) as cm:
        cancelled.enter(cm.session)
        assert (await failure(cm, "exit_plan_mode", plan=PLAN)).code == "ASK_FAILED"


async def test_the_mode_is_kept_in_the_session(tmp_path):
    mode = PlanMode(None)
    async with engine(mode, session=tmp_path / "s.db") as cm:
        mode.enter(cm.session)
    again = PlanMode(None)
    async with Session.open(tmp_path / "s.db") as session:
        again.restore(session)
        assert again.is_active
        again.leave(session)
        again.restore(session)
        assert not again.is_active


async def test_no_hook_can_let_a_change_pass():
    mode = PlanMode(None)
    async with CodeMode(
        [overlaps, *mode.tools], hooks=Hooks(pre_execute=(lambda call: Allow(),)) | mode.hooks
    ) as cm:
        mode.enter(cm.session)
        assert "plan mode" in await shown(cm, "overlaps")
