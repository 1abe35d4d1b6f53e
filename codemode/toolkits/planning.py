"""Plan mode: until somebody approves a plan, only calls that change nothing may pass. `exit_plan_mode` asks.

What changes nothing is what a tool declares (`read_only=True`), never guessed from its name. Whether the mode is
on is the host's to say, with `enter` and `leave`; a session keeps it as `plan/mode` events.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from codemode import Call, Deny, Hooks, Session, Text, Tool, ToolArgumentsError, ToolError, text, tool
from codemode.toolkits.questions import Asker, Option, Question, ask

__all__ = ["PlanMode"]

APPROVE = "Approve"
KEEP_PLANNING = "Keep planning"
MAX_PLAN_CHARACTERS = 20_000

Plan = Annotated[
    str, Meta(max_length=MAX_PLAN_CHARACTERS, description="the plan as Markdown; begins with a # heading")
]


class PlanValue(TypedDict):
    approved: Literal[True]


class PlanMode:
    """Plan mode of one scope. Give the scope its `tools` and its `hooks`.

    `asker` puts a plan to somebody; without one no plan is approved. While the mode is on, a call of a tool that
    does not declare `read_only=True` is denied (code DENIED), and nobody is asked to approve it. `run_code` itself
    passes; each call that the program makes is looked at.
    """

    def __init__(self, asker: Asker | None) -> None:
        self._asker = asker
        self._is_active = False
        self.tools: list[Tool] = [self._exit_tool()]
        self.hooks = Hooks(pre_execute=(self._before,), guards=(self._reason_to_deny,))

    @property
    def is_active(self) -> bool:
        """Whether the mode is on."""
        return self._is_active

    def enter(self, session: Session) -> None:
        """Turn the mode on, and say so in the session. Does nothing when it is on."""
        self._set(session, True)

    def leave(self, session: Session) -> None:
        """Turn the mode off without a plan, and say so in the session. Does nothing when it is off."""
        self._set(session, False)

    def restore(self, session: Session) -> None:
        """Take over the mode that a session was left in: that of its last `plan/mode` event, else off."""
        self._is_active = False
        for event in session.events(types={"plan/mode"}):
            self._is_active = event.data["active"] is True

    def _set(self, session: Session, active: bool) -> None:
        if active is not self._is_active:
            session.append("plan/mode", {"active": active})
            self._is_active = active

    def _before(self, call: Call) -> Deny | None:
        reason = self._reason_to_deny(call)
        return None if reason is None else Deny(reason)

    def _reason_to_deny(self, call: Call) -> str | None:
        if not self._is_active or call.read_only:
            return None
        return (
            f"plan mode: {call.name!r} may change things, and only tools that change nothing can be called until "
            "a plan is approved; call exit_plan_mode(plan=…) with the plan"
        )

    def _exit_tool(self) -> Tool:
        @tool(render=_render, presentation_meta=_meta, read_only=True)
        async def exit_plan_mode(plan: Plan, call: Call) -> PlanValue:
            """Put a plan before the user, and leave plan mode if they approve it.

            Only in plan mode, when the plan is complete. If they want it changed, the error has what they said.
            """
            if not self._is_active:
                raise ToolError(
                    "there is no plan mode to leave; go on with the work", code="PLAN_MODE_INACTIVE"
                )
            if _title(plan) is None:
                raise ToolArgumentsError(
                    "plan is Markdown that begins with a heading, such as '# Move the tests'"
                )
            question = Question(
                id="plan",
                question=plan.strip(),
                header="Approve this plan?",
                options=(
                    Option(APPROVE, "carry it out"),
                    Option(KEEP_PLANNING, "change nothing yet; say what should be different"),
                ),
            )
            (reply,) = await ask(self._asker, [question])
            if reply.selected != (APPROVE,) or reply.custom is not None:
                said = "" if reply.custom is None else f"; they said: {reply.custom}"
                raise ToolError(f"the user wants to keep planning{said}", code="PLAN_NOT_APPROVED")
            if not self._is_active:
                raise ToolError("plan mode was left while the plan was read", code="PLAN_MODE_INACTIVE")
            call.record("plan/mode", {"active": False})
            self._is_active = False
            return {"approved": True}

        return exit_plan_mode


def _title(plan: object) -> str | None:
    found = re.match(r"#{1,6}[ \t]+(\S[^\n]*)", str(plan).lstrip())
    return None if found is None else found.group(1).strip()


def _render(arguments: object, value: PlanValue) -> list[Text]:
    return [
        text("The user approved the plan. Plan mode is over: carry the plan out, from its first step on.")
    ]


def _meta(arguments: dict[str, Any], value: PlanValue) -> dict[str, Any]:
    return {"title": _title(arguments["plan"]) or "", "plan": arguments["plan"]}
